// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// cleaner removes secrets from everything a format will see, so that no format
// can forget to. It is used for one report and thrown away: it remembers what
// it answered, which is wrong as soon as the Redactor learns another secret.
type cleaner struct {
	redactor *text.Redactor
	known    map[string]string
	bytes    int // in known
}

func newCleaner(r *text.Redactor) *cleaner {
	return &cleaner{redactor: r, known: map[string]string{}}
}

// maxKnown bounds, in bytes, what a cleaner remembers. Most texts come again:
// ids, names, reasons, and one change in thirty tools.
const maxKnown = 16 << 20

// unquote undoes one level of the quoting that a value gets in a message, a
// JSON text or a shell command.
var unquote = strings.NewReplacer(`'\''`, `'`, `\"`, `"`, `\\`, `\`, `\/`, `/`, `\n`, "\n", `\t`, "\t", `\r`, "\r")

// maxQuoting is how deep quoting is looked below: a JSON text in a JSON string
// in a shell word.
const maxQuoting = 3

// text removes the secrets from s. A secret that holds quotes or backslashes
// is spelled differently inside a quoted text; where looking below the quoting
// finds more, the unquoted text is what is shown.
func (c *cleaner) text(s string) string {
	if s == "" {
		return s
	}
	if out, ok := c.known[s]; ok {
		return out
	}
	out := c.redactor.String(s)
	below := out
	for range maxQuoting {
		if !strings.ContainsRune(below, '\\') {
			break
		}
		below = c.redactor.String(unquote.Replace(below))
		if strings.Count(below, text.Redacted) > strings.Count(out, text.Redacted) {
			out = below
		}
	}
	if c.bytes += len(s) + len(out); c.bytes < maxKnown {
		c.known[s] = out
	}
	return out
}

func (c *cleaner) run(r *Run) Run {
	out := *r
	out.Verb, out.Target, out.Version = c.text(r.Verb), c.text(r.Target), c.text(r.Version)
	out.Subject, out.DetailKey = c.text(r.Subject), c.text(r.DetailKey)
	if out.Outcome != Passed && out.Outcome != Failed {
		out.Outcome = Incomplete
	}
	out.Summary, out.Notes = slices.Clone(r.Summary), slices.Clone(r.Notes)
	for i := range out.Summary {
		out.Summary[i].Name = c.text(out.Summary[i].Name)
	}
	for i := range out.Notes {
		out.Notes[i] = c.text(out.Notes[i])
	}
	return out
}

// finding returns f without secrets, sharing nothing with it but the Detail,
// which only detail may write.
func (c *cleaner) finding(f *rule.Finding) rule.Finding {
	out := *f
	for _, s := range []*string{&out.ID, &out.Group, &out.Reason, &out.Target, &out.Message, &out.Why, &out.Fingerprint} {
		*s = c.text(*s)
	}
	out.Count = max(1, out.Count)
	out.Where = c.where(f.Where)
	out.Also = slices.Clone(f.Also)
	for i := range out.Also {
		out.Also[i] = c.where(out.Also[i])
	}
	out.Evidence = slices.Clone(f.Evidence)
	for i := range out.Evidence {
		out.Evidence[i] = c.evidence(out.Evidence[i])
	}
	return out
}

func (c *cleaner) where(w rule.Where) rule.Where {
	return rule.Where{Kind: c.text(w.Kind), Name: c.text(w.Name), Pointer: c.text(w.Pointer), Path: c.text(w.Path)}
}

// evidence removes secrets in the way the form needs: a JSON value by its
// strings, since escapes inside them can hide a secret, and a word diff by the
// two texts it was made from, since it can cut a secret in two.
func (c *cleaner) evidence(e rule.Evidence) rule.Evidence {
	e.Label = c.text(e.Label)
	switch e.Form {
	case rule.Diff:
		old, new := sides(e.Text)
		o, n := c.text(old), c.text(new)
		if o != old || n != new {
			e.Text = text.WordDiff(o, n)
		}
		e.Text = c.text(e.Text)
	case rule.Command:
		e.Text = c.text(e.Text)
	default:
		if value, err := c.json([]byte(e.Text)); err == nil {
			e.Text = string(value)
		} else {
			e.Text = c.text(e.Text)
		}
	}
	return e
}

// sides takes a word diff apart into the text before and the text after.
func sides(diff string) (old, new string) {
	var o, n strings.Builder
	for _, s := range spans(diff) {
		if s.Op != text.New {
			o.WriteString(s.Text)
		}
		if s.Op != text.Gone {
			n.WriteString(s.Text)
		}
	}
	return o.String(), n.String()
}

// spans reads a word diff in the form [-gone-]{+new+}.
func spans(diff string) []text.Span {
	var out []text.Span
	add := func(op text.Op, s string) {
		if s != "" {
			out = append(out, text.Span{Op: op, Text: s})
		}
	}
	for diff != "" {
		gone, new := strings.Index(diff, "[-"), strings.Index(diff, "{+")
		at, op, end := gone, text.Gone, "-]"
		if gone < 0 || new >= 0 && new < gone {
			at, op, end = new, text.New, "+}"
		}
		if at < 0 {
			add(text.Same, diff)
			break
		}
		n := strings.Index(diff[at+2:], end)
		if n < 0 {
			add(text.Same, diff)
			break
		}
		add(text.Same, diff[:at])
		add(op, diff[at+2:at+2+n])
		diff = diff[at+2+n+2:]
	}
	return out
}

// detail returns the Detail of a finding as JSON without secrets.
func (c *cleaner) detail(v any) (jsonx.Raw, error) {
	var raw []byte
	var err error
	switch v := v.(type) {
	case jsonx.Raw:
		raw = v
	case []byte:
		raw = v
	case interface{ MarshalJSON() ([]byte, error) }:
		raw, err = v.MarshalJSON()
	default:
		raw, err = jsonx.Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	return c.json(raw)
}
