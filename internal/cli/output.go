// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcprove/mcprove/internal/cli/version"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/spf13/cobra"
)

// outputFlags are the flags of every verb that reports.
type outputFlags struct {
	format  string
	reports []string
	color   string
}

func (f *outputFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.format, "format", "o", "text", "format of stdout: "+strings.Join(report.Formats(), ", "))
	fs.StringArrayVar(&f.reports, "report", nil, "also write `FORMAT=FILE` (repeatable): junit=out.xml, sarif=out.sarif, markdown=comment.md")
	fs.StringVar(&f.color, "color", "auto", "auto, always or never")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
}

// colored decides about colour: the flag, then NO_COLOR, then CLICOLOR_FORCE,
// then whether a person looks.
func (a *app) colored(flag string) (bool, error) {
	switch flag {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
	default:
		return false, usage("--color", "auto, always or never", "unknown choice %q", flag)
	}
	if v, ok := a.getenv("NO_COLOR"); ok && v != "" {
		return false, nil
	}
	if v, ok := a.getenv("CLICOLOR_FORCE"); ok && v != "" && v != "0" {
		return true, nil
	}
	if v, _ := a.getenv("TERM"); v == "dumb" {
		return false, nil
	}
	return a.env.StdoutTTY, nil
}

// sinks opens every report that was asked for. close writes them.
func (a *app) sinks(f *outputFlags, verbose bool, run *report.Run) (add func(rule.Finding) error, finish func() error, err error) {
	color, err := a.colored(f.color)
	if err != nil {
		return nil, nil, err
	}
	run.Version, run.Redactor = version.String(), a.redactor
	options := report.Options{Color: color, Width: a.env.Width, Verbose: verbose}
	main, err := report.New(f.format, a.stdout, run, options)
	if err != nil {
		return nil, nil, usage("--format", "", "%v", err)
	}
	all := []report.Sink{main}
	var files []*os.File
	closeFiles := func() error {
		for _, file := range files {
			if err := file.Close(); err != nil {
				return fmt.Errorf("write report: %w", err)
			}
		}
		return nil
	}
	for _, r := range f.reports {
		format, path, ok := strings.Cut(r, "=")
		if !ok || path == "" {
			_ = closeFiles()
			return nil, nil, usage("--report", "write it as FORMAT=FILE, such as junit=out.xml", "%q names no file", r)
		}
		file, err := os.Create(path)
		if err != nil {
			_ = closeFiles()
			return nil, nil, fmt.Errorf("write report: %w", err)
		}
		files = append(files, file)
		s, err := report.New(format, file, run, report.Options{Width: 100, Verbose: verbose})
		if err != nil {
			_ = closeFiles()
			return nil, nil, usage("--report", "", "%v", err)
		}
		all = append(all, s)
	}
	if summary := a.stepSummary(f); summary != nil {
		files = append(files, summary)
		all = append(all, report.StepSummary(summary, run))
	}
	s := report.Tee(all...)
	return s.Add, func() error {
		err := s.Close()
		if ferr := closeFiles(); err == nil {
			err = ferr
		}
		return err
	}, nil
}

// stepSummary opens the file for the summary of a GitHub step, when the github
// format is asked for there.
func (a *app) stepSummary(f *outputFlags) *os.File {
	path, ok := a.getenv("GITHUB_STEP_SUMMARY")
	if !ok || path == "" || f.format != "github" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		a.say("mcprove: the step summary cannot be written: %s", a.clean(err.Error()))
		return nil
	}
	return file
}

// notes prints notes for people who read no report.
func (a *app) notes(w io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s\n", a.clean(n))
	}
}
