// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// Expectation says which calls should come, and how often: exactly once unless
// it says otherwise. [Server.Unmet] judges it.
//
// A call counts for one expectation: the first, in the order in which they were
// made, that it fits and that still takes calls. When all that it fits are full
// it is one too many for the first of them. So make the narrow ones first.
type Expectation struct {
	book       *expectations
	method     string
	name       string // empty says nothing
	conditions []expected
	least      int
	most       int // or unbounded
	counted    bool
}

// unbounded is no bound on the number of calls.
const unbounded = -1

// expected is one thing that a call must meet.
type expected struct {
	says string // "with {...}"
	// differs is empty where a call meets it, and else says what is there.
	differs func(*Seen) string
}

// expectations are those of a server.
type expectations struct {
	mu     sync.Mutex
	made   []*Expectation
	orders [][]*Expectation
	alone  bool
}

// mistake panics: what cannot be meant must not pass for an expectation.
func (b *expectations) mistake(what, why, try string) {
	panic(&RegistrationError{what, why, try})
}

// Expect begins an expectation of a request or a notification of clients, such
// as tools/call. A method that no revision has is refused, because never to see
// it proves nothing.
func (s *Server) Expect(method string) *Expectation {
	b := &s.expected
	known := spec.MethodNames()
	if _, extension := spec.ExtensionMethodAt(method, spec.Latest); !extension && !slices.Contains(known, method) {
		try := "use a method of the protocol, such as tools/call"
		if near := rule.Nearest(method, known); len(near) > 0 {
			try = "did you mean " + near[0] + "?"
		}
		b.mistake("expectation of "+string(jsonx.Quote(method)), "no revision has that method", try)
	}
	e := &Expectation{book: b, method: method, least: 1, most: 1}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made = append(b.made, e)
	return e
}

// change changes an expectation, which somebody may be judging.
func (e *Expectation) change(f func()) *Expectation {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	f()
	return e
}

// Named wants the name of the tool or prompt, or the URI of the resource.
func (e *Expectation) Named(name string) *Expectation {
	if name == "" {
		e.book.mistake(e.method, "Named without a name", "leave it out to mean any")
	}
	return e.change(func() { e.name = name })
}

// With wants these arguments and no others: a Go value or a json.RawMessage,
// compared as JSON, numbers by their value.
func (e *Expectation) With(arguments any) *Expectation {
	want := e.json("With", arguments)
	return e.meets(expected{"with " + shown(want), func(c *Seen) string {
		got := c.Arguments
		if got == nil {
			got = json.RawMessage("{}")
		}
		return differ(want, got, "").String()
	}})
}

// Having wants a value at a JSON pointer of the arguments, whatever else they
// hold.
func (e *Expectation) Having(pointer string, value any) *Expectation {
	if _, err := jsonx.Tokens(pointer); err != nil {
		e.book.mistake(e.method, fmt.Sprintf("%q is no JSON pointer: %v", pointer, err), "begin it with /, as /filter/city")
	}
	want := e.json("Having", value)
	says := shown(want)
	if text.SecretName(pointer) {
		says = text.Redacted
	}
	return e.meets(expected{"having " + says + " at " + pointer, func(c *Seen) string {
		got, _ := jsonx.Lookup(c.Arguments, pointer)
		return differ(want, got, pointer).String()
	}})
}

// Where wants calls of which a function says yes. What it wants is said in a few
// words, as "a positive amount".
func (e *Expectation) Where(what string, yes func(Seen) bool) *Expectation {
	return e.meets(expected{"where " + what, func(c *Seen) string {
		if yes(*c) {
			return ""
		}
		return "not " + what
	}})
}

func (e *Expectation) meets(x expected) *Expectation {
	return e.change(func() { e.conditions = append(e.conditions, x) })
}

// json is the JSON of a Go value.
func (e *Expectation) json(what string, v any) json.RawMessage {
	raw, ok := v.(json.RawMessage)
	var err error
	if !ok {
		raw, err = jsonx.Marshal(v)
	}
	if err == nil {
		err = jsonx.Check(raw, jsonx.Strict)
	}
	if err != nil {
		e.book.mistake(e.method, what+" is no JSON: "+err.Error(), "give it a value that has a JSON form")
	}
	return raw
}

// Times wants exactly so many calls.
func (e *Expectation) Times(n int) *Expectation { return e.counts(n, n) }

// AtLeast wants so many calls or more. Together with AtMost it is a range.
func (e *Expectation) AtLeast(n int) *Expectation {
	if e.counted {
		return e.counts(n, e.most)
	}
	return e.counts(n, unbounded)
}

// AtMost wants no more calls than that.
func (e *Expectation) AtMost(n int) *Expectation {
	if n < 0 {
		return e.counts(n, n)
	}
	if e.counted {
		return e.counts(e.least, n)
	}
	return e.counts(0, n)
}

// Never wants no such call.
func (e *Expectation) Never() *Expectation { return e.counts(0, 0) }

func (e *Expectation) counts(least, most int) *Expectation {
	why := ""
	switch {
	case least < 0 || most < unbounded:
		why = "fewer than no calls"
	case most != unbounded && most < least:
		why = fmt.Sprintf("at least %d and at most %d calls cannot be", least, most)
	case least == 0 && most == unbounded:
		why = "at least 0 calls come always"
	}
	if why != "" {
		e.book.mistake(e.method, why, "give it bounds that a test can miss, and can meet")
	}
	return e.change(func() { e.least, e.most, e.counted = least, most, true })
}

// InOrder wants all calls of each expectation after all calls of the one before
// it.
func (s *Server) InOrder(es ...*Expectation) {
	if len(es) < 2 {
		s.expected.mistake("InOrder", "fewer than two expectations have no order", "give it those that come one after the other")
	}
	for _, e := range es {
		if e.book != &s.expected {
			s.expected.mistake("InOrder", "an expectation of another server", "use what Expect of this one returned")
		}
	}
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	s.expected.orders = append(s.expected.orders, slices.Clone(es))
}

// NoOtherCalls wants no call of a tool, a resource, a prompt or a completion that
// no expectation is of.
func (s *Server) NoOtherCalls() {
	s.expected.mu.Lock()
	defer s.expected.mu.Unlock()
	s.expected.alone = true
}
