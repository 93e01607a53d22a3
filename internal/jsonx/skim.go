// SPDX-License-Identifier: Apache-2.0

package jsonx

import (
	"bytes"
	"unicode/utf8"
)

// Skim returns the members of an object, or the elements of an array with
// empty names, by matching brackets alone. It is for texts that were read
// strictly before, of which it gives what Members and Elements give several
// times faster, and for those nested too deep for every other function here.
// It checks nothing: what is no JSON gives members that are no JSON. It returns
// what it found up to the end of raw.
func Skim(raw []byte) []Member {
	i := skimSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' && raw[i] != '[' {
		return nil
	}
	object := raw[i] == '{'
	ms := make([]Member, 0, fewMembers)
	for i = skimSpace(raw, i+1); i < len(raw) && raw[i] != '}' && raw[i] != ']'; i = skimSpace(raw, i) {
		m := Member{}
		if object {
			end := skipString(raw, i)
			if raw[i] != '"' {
				return ms
			}
			m.Name = skimName(raw[i:end])
			if i = skimSpace(raw, end); i == len(raw) || raw[i] != ':' {
				return ms
			}
			i = skimSpace(raw, i+1)
		}
		end := skimValue(raw, i)
		if end == i {
			return ms
		}
		m.Value, m.Offset = raw[i:end:end], int64(i)
		ms = append(ms, m)
		if i = skimSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i++
		}
	}
	return ms
}

// SkimMember is the value of one member of an object, as [Skim] finds it; nil when
// there is none. Of two of a name it is the last.
func SkimMember(raw []byte, name string) Raw {
	i := skimSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil
	}
	var found Raw
	for i = skimSpace(raw, i+1); i < len(raw) && raw[i] == '"'; i = skimSpace(raw, i) {
		end := skipString(raw, i)
		quoted := raw[i:end]
		is := len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name ||
			(bytes.IndexByte(quoted, '\\') >= 0 || !utf8.Valid(quoted)) && skimName(quoted) == name
		if i = skimSpace(raw, end); i == len(raw) || raw[i] != ':' {
			return found
		}
		i = skimSpace(raw, i+1)
		if end = skimValue(raw, i); end == i {
			return found
		}
		if is {
			found = raw[i:end:end]
		}
		if i = skimSpace(raw, end); i < len(raw) && raw[i] == ',' {
			i++
		}
	}
	return found
}

func skimName(quoted []byte) string {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	s, _ := Text(quoted)
	return s
}

// skimValue returns the end of the value that begins at i.
func skimValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			if depth == 0 {
				// A literal or a number goes on to the next delimiter.
				i++
				continue
			}
		}
		if i++; depth == 0 {
			return i
		}
	}
	return min(i, len(raw))
}

func skimSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}
