// SPDX-License-Identifier: Apache-2.0

package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// Push appends one reference token to an RFC 6901 pointer.
func Push(pointer, token string) string {
	return pointer + "/" + pointerEscaper.Replace(token)
}

// Tokens splits an RFC 6901 pointer into unescaped reference tokens.
func Tokens(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("JSON pointer %q does not start with /", pointer)
	}
	ts := strings.Split(pointer[1:], "/")
	for i, t := range ts {
		ts[i] = pointerUnescaper.Replace(t)
	}
	return ts, nil
}

// ErrNotFound is returned by Lookup when the pointer leads nowhere.
var ErrNotFound = errors.New("no value there")

// Lookup returns the value that an RFC 6901 pointer reaches in raw.
func Lookup(raw []byte, pointer string) (Raw, error) {
	v, _, err := Locate(raw, pointer)
	return v, err
}

// Locate is Lookup that also returns the byte offset of the value in raw.
func Locate(raw []byte, pointer string) (Raw, int64, error) {
	ts, err := Tokens(pointer)
	if err != nil {
		return nil, 0, err
	}
	v, at := Raw(raw), int64(0)
	for _, t := range ts {
		switch KindOf(v) {
		case Object:
			ms, err := Members(v, Strict)
			if err != nil {
				return nil, 0, err
			}
			v = nil
			for _, m := range ms {
				if m.Name == t {
					v, at = m.Value, at+m.Offset
				}
			}
		case Array:
			es, offs, err := ElementsAt(v, Strict)
			if err != nil {
				return nil, 0, err
			}
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(es) || t != strconv.Itoa(i) {
				return nil, 0, ErrNotFound
			}
			v, at = es[i], at+offs[i]
		default:
			v = nil
		}
		if v == nil {
			return nil, 0, ErrNotFound
		}
	}
	return v, at, nil
}

// Position returns the 1-based line and column (in bytes) of an offset.
func Position(text []byte, offset int64) (line, col int) {
	offset = max(0, min(offset, int64(len(text))))
	head := text[:offset]
	line = 1 + bytes.Count(head, []byte{'\n'})
	return line, len(head) - bytes.LastIndexByte(head, '\n')
}
