// SPDX-License-Identifier: Apache-2.0

// Package jsonx is the project's only door to its JSON library: reading raw
// members, canonical bytes, JSON pointers and positions.
//
// Reading is strict (RFC 7493): duplicate names, invalid UTF-8, lone
// surrogates, more than 10,000 levels and trailing bytes are errors. The wire
// package, which must look into faulty texts, reads leniently through Lenient.
package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is one JSON value as text.
type Raw = jsontext.Value

// Kind is the first byte of a JSON value with numbers folded into '0':
// one of n, f, t, ", 0, { and [; zero for no value.
type Kind byte

// The kinds of JSON values.
const (
	Null   Kind = 'n'
	False  Kind = 'f'
	True   Kind = 't'
	String Kind = '"'
	Number Kind = '0'
	Object Kind = '{'
	Array  Kind = '['
)

// KindOf returns the kind of the value in raw, zero when there is none.
func KindOf(raw []byte) Kind {
	return Kind(Raw(raw).Kind())
}

// Name is the word a person uses for the kind: "object", "string".
func (k Kind) Name() string {
	switch k {
	case Null:
		return "null"
	case False, True:
		return "boolean"
	case String:
		return "string"
	case Number:
		return "number"
	case Object:
		return "object"
	case Array:
		return "array"
	}
	return "nothing"
}

// SyntaxError says what is wrong in a JSON text and where.
type SyntaxError struct {
	Offset  int64  // byte offset in the text
	Pointer string // RFC 6901, of the value where reading stopped
	Err     error
}

func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	const most = 200 // a pointer into a very deep value is longer than it is of use
	p := e.Pointer
	if len(p) > most {
		p = p[:most] + "..."
	}
	return fmt.Sprintf("%v at %s", e.Err, p)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// ErrDuplicateName is wrapped by a SyntaxError for a repeated member name.
var ErrDuplicateName = jsontext.ErrDuplicateName

// ErrTrailing is wrapped by a SyntaxError for bytes after the value.
var ErrTrailing = errors.New("unexpected bytes after the JSON value")

func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		inner := syn.Err
		if inner == nil {
			inner = syn
		}
		if errors.Is(inner, io.ErrUnexpectedEOF) {
			inner = errors.New("unexpected end of JSON")
		}
		return &SyntaxError{Offset: syn.ByteOffset, Pointer: string(syn.JSONPointer), Err: inner}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &SyntaxError{Err: errors.New("unexpected end of JSON")}
	}
	return steady(err)
}

// steady is an error that every run words alike: the library says by chance "cannot"
// or "unable to", so that nobody compares its words.
func steady(err error) error {
	if err == nil || !strings.Contains(err.Error(), varying) {
		return err
	}
	return &steadyError{err}
}

const varying = "unable to "

type steadyError struct{ err error }

func (e *steadyError) Error() string { return strings.ReplaceAll(e.err.Error(), varying, "cannot ") }
func (e *steadyError) Unwrap() error { return e.err }

// Mode chooses what reading tolerates.
type Mode uint8

const (
	// Strict refuses duplicate names and invalid UTF-8.
	Strict Mode = iota
	// Lenient keeps duplicate names, and reads invalid UTF-8 as U+FFFD.
	Lenient
)

func (m Mode) options() []jsontext.Options {
	if m == Lenient {
		return lenient
	}
	return nil
}

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// reading is a decoder with the buffer that it reads.
type reading struct {
	jsontext.Decoder
	text bytes.Buffer
}

// decoders keeps decoders: most texts are shorter than what one needs to begin.
var decoders = sync.Pool{New: func() any { return new(reading) }}

// decoder reads raw, until it is put back.
func decoder(raw []byte, m Mode) *reading {
	dec := decoders.Get().(*reading)
	dec.text = *bytes.NewBuffer(raw)
	dec.Reset(&dec.text, m.options()...)
	return dec
}

// fewMembers is how many members most objects have at most.
const fewMembers = 6

// Check reads the whole text and returns the first fault as a *SyntaxError.
func Check(raw []byte, mode Mode) error {
	dec := decoder(raw, mode)
	defer decoders.Put(dec)
	if err := dec.SkipValue(); err != nil {
		return syntaxError(err)
	}
	return trailing(&dec.Decoder, raw)
}

func trailing(dec *jsontext.Decoder, raw []byte) error {
	off := dec.InputOffset()
	if rest := bytes.TrimLeft(raw[off:], " \t\r\n"); len(rest) > 0 {
		return &SyntaxError{Offset: int64(len(raw) - len(rest)), Err: ErrTrailing}
	}
	return nil
}

