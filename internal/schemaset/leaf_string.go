// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxStringBytes bounds a witness; a longer one is described.
const maxStringBytes = 2 << 20

// friendlyWords are tried where nothing demands a certain string.
var friendlyWords = []string{"text", "a", "b", "", "value", "Text", "1", "example text"}

func (s *solver) leafString(b *branch) outcome {
	q := wordQuery{max: absent, states: s.budget.RegexStates}
	var samples []string
	for _, c := range b.conj {
		if f := sampleOf(c.format); f != "" {
			samples = append(samples, f)
		}
		if c.str == nil {
			continue
		}
		q.min, q.max = max(q.min, c.str.min), tighter(q.max, c.str.max)
		q.yes = append(q.yes, c.str.pats...)
		q.no = append(q.no, c.str.notPats...)
	}
	if q.max != absent && q.min > q.max {
		return closed()
	}
	q.yes, q.no = unique(q.yes), unique(q.no)
	for _, p := range q.yes {
		if slices.ContainsFunc(q.no, func(n *pattern) bool { return n.text == p.text }) {
			return closed()
		}
	}
	for _, w := range append(samples, friendlyWords...) {
		if b.wordFits(&q, w) == Yes {
			return found(newString(w))
		}
	}
	if len(q.yes)+len(q.no) == 0 {
		return s.plainWord(b, &q)
	}
	q.excluded = b.excludedWords(&q)
	word, st := q.find()
	s.spend(5 + len(q.yes) + len(q.no) + q.work/200)
	switch st {
	case sat:
		return found(newString(word))
	case empty:
		return closed()
	}
	for _, p := range slices.Concat(q.yes, q.no) {
		if p.opaque {
			return open("a pattern is beyond the regular ones (" + p.why + ")")
		}
	}
	return open(reasonWords)
}

func unique(ps []*pattern) []*pattern {
	var out []*pattern
	for _, p := range ps {
		if !slices.ContainsFunc(out, func(o *pattern) bool { return o.text == p.text }) {
			out = append(out, p)
		}
	}
	return out
}

// wordFits checks one candidate against the whole conjunction.
func (b *branch) wordFits(q *wordQuery, w string) Truth {
	t := (&stringPart{min: q.min, max: q.max, pats: q.yes, notPats: q.no}).accepts(w)
	if t == No || b.isExcluded(newString(w)) {
		return No
	}
	return t
}

func (b *branch) excludedWords(q *wordQuery) []string {
	seen := map[string]bool{}
	for _, c := range b.conj {
		for _, x := range c.excluded {
			for _, v := range x.vals {
				if v.kind == kString && (&stringPart{min: q.min, max: q.max, pats: q.yes, notPats: q.no}).accepts(v.str) != No {
					seen[v.str] = true
				}
			}
		}
	}
	out := make([]string, 0, len(seen))
	for w := range seen {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

// plainWord finds a string where only the length and listed values matter.
func (s *solver) plainWord(b *branch, q *wordQuery) outcome {
	if q.min > maxStringBytes {
		return found(newHuge(kString, "a string of "+commas(q.min)+" characters"))
	}
	length := max(q.min, 1)
	if q.max == 0 {
		return closed() // the empty string was among the friendly words
	}
	base := strings.Repeat("a", length-1)
	for i := 0; i <= b.countExcluded()+1; i++ {
		// There are far more runes than any list of values holds.
		r := rune('a' + i)
		if i >= 26 {
			r = rune(0x4E00 + i)
		}
		if r > maxRune || !utf8.ValidRune(r) {
			break
		}
		if v := newString(base + string(r)); !b.isExcluded(v) {
			return found(v)
		}
	}
	return open("too many listed values")
}

func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sampleOf returns a string of the format, "" where none is known.
func sampleOf(format string) string { return formatSamples[format] }

var formatSamples = map[string]string{
	"uri":                   "https://example.com/",
	"url":                   "https://example.com/",
	"iri":                   "https://example.com/",
	"uri-reference":         "/example",
	"iri-reference":         "/example",
	"uri-template":          "https://example.com/{id}",
	"email":                 "user@example.com",
	"idn-email":             "user@example.com",
	"date":                  "2026-01-31",
	"date-time":             "2026-01-31T12:00:00Z",
	"time":                  "12:00:00Z",
	"duration":              "P1D",
	"uuid":                  "123e4567-e89b-42d3-a456-426614174000",
	"hostname":              "example.com",
	"idn-hostname":          "example.com",
	"ipv4":                  "192.0.2.1",
	"ipv6":                  "2001:db8::1",
	"json-pointer":          "/a",
	"relative-json-pointer": "0/a",
	"regex":                 "^a$",
	"byte":                  "YQ==",
	"binary":                "YQ==",
}

// FormatRelation tells how the strings of two formats relate, from a small
// table; Unsettled where the table knows nothing. An empty name is any string.
func FormatRelation(old, new string) Relation {
	switch {
	case old == new:
		return Equal
	case old == "":
		return Narrowed
	case new == "":
		return Widened
	}
	for _, w := range formatInside {
		if w[0] == old && w[1] == new {
			return Widened
		}
		if w[0] == new && w[1] == old {
			return Narrowed
		}
	}
	if slices.Contains(formatApart, old) && slices.Contains(formatApart, new) {
		return Disjoint
	}
	return Unsettled
}

// formatInside lists pairs: every string (or number) of the first is one of the second.
var formatInside = [][2]string{
	{"int32", "int64"}, {"float", "double"}, {"email", "idn-email"}, {"hostname", "idn-hostname"},
	{"uri", "iri"}, {"uri", "uri-reference"}, {"uri", "iri-reference"}, {"iri", "iri-reference"},
	{"uri-reference", "iri-reference"}, {"url", "uri"}, {"uri", "url"},
}

// formatApart lists formats no two of which share a string.
var formatApart = []string{"date", "date-time", "time", "uuid", "email", "ipv4", "ipv6", "duration"}

// describe names a value that is too large to build.
func describe(what string, n int) string { return fmt.Sprintf("%s of %s", what, commas(n)) }
