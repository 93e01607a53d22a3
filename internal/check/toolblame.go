// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// mostBlames bounds the findings of one rule over many items: one mistake in
// two hundred tools is not two hundred findings.
const mostBlames = 5

// blames gives a rule a finding for each item that breaks it, up to a few; the
// last one counts the rest.
type blames struct {
	say   func(x *probe.Exchange, format string, args ...any) *probe.Blame // Fail, Warn or Note of the case
	seen  map[string]bool                                                  // what was said
	n     int
	last  *probe.Blame
	words string // of the last one, without the count
}

// add blames one more. What is said already, as of a tool that was called
// twice, is said once.
func (b *blames) add(x *probe.Exchange, format string, args ...any) *probe.Blame {
	words := fmt.Sprintf(format, args...)
	if b.seen[words] {
		return &probe.Blame{} // shown by none
	}
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	b.seen[words] = true
	if b.n++; b.n > mostBlames {
		b.last.Message = fmt.Sprintf("%s (and %d more like it)", b.words, b.n-mostBlames)
		return &probe.Blame{} // shown by none
	}
	b.last = b.say(x, format, args...)
	b.words = b.last.Message
	return b.last
}

// brief is a foreign name or text as a message quotes it.
func brief(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// asJSON is a JSON value as a message quotes it.
func asJSON(raw json.RawMessage) string {
	const most = 60
	if len(raw) == 0 {
		return "nothing"
	}
	if s := string(raw); len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}

// called is the name of the tool that an exchange calls.
func called(x *probe.Exchange) string {
	if x.Sent == nil {
		return ""
	}
	return probe.Text(probe.Lookup(x.Sent.Message().Params, "/name"))
}

// toolCalls are the calls that were answered by a complete result, a task that
// was begun in its place left out (2025-11-25).
func toolCalls(t *probe.Traffic) []*probe.Exchange {
	var out []*probe.Exchange
	for _, x := range t.Completes(spec.MethodToolsCall) {
		if x.Sent != nil && probe.Lookup(x.Sent.Message().Params, "/task") != nil && x.Member("task") != nil {
			continue
		}
		out = append(out, x)
	}
	return out
}

// malformation is the first violation that is a matter of form and stands at no
// place that another rule judges. Texts that are no JSON are the envelope's.
func malformation(vs []spec.Violation, elsewhere []string) (spec.Violation, bool) {
	for _, v := range vs {
		if !v.Disputed && v.Kind != spec.Unreadable && !startsWithAny(v.Pointer, elsewhere) {
			return v, true
		}
	}
	return spec.Violation{}, false
}

// placed points a blame at a place of a frame and names the item.
func placed(b *probe.Blame, f *wire.Frame, pointer, kind, name string) *probe.Blame {
	return b.In(f, pointer).Of(kind, name)
}
