// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/rand/v2"
	"strings"
	"testing"
)

var testPatterns = []string{
	"", "^", "$", "^$", "a", "^a", "a$", "^a$", "a|b", "^a|b$", "^(a|b)$", "(^a|b$)", "a*", "^a+$", "^a?b$", "^a{2}$", "^a{2,}$", "^a{1,3}$", "a{,3}",
	"[abc]", "[^abc]", "^[a-c]+$", "^[^a-c]*$", "[]", "[^]", "\\d", "^\\d+$", "\\D", "^\\w+$", "\\W", "\\s", "^\\S+$", ".", "^.$", "^..$",
	"^(?:ab)*$", "^(?<n>a)b$", "^(a(b|c)*d)+$", "a.b", "\\.", "^\\u0061$", "^\\x61$", "[\\d_]", "^[\\w.-]+$", "^(|a)b", "^a*?b$", "x^a", "a$b",
	"^(?!a)", "^(?=a)b|c", "^(?!ab)(?=a).*$", "^(?!.*b).+$", "(^|b)a", "a(b|$)", "^(a|^b)c", "^(ab|a)(c|bcd)$", "[a\\-c]", "[-a]", "[a-]", "\\/", "a\\$",
}

// TestPatternsAgree matches random words by both engines.
func TestPatternsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	open := 0
	for _, text := range testPatterns {
		p := compilePattern(text)
		re, err := compileECMA(text)
		if err != nil {
			if !p.opaque {
				t.Errorf("%q is read here and refused there: %v", text, err)
			}
			continue
		}
		if p.opaque {
			open++
			continue
		}
		for range 400 {
			var b strings.Builder
			for range r.IntN(6) {
				b.WriteRune([]rune("aaabbbcd01_-.$ ^\té\u4e00")[r.IntN(18)])
			}
			w := b.String()
			if got, want := p.match(w), re.MatchString(w); got != want {
				t.Errorf("%q on %q: %v, want %v", text, w, got, want)
				break
			}
		}
	}
	if open > 4 {
		t.Errorf("%d patterns are opaque", open)
	}
}

// TestWordsBetweenPatterns asks for words that one pattern matches and another
// does not, and holds proofs of emptiness against random words.
func TestWordsBetweenPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	for i := range 3000 {
		a := compilePattern(testPatterns[r.IntN(len(testPatterns))])
		b := compilePattern(testPatterns[r.IntN(len(testPatterns))])
		if a.opaque || b.opaque {
			continue
		}
		q := wordQuery{yes: []*pattern{a}, no: []*pattern{b}, min: r.IntN(3), max: 2 + r.IntN(4), states: 4000}
		fits := func(w string) bool {
			n := len([]rune(w))
			return n >= q.min && n <= q.max && a.match(w) && !b.match(w)
		}
		w, st := q.find()
		switch {
		case st == sat && !fits(w):
			t.Fatalf("%q is no word between %q and %q", w, a.text, b.text)
		case st == unknown:
			t.Errorf("%q and %q stay open", a.text, b.text)
		case st == empty:
			for range 50 {
				var sb strings.Builder
				for range q.min + r.IntN(q.max-q.min+1) {
					sb.WriteRune([]rune("abcd01_-.$ ^")[r.IntN(12)])
				}
				if fits(sb.String()) {
					t.Fatalf("%d: %q lies between %q and %q", i, sb.String(), a.text, b.text)
				}
			}
		}
	}
}
