// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"

	"github.com/mcprove/mcprove/rule"
)

// Class says whom a change hurts.
type Class uint8

// The classes, from the mildest to the worst.
const (
	Cosmetic Class = iota + 1 // nothing that a caller or a model can observe
	Additive                  // old callers keep working, new ones can do more
	Routing                   // no call fails, but a model may choose differently
	Breaking                  // a caller that worked may fail
)

var classNames = [...]string{"", "cosmetic", "additive", "routing", "breaking"}

func (c Class) String() string { return classNames[c] }

// ParseClass reads the name of a class.
func ParseClass(s string) (Class, error) {
	for c := Cosmetic; c <= Breaking; c++ {
		if classNames[c] == s {
			return c, nil
		}
	}
	return 0, fmt.Errorf("class %q is none of breaking, routing, additive, cosmetic", s)
}

// Certainty says how well a verdict is founded.
type Certainty uint8

// The certainties.
const (
	Structural Certainty = iota + 1 // the promise differs; no call shows it, or none was found
	Proven                          // the witness shows it
	Undecided                       // the relation could not be settled: judged by the worse case
)

var certaintyNames = [...]string{"", "structural", "proven", "undecided"}

func (c Certainty) String() string { return certaintyNames[c] }

// kind is one kind of change: its text and its default class.
type kind struct {
	rule.Info
	class    Class
	directed bool // the class follows from the direction
}

// kinds holds every kind of change by id. Each is defined in one place, beside
// the code that emits it.
var kinds = map[string]*kind{}

// define registers a kind of change that always has the same class.
//
//go:noinline
func define(id string, class Class, title, why, fix string) *kind {
	return register(id, class, class.String(), title, why, fix)
}

// directed registers a kind whose class follows from its direction: it is
// breaking where a caller's value may be refused, or a reader's value is new.
//
//go:noinline
func directed(id, title, why, fix string) *kind {
	k := register(id, Breaking, "breaking where it narrows an input or widens an output, else additive", title, why, fix)
	k.directed = true
	return k
}

//go:noinline
func register(id string, class Class, level, title, why, fix string) *kind {
	if _, ok := kinds[id]; ok {
		panic("contract: kind defined twice: " + id)
	}
	k := &kind{class: class, Info: rule.Info{
		ID: id, Family: "contract", Level: level, Basis: rule.Promise, Title: title, Why: why, Fix: fix,
	}}
	kinds[id] = k
	return k
}

// Infos returns the Info of every kind of change.
func Infos() []rule.Info {
	out := make([]rule.Info, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.Info)
	}
	return out
}
