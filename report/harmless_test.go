// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// spellings are the secrets as the formats would write them.
var spellings = func() []string {
	var out []string
	for _, s := range secrets {
		quoted := strings.Trim(string(jsonx.Quote(s)), `"`)
		for _, v := range []string{s, quoted, strings.Trim(string(jsonx.Quote(quoted)), `"`), strings.ReplaceAll(s, "'", `'\''`)} {
			var x bytes.Buffer
			_ = xml.EscapeText(&x, []byte(v))
			out = append(out, v, x.String(), text.Markdown(v))
		}
	}
	return out
}()

type secretError string

func (e secretError) Error() string { return "secret " + string(e) }

var (
	ownColour   = regexp.MustCompile(`\x1b\[(0|1|2|1;|(1;)?3[1-6])m`)
	hashCommand = regexp.MustCompile(`##[a-z-]*\[`)
	placeholder = regexp.MustCompile(`(^|[^{])\{\d+\}`)
	link        = regexp.MustCompile(`[^\\]\]\(`)
	annotation  = regexp.MustCompile(`^::(error|warning|notice) (file=[^:,]*,(line=\d+,)?)?title=[^:,]*::[^\r\n]*$`)
)

// harmless reports what must not be in a format's output.
func harmless(format string, out []byte) error {
	if !utf8.Valid(out) {
		return errors.New("not UTF-8")
	}
	s := string(out)
	switch format {
	case "text":
		s = ownColour.ReplaceAllString(s, "")
	case "markdown", "summary":
		s = strings.ReplaceAll(s, "\u2060", "") // put in by the format itself
	}
	if text.HasInvisible(s) || strings.ContainsRune(s, '\r') {
		return errors.New("invisible characters")
	}
	for _, secret := range spellings {
		if strings.Contains(s, secret) {
			return secretError(secret)
		}
	}
	if hashCommand.MatchString(s) {
		return errors.New("a ##[ command")
	}
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, "\n")
		if format == "github" {
			if !annotation.MatchString(l) {
				return fmt.Errorf("a line that is no annotation: %q", l)
			}
		} else if strings.HasPrefix(strings.TrimSpace(l), "::") {
			return fmt.Errorf("a workflow command: %q", l)
		}
	}
	return parses(format, out)
}

func parses(format string, out []byte) error {
	switch format {
	case "json":
		return jsonx.Check(out, jsonx.Strict)
	case "ndjson":
		for l := range bytes.Lines(out) {
			if err := jsonx.Check(l, jsonx.Strict); err != nil {
				return err
			}
		}
	case "sarif":
		return validSARIF(out)
	case "junit":
		return validJUnit(out)
	case "markdown", "summary":
		return harmlessMarkdown(string(out))
	}
	return nil
}

func validSARIF(out []byte) error {
	if err := jsonx.Check(out, jsonx.Strict); err != nil {
		return err
	}
	// The library's types have every member of the standard: one that they do
	// not know is none.
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&sarif.Report{}); err != nil {
		return err
	}
	r, err := sarif.FromBytes(out)
	if err != nil {
		return err
	}
	for _, run := range r.Runs {
		// Absent members that the library writes empty, against the schema.
		run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en", "en", []string{"\n"}
	}
	if err := r.Validate(); err != nil {
		return err
	}
	for _, run := range r.Runs {
		for _, res := range run.Results {
			if placeholder.MatchString(*res.Message.Text) {
				return fmt.Errorf("a placeholder in %q", *res.Message.Text)
			}
			if link.MatchString(*res.Message.Text) {
				return fmt.Errorf("a link in %q", *res.Message.Text)
			}
		}
	}
	return nil
}

// validJUnit reads the XML to its end and checks the counts.
func validJUnit(out []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(out))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	type suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Failure []struct{} `xml:"failure"`
			Error   []struct{} `xml:"error"`
			Skipped []struct{} `xml:"skipped"`
		} `xml:"testcase"`
	}
	var all struct {
		suite
		Suites []suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out, &all); err != nil {
		return err
	}
	var sum suite
	for _, s := range all.Suites {
		failures, errs, skipped := 0, 0, 0
		for _, c := range s.Cases {
			failures, errs, skipped = failures+len(c.Failure), errs+len(c.Error), skipped+len(c.Skipped)
		}
		if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || s.Skipped != skipped {
			return fmt.Errorf("suite says %d tests, %d failures, %d errors, %d skipped and has %d, %d, %d, %d",
				s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), failures, errs, skipped)
		}
		sum.Tests += s.Tests
		sum.Failures += s.Failures
		sum.Errors += s.Errors
		sum.Skipped += s.Skipped
	}
	if a := all.suite; a.Tests != sum.Tests || a.Failures != sum.Failures || a.Errors != sum.Errors || a.Skipped != sum.Skipped {
		return fmt.Errorf("counts %+v, the suites have %+v", a, sum)
	}
	return nil
}

// harmlessMarkdown takes out what is code, and looks at the rest.
func harmlessMarkdown(s string) error {
	var b strings.Builder
	fence := ""
	for l := range strings.Lines(s) {
		trimmed := strings.TrimSpace(l)
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(trimmed[len(ticks):], "`"):
			fence = ticks
		case fence != "" && trimmed == ticks && len(ticks) >= len(fence):
			fence = ""
		case fence == "":
			b.WriteString(withoutSpans(l))
		}
	}
	if fence != "" {
		return errors.New("a fence is left open")
	}
	rest := strings.ReplaceAll(b.String(), "<!-- mcprove -->", "")
	for _, tag := range []string{"<details>", "</details>", "<summary>evidence</summary>"} {
		rest = strings.ReplaceAll(rest, tag, "")
	}
	for _, bad := range []string{"<", "@e", "@o", "://", "www.", "](", "!["} {
		if i := strings.Index(rest, bad); i >= 0 {
			return fmt.Errorf("%q in markup: %q", bad, rest[max(0, i-40):min(len(rest), i+40)])
		}
	}
	return nil
}

// withoutSpans removes the code spans of a line as CommonMark finds them: a
// run of backticks up to the next run of the same length.
func withoutSpans(l string) string {
	var b strings.Builder
	for l != "" {
		switch l[0] {
		case '\\':
			l = l[min(2, len(l)):] // escaped: it means nothing
			continue
		case '`':
		default:
			b.WriteByte(l[0])
			l = l[1:]
			continue
		}
		ticks := len(l) - len(strings.TrimLeft(l, "`"))
		end := closing(l[ticks:], ticks)
		if end < 0 {
			b.WriteString(l[:ticks])
			l = l[ticks:]
			continue
		}
		l = l[ticks+end:]
	}
	return b.String()
}

func closing(s string, ticks int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == ticks {
			return i + n
		}
		i += n
	}
	return -1
}
