// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator decides whether a value is a member of a schema: the judge of
// every witness. It compiles when first asked, fetches nothing, and reads
// patterns as ECMA-262 does, within bounded time.
type validator struct {
	raw      jsonx.Raw
	compiled *jsonschema.Schema
	err      error
	done     bool
}

func newValidator(raw jsonx.Raw) *validator { return &validator{raw: raw} }

// documentURL is the base of a schema under test; it is never fetched.
const documentURL = "mcprove:///schema.json"

// refuse is a loader that fetches nothing.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not fetched", url)
}

// patternTime bounds one match: patterns are foreign and may backtrack.
const patternTime = 100 * time.Millisecond

type ecmaPattern struct{ *regexp2.Regexp }

func (p ecmaPattern) MatchString(s string) bool {
	ok, err := p.Regexp.MatchString(s)
	return err == nil && ok
}

func (p ecmaPattern) String() string { return p.Regexp.String() }

func compilePattern(s string) (jsonschema.Regexp, error) {
	re, err := regexp2.Compile(s, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTime
	return ecmaPattern{re}, nil
}

// maxCompiled bounds the brackets inside each other of a schema that is
// compiled: the validator's time grows with the third power of them, and is a
// tenth of a second here.
const maxCompiled = 400

var errTooDeep = fmt.Errorf("the schema has more than %d levels", maxCompiled)

// nestedBeyond reports a JSON text with more brackets inside each other.
func nestedBeyond(raw []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func (v *validator) compile() (err error) {
	if v.done {
		return v.err
	}
	v.done = true
	defer v.survive(&err)
	if nestedBeyond(v.raw, maxCompiled) {
		v.err = errTooDeep
		return v.err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.raw))
	if err != nil {
		v.err = fmt.Errorf("read schema: %w", err)
		return v.err
	}
	if unfoldsBeyond(doc, maxUnfolded) {
		v.err = errUnfolds
		return v.err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	c.UseRegexpEngine(compilePattern)
	if v.err = c.AddResource(documentURL, doc); v.err != nil {
		return v.err
	}
	v.compiled, v.err = c.Compile(documentURL)
	return v.err
}

// survive turns a panic of the library, as a number of a billion digits causes,
// into an error: the schema then has no judge, and no witness.
func (v *validator) survive(err *error) {
	if r := recover(); r != nil {
		v.err = fmt.Errorf("the validator gave up: %v", r)
		*err = v.err
	}
}

var errUnfolds = errors.New("its references multiply beyond what can be validated")

// valid reports whether the schema accepts the value.
func (v *validator) valid(value []byte) (ok bool, err error) {
	defer v.survive(&err)
	if err := v.compile(); err != nil {
		return false, err
	}
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return false, fmt.Errorf("read value: %w", err)
	}
	err = v.compiled.Validate(inst)
	if err == nil {
		return true, nil
	}
	if _, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return false, nil
	}
	return false, err
}
