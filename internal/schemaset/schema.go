// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

// Schema is one parsed schema document.
type Schema struct {
	raw     jsonx.Raw
	dialect Dialect
}

// Raw returns the document as it was read; callers must not change it.
func (s *Schema) Raw() jsonx.Raw { return s.raw }

// Dialect returns the dialect the document is read by.
func (s *Schema) Dialect() Dialect { return s.dialect }

func parseDocument(raw []byte, opt ParseOptions) (*Schema, []Problem) {
	return &Schema{raw: raw}, nil
}

type solver struct{}

func newSolver(b Budget, docs ...*Schema) *solver { return &solver{} }

func (s *solver) contained(a, b *Schema) Result { return Result{Reason: "not built yet"} }

func compare(old, new *Schema, b Budget) Comparison { return Comparison{} }

func explain(old, new *Schema, opt Options) *Explanation { return &Explanation{} }

func generate(s *Schema, b Budget) Result { return Result{} }

func evalRaw(raw []byte, s *Schema) Truth { return Unknown }
