// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

// ParseOptions says how to read a schema document; the zero value is ready.
type ParseOptions struct {
	// Dialect is assumed where $schema is absent; zero means Draft2020.
	Dialect Dialect
}

// Budget bounds one question; zero fields mean the defaults. Steps count work,
// not time, so that a verdict is the same on every machine.
type Budget struct {
	Steps       int // search steps weighted by goal size; default 60,000
	Depth       int // nesting of the values that are tried; default 1,200
	RegexStates int // states of one string question; default 4,000
}

// Verdict answers a question of containment.
type Verdict uint8

// The verdicts. Undecided is the zero value: nobody can forget to decide.
const (
	Undecided Verdict = iota
	Inside            // proven: every value of the one is in the other
	Outside           // Value is in the one and not in the other
)

// Result is the answer to "is a inside b", or to "give me a value".
type Result struct {
	Verdict Verdict
	// Value is the witness as compact JSON. It is nil with Outside when the
	// witness is too large to build; Note then describes it.
	Value  jsonx.Raw
	Note   string
	Reason string // why undecided
	Steps  int
	// Confirmed: Options.Confirm agreed with the value.
	Confirmed bool
	// Disputed: Options.Confirm contradicted the value; Reason says how.
	Disputed bool
}

// Relation is how the set of a new schema relates to that of an old one.
type Relation uint8

// The relations. Unsettled is the zero value.
const (
	Unsettled   Relation = iota
	Equal                // the same values
	Widened              // the new one accepts strictly more
	Narrowed             // the new one accepts strictly less
	Overlapping          // each accepts values the other refuses, and some are common
	Disjoint             // no value is common
)

// Comparison is the outcome of Compare.
type Comparison struct {
	Relation Relation
	// Lost answers "is old inside new": its value is accepted before, refused after.
	Lost Result
	// Gained answers "is new inside old": its value is refused before, accepted after.
	Gained Result
	// Common holds a value that both accept when Lost and Gained both have one.
	Common Result
}

// Direction says which of the two questions a caller judges by.
type Direction uint8

// The directions.
const (
	Both   Direction = iota
	Input            // values lost break: where a delta loses some, its gains are not asked for
	Output           // values gained break: the mirror
)

// Options steers Explain; the zero value proves both directions.
type Options struct {
	Direction Direction
	Budget    Budget // for each question asked
	// Confirm validates a witness with an independent validator, if set.
	Confirm func(value []byte) (oldOK, newOK bool, err error)
	// MaxDeltas bounds the list; zero means 5,000. Set deltas come first.
	MaxDeltas int
}

// Explanation is the outcome of Explain.
type Explanation struct {
	Root Comparison
	// Deltas holds set deltas first, in document order, then texts.
	Deltas []Delta
	// Set where the root lost (or gained) values, or may have, and no delta
	// could be proven to be the cause: report the root result itself.
	LostUnexplained, GainedUnexplained bool
	// DeclaredLost is Root.Lost under the declared-names lens: objects of the
	// old schema that declare properties are taken to hold no other names.
	// Outside with no lens witness (Inside here) is a theoretical loss.
	DeclaredLost Result
	// Disputes counts witnesses that Confirm contradicted.
	Disputes  int
	Truncated bool
}

// Change is what happened to the set of values at a delta.
type Change uint8

// The changes.
const (
	Text   Change = iota // no value is affected
	Less                 // values were lost only
	More                 // values were gained only
	Differ               // some were lost and some gained
	Maybe                // not decided: Lost.Reason or Gained.Reason says why
)

// Place is one spot of a delta: where it is in both documents and in the value.
type Place struct {
	OldPtr, NewPtr string // RFC 6901, behind references; empty string is the root
	Path           Path
}

