// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"sync"
)

// MethodKind says what a method name is used for.
type MethodKind uint8

const (
	// Request is a message with an id that wants one answer.
	Request MethodKind = iota + 1
	// Notification is a message without an id and without an answer.
	Notification
	// InputRequest travels without envelope inside an input_required result
	// (2026-07-28/basic/patterns/mrtr).
	InputRequest
)

// String returns "request", "notification" or "input request".
func (k MethodKind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case InputRequest:
		return "input request"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Requirement names a capability that must be declared before a method is
// used. Path is dotted, as in [Capability]; empty means no requirement.
type Requirement struct {
	Side Side // who declares it; zero: the receiver of the message
	Path string
}

// Method is what a run of revisions says about one method name.
type Method struct {
	Name      string
	Kind      MethodKind
	Direction Direction
	Range     Range

	// Paged requests take params.cursor and answer with nextCursor.
	Paged bool
	// Cacheable results carry ttlMs and cacheScope.
	Cacheable bool
	// Repeatable requests may be sent again, with a new id, when the answer was
	// lost: they change nothing and ask no person anything.
	Repeatable bool
	// MultiRound requests may be answered by an input_required result.
	MultiRound bool
	// Taskable requests may carry params.task (2025-11-25 only).
	Taskable bool
	// ParamsRequired says that the message is malformed without params.
	ParamsRequired bool
	// NameFrom is the member of params that the Mcp-Name header mirrors: "name",
	// "uri", or empty for no such header.
	NameFrom string
	// Capability must have been declared for the method to be used.
	Capability Requirement

	// Definition and Result are the official names of the shape of the message
	// (without envelope before 2025-11-25) and of its complete result.
	Definition string
	Result     string
}

// MethodAt returns the facts of a method in one revision. Where a name has no
// row in the revision, ok is false.
func MethodAt(name string, r Revision) (m Method, ok bool) {
	if !r.Valid() {
		return Method{}, false
	}
	m, ok = methodIndex()[r][name]
	return m, ok
}

// Methods returns the methods of a revision that may travel the given way, in
// the order of the table. Direction zero returns all.
func Methods(r Revision, d Direction) []Method {
	var ms []Method
	for _, m := range methodTable {
		if m.Range.Contains(r) && (d == 0 || m.Direction.Includes(d)) {
			ms = append(ms, m)
		}
	}
	return ms
}

// MethodRange returns every revision span in which a method name exists, for
// messages such as "removed in 2026-07-28". It is empty for unknown names.
func MethodRange(name string) []Range {
	var gs []Range
	for _, m := range methodTable {
		if m.Name == name {
			gs = append(gs, m.Range)
		}
	}
	return gs
}

// MethodNames returns every method name of any revision, sorted.
func MethodNames() []string {
	var ns []string
	for _, m := range methodTable {
		ns = append(ns, m.Name)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

var methodIndex = sync.OnceValue(func() [Latest + 1]map[string]Method {
	var idx [Latest + 1]map[string]Method
	for _, r := range All() {
		idx[r] = make(map[string]Method)
		for _, m := range methodTable {
			if m.Range.Contains(r) {
				idx[r][m.Name] = m
			}
		}
	}
	return idx
})
