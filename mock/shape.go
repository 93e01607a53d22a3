// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// shape is the part of an inputSchema that the server holds callers to: types,
// required members, enumerations, bounds, patterns, formats, items. It is a
// script's plausible check, not a JSON Schema validator; what it does not know
// it lets pass. A script that needs more has Validate.
type shape struct {
	types      []string
	required   []string
	properties map[string]*shape
	closed     bool
	items      *shape
	enum       []string // canonical texts
	bounds     map[string]*float64
	pattern    *regexp.Regexp
	format     string
}

// bounds are the keywords that limit a number, a length or a count.
var bounds = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
	"minItems", "maxItems", "minProperties", "maxProperties",
}

// maxDepth bounds how deep a schema is read.
const maxDepth = 32

func shapeOf(schema []byte, depth int) *shape {
	if depth == 0 || jsonx.KindOf(schema) != jsonx.Object {
		return nil
	}
	ms, _ := jsonx.Members(schema, jsonx.Lenient)
	sh := &shape{}
	for _, m := range ms {
		switch m.Name {
		case "type":
			if t, ok := jsonx.Text(m.Value); ok {
				sh.types = []string{t}
			} else {
				_ = jsonx.Unmarshal(m.Value, &sh.types) // another type lets all pass
			}
		case "required":
			_ = jsonx.Unmarshal(m.Value, &sh.required)
		case "properties":
			ps, _ := jsonx.Members(m.Value, jsonx.Lenient)
			sh.properties = map[string]*shape{}
			for _, p := range ps {
				sh.properties[p.Name] = shapeOf(p.Value, depth-1)
			}
		case "additionalProperties":
			sh.closed = jsonx.KindOf(m.Value) == jsonx.False
		case "items":
			sh.items = shapeOf(m.Value, depth-1)
		case "enum":
			es, _ := jsonx.Elements(m.Value, jsonx.Lenient)
			for _, e := range es {
				sh.enum = append(sh.enum, canonical(e))
			}
		case "const":
			sh.enum = []string{canonical(m.Value)}
		case "oneOf", "anyOf":
			sh.titled(m.Value)
		case "pattern":
			text, _ := jsonx.Text(m.Value)
			sh.pattern, _ = regexp.Compile(text) // what Go cannot read lets all pass
		case "format":
			sh.format, _ = jsonx.Text(m.Value)
		default:
			if slices.Contains(bounds, m.Name) {
				if sh.bounds == nil {
					sh.bounds = map[string]*float64{}
				}
				sh.bounds[m.Name] = float(m.Value)
			}
		}
	}
	return sh
}

// titled reads the enumerations of elicitation forms, that give each value a
// title (2025-11-25/client/elicitation#requested-schema). Other alternatives
// let all pass.
func (sh *shape) titled(alternatives []byte) {
	es, _ := jsonx.Elements(alternatives, jsonx.Lenient)
	var values []string
	for _, e := range es {
		v := get(e, "const")
		if v == nil {
			return
		}
		values = append(values, canonical(v))
	}
	if values != nil {
		sh.enum = values
	}
}

func canonical(raw []byte) string {
	c, err := jsonx.Canonical(raw)
	if err != nil {
		return string(raw)
	}
	return string(c)
}

func float(raw []byte) *float64 {
	var f float64
	if jsonx.KindOf(raw) != jsonx.Number || jsonx.Unmarshal(raw, &f) != nil {
		return nil
	}
	return &f
}

// check returns what is wrong with a value at a path, empty for nothing.
func (sh *shape) check(v []byte, path string) string {
	if sh == nil {
		return ""
	}
	kind := jsonx.KindOf(v)
	if len(sh.types) > 0 && !slices.ContainsFunc(sh.types, func(t string) bool { return is(kind, v, t) }) {
		return fmt.Sprintf("%s must be %s", path, sh.types[0])
	}
	if sh.enum != nil && !slices.Contains(sh.enum, string(v)) && !slices.Contains(sh.enum, canonical(v)) {
		return fmt.Sprintf("%s must be one of %s", path, strings.Join(sh.enum, ", "))
	}
	switch kind {
	case jsonx.Object:
		ms, _ := jsonx.Members(v, jsonx.Lenient)
		if bad := sh.within(float64(len(ms)), path, "minProperties", "maxProperties", "members"); bad != "" {
			return bad
		}
		return sh.checkMembers(ms, path)
	case jsonx.Array:
		es, _ := jsonx.Elements(v, jsonx.Lenient)
		if bad := sh.within(float64(len(es)), path, "minItems", "maxItems", "items"); bad != "" || sh.items == nil {
			return bad
		}
		for i, e := range es {
			if bad := sh.items.check(e, fmt.Sprintf("%s[%d]", path, i)); bad != "" {
				return bad
			}
		}
	case jsonx.String:
		return sh.checkText(v, path)
	case jsonx.Number:
		f := float(v)
		if f == nil {
			return ""
		}
		if low := sh.bounds["exclusiveMinimum"]; low != nil && *f <= *low {
			return fmt.Sprintf("%s must be more than %v", path, *low)
		}
		if high := sh.bounds["exclusiveMaximum"]; high != nil && *f >= *high {
			return fmt.Sprintf("%s must be less than %v", path, *high)
		}
		return sh.within(*f, path, "minimum", "maximum", "")
	}
	return ""
}

// within judges a number, a length or a count by a pair of bounds.
func (sh *shape) within(n float64, path, least, most, of string) string {
	if of != "" {
		of = " " + of
	}
	if low := sh.bounds[least]; low != nil && n < *low {
		return fmt.Sprintf("%s must be at least %v%s", path, *low, of)
	}
	if high := sh.bounds[most]; high != nil && n > *high {
		return fmt.Sprintf("%s must be at most %v%s", path, *high, of)
	}
	return ""
}

func (sh *shape) checkText(v []byte, path string) string {
	text, ok := jsonx.Text(v)
	if !ok {
		return ""
	}
	if bad := sh.within(float64(utf8.RuneCountInString(text)), path, "minLength", "maxLength", "characters"); bad != "" {
		return bad
	}
	if sh.pattern != nil && !sh.pattern.MatchString(text) {
		return fmt.Sprintf("%s must match %s", path, sh.pattern)
	}
	if bad := misformed(sh.format, text); bad {
		return fmt.Sprintf("%s must be a %s", path, sh.format)
	}
	return ""
}

// misformed judges the formats that elicitation forms may ask for.
func misformed(format, text string) bool {
	var err error
	switch format {
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			return true
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err != nil
}

func (sh *shape) checkMembers(ms []jsonx.Member, path string) string {
	for _, name := range sh.required {
		if find(ms, name) == nil {
			return fmt.Sprintf("%s is required", join(path, name))
		}
	}
	for _, m := range ms {
		p, known := sh.properties[m.Name]
		if !known && sh.closed {
			return fmt.Sprintf("%s is not known", join(path, clip(m.Name)))
		}
		if bad := p.check(m.Value, join(path, clip(m.Name))); bad != "" {
			return bad
		}
	}
	return ""
}

func join(path, name string) string {
	if path == "arguments" || path == "content" {
		return name
	}
	return path + "." + name
}

func is(k jsonx.Kind, v []byte, t string) bool {
	switch t {
	case "object":
		return k == jsonx.Object
	case "array":
		return k == jsonx.Array
	case "string":
		return k == jsonx.String
	case "number":
		return k == jsonx.Number
	case "integer":
		f := float(v)
		return f != nil && *f == float64(int64(*f))
	case "boolean":
		return k == jsonx.True || k == jsonx.False
	case "null":
		return k == jsonx.Null
	}
	return true
}