// Delta is one difference between two schemas.
type Delta struct {
	Facet  Facet
	Change Change
	Place
	// HasOld and HasNew: the keyword (or property, branch) exists on that side;
	// OldPtr and NewPtr then point at it, otherwise at the enclosing schema.
	HasOld, HasNew bool
	// Name is the property, required name, pattern or keyword concerned.
	Name string
	// Before and After hold the keyword's value; for type and enum facets the
	// effective set over references, allOf and union branches.
	Before, After jsonx.Raw
	// Removed and Added hold the enum values, types or names that differ.
	Removed, Added []jsonx.Raw
	// Also lists other places with the same root cause.
	Also []Place
	// Lost: a value accepted before and refused after because of this delta.
	// Gained: the reverse. Inside means proven that there is none.
	Lost, Gained Result

	Context
}

// Context holds what a judge of deltas needs to know of the surroundings.
type Context struct {
	// OldClosed and NewClosed: the object refuses undeclared names.
	OldClosed, NewClosed bool
	// OldRequired and NewRequired: the property is required on that side.
	OldRequired, NewRequired bool
	// ParentOptional: the enclosing object need not be supplied (it is not the
	// root and some step to it is optional in the old schema).
	ParentOptional bool
	// Undeclared: the required name has no property in the new schema.
	Undeclared bool
	// NewProperty: the required name is a property the old schema did not have.
	NewProperty bool
	// HasRequiredChild: the added property itself demands properties.
	HasRequiredChild bool
	// Admitted tells what still admits a removed property (or admitted an added
	// one before): "pattern", "additional" (a schema), "open" or "".
	Admitted string
	// Covered: the admitting schema accepts all that the property accepted.
	Covered bool
	// OldUntyped and NewUntyped: all kinds of values were (are) accepted.
	OldUntyped, NewUntyped bool
	// NullOnly and FractionOnly: null, or fractions of numbers, are all that
	// a type facet differs by.
	NullOnly, FractionOnly bool
	// SingleValue: both sides of an enum facet hold exactly one value.
	SingleValue bool
	// OldDefault and NewDefault are the defaults of the property concerned.
	OldDefault, NewDefault jsonx.Raw
	// DefaultInvalid: NewDefault is not accepted by its own schema.
	DefaultInvalid bool
	// Kinds holds the kinds the place admits: "string", "object" ... on each side.
	OldKinds, NewKinds []string
	// RenamedTo and RenamedFrom hint at the counterpart of a removed or added
	// property; RenameBy says why: "case", "schema" or "name".
	RenamedTo, RenamedFrom, RenameBy string
	// MovedTo and MovedFrom hint at a move into or out of a nested object.
	MovedTo, MovedFrom Path
	// Theoretical: the loss needs a name that the old schema did not declare.
	Theoretical bool
	// SafeInteger: the bound is +-(2^53-1) and only values beyond it differ.
	SafeInteger bool
	// ReaderLoss: a declared field vanished or became universal though the set
	// of values did not grow.
	ReaderLoss bool
	Branch     string // pointer of the union branch the place is in, if any
}

// Parse reads a schema document. It always returns a schema: parts that cannot
// be understood are reported and become opaque, which makes verdicts that
// depend on them undecided.
func Parse(raw []byte, opt ParseOptions) (*Schema, []Problem) { return parseDocument(raw, opt) }

// Contained asks whether every value of a is a value of b.
func Contained(a, b *Schema, budget Budget) Result {
	return newSolver(budget, a, b).contained(a, b)
}

// Compare relates the sets of two schemas.
func Compare(old, new *Schema, budget Budget) Comparison { return compare(old, new, budget) }

// Explain compares two schemas and lists what differs, each with its proof.
func Explain(old, new *Schema, opt Options) *Explanation { return explain(old, new, opt) }

// Generate returns a small value that s accepts, as an Outside result; Inside
// means that s accepts nothing.
func Generate(s *Schema, budget Budget) Result { return generate(s, budget) }

// Truth is a three-valued answer.
type Truth uint8

// The truths.
const (
	Unknown Truth = iota
	Yes
	No
)

// Eval tells whether s accepts the JSON value in raw; Unknown where s holds an
// opaque part that matters, or raw is not JSON.
func Eval(raw []byte, s *Schema) Truth { return evalRaw(raw, s) }
