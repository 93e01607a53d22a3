// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/wire"
)

// redactor cuts secrets out of what is written.
type redactor struct {
	red      text.Redactor
	values   []string          // what must not be seen in any form
	any      *strings.Replacer // of values, when they are many
	patterns []*regexp.Regexp
	keys     map[string]bool // in lower case
	known    map[string]int  // what names say
	headers  map[string]bool
}

// minNamed is the least length of a value that is a secret everywhere, as in
// all of this product.
const minNamed = 6

func newRedactor(d Redaction) *redactor {
	r := &redactor{patterns: d.Patterns, keys: map[string]bool{}, headers: map[string]bool{}, known: map[string]int{}}
	for _, k := range d.Keys {
		r.keys[strings.ToLower(k)] = true
	}
	for _, h := range d.Headers {
		r.headers[strings.ToLower(h)] = true
	}
	r.add(minNamed, d.Values...)
	return r
}

// manyValues is how many are cheaper to look for one by one.
const manyValues = 16

// holds reports whether one of the values stands in s as it is.
func (r *redactor) holds(s string) bool {
	if r.any != nil {
		return r.any.Replace(s) != s
	}
	for _, v := range r.values {
		if strings.Contains(s, v) {
			return true
		}
	}
	return false
}

// add makes values secrets, in every form in which they are likely to stand.
func (r *redactor) add(least int, values ...string) {
	var forms []string
	for _, v := range values {
		if len(v) < least || v == text.Redacted || slices.Contains(r.values, v) {
			continue
		}
		r.values = append(r.values, v)
		quoted := inner(string(jsonx.Quote(v)))
		forms = append(forms, v, quoted, strings.ReplaceAll(quoted, "/", `\/`), htmlSafe.Replace(quoted),
			inner(strconv.QuoteToASCII(v)), url.QueryEscape(v), url.PathEscape(v))
		forms = append(forms, base64Forms(v)...)
	}
	if len(forms) == 0 {
		return
	}
	r.red.Add(forms...)
	if len(r.values) > manyValues {
		var pairs []string
		for _, v := range r.values {
			pairs = append(pairs, v, text.Redacted)
		}
		r.any = strings.NewReplacer(pairs...)
	}
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// htmlSafe is how some encoders write JSON.
var htmlSafe = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// base64Forms are what v always looks like inside Base64, whatever stands
// before and behind it: the characters that it alone decides, at each of the
// three places in a group that it may begin at, in both alphabets.
func base64Forms(v string) []string {
	var out []string
	for shift := range 3 {
		b := append(make([]byte, shift), v...)
		from, to := (8*shift+5)/6, 8*len(b)/6
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, e.EncodeToString(b)[from:to])
		}
	}
	return out
}

// String cuts the secrets out of a text of no known form.
func (r *redactor) String(s string) string {
	s = r.red.String(s)
	for _, p := range r.patterns {
		s = p.ReplaceAllLiteralString(s, text.Redacted)
	}
	if r.leaks(s) {
		return text.Redacted
	}
	return s
}

// maxUnescape is how often a text may have been put into another one.
const maxUnescape = 4

// leaks reports whether a secret can still be read in a text: escaped in an
// unusual spelling, or more than once.
func (r *redactor) leaks(s string) bool {
	return len(r.values) > 0 && r.readable(s, maxUnescape)
}

func (r *redactor) readable(s string, more int) bool {
	if r.holds(s) {
		return true
	}
	if more == 0 {
		return false
	}
	// Each by itself: what one of them undoes may be a part of the secret.
	for _, undo := range []func(string) string{unescapeJSON, unescapeURL} {
		if plain := undo(s); plain != s && r.readable(plain, more-1) {
			return true
		}
	}
	return false
}

// unescapeURL undoes the escapes of URLs, wherever they stand.
func unescapeURL(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+3 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeJSON undoes the escapes of JSON, wherever they stand.
func unescapeJSON(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			if c := escapes[s[i+1]]; c != 0 {
				b = append(b, c)
				i += 2
				continue
			}
			if n := unicodeEscape(s[i:]); n > 0 {
				decoded, _ := jsonx.Text([]byte(`"` + s[i:i+n] + `"`))
				b = append(b, decoded...)
				i += n
				continue
			}
		}
		b = append(b, s[i])
		i++
	}
	return string(b)
}

// unicodeEscape is the length of the \u escape, or the pair of them, that s
// begins with.
func unicodeEscape(s string) int {
	one := func(s string) (uint64, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return n, err == nil
	}
	n, ok := one(s)
	if !ok {
		return 0
	}
	if n >= 0xd800 && n < 0xdc00 {
		if low, ok := one(s[6:]); ok && low >= 0xdc00 && low < 0xe000 {
			return 12
		}
	}
	return 6
}

