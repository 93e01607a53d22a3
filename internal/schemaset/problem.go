// SPDX-License-Identifier: Apache-2.0

package schemaset

// Dialect is a version of JSON Schema.
type Dialect uint8

// The dialects; DialectUnknown stands for a $schema nobody knows.
const (
	DialectDefault Dialect = iota
	Draft4
	Draft6
	Draft7
	Draft2019
	Draft2020
	DialectUnknown
)

func (d Dialect) String() string {
	switch d {
	case Draft4:
		return "draft-04"
	case Draft6:
		return "draft-06"
	case Draft7:
		return "draft-07"
	case Draft2019:
		return "2019-09"
	case Draft2020:
		return "2020-12"
	}
	return "unknown"
}

// ProblemKind names a fault of a schema document.
type ProblemKind string

// The problems Parse finds.
const (
	ProblemSyntax         ProblemKind = "syntax"          // not JSON, or a duplicate name
	ProblemNotSchema      ProblemKind = "not-a-schema"    // neither object nor boolean
	ProblemWrongShape     ProblemKind = "wrong-shape"     // a keyword's value has the wrong form
	ProblemUnknownDialect ProblemKind = "unknown-dialect" // $schema names no known draft
	ProblemExternalRef    ProblemKind = "external-ref"    // leads out of the document; never fetched
	ProblemDanglingRef    ProblemKind = "dangling-ref"    // leads nowhere in the document
	ProblemInPlaceLoop    ProblemKind = "in-place-loop"   // returns to itself without entering the value
	ProblemTooDeep        ProblemKind = "too-deep"        // nested beyond the limit
	ProblemTooLarge       ProblemKind = "too-large"       // a document beyond the limits of size
	ProblemBadPattern     ProblemKind = "bad-pattern"     // not a regular expression
	ProblemUnsupported    ProblemKind = "unsupported"     // understood by the dialect, opaque here
)

// Problem is one fault found by Parse.
type Problem struct {
	Kind    ProblemKind
	Pointer string // RFC 6901, of the schema or keyword at fault
	Keyword string
	Detail  string
}

func (p Problem) String() string {
	s := string(p.Kind) + " at " + p.Pointer
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}
