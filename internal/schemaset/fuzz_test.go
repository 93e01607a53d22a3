// SPDX-License-Identifier: Apache-2.0

package schemaset

import "testing"

var fuzzSeeds = []string{
	`{"required":true}`, `{"properties":[]}`, `{"type":"object","type":"x"}`, `true`, `false`, `[]`, ``,
	`{"$ref":"#"}`, `{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"$id":"#a","$anchor":"a","$ref":"#a"}`,
	`{"pattern":"^(a|b)*[^c-z]{2,5}$"}`, `{"minimum":1e9999,"maximum":-1e-9999}`, `{"items":[{},true],"additionalItems":false}`,
	`{"unevaluatedProperties":false,"anyOf":[{"properties":{"a":{}}}]}`, `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`,
}

// FuzzParse reads any bytes: no panic, and what is read can be used.
func FuzzParse(f *testing.F) {
	for _, s := range append(fuzzSeeds, handSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 20_000 {
			return
		}
		s, _ := Parse(raw, ParseOptions{})
		small := Budget{Steps: 3_000, RegexStates: 200}
		if g := Generate(s, small); g.Value != nil && Eval(g.Value, s) != Yes {
			t.Errorf("%s was generated and is not accepted", g.Value)
		}
		if c := Compare(s, s, small); c.Relation != Equal {
			t.Errorf("not equal to itself: %+v", c)
		}
		Eval([]byte(`{"a":[1,"x",null]}`), s)
	})
}

// FuzzCompare compares any two documents. Values that the sampler builds must
// not contradict a claim, as far as the internal validator can tell.
func FuzzCompare(f *testing.F) {
	for i, s := range handSeeds {
		f.Add([]byte(s), []byte(handSeeds[(i+1)%len(handSeeds)]))
	}
	for i, s := range fuzzSeeds {
		f.Add([]byte(s), []byte(handSeeds[i%len(handSeeds)]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a)+len(b) > 8_000 {
			return
		}
		old, _ := Parse(a, ParseOptions{})
		new, _ := Parse(b, ParseOptions{})
		before := SelfCheckFailures()
		x := Explain(old, new, Options{Budget: Budget{Steps: 3_000, RegexStates: 200}, MaxDeltas: 50})
		if SelfCheckFailures() != before {
			t.Errorf("a value failed the self-check")
		}
		if old.Loops() || new.Loops() {
			return
		}
		for _, v := range append(candidates(old.root, 20), candidates(new.root, 20)...) {
			p, q := newEvaluator().eval(old.root, v), newEvaluator().eval(new.root, v)
			if p == Yes && q == No && x.Root.Lost.Verdict == Inside || p == No && q == Yes && x.Root.Gained.Verdict == Inside {
				t.Errorf("%s contradicts %v", v.appendJSON(nil), x.Root.Relation)
			}
		}
	})
}
