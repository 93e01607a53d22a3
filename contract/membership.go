// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	keyword "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Accepts asks an independent validator whether a schema accepts a value. Where
// it does not, why says in a few words what is wrong and where in the value;
// it may quote foreign text. The error is for a schema or a value that cannot
// be judged: then nothing is known.
func Accepts(schema, value []byte) (ok bool, why string, err error) {
	return NewSchema(schema).Accepts(value)
}

// Schema is a schema whose validator is made once, for many values. Its methods
// may be called from any goroutine.
type Schema struct {
	mu sync.Mutex
	v  *validator
}

// NewSchema takes a schema as it stands. That it is one shows at the first
// value.
func NewSchema(schema []byte) *Schema { return &Schema{v: newValidator(schema)} }

// Accepts is the function of that name.
func (s *Schema) Accepts(value []byte) (ok bool, why string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok, err = s.v.valid(value)
	if err != nil || ok {
		return ok, "", err
	}
	return false, s.v.why(value), nil
}

// why says in a few words why the schema refuses a value.
func (v *validator) why(value []byte) (why string) {
	var err error
	defer v.survive(&err)
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return ""
	}
	if e, ok := errors.AsType[*jsonschema.ValidationError](v.compiled.Validate(inst)); ok {
		return sayingAll(e)
	}
	return ""
}

// mostCauses bounds what is said to be wrong with one value.
const mostCauses = 5

// sayingAll is every cause of a validation error, in the order of the places in
// the value. Of alternatives only the first cause is told: no more than one of
// them was meant.
func sayingAll(e *jsonschema.ValidationError) string {
	var found []*jsonschema.ValidationError
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) > 0 && !branches(e) {
			for _, c := range e.Causes {
				walk(c)
			}
			return
		}
		if in := innermost(e, false, func(*jsonschema.ValidationError) bool { return true }); in != nil {
			found = append(found, in)
		}
	}
	walk(e)
	slices.SortStableFunc(found, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	var said []string
	for _, f := range found {
		if s := saying(f); !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	if more := len(said) - mostCauses; more > 0 {
		said = append(said[:mostCauses], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// innermost is the cause of a validation error that has no cause of its own:
// of those wanted, the one that comes first in the value; nil where there is
// none. With every set, alternatives count only when each has such a cause.
func innermost(e *jsonschema.ValidationError, every bool, want func(*jsonschema.ValidationError) bool) *jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		if want(e) {
			return e
		}
		return nil
	}
	var first *jsonschema.ValidationError
	for _, c := range e.Causes {
		f := innermost(c, every, want)
		if f == nil && every && branches(e) {
			return nil
		}
		if f != nil && (first == nil || slices.Compare(f.InstanceLocation, first.InstanceLocation) < 0) {
			first = f
		}
	}
	return first
}

// branches reports whether the causes of an error are alternatives.
func branches(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *keyword.AnyOf, *keyword.OneOf:
		return true
	}
	return false
}

// saying is a validation error in a few words, after the place in the value.
func saying(e *jsonschema.ValidationError) string {
	if e == nil {
		return ""
	}
	pointer := ""
	for _, t := range e.InstanceLocation {
		pointer = jsonx.Push(pointer, t)
	}
	here := *e // the place is said once
	here.InstanceLocation = nil
	said := strings.TrimPrefix(here.Error(), "at '': ")
	if pointer == "" {
		return said
	}
	return pointer + ": " + said
}

// formatOf is the format that a validation error is about, nil for another one.
func formatOf(e *jsonschema.ValidationError) *keyword.Format {
	f, _ := e.ErrorKind.(*keyword.Format)
	return f
}

// SchemaFault says why no validator can be made of a schema.
type SchemaFault struct {
	Kind SchemaFaultKind
	Text string // in a few words; may quote foreign text
}

func (f *SchemaFault) Error() string { return fmt.Sprintf("%s: %s", f.Kind, f.Text) }

// SchemaFaultKind sorts the faults of schemas.
type SchemaFaultKind string

// The kinds.
const (
	// SchemaInvalid schemas break the description of their own dialect.
	SchemaInvalid SchemaFaultKind = "invalid"
	// SchemaDangling schemas refer to a place in themselves that is not there.
	SchemaDangling SchemaFaultKind = "dangling reference"
	// SchemaPattern schemas hold a pattern that is no regular expression of ECMA-262.
	SchemaPattern SchemaFaultKind = "bad pattern"
	// SchemaUnjudged schemas are beyond what is judged here: another document
	// is needed, the dialect is not known, or they are too large.
	SchemaUnjudged SchemaFaultKind = "not judged"
)

// CheckSchema makes a validator of a schema under the dialect that it names,
// JSON Schema 2020-12 where it names none. It returns nil where that works.
func CheckSchema(schema []byte) *SchemaFault {
	err := newValidator(schema).compile()
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return undescribed(e)
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return &SchemaFault{SchemaPattern, e.Regex}
	}
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return &SchemaFault{SchemaDangling, local(e.URL)}
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return &SchemaFault{SchemaDangling, local(e.Reference)}
	}
	return &SchemaFault{SchemaUnjudged, err.Error()}
}

// undescribed sorts a schema that the description of its dialect refuses. The
// library asserts formats there, which only annotate; but a pattern that is
// none would fail later all the same.
func undescribed(err *jsonschema.SchemaValidationError) *SchemaFault {
	e, ok := errors.AsType[*jsonschema.ValidationError](err.Err)
	if !ok {
		return &SchemaFault{SchemaUnjudged, err.Error()}
	}
	if hard := innermost(e, true, func(e *jsonschema.ValidationError) bool { return formatOf(e) == nil }); hard != nil {
		return &SchemaFault{SchemaInvalid, saying(hard)}
	}
	isPattern := func(e *jsonschema.ValidationError) bool { f := formatOf(e); return f != nil && f.Want == "regex" }
	if p := innermost(e, false, isPattern); p != nil {
		return &SchemaFault{SchemaPattern, fmt.Sprint(formatOf(p).Got)}
	}
	return &SchemaFault{SchemaUnjudged, "its identifiers or references are malformed"}
}

// local is a reference without the address that stands for the schema here.
func local(ref string) string { return strings.TrimPrefix(ref, documentURL) }
