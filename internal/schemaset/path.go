// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// StepKind says how a Step enters a value.
type StepKind uint8

// The kinds of steps.
const (
	StepProperty   StepKind = iota // the member Name
	StepIndex                      // the element Index
	StepItems                      // every element from Index on
	StepAdditional                 // every member that nothing else names
	StepPattern                    // every member whose name matches Name
	StepName                       // the name of every member
	StepContains                   // the elements that contains counts
)

// Step is one way into a value.
type Step struct {
	Kind  StepKind
	Name  string
	Index int
}

// Path leads from the root of a value to a part of it.
type Path []Step

// With returns the path one step further; p is not changed.
func (p Path) With(s Step) Path {
	return append(p[:len(p):len(p)], s)
}

// String prints the path for people: filters.city, tags[].name, map{}.x.
// Names that are not plain words are quoted: "a.b".c.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch s.Kind {
		case StepProperty:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(plainName(s.Name))
		case StepIndex:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case StepItems:
			if s.Index > 0 {
				b.WriteString("[" + strconv.Itoa(s.Index) + "..]")
			} else {
				b.WriteString("[]")
			}
		case StepAdditional:
			b.WriteString("{}")
		case StepPattern:
			b.WriteString("{/" + s.Name + "/}")
		case StepName:
			b.WriteString("{name}")
		case StepContains:
			b.WriteString("[contains]")
		}
	}
	return b.String()
}

func plainName(name string) string {
	if name == "" {
		return `""`
	}
	for _, r := range name {
		if r == '.' || r == '[' || r == ']' || r == '{' || r == '}' || r == '"' || r <= ' ' {
			return string(jsonx.Quote(name))
		}
	}
	return name
}
