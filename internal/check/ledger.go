// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// ledger gathers what breaks a rule in several places. One kind of fault is one
// finding: its first place is shown, the others are counted.
type ledger struct {
	c       *probe.Case
	entries []*entry
}

type entry struct {
	kind   string
	blame  *probe.Blame
	places map[string]bool
}

// mostKinds is how many findings one rule gives.
const mostKinds = 3

// fail blames the server for a kind of fault at a place. The first blame of a
// kind is returned to be told more; later ones are dropped.
func (l *ledger) fail(kind, place string, x *probe.Exchange, format string, args ...any) *probe.Blame {
	return l.add(l.c.Fail, kind, place, x, format, args...)
}

// warn is fail for what is at most a warning.
func (l *ledger) warn(kind, place string, x *probe.Exchange, format string, args ...any) *probe.Blame {
	return l.add(l.c.Warn, kind, place, x, format, args...)
}

type blaming func(x *probe.Exchange, format string, args ...any) *probe.Blame

func (l *ledger) add(blame blaming, kind, place string, x *probe.Exchange, format string, args ...any) *probe.Blame {
	if x.Busy() {
		return blame(x, format, args...) // which is none, and hides none
	}
	i := slices.IndexFunc(l.entries, func(e *entry) bool { return e.kind == kind })
	switch {
	case i >= 0:
		l.entries[i].places[place] = true
		return &probe.Blame{}
	case len(l.entries) == mostKinds:
		return &probe.Blame{}
	}
	e := &entry{kind, blame(x, format, args...), map[string]bool{place: true}}
	l.entries = append(l.entries, e)
	return e.blame
}

// close writes how many places each finding has.
func (l *ledger) close() {
	for _, e := range l.entries {
		switch n := len(e.places) - 1; n {
		case 0:
		case 1:
			e.blame.Message += "; the same in one other place"
		default:
			e.blame.Message += fmt.Sprintf("; the same in %d other places", n)
		}
	}
}

// insist sends a request that a server may choke on. Silence is only believed
// after the whole time that a first request is given: a server that was silent
// before is waited for less, and this one may just have much to read.
func insist(c *probe.Case, r *probe.Request) *probe.Exchange {
	begin := time.Now()
	x := c.Send(r)
	if !x.Silent() || time.Since(begin) >= probe.DefaultTimeout {
		return x
	}
	s := c.Start(nil, r)
	again, answered := s.Until(probe.DefaultTimeout, func(x *probe.Exchange) bool { return x.Response != nil })
	if answered || again.Closed {
		return again
	}
	s.Close()
	return x
}

// completes are the complete results, of one of the methods when any is named,
// to good requests of the revision that is judged. What a server answers to a
// request that names no revision, or another one, has another form; what it
// makes of nonsense may be nonsense.
func completes(t *probe.Traffic, methods ...string) []*probe.Exchange {
	return slices.DeleteFunc(t.Completes(methods...), func(x *probe.Exchange) bool { return x.Planted() != "" || !applies(t, x) })
}

// applies reports whether rules about results of a method hold for an exchange:
// it is of the revision that is judged, and of a feature that the server
// declares. What it makes of a method that it does not have is no such result.
func applies(t *probe.Traffic, x *probe.Exchange) bool {
	m, known := spec.MethodAt(x.Method, t.Revision)
	return told(t, x) && (!known || m.Capability.Path == "" || t.Facts.Capabilities == nil || t.Facts.Declares(m.Capability.Path))
}

// told reports whether a request names the revision that is judged, or belongs
// to an era in which requests name none.
func told(t *probe.Traffic, x *probe.Exchange) bool {
	return t.Revision.Era() == spec.Legacy || x.Revision() == t.Revision
}

// violations are those points of a value that break a definition of the schema
// at or below one of the pointers, or anywhere when none is named.
func violations(r spec.Revision, definition string, raw json.RawMessage, at ...string) []spec.Violation {
	vs, err := spec.ValidateDefinition(r, definition, raw)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(vs, func(v spec.Violation) bool {
		return v.Kind == spec.Unreadable || len(at) > 0 && !slices.ContainsFunc(at, func(p string) bool { return isBelow(place(v), p) })
	})
}

// place is where a violation is: of something missing, where it should stand.
func place(v spec.Violation) string {
	if v.Kind == spec.Missing && v.Member != "" {
		return jsonx.Push(v.Pointer, v.Member)
	}
	return v.Pointer
}

// isBelow reports whether a pointer is at another one or below it.
func isBelow(pointer, at string) bool {
	rest, ok := strings.CutPrefix(pointer, at)
	return ok && (rest == "" || rest[0] == '/')
}