// weight of a name: how much of its value is a secret.
const (
	open      = iota
	textAlone // a text that stands there is a secret; a number or schema is not
	whole
)

// maxKnown bounds the names whose meaning is kept: those of messages are few,
// and come again.
const maxKnown = 1000

// key is what a name says of its value.
func (r *redactor) key(name string) int {
	k, ok := r.known[name]
	if !ok {
		if k = r.weigh(name); len(r.known) < maxKnown && len(name) < 100 {
			r.known[strings.Clone(name)] = k
		}
	}
	return k
}

func (r *redactor) weigh(name string) int {
	lower := strings.ToLower(name)
	switch {
	case r.keys[lower]:
		return whole
	case lower == "progresstoken": // MCP's own, and no secret
		return open
	case text.SecretName(name):
		return textAlone
	}
	return open
}

// JSON cuts the secrets out of a JSON text, which stays JSON, and the same
// bytes where nothing was cut. What is no JSON is cut as any text.
func (r *redactor) JSON(raw []byte) []byte {
	c := cutter{r: r, raw: raw, hidden: -1}
	if jsonx.Walk(raw, c.visit) != nil {
		return []byte(r.String(string(raw)))
	}
	out := raw
	if c.last > 0 {
		out = append(c.out, raw[c.last:]...)
	}
	if r.leaks(string(out)) {
		return jsonx.Quote(text.Redacted)
	}
	return out
}

// cutter writes a JSON text without its secrets.
type cutter struct {
	r      *redactor
	raw    []byte
	out    []byte
	last   int // up to here raw is written
	depth  int
	secret int // what the name before says of the next value
	hidden int // the depth of a container that is left out, -1 for none
	from   int // where it began
}

func (c *cutter) visit(t jsonx.Token) error {
	begin, end := int(t.Offset), int(t.Offset)+len(t.Raw)
	switch t.Kind {
	case jsonx.Object, jsonx.Array:
		if c.secret == whole && c.hidden < 0 {
			c.hidden, c.from = c.depth, begin
		}
		c.depth++
		c.secret = open
		return nil
	case jsonx.EndObject, jsonx.EndArray:
		if c.depth--; c.depth == c.hidden {
			c.replace(c.from, begin+1, text.Redacted)
			c.hidden = -1
		}
		return nil
	}
	if c.hidden >= 0 {
		return nil
	}
	secret := c.secret
	c.secret = open
	switch {
	case t.Kind == jsonx.String:
		s, _ := jsonx.Text(t.Raw)
		switch {
		case t.Name:
			c.secret = c.r.key(s)
		case secret != open && s != "":
			c.replace(begin, end, text.Redacted)
			return nil
		}
		if cut := c.r.nested(s); cut != s {
			c.replace(begin, end, cut)
		}
	case secret == whole && t.Kind != jsonx.Null:
		c.replace(begin, end, text.Redacted)
	case t.Kind == jsonx.Number:
		if s := string(t.Raw); c.r.String(s) != s {
			c.replace(begin, end, text.Redacted)
		}
	}
	return nil
}

func (c *cutter) replace(begin, end int, s string) {
	c.out = append(append(c.out, c.raw[c.last:begin]...), jsonx.Quote(s)...)
	c.last = end
}

// nested is String for a text that may be JSON itself, as that of a tool's
// result often is.
func (r *redactor) nested(s string) string {
	if k := jsonx.KindOf([]byte(s)); (k == jsonx.Object || k == jsonx.Array) && jsonx.Check([]byte(s), jsonx.Lenient) == nil {
		s = string(r.JSON([]byte(s)))
	}
	return r.String(s)
}

// hidden reports whether the value of a header is a secret.
func (r *redactor) hidden(name string) bool {
	lower := strings.ToLower(name)
	return r.headers[lower] || r.key(strings.TrimPrefix(lower, "mcp-param-")) != open
}

// field is a header line without secrets. The scheme of credentials stays.
func (r *redactor) field(f wire.HeaderField) wire.HeaderField {
	f.Name = r.String(f.Name)
	if !r.hidden(f.Name) {
		if strings.EqualFold(f.Name, "Location") || strings.EqualFold(f.Name, "Referer") {
			f.Value = r.url(f.Value)
		}
		f.Value = r.String(f.Value)
		return f
	}
	scheme, _, found := strings.Cut(f.Value, " ")
	switch {
	case f.Value == "":
	case found && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Basic")):
		f.Value = scheme + " " + text.Redacted
	default:
		f.Value = text.Redacted
	}
	return f
}

// url is a URL without user information, and without the values of its query:
// any of them may be a key.
func (r *redactor) url(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return r.String(raw)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		if k, v, _ := strings.Cut(pair, "="); v != "" {
			pairs[i] = k + "=" + url.QueryEscape(text.Redacted)
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return r.String(u.String())
}

func unquery(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
