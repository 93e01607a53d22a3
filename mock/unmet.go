// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// acting are the methods whose calls NoOtherCalls is about.
var acting = []string{spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodComplete}

// maxOthers bounds the sentences about calls that nobody expected.
const maxOthers = 20

// Unmet returns a sentence for each expectation that does not hold for the calls
// seen so far: what was expected, what came, and what came nearest. The later
// rounds of a call that asked for input are no calls of their own.
func (s *Server) Unmet() []string {
	all, lost := s.seen.all()
	calls := slices.DeleteFunc(all, func(c Seen) bool { return c.Retry })
	b := &s.expected
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.made) == 0 && !b.alone {
		return nil
	}
	got, others := b.divide(calls)
	var out []string
	for _, e := range b.made {
		if n := len(got[e]); n < e.least || e.most != unbounded && n > e.most {
			out = append(out, e.miss(got[e], calls))
		}
	}
	for _, order := range b.orders {
		out = append(out, disorder(order, got)...)
	}
	if b.alone {
		for i, c := range others {
			if i == maxOthers {
				out = append(out, fmt.Sprintf("and %d more calls that nothing expects", len(others)-i))
				break
			}
			out = append(out, fmt.Sprintf("call %d, %s: nothing expects it", c.Number, c))
		}
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("%s came after the first %d, which are all that is kept: nothing here holds for them", plural(lost, "message"), len(all)))
	}
	return out
}

// divide gives each call to an expectation, and returns the acting ones that fit
// none.
func (b *expectations) divide(calls []Seen) (got map[*Expectation][]*Seen, others []*Seen) {
	got = map[*Expectation][]*Seen{}
	for i := range calls {
		c := &calls[i]
		var taker, first *Expectation
		for _, e := range b.made {
			if !e.fits(c) {
				continue
			}
			if first == nil {
				first = e
			}
			if e.most == unbounded || len(got[e]) < e.most {
				taker = e
				break
			}
		}
		switch {
		case taker != nil:
			got[taker] = append(got[taker], c)
		case first != nil:
			got[first] = append(got[first], c)
		case slices.Contains(acting, c.Method):
			others = append(others, c)
		}
	}
	return got, others
}

func (e *Expectation) fits(c *Seen) bool {
	return c.Method == e.method && len(e.misfits(c)) == 0
}

// misfits says what of a call is not what is expected.
func (e *Expectation) misfits(c *Seen) []string {
	var out []string
	if e.name != "" && c.Name != e.name {
		out = append(out, "its name is "+said(c.Name))
	}
	for _, x := range e.conditions {
		if d := x.differs(c); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// String is what is expected, without how often.
func (e *Expectation) String() string {
	parts := []string{e.method}
	if e.name != "" {
		parts = append(parts, "of "+said(e.name))
	}
	for _, x := range e.conditions {
		parts = append(parts, text.Line(x.says))
	}
	return strings.Join(parts, " ")
}

// String is the call in a line.
func (c Seen) String() string {
	out := text.Line(text.Clip(c.Method, maxSaid))
	if c.Name != "" {
		out += " of " + said(c.Name)
	}
	if c.Arguments != nil {
		out += " with " + shown(c.Arguments)
	}
	return out
}

// miss is the sentence of an expectation that does not hold.
func (e *Expectation) miss(got []*Seen, calls []Seen) string {
	out := e.String() + ": expected " + e.often() + ", "
	if len(got) > 0 {
		numbers := make([]int, len(got))
		for i, c := range got {
			numbers[i] = c.Number
		}
		word := "call"
		if len(got) > 1 {
			word = "calls"
		}
		out += fmt.Sprintf("came %s: %s %s", times(len(got)), word, fold(numbers))
	} else {
		out += "never came"
	}
	if len(got) < e.least {
		out += e.nearest(calls)
	}
	return out
}

// nearest says which call was most like what is expected.
func (e *Expectation) nearest(calls []Seen) string {
	var best *Seen
	var why []string
	var names []string
	for i := range calls {
		c := &calls[i]
		if c.Method != e.method {
			continue
		}
		names = append(names, c.Name)
		bad := e.misfits(c)
		if len(bad) > 0 && (best == nil || len(bad) < len(why)) {
			best, why = c, bad
		}
	}
	if best == nil {
		if len(names) == 0 {
			return "; no " + e.method + " came at all"
		}
		return ""
	}
	// Of calls with other names, that of the most like name.
	if near := rule.Nearest(e.name, names); e.name != "" && best.Name != e.name && len(near) > 0 {
		for i := range calls {
			if c := &calls[i]; c.Method == e.method && c.Name == near[0] {
				best, why = c, e.misfits(c)
				break
			}
		}
	}
	return fmt.Sprintf("; nearest is call %d, %s: %s", best.Number, best, strings.Join(why, ", "))
}

// often is how many calls are expected.
func (e *Expectation) often() string {
	switch {
	case e.most == 0:
		return "never"
	case e.most == unbounded:
		return "at least " + times(e.least)
	case e.least == e.most:
		return times(e.least)
	case e.least == 0:
		return "at most " + times(e.most)
	}
	return fmt.Sprintf("%d to %s", e.least, times(e.most))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func plural(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// disorder says which neighbours came the wrong way round.
func disorder(order []*Expectation, got map[*Expectation][]*Seen) []string {
	var out []string
	for i, e := range order[1:] {
		before := order[i]
		if len(got[before]) == 0 || len(got[e]) == 0 {
			continue // that they are missing is another matter
		}
		last, first := got[before][len(got[before])-1], got[e][0]
		if first.Number < last.Number {
			out = append(out, fmt.Sprintf("%s: expected after %s, but call %d came before call %d", e, before, first.Number, last.Number))
		}
	}
	return out
}

// maxSaid bounds what a sentence repeats of a client.
const maxSaid = 200

var redactor text.Redactor

// shown is a JSON value in a sentence: safe, short and without secrets.
func shown(raw []byte) string {
	if raw == nil {
		return "nothing"
	}
	return text.Clip(string(text.JSON([]byte(redactor.String(string(veiled(line(raw), maxDepth)))))), maxSaid)
}

// veiled leaves out what stands under names of secrets.
func veiled(raw []byte, depth int) json.RawMessage {
	switch k := jsonx.KindOf(raw); {
	case depth == 0 && (k == jsonx.Object || k == jsonx.Array):
		return json.RawMessage(`"..."`)
	case k == jsonx.Object:
		ms := members(raw)
		for i, m := range ms {
			if text.SecretName(m.name) && jsonx.KindOf(m.value) == jsonx.String {
				ms[i].value = quote(text.Redacted)
			} else {
				ms[i].value = veiled(m.value, depth-1)
			}
		}
		return object(ms...)
	case k == jsonx.Array:
		es, _ := jsonx.Elements(raw, jsonx.Lenient)
		out := make([]json.RawMessage, len(es))
		for i, e := range es {
			out[i] = veiled(e, depth-1)
		}
		return array(out)
	}
	return raw
}

// said is a name in a sentence.
func said(name string) string { return text.Line(text.Clip(redactor.String(name), maxSaid)) }

// String says what is where, empty for no difference.
func (d *difference) String() string {
	if d == nil {
		return ""
	}
	got, want := shown(d.got), shown(d.want)
	if d.pointer == "" {
		return "the arguments are " + got + ", not " + want
	}
	if tokens, err := jsonx.Tokens(d.pointer); err == nil && slices.ContainsFunc(tokens, text.SecretName) {
		if want = "what is expected"; d.got != nil {
			got = text.Redacted
		}
	}
	return "at " + said(d.pointer) + " is " + got + ", not " + want
}
