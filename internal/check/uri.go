// SPDX-License-Identifier: Apache-2.0

package check

import "strings"

// uriFault sorts what keeps a text from being a URI.
type uriFault uint8

const (
	uriNoScheme  uriFault = iota + 1 // nothing names a scheme
	uriBadScheme                     // what stands there is no scheme
	uriBadChar                       // a byte behind the scheme must be percent-encoded
)

// checkURI says what keeps a text from being a URI (RFC 3986 section 3): zero
// when nothing does, and the scheme or the text that is at fault.
func checkURI(s string) (fault uriFault, what string) {
	end := strings.IndexAny(s, ":/?#")
	if end <= 0 || s[end] != ':' {
		return uriNoScheme, s
	}
	scheme, rest := s[:end], s[end+1:]
	for i := range len(scheme) {
		if c := scheme[i]; !letter(c) && (i == 0 || !digit(c) && !strings.ContainsRune("+-.", rune(c))) {
			return uriBadScheme, scheme
		}
	}
	if i := badURIChar(rest); i >= 0 {
		return uriBadChar, rest[i : i+1]
	}
	return 0, ""
}

// badURIChar is the index of the first byte that cannot stand in a URI behind
// its scheme, -1 when there is none.
func badURIChar(s string) int {
	fragment := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) || !hex(s[i+1]) || !hex(s[i+2]) {
				return i
			}
		case c == '#':
			if fragment {
				return i
			}
			fragment = true
		case letter(c), digit(c), strings.IndexByte("-._~:/?[]@!$&'()*+,;=", c) >= 0:
		default:
			return i
		}
	}
	return -1
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func hex(c byte) bool    { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// uriTemplate is a URI template (RFC 6570), taken apart.
type uriTemplate struct {
	literals  []string // one more than expressions, may be empty
	variables []string // of all expressions, in order
	// broken says why it cannot be read; the rest is empty then.
	broken string
	// odd is a name of a variable that the grammar does not allow, and that
	// many readers take all the same.
	odd string
}

// readTemplate takes a URI template apart.
func readTemplate(s string) uriTemplate {
	var t uriTemplate
	for {
		open := strings.IndexAny(s, "{}")
		if open < 0 {
			t.literals = append(t.literals, s)
			return t
		}
		if s[open] == '}' {
			return uriTemplate{broken: "a } without its {"}
		}
		t.literals = append(t.literals, s[:open])
		s = s[open+1:]
		end := strings.IndexAny(s, "{}")
		if end < 0 || s[end] == '{' {
			return uriTemplate{broken: "a { without its }"}
		}
		if why := t.expression(s[:end]); why != "" {
			return uriTemplate{broken: why}
		}
		s = s[end+1:]
	}
}

// expression reads what stands between the braces (RFC 6570 section 2.2).
func (t *uriTemplate) expression(s string) (broken string) {
	if s != "" && strings.IndexByte("+#./;?&=,!@|", s[0]) >= 0 {
		if strings.IndexByte("=,!@|", s[0]) >= 0 {
			return "the operator " + s[:1] + ", which has no meaning"
		}
		s = s[1:]
	}
	for spec := range strings.SplitSeq(s, ",") {
		name, prefix, cut := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
		if name == "" || cut && (prefix == "" || len(prefix) > 4 || strings.Trim(prefix, "0123456789") != "") {
			return "the expression {" + clipped(s) + "}"
		}
		if !variableName(name) && t.odd == "" {
			t.odd = name
		}
		t.variables = append(t.variables, name)
	}
	return ""
}

// variableName reports whether a name is made of what the grammar allows.
func variableName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case letter(c), digit(c), c == '_', c == '.' && i > 0:
		case c == '%' && i+2 < len(s) && hex(s[i+1]) && hex(s[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

// mayMatch reports whether some expansion of the template may be the URI. What
// cannot be read may match anything.
func (t uriTemplate) mayMatch(uri string) bool {
	if t.broken != "" {
		return true
	}
	if len(t.literals) == 1 {
		return uri == t.literals[0]
	}
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok {
		return false
	}
	last := len(t.literals) - 1
	for _, literal := range t.literals[1:last] {
		i := strings.Index(rest, literal)
		if i < 0 {
			return false
		}
		rest = rest[i+len(literal):]
	}
	return strings.HasSuffix(rest, t.literals[last])
}
