// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// Sink takes the findings of one run and writes them in one format. A Sink is
// used by one goroutine. Nothing may be added after Close, which does not
// close the writer underneath.
type Sink interface {
	Add(rule.Finding) error
	Close() error
}

// The outcomes of a run.
const (
	Passed     = "passed"
	Failed     = "failed"
	Incomplete = "incomplete"
)

// Run is what the sinks of one run have in common. The caller shares one
// pointer with all of them and fills it in before Close.
type Run struct {
	Verb    string  // "contract check"
	Target  string  // what was judged, for people
	Version string  // of mcprove; empty when not known
	Outcome string  // Passed, Failed or Incomplete; empty is read as Incomplete
	Exit    int     // the exit code that goes with it
	Subject string  // what the summary counts in: "14 tools compared"
	Summary []Tally // in the order to print; also the order of the groups
	Notes   []string

	// DetailKey is the member of the JSON envelope that lists the findings'
	// Details ("changes"); the findings then do not repeat them. "findings"
	// puts each Detail in the place of its finding.
	DetailKey string

	// Own are further members of the JSON envelope, for a verb that shows
	// something besides findings.
	Own []Own

	// Time says in a sentence where the time went, for the text format; empty
	// when there is nothing to say.
	Time string

	// Infos returns what a rule says of itself, as Registry.Lookup does. It
	// may be nil.
	Infos func(id string) (rule.Info, bool)

	// Redactor holds the secrets of the run; nil knows only their shapes.
	Redactor *text.Redactor

	// Place returns the file and the 1-based line of a finding's place, an
	// empty file where there is none. It may be nil.
	Place func(rule.Where) (file string, line int)
}

// Own is a verb's own member of the JSON envelope.
type Own struct {
	Key   string
	Value any // encoded as a finding's Detail is
}

// Tally is one named count of the summary.
type Tally struct {
	Name  string
	Count int
}

// Options say how a person wants to see the text format.
type Options struct {
	Color   bool
	Width   int  // columns to wrap prose at; 0 means 80
	Verbose bool // passes, pointers and long values too
}

// renderer writes a whole run in one format.
type renderer func(*document) ([]byte, error)

// formats are the formats in the order they are offered. One without a
// renderer streams: it is made by newLines.
var formats = []struct {
	name   string
	render renderer
}{
	{"text", renderText},
	{"json", renderJSON},
	{"ndjson", nil},
	{"markdown", renderMarkdown},
	{"junit", renderJUnit},
	{"sarif", renderSARIF},
	{"github", renderGitHub},
}

// Formats returns the names of the formats that New knows.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// FormatError is returned by New for a format that does not exist.
type FormatError struct {
	Name    string
	Nearest []string // the formats most like it, best first
}

func (e *FormatError) Error() string {
	s := fmt.Sprintf("unknown format %q", e.Name)
	if len(e.Nearest) > 0 {
		s += fmt.Sprintf("; did you mean %s?", e.Nearest[0])
	}
	return s + " (formats: " + strings.Join(Formats(), ", ") + ")"
}

// New returns the sink of a format. It writes to w only.
func New(format string, w io.Writer, run *Run, o Options) (Sink, error) {
	for _, f := range formats {
		switch {
		case f.name != format:
		case f.render == nil:
			return &lines{w: w, run: run}, nil
		default:
			return &whole{w: w, run: run, options: o, render: f.render}, nil
		}
	}
	return nil, &FormatError{Name: format, Nearest: rule.Nearest(format, Formats())}
}

// StepSummary returns a sink that writes the Markdown form at the length that
// a GitHub step summary may have. The caller opens the file that
// GITHUB_STEP_SUMMARY names for appending.
func StepSummary(w io.Writer, run *Run) Sink {
	return &whole{w: w, run: run, render: renderStepSummary}
}

// whole keeps the findings and writes everything at Close.
type whole struct {
	w        io.Writer
	run      *Run
	options  Options
	render   renderer
	findings []rule.Finding
	closed   bool
}

func (s *whole) Add(f rule.Finding) error {
	s.findings = append(s.findings, f)
	return nil
}

func (s *whole) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	out, err := s.render(newDocument(s.run, s.findings, s.options))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if _, err := s.w.Write(out); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Tee returns a sink that passes everything on to all of the given sinks. A
// sink that fails does not keep the others from their findings.
func Tee(sinks ...Sink) Sink { return tee(sinks) }

type tee []Sink

func (t tee) Add(f rule.Finding) error {
	return t.each(func(s Sink) error { return s.Add(f) })
}

func (t tee) Close() error { return t.each(Sink.Close) }

func (t tee) each(do func(Sink) error) error {
	var errs []error
	for _, s := range t {
		errs = append(errs, do(s))
	}
	return errors.Join(errs...)
}
