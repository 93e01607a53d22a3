// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// lines is the sink of ndjson: one object a line (https://jsonlines.org), each
// with a type. Findings are written as they come; the last line is the run.
type lines struct {
	w      io.Writer
	run    *Run
	closed bool
}

type ndjsonFinding struct {
	Type string `json:"type"`
	jsonFinding
}

type ndjsonSummary struct {
	Type    string    `json:"type"`
	Format  int       `json:"format"`
	Verb    string    `json:"verb"`
	Target  string    `json:"target"`
	Outcome string    `json:"outcome"`
	Exit    int       `json:"exit"`
	Summary jsonx.Raw `json:"summary"`
	Notes   []string  `json:"notes"`
}

func (s *lines) Add(f rule.Finding) error {
	// A new cleaner each time: the Redactor may have learnt since.
	c := newCleaner(s.run.Redactor)
	line := ndjsonFinding{Type: "finding", jsonFinding: toJSON(&finding{Finding: c.finding(&f)})}
	if f.Detail != nil {
		if raw, err := c.detail(f.Detail); err == nil {
			line.Detail = raw
		}
	}
	return s.write(line)
}

func (s *lines) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	e := newDocument(s.run, nil, Options{}).envelope()
	return s.write(ndjsonSummary{"summary", e.Format, e.Verb, e.Target, e.Outcome, e.Exit, e.Summary, e.Notes})
}

func (s *lines) write(v any) error {
	out, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode ndjson: %w", err)
	}
	if _, err := s.w.Write(append(text.JSON(out), '\n')); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Clean returns one JSON text compact and without secrets, in names and values
// alike. It is read leniently: a member that comes twice is kept under a numbered
// name.
func Clean(r *text.Redactor, raw []byte) ([]byte, error) { return newCleaner(r).json(raw) }

// Line writes one JSON text as a line of its own, clean and safe to print.
func Line(w io.Writer, r *text.Redactor, raw []byte) error {
	out, err := Clean(r, raw)
	if err != nil {
		return fmt.Errorf("encode line: %w", err)
	}
	_, err = w.Write(append(text.JSON(out), '\n'))
	return err
}
