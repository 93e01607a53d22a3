// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/spf13/cobra"
)

func (a *app) acceptCommand() *cobra.Command {
	var (
		tf      targetFlags
		j       judgeFlags
		file    string
		reason  string
		expires string
		prints  []string
		all     bool
		format  string
	)
	cmd := &cobra.Command{
		Use:   "accept [flags] TARGET",
		Short: "Approve changes by their fingerprints, with a reason",
		Long: `Write approvals of changes beside the contract. An approval covers exactly one
change: the same kind at the same place, with the same values before and after.
One that matches nothing any more is an error at the next check. To accept
everything for good, record the contract again (contract snapshot).`,
		Example: `  mcprove contract accept --fingerprint 1f2e3d4c5b6a7988 --reason 'announced in 2.0' -- ./my-server
  mcprove contract accept --all --reason 'release 2.0' --expires 2026-12-31 -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			before, command, err := words(cmd, args)
			if err != nil {
				return err
			}
			switch {
			case strings.TrimSpace(reason) == "":
				return usage("--reason", "--reason 'announced in 2.0'", "an approval needs a reason")
			case all && len(prints) > 0:
				return usage("--fingerprint", "leave out one of the two", "--all and --fingerprint are given")
			case !all && len(prints) == 0:
				return usage("--fingerprint", "contract check shows the fingerprints", "name the changes with --fingerprint, or take --all")
			}
			if err := a.lastDay(expires); err != nil {
				return err
			}
			t, err := a.resolve(&tf, before, command)
			if err != nil {
				return err
			}
			path := contractPath(file, t)
			old, err := readContract(path)
			if err != nil {
				return err
			}
			acceptPath := firstOf(j.accept, t.settings.accept, beside(path, acceptFile))
			approvals, err := readApprovals(acceptPath, false)
			if err != nil {
				return err
			}
			if approvals == nil {
				approvals = &rule.Exceptions{Path: acceptPath}
			}
			failOn, err := j.failClass(t.settings)
			if err != nil {
				return err
			}
			ignore, err := j.patterns(t.settings)
			if err != nil {
				return err
			}
			s, err := a.collect(cmd.Context(), &tf, t)
			if err != nil {
				return err
			}
			r := contract.Compare(old, s, contract.Options{Ignore: ignore, DeprecationPolicy: t.settings.deprecationPolicy, MaxListBytes: t.settings.maxListBytes})
			r.Accept(approvals, a.env.Now())
			added, err := a.approve(r, approvals, prints, failOn, reason, expires)
			if err != nil {
				return err
			}
			return a.writeApprovals(format, t.name, acceptPath, approvals, added)
		},
	}
	tf.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "contract `FILE` (default "+contractFile+")")
	cmd.Flags().StringVar(&j.accept, "accept", "", "`FILE` of approvals (default: "+acceptFile+" beside the contract)")
	cmd.Flags().StringArrayVar(&j.ignore, "ignore", nil, "leave out items that come and go (repeatable)")
	cmd.Flags().BoolVar(&j.strict, "strict", false, "--all takes routing changes too")
	cmd.Flags().StringVar(&reason, "reason", "", "why the changes are accepted (required)")
	cmd.Flags().StringVar(&expires, "expires", "", "last `DAY` of the approvals, YYYY-MM-DD")
	cmd.Flags().StringArrayVar(&prints, "fingerprint", nil, "fingerprint of a change, or its start (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "accept every change that fails the check")
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json")
	return cmd
}

// writeApprovals writes the file, if there is anything new in it, and says so.
func (a *app) writeApprovals(format, target, path string, approvals *rule.Exceptions, added []*contract.Change) error {
	if len(added) > 0 {
		data, err := approvals.Encode()
		if err != nil {
			return err
		}
		if _, err := rule.ParseExceptions(path, data); err != nil {
			return err // a reason or date that the file cannot hold
		}
		if _, err := writeFile(path, data); err != nil {
			return &Error{Exit: exitUsage, Code: "approvals-not-written", Where: path, Message: err.Error()}
		}
	}
	if format == "json" {
		if added == nil {
			added = []*contract.Change{}
		}
		return a.envelope("contract accept", target, []report.Tally{{Name: "accepted", Count: len(added)}}, nil, "changes", added)
	}
	if len(added) == 0 {
		_, err := fmt.Fprintln(a.stdout, "nothing to accept")
		return err
	}
	for _, c := range added {
		fmt.Fprintf(a.stdout, "accepted %s %s %s\n", c.Fingerprint, c.ID, text.Line(a.redactor.String(strings.TrimSpace(c.Kind+" "+c.Name+" "+c.Path))))
	}
	_, err := fmt.Fprintf(a.stdout, "%s written to %s\n", plural(len(added), "approval"), path)
	return err
}

// lastDay checks the day that approvals are to end on.
func (a *app) lastDay(day string) error {
	if day == "" {
		return nil
	}
	if _, err := time.Parse(rule.DateLayout, day); err != nil {
		return usage("--expires", "write it like 2026-12-31", "%q is no day", day)
	}
	if day < a.env.Now().Format(rule.DateLayout) {
		return usage("--expires", "choose a later day", "%s has passed: the approval would cover nothing", day)
	}
	return nil
}

// approve adds approvals of the chosen changes.
func (a *app) approve(r *contract.Result, approvals *rule.Exceptions, prints []string, failOn contract.Class, reason, expires string) ([]*contract.Change, error) {
	var chosen []*contract.Change
	pick := func(c *contract.Change) {
		if c.Accepted == "" && !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	if len(prints) == 0 {
		for i := range r.Changes {
			if r.Changes[i].Class >= failOn {
				pick(&r.Changes[i])
			}
		}
	}
	for _, p := range prints {
		var hits []*contract.Change
		for i := range r.Changes {
			if len(p) >= 4 && strings.HasPrefix(r.Changes[i].Fingerprint, p) {
				hits = append(hits, &r.Changes[i])
			}
		}
		switch len(hits) {
		case 0:
			return nil, usage("--fingerprint", "contract check shows the fingerprints; give at least 4 digits", "no change has the fingerprint %s", p)
		case 1:
			pick(hits[0])
		default:
			return nil, usage("--fingerprint", "give more digits", "%d changes start with %s", len(hits), p)
		}
	}
	for _, c := range chosen {
		// An expired entry for the same change is replaced, not kept beside.
		approvals.Entries = slices.DeleteFunc(approvals.Entries, func(e rule.Exception) bool {
			return e.ID == c.ID && e.Fingerprint == c.Fingerprint
		})
		approvals.Entries = append(approvals.Entries, c.Approval(reason, expires))
	}
	return chosen, nil
}
