// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/surface"
	"github.com/spf13/cobra"
)

// The files of the contract verbs, beside each other.
const (
	contractFile = "mcprove.contract.json"
	acceptFile   = "mcprove.accept.yaml"
)

// registry knows every rule that this binary can report.
func registry() *rule.Registry { return rule.NewRegistry(contract.Infos(), report.Infos(), cliInfos) }

// cliInfos are findings that the verbs make themselves.
var cliInfos = []rule.Info{
	{
		ID: holdsID, Family: "contract", Level: "pass", Basis: rule.Promise,
		Title: "nothing changed", Why: "callers built on the recorded contract keep working", Fix: "nothing to do",
	},
}

const holdsID = "contract-holds"

func (a *app) contractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Record what a server promises, and hold it to it",
		Long: `Record what a server promises into one file (snapshot), and later say which
changes break the agents that were built on it (check, diff). No verb here ever
calls a tool, gets a prompt or reads a resource.`,
		Args: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return nil
			}
			var verbs []string
			for _, c := range cmd.Commands() {
				verbs = append(verbs, c.Name())
			}
			try := "mcprove contract --help"
			if near := rule.Nearest(words[0], verbs); len(near) > 0 {
				try = "mcprove contract " + near[0]
			}
			return usage("", try, "unknown verb contract %q", words[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.snapshotCommand(), a.checkCommand(), a.diffCommand(), a.acceptCommand())
	return cmd
}

// judgeFlags are the flags of the verbs that compare.
type judgeFlags struct {
	accept string
	failOn string
	strict bool
	ignore []string
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.accept, "accept", "", "`FILE` of approvals (default: "+acceptFile+" beside the contract)")
	fs.StringVar(&f.failOn, "fail-on", "", "mildest `CLASS` that fails: breaking, routing or additive (default breaking)")
	fs.BoolVar(&f.strict, "strict", false, "the same as --fail-on routing")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "leave out items that come and go: 'resources[uri=~^log://]' (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"breaking", "routing", "additive"}, cobra.ShellCompDirectiveNoFileComp))
}

// failClass is the mildest class that fails.
func (f *judgeFlags) failClass(settings contractConfig) (contract.Class, error) {
	switch {
	case f.failOn != "" && f.strict:
		return 0, usage("--strict", "leave out one of the two", "--strict and --fail-on are given")
	case f.strict:
		return contract.Routing, nil
	case f.failOn != "":
		c, err := contract.ParseClass(f.failOn)
		if err != nil || c == contract.Cosmetic {
			return 0, usage("--fail-on", "breaking, routing or additive", "unknown class %q", f.failOn)
		}
		return c, nil
	case settings.failOn != 0:
		return settings.failOn, nil
	}
	return contract.Breaking, nil
}

