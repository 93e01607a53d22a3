// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// secPatternRules are those of texts that are matched against a pattern.
var secPatternRules = []Rule{{
	Info: rule.Info{
		ID: rulePattern, Level: rule.Must, Basis: rule.Harm, Section: completionPage + "#security",
		Title: "no short text keeps the server busy",
		Why:   "a URI of a few dozen characters stops the server for minutes, for everybody, when its pattern tries every way to match",
		Fix:   "match URIs and completions without backtracking: split at the literals, let no repetition stand in another one, and bound the length of the text",
		Detail: "URIs that nearly fit the templates of the server are read, and values that nearly fit are completed, each longer than the one before. " +
			"It fails where the time grows out of all proportion to the length, twice, while a text of the same length that fits nothing is answered at once",
	},
	In: every, Check: patterns, Whole: true, Intrusive: true,
	Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).Backtrack("/params/uri", ",", 20*time.Microsecond)}},
	Breaks: []Break{{
		In:     since2503,
		Faults: []mock.Fault{mock.On(spec.MethodComplete).Backtrack("/params/argument/value", ",", 20*time.Microsecond)},
	}},
}}

// Bounds on the measurements. A text is slow that takes slowText, and slowTimes
// as long as the shortest of its series and as one that fits nothing.
const (
	slowText     = time.Second
	slowTimes    = 20
	patternWait  = 2500 * time.Millisecond
	mostPatterns = 4
)

// series are texts that grow: a piece that is repeated, and how often. Growth is
// how much more than the one two steps before it a slow text takes at least: more
// than its length says, and less than what is to be found.
type series struct {
	piece  string
	times  []int
	growth int64
}

var patternSeries = []series{
	{"a,", []int{8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28}, 4},       // each piece doubles what tries every way to split them
	{"a", []int{250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000}, 6}, // two steps are 4 times the length, and 16 times the square of it
}

// attack is something that may be matched against a pattern.
type attack struct {
	kind, name string
	request    func(c *probe.Case, text string) *probe.Request
	// before and after stand around what is repeated, so that the text nearly
	// fits; off makes it fit nothing.
	before, after, off string
	value              bool // of a completion
}

// attacks are the templates and completions of a server, those first in which a
// list may stand.
func attacks(c *probe.Case) []attack {
	var lists, others []attack
	read := func(c *probe.Case, text string) *probe.Request {
		return c.Request(spec.MethodResourcesRead, "").Param("uri", string(jsonx.Quote(text)))
	}
	for _, item := range c.Facts().Templates() {
		t := readTemplate(item.Name)
		if t.broken != "" || len(t.variables) == 0 {
			continue
		}
		a := attack{kind: "template", name: item.Name, request: read, before: filled(item.Name), after: "/!", off: "mcprove-none:"}
		if strings.Contains(item.Name, "*}") {
			lists = append(lists, a)
		} else {
			others = append(others, a)
		}
	}
	out := append(lists, others...)
	out = out[:min(len(out), mostPatterns)]
	if c.Facts().Declares("completions") {
		for i, x := range completions(c) {
			if all := completables(c.Facts()); x.OK() && len(out) < 2*mostPatterns {
				out = append(out, attack{
					kind: all[i].kind, name: all[i].name, after: "/!", value: true,
					request: func(c *probe.Case, text string) *probe.Request { return all[i].request(c, text) },
				})
			}
		}
	}
	return out
}

// filled is a template up to the variable whose text grows: the first in which
// a list may stand, or the first one. Those before have a short value.
func filled(template string) string {
	end := strings.Index(template, "{")
	if i := strings.Index(template, "*}"); i >= 0 {
		end = strings.LastIndex(template[:i], "{")
	}
	var b strings.Builder
	rest := template[:end]
	for {
		before, behind, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			break
		}
		b.WriteString("a")
		_, rest, _ = strings.Cut(behind, "}")
	}
	switch expression := template[end+1:]; expression[0] { // RFC 6570, section 3.2.1
	case '/', '.', '#':
		b.WriteByte(expression[0])
	case ';', '?', '&':
		name, _, _ := strings.Cut(strings.TrimRight(expression[1:strings.Index(expression, "}")], "*"), ",")
		b.WriteString(expression[:1] + name + "=")
	}
	return b.String()
}

