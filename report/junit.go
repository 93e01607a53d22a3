// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// JUnit has no specification; this is the common core that Jenkins, GitLab and
// GitHub actions read: https://github.com/testmoapp/junitxml. It holds no
// times and no host, so that the same run is the same bytes.

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      *junitText  `xml:"system-out"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitProblem `xml:"skipped"`
	Out     *junitText    `xml:"system-out"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

type junitText struct {
	Text string `xml:",chardata"`
}

// attr is foreign text for an attribute, data for an element.
func attr(s string) string { return text.XML(line(s)) }
func data(s string) string { return text.XML(block(s)) }

func renderJUnit(d *document) ([]byte, error) {
	all := &junitSuites{Name: "mcprove"}
	suites := map[string]*junitSuite{}
	suite := func(target string) *junitSuite {
		target = cmp.Or(target, d.Target)
		s := suites[target]
		if s == nil {
			s = &junitSuite{Name: attr(strings.TrimSpace(d.Verb + " " + target))}
			suites[target] = s
			all.Suites = append(all.Suites, s)
		}
		return s
	}
	for i := range d.findings {
		f := &d.findings[i]
		suite(f.Target).add(junitCaseOf(f))
	}
	main := suite("")
	d.junitOutcome(all, main)
	if len(d.Notes) > 0 {
		main.Out = &junitText{data(strings.Join(d.Notes, "\n"))}
	}
	for _, s := range all.Suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	return encodeXML(all)
}

// junitOutcome adds a test case where the findings alone do not tell how the
// run came out: readers of JUnit see only cases, and take none for a mistake.
func (d *document) junitOutcome(all *junitSuites, main *junitSuite) {
	bad := 0
	for _, s := range all.Suites {
		bad += s.Failures + s.Errors
	}
	c := junitCase{Class: "run", Name: "outcome"}
	switch {
	case d.Outcome != Passed && bad == 0:
		c.Error = &junitProblem{Message: attr(d.Outcome), Type: d.Outcome, Text: data(d.verdict())}
	case main.Tests > 0 || len(all.Suites) > 1:
		return
	}
	main.add(c)
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitCaseOf(f *finding) junitCase {
	name := f.ID
	for _, s := range []string{f.Where.Name, spot(f.Where)} {
		if s != "" {
			name += " " + s
		}
	}
	c := junitCase{Class: attr(cmp.Or(f.Where.Kind, "run")), Name: attr(name)}
	if f.file != "" {
		c.File, c.Line = attr(f.file), f.line
	}
	problem := &junitProblem{Message: attr(f.Message), Type: attr(cmp.Or(f.Group, f.ID)), Text: data(f.body())}
	switch f.Status {
	case rule.Fail:
		c.Failure = problem
	case rule.Error:
		c.Error = problem
	case rule.Skip:
		c.Skipped = &junitProblem{Message: attr(cmp.Or(f.Reason, "no reason given"))}
	case rule.Warn, rule.Note:
		c.Out = &junitText{data(f.Status.String() + ": " + f.Message + "\n" + f.body())}
	}
	return c
}

// body is everything about a finding that is not in its message, as text.
func (f *finding) body() string {
	var b strings.Builder
	put := func(s string) {
		if s != "" {
			b.WriteString(s + "\n")
		}
	}
	put(f.Why)
	put(f.Reason)
	for _, e := range clipped(f.Evidence, longValue) {
		put(e.Label + ": " + e.Text)
	}
	put(f.places(manyPlaces))
	if f.Fingerprint != "" {
		put("fingerprint: " + f.Fingerprint)
	}
	return b.String()
}

func encodeXML(v any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode xml: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
