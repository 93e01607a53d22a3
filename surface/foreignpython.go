// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// truthy is Python's truth of a JSON value.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case number:
		f, err := v.float()
		return err != nil || f != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// pyText is a text member as the recorder keeps it: str(value or "").
func pyText(v any) string {
	if !truthy(v) {
		return ""
	}
	return pyStr(v)
}

// spelledList spells the values of an enum; nil where nothing is recorded.
func spelledList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		out = append(out, pyStr(e))
	}
	return out
}

// pyStr is Python's str() of a JSON value.
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

// pyRepr is Python's repr() of a JSON value. Members of objects are sorted:
// their order in the text is lost.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case number:
		return pyNumber(string(v))
	case string:
		return pyQuoted(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = pyRepr(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, n := range sortedKeys(v) {
			parts = append(parts, pyQuoted(n)+": "+pyRepr(v[n]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func pyNumber(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return "0"
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return strings.TrimSuffix(text, text[strings.IndexAny(text, ".eE"):]) // beyond a float: Python says inf
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exponent < -4 || exponent >= 16 {
		return e
	}
	out := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out
}

func pyQuoted(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// spelledNumbers spells the numbers among the values of an enum.
func spelledNumbers(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if n, ok := e.(number); ok {
			out = append(out, pyStr(n))
		}
	}
	return out
}

// respelled replaces spellings by those that the record has of the same value.
// A canonical text has lost how a number was written (1.0), and in what order
// an object's members stood.
func respelled(live, numbers, recorded []string) []string {
	var out []string
	for _, s := range live {
		same := func(string) bool { return false }
		switch {
		case slices.Contains(recorded, s):
		case strings.HasPrefix(s, "{"), strings.HasPrefix(s, "["):
			same = func(r string) bool { return shuffled(r) == shuffled(s) }
		case slices.Contains(numbers, s):
			n, _ := numberOf(s)
			same = func(r string) bool { m, ok := numberOf(r); return ok && m == n }
		}
		if i := slices.IndexFunc(recorded, same); i >= 0 {
			s = recorded[i]
		}
		out = append(out, s)
	}
	return out
}

// shuffled is a spelling without the order of its parts.
func shuffled(s string) string {
	b := []byte(strings.ReplaceAll(s, ".0", ""))
	slices.Sort(b)
	return string(b)
}
