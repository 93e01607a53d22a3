// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"

	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
)

var kindSchemaRepaired = define("schema-became-valid", Additive, "a fault of the schema is gone",
	"clients that refused it can use it now", nothing)

// problemKinds are the faults of a schema that callers are hurt by when they
// appear.
var problemKinds = map[ss.ProblemKind]*kind{
	ss.ProblemExternalRef:    kindExternalRef,
	ss.ProblemDanglingRef:    kindDanglingRef,
	ss.ProblemUnknownDialect: kindDialectUnknown,
	ss.ProblemSyntax:         kindSchemaBroken,
	ss.ProblemNotSchema:      kindSchemaBroken,
	ss.ProblemWrongShape:     kindSchemaBroken,
	ss.ProblemInPlaceLoop:    kindSchemaBroken,
	ss.ProblemBadPattern:     kindSchemaBroken,
}

// problems reports faults that came or went. The details of a fault are no
// part of what it is: they may name positions.
func (j *judge) problems(old, new []ss.Problem) {
	missing := func(all []ss.Problem, p ss.Problem) bool {
		return !slices.ContainsFunc(all, func(o ss.Problem) bool {
			return o.Kind == p.Kind && o.Pointer == p.Pointer && o.Keyword == p.Keyword
		})
	}
	report := func(k *kind, p ss.Problem) {
		ch := j.change(k, Place{Pointer: p.Pointer})
		ch.Before, ch.After = j.old.at(p.Pointer).value(), j.new.at(p.Pointer).value()
		if p.Detail != "" && k != kindRequiredShape {
			ch.Message = k.Title + ": " + text.Line(text.Clip(p.Detail, 200))
		}
		j.changes = append(j.changes, ch)
	}
	for _, p := range new {
		k := problemKinds[p.Kind]
		if k == nil || !missing(old, p) {
			continue
		}
		if p.Kind == ss.ProblemWrongShape && p.Keyword == "required" {
			k = kindRequiredShape
		}
		report(k, p)
	}
	if len(j.changes) > 0 {
		return
	}
	for _, p := range old {
		if problemKinds[p.Kind] != nil && missing(new, p) {
			report(kindSchemaRepaired, p)
			return // what else is wrong with it is still wrong, or was the same fault
		}
	}
}
