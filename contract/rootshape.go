// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"regexp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
)

// rootCombinators are keywords that many clients refuse at the root of a
// tool's arguments.
var rootCombinators = []string{"oneOf", "anyOf", "allOf", "not", "if"}

// rootShape reports what clients refuse at the root of the arguments, whatever
// values the schema accepts.
func (c *comparer) rootShape(a at, old, new jsonx.Raw) {
	member := func(raw jsonx.Raw, name string) jsonx.Raw { return lookup(raw, jsonx.Push("", name)) }
	if was, is := member(old, "type"), member(new, "type"); string(was) == `"object"` && string(is) != `"object"` {
		c.add(kindRootNotObject, a.member("type"), values(was, is))
	}
	for _, k := range rootCombinators {
		if member(old, k) == nil && member(new, k) != nil && !hasAny(old, rootCombinators) {
			c.add(kindRootComposition, a.member(k), values(nil, member(new, k)), message(k+" at the root of the arguments"))
			break
		}
	}
	c.instructions(a, old, new)
}

func hasAny(raw jsonx.Raw, names []string) bool {
	for _, n := range names {
		if lookup(raw, jsonx.Push("", n)) != nil {
			return true
		}
	}
	return false
}

// instruction matches names and values that talk to a model.
var instruction = regexp.MustCompile(`(?i)\b(ignore|disregard|forget) (all|any|previous|prior|above|the|your)\b|` +
	`\b(do|must) ?n[o']t (tell|mention|show|inform|reveal)\b|\bwithout (telling|informing|asking)\b|` +
	`\b(system|developer) ?prompt\b|\bread (the )?(file|contents? of)\b.*[/~.]|<\s*(important|system|instructions?|secret)\s*>|` +
	`\bbefore (using|calling) (any|this|other)\b`)

// wordMarks are what names have in place of blanks.
var wordMarks = strings.NewReplacer("_", " ", "-", " ")

// instructions reports strings of the new schema, other than descriptions,
// that read like an instruction and were not there before.
func (c *comparer) instructions(a at, old, new jsonx.Raw) {
	had := map[string]bool{}
	visitNames(old, "", func(_, s string) { had[s] = true })
	visitNames(new, "", func(pointer, s string) {
		if !had[s] && instruction.MatchString(wordMarks.Replace(s)) {
			had[s] = true
			p := a
			p.Pointer += pointer
			c.add(kindPropertyInstruction, p, values(nil, str(s)),
				message("a new name or value reads like an instruction: "+text.Line(text.Clip(s, 120))))
		}
	})
}

// visitNames visits property names, enum values, constants, defaults and
// examples at any depth.
func visitNames(v jsonx.Raw, pointer string, visit func(pointer, s string)) {
	switch jsonx.KindOf(v) {
	case jsonx.Object:
		ms, _ := jsonx.Members(v, jsonx.Strict)
		for _, m := range ms {
			p := jsonx.Push(pointer, m.Name)
			visit(p, m.Name)
			if t, ok := jsonx.Text(m.Value); ok && (m.Name == "const" || m.Name == "default") {
				visit(p, t)
			}
			visitNames(m.Value, p, visit)
		}
	case jsonx.Array:
		es, _ := jsonx.Elements(v, jsonx.Strict)
		for i, e := range es {
			p := jsonx.Push(pointer, string(number(i)))
			if t, ok := jsonx.Text(e); ok {
				visit(p, t)
			}
			visitNames(e, p, visit)
		}
	}
}

// wrapped reports an output that moved into, or out of, {"result": ...}, as
// an SDK does when a return type changes.
func (c *comparer) wrapped(a at, old, new jsonx.Raw) bool {
	inner := func(raw jsonx.Raw) jsonx.Raw {
		ms, _ := jsonx.Members(lookup(raw, "/properties"), jsonx.Strict)
		if len(ms) != 1 || ms[0].Name != "result" || string(lookup(raw, "/required")) != `["result"]` {
			return nil
		}
		return ms[0].Value
	}
	equal := func(x, y jsonx.Raw) bool {
		if x == nil || y == nil {
			return false
		}
		p, pp := ss.Parse(x, ss.ParseOptions{})
		q, qp := ss.Parse(y, ss.ParseOptions{})
		return len(pp) == 0 && len(qp) == 0 && ss.Compare(p, q, c.opt.Budget).Relation == ss.Equal
	}
	if !equal(inner(new), old) && !equal(inner(old), new) {
		return false
	}
	c.add(kindOutputWrapped, a, values(old, new), func(ch *Change) {
		ch.Output = true
		s, _ := ss.Parse(new, ss.ParseOptions{})
		v := ss.Generate(s, c.opt.Budget)
		if v.Verdict != ss.Outside {
			return
		}
		was, err := newValidator(old).valid(v.Value)
		is, err2 := newValidator(new).valid(v.Value)
		if err == nil && err2 == nil && !was && is {
			ch.Certainty, ch.Witness = Proven, &Witness{Value: v.Value, ValidAfter: true}
		}
	})
	return true
}
