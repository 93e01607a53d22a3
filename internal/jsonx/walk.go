// SPDX-License-Identifier: Apache-2.0

package jsonx

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of the closing tokens that Walk visits.
const (
	EndObject Kind = '}'
	EndArray  Kind = ']'
)

// ErrDepth is wrapped by the SyntaxError that Walk returns for more than
// 10,000 levels.
var ErrDepth = errors.New("exceeded max depth")

// Token is one token of a JSON text as it is spelled.
type Token struct {
	Kind   Kind
	Name   bool  // a member name
	Raw    Raw   // valid until the visit returns; brackets have none
	Offset int64 // of the first byte in the text
	dec    *jsontext.Decoder
}

// Pointer returns the RFC 6901 pointer of the token's value. It costs.
func (t Token) Pointer() string { return string(t.dec.StackPointer()) }

// Walk reads raw leniently and visits every token in order. It returns the
// first error of visit, or a *SyntaxError where the text cannot be read on.
func Walk(raw []byte, visit func(Token) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), Lenient.options()...)
	for {
		kind := Kind(dec.PeekKind())
		t := Token{Kind: kind, dec: dec}
		switch kind {
		case String, Number, Null, True, False:
			// In an object the next string is a name when an even number
			// of values was read.
			in, n := dec.StackIndex(dec.StackDepth())
			t.Name = in == '{' && n%2 == 0
			v, err := dec.ReadValue()
			if err != nil {
				return walkError(dec, err)
			}
			t.Raw, t.Offset = v, dec.InputOffset()-int64(len(v))
		default:
			if _, err := dec.ReadToken(); err != nil {
				return walkError(dec, err)
			}
			t.Offset = dec.InputOffset() - 1
		}
		if err := visit(t); err != nil {
			return err
		}
		if dec.StackDepth() == 0 {
			return trailing(dec, raw)
		}
	}
}

// maxDepth is the library's bound on nesting.
const maxDepth = 10_000

func walkError(dec *jsontext.Decoder, err error) error {
	err = syntaxError(err)
	var syn *SyntaxError
	if errors.As(err, &syn) && dec.StackDepth() >= maxDepth && syn.Err.Error() == ErrDepth.Error() {
		syn.Err = ErrDepth
	}
	return err
}
