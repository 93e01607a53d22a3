// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// HeaderField is one HTTP header to send.
type HeaderField struct {
	Name  string
	Value string // as it goes on the wire
}

// ErrParamValue is wrapped when an argument cannot be mirrored.
var ErrParamValue = errors.New("argument cannot be mirrored into a header")

// Fields returns the Mcp-Param headers for the arguments of one call, in the
// order of Valid. An argument that is null or absent has no header. The error
// joins the arguments that cannot be mirrored: objects, arrays, and integers
// beyond 2^53-1; the other fields are returned with it.
func (ps ParamHeaders) Fields(arguments []byte) ([]HeaderField, error) {
	if len(ps.Valid) == 0 || jsonx.KindOf(arguments) == 0 {
		return nil, nil
	}
	w, err := newWalker(arguments)
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	defer w.release()
	var fs []HeaderField
	var errs []error
	for _, p := range ps.Valid {
		at := w.follow(p.Path)
		if at < 0 || w.tape[at].kind == kNull {
			continue
		}
		text, err := w.headerText(at)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s: %w", ErrParamValue, p.HeaderName(), err))
			continue
		}
		fs = append(fs, HeaderField{p.HeaderName(), EncodeHeaderValue(text)})
	}
	return fs, errors.Join(errs...)
}

// Matches reports whether a header value, as received, says the same as the
// argument: numbers compare as numbers, other values as text. An argument that
// is null or absent (empty) expects no header and matches any.
func (p ParamHeader) Matches(header string, argument []byte) (bool, error) {
	decoded, err := DecodeHeaderValue(header)
	if err != nil {
		return false, err
	}
	switch jsonx.KindOf(argument) {
	case 0, jsonx.Null:
		return true, nil
	}
	w, err := newWalker(argument)
	if err != nil {
		return false, fmt.Errorf("read argument: %w", err)
	}
	defer w.release()
	if w.tape[0].kind == kNumber {
		if jsonx.KindOf([]byte(decoded)) != jsonx.Number || jsonx.Check([]byte(decoded), jsonx.Strict) != nil {
			return false, nil
		}
		return readDecimal([]byte(decoded)) == readDecimal(w.raw(0)), nil
	}
	text, err := w.headerText(0)
	return err == nil && text == decoded, nil
}

// follow returns the cell that a path of member names leads to, or -1.
func (w *walker) follow(path []string) int32 {
	at := int32(0)
	for _, name := range path {
		if at = w.member(at, name); at < 0 {
			return -1
		}
	}
	return at
}

// largestSafe is 2^53-1, and safeDigits its length.
const (
	largestSafe = "9007199254740991"
	safeDigits  = len(largestSafe)
)

// headerText returns a primitive as header text: integers in plain decimal
// form, booleans in lower case.
func (w *walker) headerText(at int32) (string, error) {
	switch c := w.tape[at]; c.kind {
	case kString:
		return string(w.string(at)), nil
	case kBoolean:
		return string(w.raw(at)), nil
	case kNumber:
		d := readDecimal(w.raw(at))
		if !d.integral() {
			return string(w.raw(at)), nil
		}
		s, ok := d.text(safeDigits)
		if plain := trimSign(s); !ok || len(plain) == safeDigits && plain > largestSafe {
			return "", errors.New("integer beyond 2^53-1")
		}
		return s, nil
	}
	return "", errors.New("not a primitive: " + w.describe(at))
}

func trimSign(s string) string {
	if s != "" && s[0] == '-' {
		return s[1:]
	}
	return s
}