// Member is one name and value of an object, in the order of the text. Value
// shares the bytes of the text it was read from.
type Member struct {
	Name   string
	Value  Raw
	Offset int64 // of the value's first byte in the text
}

// Members returns the members of the object in raw, in order.
func Members(raw []byte, mode Mode) ([]Member, error) {
	dec := decoder(raw, mode)
	defer decoders.Put(dec)
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, syntaxError(err)
	}
	if tok.Kind() != '{' {
		return nil, &SyntaxError{Err: fmt.Errorf("expected an object, found %s", KindOf(raw).Name())}
	}
	ms := make([]Member, 0, fewMembers)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return ms, syntaxError(err)
		}
		n := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return ms, syntaxError(err)
		}
		end := dec.InputOffset()
		off := end - int64(len(v))
		ms = append(ms, Member{Name: n, Value: raw[off:end:end], Offset: off})
	}
	if _, err := dec.ReadToken(); err != nil {
		return ms, syntaxError(err)
	}
	return ms, trailing(&dec.Decoder, raw)
}

// Elements returns the elements of the array in raw, sharing its bytes.
func Elements(raw []byte, mode Mode) ([]Raw, error) {
	es, _, err := ElementsAt(raw, mode)
	return es, err
}

// ElementsAt is Elements that also returns the byte offset of each element.
func ElementsAt(raw []byte, mode Mode) ([]Raw, []int64, error) {
	dec := decoder(raw, mode)
	defer decoders.Put(dec)
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, nil, syntaxError(err)
	}
	if tok.Kind() != '[' {
		return nil, nil, &SyntaxError{Err: fmt.Errorf("expected an array, found %s", KindOf(raw).Name())}
	}
	var es []Raw
	var at []int64
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return es, at, syntaxError(err)
		}
		end := dec.InputOffset()
		off := end - int64(len(v))
		es, at = append(es, raw[off:end:end]), append(at, off)
	}
	if _, err := dec.ReadToken(); err != nil {
		return es, at, syntaxError(err)
	}
	return es, at, trailing(&dec.Decoder, raw)
}

// Text returns the string in raw; ok is false when raw is not a string.
func Text(raw []byte) (s string, ok bool) {
	if KindOf(raw) != String {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(raw))
	if err != nil {
		var syn *jsontext.SyntacticError
		if !errors.As(err, &syn) || len(b) == 0 {
			return string(b), err == nil
		}
	}
	return string(b), true
}

// Quote returns s as a JSON string; invalid UTF-8 becomes U+FFFD.
func Quote(s string) Raw {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}

// Unmarshal reads strictly into v: member names are case-sensitive, unknown
// members are ignored.
func Unmarshal(raw []byte, v any) error {
	return syntaxError(json.Unmarshal(raw, v))
}

// UnmarshalKnown is Unmarshal that refuses unknown members.
func UnmarshalKnown(raw []byte, v any) error {
	return syntaxError(json.Unmarshal(raw, v, json.RejectUnknownMembers(true)))
}

// Marshal returns v as compact JSON with map keys sorted.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	return b, steady(err)
}

// maxIndent is the deepest level that Indent puts on lines of its own. Beyond
// it white space would grow with the square of the depth.
const maxIndent = 40

// Indent returns raw with members and elements on lines of their own, two
// spaces a level, down to 40 levels; what is deeper stays on one line.
func Indent(raw []byte) ([]byte, error) {
	compact, err := Compact(raw)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(compact)+len(compact)/2)
	depth := 0
	line := func() {
		if depth <= maxIndent {
			out = append(out, '\n')
			for range depth {
				out = append(out, "  "...)
			}
		}
	}
	for i := 0; i < len(compact); {
		c := compact[i]
		switch c {
		case '"':
			end := skipString(compact, i)
			out = append(out, compact[i:end]...)
			i = end
			continue
		case '{', '[':
			out = append(out, c)
			if i+1 < len(compact) && compact[i+1] == c+2 { // empty: { and }, [ and ] are two apart
				out = append(out, c+2)
				i += 2
				continue
			}
			depth++
			line()
		case '}', ']':
			if depth--; depth < maxIndent {
				line()
			}
			out = append(out, c)
		case ',':
			out = append(out, c)
			line()
		case ':':
			out = append(out, c)
			if depth <= maxIndent {
				out = append(out, ' ')
			}
		default:
			out = append(out, c)
		}
		i++
	}
	return out, nil
}

// Compact returns raw without white space, otherwise as it was written.
func Compact(raw []byte) ([]byte, error) {
	v := Raw(bytes.Clone(raw))
	if err := v.Compact(); err != nil {
		return nil, syntaxError(err)
	}
	return v, nil
}
