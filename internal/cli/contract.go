// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/check"
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
func registry() *rule.Registry {
	return rule.NewRegistry(contract.Infos(), check.Infos(), report.Infos(), validateInfos(), cliInfos)
}

// cliInfos are findings that the verbs make themselves.
var cliInfos = []rule.Info{
	{
		ID: sameSurfaceID, Family: check.Family, Level: rule.Should, Basis: rule.Advisory,
		Title: "all forms of a server show the same",
		Why:   "an agent built on one form fails on the other, and which form a user runs is not for the agent to choose",
		Fix:   "register tools, prompts and resources in one place, and start every form from it",
	},
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
	cmd.AddCommand(a.snapshotCommand(), a.contractCheckCommand(), a.diffCommand(), a.acceptCommand())
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
	shown        bool     // a demonstration: it worked, whatever it found
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
	run.Subject = inventory(c.old) + " held against " + inventory(c.new)
	run.Outcome, run.Exit = report.Passed, exitOK
	if r.Worst() >= failOn || len(stale) > 0 {
		run.Outcome, run.Exit = report.Failed, exitFailed
	}
	if c.shown {
		run.Exit = exitOK
	}
	a.exit = run.Exit
	return finish()
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
	data, err := readFile(path)
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
	data, err := readFile(path)
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
	data, err := readFile(path)
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

// replaceable refuses to write a contract over anything but a contract that
// this version can read: a newer one, or a file that is something else.
func replaceable(path string) error {
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := surface.Decode(path, data); err != nil {
		e := explain(err, false)
		e.Code, e.Message = "not-replaced", "it is not replaced: "+e.Message
		e.Try = firstOf(e.Try, "")
		if e.Try == "" || strings.HasPrefix(e.Try, "record one") {
			e.Try = "choose another file with -f FILE, or remove this one"
		}
		return e
	}
	return nil
}

// contractPath is the contract file that flags and configuration name.
func contractPath(flag string, t *target) string {
	return firstOf(flag, t.contract, t.settings.file, contractFile)
}
