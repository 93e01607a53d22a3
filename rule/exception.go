// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/order"
)

// Exception is one finding that a user accepts, with the reason. Contract
// approvals and check baselines share this grammar.
type Exception struct {
	ID          string `yaml:"id"`
	Target      string `yaml:"target,omitempty"`
	Where       string `yaml:"where"` // "tool search /inputSchema/properties/q", for people
	Fingerprint string `yaml:"fingerprint"`
	Reason      string `yaml:"reason"`
	Expires     string `yaml:"expires,omitempty"` // YYYY-MM-DD, the last day it holds

	line int
}

// Exceptions is a file of accepted findings.
type Exceptions struct {
	Path    string
	Entries []Exception
}

type exceptionFile struct {
	Accept []yaml.Node `yaml:"accept"`
}

// FileError is a fault in a file the user wrote, with the place.
type FileError struct {
	Path      string
	Line, Col int
	Message   string
	Try       string
}

func (e *FileError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Path, e.Message)
	case e.Col == 0:
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Col, e.Message)
}

// DateLayout is how Expires is written.
const DateLayout = time.DateOnly

// ParseExceptions reads a file of exceptions. Every entry needs an id, a
// fingerprint and a reason; a fault is a *FileError with its line.
func ParseExceptions(path string, data []byte) (*Exceptions, error) {
	out := &Exceptions{Path: path}
	if blankYAML(data) {
		return out, nil
	}
	var f exceptionFile
	if err := yaml.Load(data, &f, yaml.WithKnownFields()); err != nil {
		return nil, YAMLError(path, err)
	}
	for i := range f.Accept {
		n := &f.Accept[i]
		var e Exception
		if err := n.Load(&e, yaml.WithKnownFields()); err != nil {
			return nil, YAMLError(path, err)
		}
		e.line = n.Line
		bad := func(format string, args ...any) error {
			return &FileError{Path: path, Line: n.Line, Col: n.Column, Message: fmt.Sprintf(format, args...)}
		}
		switch {
		case e.ID == "":
			return nil, bad("an entry needs an id")
		case e.Fingerprint == "":
			return nil, bad("entry %s needs a fingerprint: it names exactly one change", e.ID)
		case strings.TrimSpace(e.Reason) == "":
			return nil, bad("entry %s needs a reason", e.ID)
		}
		if e.Expires != "" {
			if _, err := time.Parse(DateLayout, e.Expires); err != nil {
				return nil, bad("entry %s: expires must be a date like 2026-12-31, not %q", e.ID, e.Expires)
			}
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// YAMLError turns the YAML library's error into a FileError with its place.
func YAMLError(path string, err error) error {
	var all *yaml.LoadErrors
	if errors.As(err, &all) && len(all.Errors) > 0 {
		first := all.Errors[0]
		return &FileError{Path: path, Line: first.Mark.Line, Col: first.Mark.Column, Message: first.Message}
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return &FileError{Path: path, Line: one.Mark.Line, Col: one.Mark.Column, Message: one.Message}
	}
	return &FileError{Path: path, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
}

// blankYAML reports whether data holds nothing but comments and white space,
// which the library refuses to load.
func blankYAML(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// Encode writes the file in a fixed order, so that the same exceptions are the
// same bytes.
func (x *Exceptions) Encode() ([]byte, error) {
	entries := slices.Clone(x.Entries)
	order.Func(entries, func(a, b Exception) int {
		return strings.Compare(a.Where+"\x00"+a.ID+"\x00"+a.Fingerprint, b.Where+"\x00"+b.ID+"\x00"+b.Fingerprint)
	})
	body, err := yaml.Dump(struct {
		Accept []Exception `yaml:"accept"`
	}{entries})
	if err != nil {
		return nil, fmt.Errorf("encode exceptions: %w", err)
	}
	head := "# Accepted findings. Each entry covers exactly one finding, by its fingerprint.\n" +
		"# An entry that matches nothing any more is an error: remove it.\n"
	return append([]byte(head), body...), nil
}

// Stale is an exception that no longer does anything.
type Stale struct {
	Exception
	Expired bool // it has passed its date; otherwise it matched no finding
}

func (s Stale) String() string {
	if s.Expired {
		return fmt.Sprintf("line %d: the acceptance of %s (%s) expired on %s", s.line, s.ID, s.Where, s.Expires)
	}
	return fmt.Sprintf("line %d: the acceptance of %s (%s) matches no finding", s.line, s.ID, s.Where)
}

// Apply marks the findings that an exception covers: their Status becomes
// Skip and Reason the exception's. An exception covers a finding only when id
// and fingerprint agree and its last day is not before today.
func (x *Exceptions) Apply(findings []Finding, today time.Time) []Stale {
	if x == nil {
		return nil
	}
	type key struct{ id, fingerprint string }
	at := map[key]int{}
	for i, e := range x.Entries {
		at[key{e.ID, e.Fingerprint}] = i
	}
	used := make([]bool, len(x.Entries))
	var stale []Stale
	day := today.Format(DateLayout)
	for i := range findings {
		f := &findings[i]
		j, ok := at[key{f.ID, f.Fingerprint}]
		if !ok || f.Fingerprint == "" {
			continue
		}
		e := x.Entries[j]
		if e.Expires != "" && e.Expires < day {
			if !used[j] {
				stale = append(stale, Stale{e, true})
			}
			used[j] = true
			continue
		}
		used[j] = true
		f.Status, f.Reason = Skip, "accepted: "+e.Reason
	}
	for j, e := range x.Entries {
		if !used[j] {
			stale = append(stale, Stale{e, false})
		}
	}
	return stale
}