func (f *judgeFlags) patterns(settings contractConfig) ([]surface.Pattern, error) {
	out := slices.Clone(settings.ignore)
	for _, s := range f.ignore {
		p, err := surface.ParsePattern(s)
		if err != nil {
			return nil, usage("--ignore", "", "%v", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// comparison is everything that a report of a comparison needs.
type comparison struct {
	verb, target string
	old, new     *surface.Surface
	words        []string // for calls to copy
	contractPath string   // for annotations; may be empty
	acceptPath   string   // of approvals; may be missing
	mustAccept   bool     // the user named the file of approvals
}

// compare judges, applies approvals, reports, and decides about the exit.
func (a *app) compare(c comparison, j *judgeFlags, o *outputFlags, settings contractConfig, verbose bool) error {
	failOn, err := j.failClass(settings)
	if err != nil {
		return err
	}
	ignore, err := j.patterns(settings)
	if err != nil {
		return err
	}
	approvals, err := readApprovals(c.acceptPath, c.mustAccept)
	if err != nil {
		return err
	}
	run := &report.Run{Verb: c.verb, Target: c.target, DetailKey: "changes", Infos: registry().Lookup, Place: placeIn(c.contractPath)}
	add, finish, err := a.sinks(o, verbose, run)
	if err != nil {
		return err
	}
	r := contract.Compare(c.old, c.new, contract.Options{
		Ignore: ignore, DeprecationPolicy: settings.deprecationPolicy, MaxListBytes: settings.maxListBytes,
	})
	stale := r.Accept(approvals, a.env.Now())
	if len(c.words) == 0 {
		c.words = []string{"--", "COMMAND"} // both sides are files: the reader knows the server
	}
	run.Notes = slices.Concat(c.old.Notes, c.new.Notes, r.Notes)
	for i := range r.Changes {
		if err := add(r.Changes[i].Finding(c.target, failOn, c.words)); err != nil {
			return err
		}
	}
	for _, s := range stale {
		if err := add(report.Stale(c.acceptPath, s)); err != nil {
			return err
		}
	}
	for _, p := range r.Unchanged {
		if err := add(rule.Finding{
			ID: holdsID, Group: "unchanged", Status: rule.Pass, Target: c.target, Count: 1,
			Where: rule.Where{Kind: p.Path, Name: p.Name}, Message: "nothing changed",
		}); err != nil {
			return err
		}
	}
	counts := r.Counts()
	for cl := contract.Breaking; cl >= contract.Cosmetic; cl-- {
		run.Summary = append(run.Summary, report.Tally{Name: cl.String(), Count: counts[cl]})
	}
	run.Subject = subject(r)
	run.Outcome, run.Exit = report.Passed, exitOK
	if r.Worst() >= failOn || len(stale) > 0 {
		run.Outcome, run.Exit = report.Failed, exitFailed
	}
	a.exit = run.Exit
	return finish()
}

// subject says how much was compared: "14 tools, 2 prompts compared".
func subject(r *contract.Result) string {
	var parts []string
	for _, k := range surface.Kinds {
		if n := r.Compared[k.One()]; n > 0 {
			parts = append(parts, plural(n, k.One()))
		}
	}
	if len(parts) == 0 {
		return "compared"
	}
	return strings.Join(parts, ", ") + " compared"
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// readApprovals reads the file of approvals; without one there are none.
func readApprovals(path string, must bool) (*rule.Exceptions, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return rule.ParseExceptions(path, data)
}

// placeIn finds findings in the contract file, so that annotations point at
// the promise that was broken.
func placeIn(path string) func(rule.Where) (string, int) {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	lines := surface.Lines(data)
	return func(w rule.Where) (string, int) {
		return path, lines[surface.LineKey{Kind: w.Kind, Name: w.Name}]
	}
}

// beside returns the path of a file in the folder of another one.
func beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }

// readContract reads the contract file of check and accept.
func readContract(path string) (*surface.Surface, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Exit: exitUsage, Code: "no-contract", Where: path, Message: "there is no contract file",
			Try: "record one first: mcprove contract snapshot -- COMMAND"}
	}
	if err != nil {
		return nil, err
	}
	s, err := surface.Read(path, data)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// contractPath is the contract file that flags and configuration name.
func contractPath(flag string, t *target) string {
	return firstOf(flag, t.contract, t.settings.file, contractFile)
}

func (a *app) snapshotCommand() *cobra.Command {
	var (
		tf     targetFlags
		file   string
		format string
		j      judgeFlags
	)
	cmd := &cobra.Command{
		Use:   "snapshot [flags] TARGET",
		Short: "Record what a server promises into a file to commit",
		Long: `Record everything that the server shows (tools, resources, templates, prompts,
capabilities, instructions) into one file. The file is the same for the same
surface on every machine: commit it. Recording again is the plain way to accept
changes. Nothing is written unless every listing could be read to its end.`,
		Example: `  mcprove contract snapshot -- npx -y @modelcontextprotocol/server-memory
  mcprove contract snapshot https://example.com/mcp -H 'Authorization: Bearer TOKEN'
  mcprove contract snapshot -f api.contract.json http://localhost:3000/mcp -- node server.js`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			before, command, err := words(cmd, args)
			if err != nil {
				return err
			}
			t, err := a.resolve(&tf, before, command)
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
			s = s.Without(ignore)
			data, err := s.Encode()
			if err != nil {
				return err
			}
			path := contractPath(file, t)
			changed, err := writeFile(path, data)
			if err != nil {
				return &Error{Exit: exitUsage, Code: "contract-not-written", Where: path, Message: err.Error(), Try: "choose another file with -f FILE"}
			}
			if format == "json" {
				return a.envelope("contract snapshot", t.name, tallies(s), s.Notes, "contract", struct {
					File      string   `json:"file"`
					Digest    string   `json:"digest"`
					Bytes     int      `json:"bytes"`
					Changed   bool     `json:"changed"`
					Revisions []string `json:"revisions"`
				}{path, s.Digest(), len(data), changed, s.Revisions})
			}
			a.notes(a.stderr, s.Notes)
			verb := "recorded"
			if !changed {
				verb = "unchanged:"
			}
			_, err = fmt.Fprintf(a.stdout, "%s %s in %s (revision %s, digest %s)\n", verb, inventory(s), path, strings.Join(s.Revisions, ", "), s.Digest()[:12])
			return err
		},
	}
	tf.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "contract `FILE` (default "+contractFile+")")
	cmd.Flags().StringArrayVar(&j.ignore, "ignore", nil, "leave out items that come and go: 'resources[uri=~^log://]' (repeatable)")
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json")
	return cmd
}

// tallies counts the items of a surface for the summary.
func tallies(s *surface.Surface) []report.Tally {
	var out []report.Tally
	for _, k := range surface.Kinds {
		out = append(out, report.Tally{Name: string(k), Count: len(s.Items(k))})
	}
	return out
}

// inventory counts what a surface shows: "9 tools, 1 resource".
func inventory(s *surface.Surface) string {
	var parts []string
	for _, k := range surface.Kinds {
		if n := len(s.Items(k)); n > 0 {
			parts = append(parts, plural(n, k.One()))
		}
	}
	if len(parts) == 0 {
		return "nothing listed"
	}
	return strings.Join(parts, ", ")
}

func (a *app) checkCommand() *cobra.Command {
	var (
		tf   targetFlags
		of   outputFlags
		j    judgeFlags
		file string
	)
	cmd := &cobra.Command{
		Use:   "check [flags] TARGET",
		Short: "Hold a server to its recorded contract",
		Long: `Compare what the server shows now with the contract file. Exit 1 when a change
breaks callers (with --strict also when one only changes what models read), 0
when the contract holds, 6 when it could not be compared whole.`,
		Example: `  mcprove contract check -- npx -y @modelcontextprotocol/server-memory
  mcprove contract check -o github --report sarif=mcprove.sarif -- ./my-server
  mcprove contract check --strict https://example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command, err := words(cmd, args)
			if err != nil {
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
			s, err := a.collect(cmd.Context(), &tf, t)
			if err != nil {
				return err
			}
			accept := firstOf(j.accept, t.settings.accept)
			return a.compare(comparison{
				verb: "contract check", target: t.name, old: old, new: s, words: t.words,
				contractPath: path, acceptPath: firstOf(accept, beside(path, acceptFile)), mustAccept: accept != "",
			}, &j, &of, t.settings, tf.verbose)
		},
	}
	tf.add(cmd)
	of.add(cmd)
	j.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "contract `FILE` (default "+contractFile+")")
	return cmd
}

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
			case all == (len(prints) > 0):
				return usage("--fingerprint", "contract check shows the fingerprints", "name the changes with --fingerprint, or take --all")
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
