// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"errors"
	"math"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// cell is one value or member name of a JSON text. The cells of a text stand in
// document order, so the cells of a container follow it up to next.
type cell struct {
	start, end int32 // bytes of the value in the text
	next       int32 // index of the first cell after the value
	kind       kinds
	escaped    bool // a string with a backslash
}

var errTooLong = errors.New("message is too long to validate")

// readTape checks a text by the strict rules of jsonx and then finds the ends of
// all its values in one pass, which needs no second look at the grammar.
func readTape(text []byte, room []cell) ([]cell, error) {
	if len(text) > math.MaxInt32 {
		return nil, errTooLong
	}
	if err := jsonx.Check(text, jsonx.Strict); err != nil {
		return nil, err
	}
	tape := room[:0]
	var stack []int32
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		case '{', '[':
			k := kObject
			if c == '[' {
				k = kArray
			}
			stack = append(stack, int32(len(tape)))
			tape = append(tape, cell{start: int32(i), kind: k})
			i++
		case '}', ']':
			top := &tape[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			i++
			top.end, top.next = int32(i), int32(len(tape))
		case '"':
			end, escaped := stringEnd(text, i)
			tape = append(tape, cell{start: int32(i), end: int32(end), next: int32(len(tape) + 1), kind: kString, escaped: escaped})
			i = end
		default:
			end := i + 1
			for end < len(text) && !delimiter(text[end]) {
				end++
			}
			k := kNumber
			switch c {
			case 't', 'f':
				k = kBoolean
			case 'n':
				k = kNull
			}
			tape = append(tape, cell{start: int32(i), end: int32(end), next: int32(len(tape) + 1), kind: k})
			i = end
		}
	}
	return tape, nil
}

func delimiter(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// stringEnd returns the index after the closing quote of the string at i. Each
// quote is looked for once: starting afresh behind every escape would take time
// in the square of the length.
func stringEnd(text []byte, i int) (end int, escaped bool) {
	from := i + 1
	quote := indexFrom(text, from, '"')
	for {
		back := bytes.IndexByte(text[from:quote], '\\')
		if back < 0 {
			return min(quote+1, len(text)), escaped
		}
		escaped = true
		from += back + 2
		if from > quote {
			quote = indexFrom(text, from, '"')
		}
	}
}

// indexFrom returns the index of c at or after from, or the length.
func indexFrom(text []byte, from int, c byte) int {
	if n := bytes.IndexByte(text[from:], c); n >= 0 {
		return from + n
	}
	return len(text)
}
