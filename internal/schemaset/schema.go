// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

// Schema is one parsed schema document. It is not changed after Parse and may
// be used by several goroutines.
type Schema struct {
	raw     jsonx.Raw
	tree    *val
	dialect Dialect
	root    *node
	nodes   []*node
	cyclic  []*node // nodes whose hash is settled per comparison
	loop    string  // pointer of an in-place loop, "" when there is none
	looped  bool
	refs    map[string]bool // pointers of definitions that references reach
}

// Raw returns the document as it was read; callers must not change it.
func (s *Schema) Raw() jsonx.Raw { return s.raw }

// Dialect returns the dialect the document is read by.
func (s *Schema) Dialect() Dialect { return s.dialect }

// Loops reports whether the document holds a chain of references that returns
// to itself without entering the value. Some validators overflow their stack on
// such a schema; no question about it is decided here.
func (s *Schema) Loops() bool { return s.looped }

// The limits of a document. What exceeds them becomes a Problem.
const (
	maxDocument = 16 << 20 // bytes
	maxNodes    = 100_000
	maxNesting  = 1_500 // schemas inside schemas
)

func parseDocument(raw []byte, opt ParseOptions) (*Schema, []Problem) {
	s := &Schema{raw: raw, dialect: opt.Dialect, refs: map[string]bool{}}
	if s.dialect == DialectDefault {
		s.dialect = Draft2020
	}
	l := &loader{doc: s, byVal: map[*val]*node{}, patterns: map[string]*pattern{}}
	if len(raw) > maxDocument {
		l.problem(ProblemTooLarge, "", "", "the document has more than 16 MiB")
		s.root = l.opaqueNode("", nil, "document too large"+l.document())
	} else if tree, err := readTree(raw); err != nil {
		l.problem(ProblemSyntax, pointerOf(err), "", err.Error())
		s.root = l.opaqueNode("", nil, "not JSON: "+string(raw))
	} else {
		s.tree = tree
		l.load()
	}
	l.settle()
	return s, l.problems
}

func pointerOf(err error) string {
	if syn, ok := err.(*jsonx.SyntaxError); ok {
		return syn.Pointer
	}
	return ""
}