func patterns(c *probe.Case) {
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	all := attacks(c)
	if len(all) == 0 {
		c.Skip("the server lists no resource template with a variable, and completes nothing")
		return
	}
	for _, a := range all {
		for _, one := range patternSeries {
			if s.ctx.Err() != nil || !s.grows(a, one) {
				return
			}
		}
	}
	c.Unseen("every answer is slow, whatever is sent")
}

// timed is a text and how long its answer took.
type timed struct {
	x    *probe.Exchange
	took time.Duration
	over bool // there was none
}

// grows measures one series on one pattern. It is false where nothing more can
// be measured.
func (s *strain) grows(a attack, one series) bool {
	text := func(i int) string { return a.before + strings.Repeat(one.piece, one.times[i]) + a.after }
	var first timed
	last := [2]timed{} // the one before, and the one before that
	for i := range one.times {
		now, ok := s.time(a, text(i))
		switch {
		case !ok:
			return false
		case now.slow() && i == 0:
			return true // it is slow whatever it is sent
		case now.slow():
			return s.confirm(&slowness{attack: a, growth: one.growth, first: first, before: last[1], slow: now, texts: [3]string{text(0), text(max(0, i-2)), text(i)}})
		case i == 0:
			first, last[0] = now, now
		}
		last[0], last[1] = now, last[0]
	}
	s.c.Pass(first.x)
	return true
}

// slowness is a text of a series whose answer was slow, with the first of the
// series and the one two steps before it, which were quick.
type slowness struct {
	attack
	growth              int64
	first, before, slow timed
	texts               [3]string
}

func (t timed) slow() bool { return t.over || t.took >= slowText }

// confirm looks whether a text is slow again, those before it quick again, and
// one that fits nothing quick. It is false where nothing more can be measured.
func (s *strain) confirm(w *slowness) bool {
	if after, ok := s.serves(); !ok {
		s.hung(w, after)
		return false
	}
	long := w.texts[2]
	var again [4]timed
	for i, text := range []string{w.texts[0], w.texts[1], w.off + strings.Repeat("b", len(long)), long} {
		var ok bool
		if again[i], ok = s.time(w.attack, text); !ok {
			return false
		}
	}
	control := again[2]
	quick, least := max(w.before.took, again[1].took), min(w.slow.took, again[3].took)
	base := max(w.first.took, again[0].took, control.took)
	switch {
	case s.ctx.Err() != nil:
		s.c.Skip("the time was up before a slow answer could be seen a second time")
		return false
	case !again[3].slow(), least < slowTimes*base, int64(least) < w.growth*int64(quick):
		s.c.Pass(again[1].x)
		return survives(s)
	}
	s.fail(again[3].x, "%s: one of %d bytes took %s, one of %d bytes %s, and one of %d bytes %s; %s of that length that fits nothing took %s",
		w.what(), len(w.texts[0]), shortly(again[0].took), len(w.texts[1]), shortly(quick), len(long), again[3], w.word(), shortly(control.took)).
		And(again[1].x, control.x).Of(w.kind, w.name)
	survives(s) // the next rule finds it at rest
	return false
}

// hung blames a text after which nothing is answered any more.
func (s *strain) hung(w *slowness, after *probe.Exchange) {
	if s.ctx.Err() != nil {
		s.c.Skip("the time was up before the server was seen to serve again")
		return
	}
	s.fail(w.slow.x, "%s: one of %d bytes is not answered, and nobody is served any more; one of %d bytes took %s",
		w.what(), len(w.texts[2]), len(w.texts[1]), shortly(w.before.took)).
		And(after, w.before.x).Of(w.kind, w.name)
}

// time measures the answer to a text. It is false where the load has no room.
func (s *strain) time(a attack, text string) (timed, bool) {
	r := a.request(s.c, text).Planting("a text that nearly fits a pattern")
	if !s.takes(headRoom + len(text)) {
		s.c.Unseen("the load was used up")
		return timed{}, false
	}
	begin := time.Now()
	x := s.ask(s.client, r, patternWait)
	return timed{x, time.Since(begin), x.Response == nil && x.Head == nil}, true
}

func (a attack) word() string {
	if a.value {
		return "a value"
	}
	return "a URI"
}

func (a attack) what() string {
	return fmt.Sprintf("%s that nearly fits the %s %s", a.word(), a.kind, jsonQuote(clipped(a.name)))
}

func (t timed) String() string {
	if t.over {
		return "more than " + shortly(t.took)
	}
	return shortly(t.took)
}

func shortly(d time.Duration) string { return d.Round(time.Millisecond).String() }
