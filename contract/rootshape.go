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
	was, is := newDocument(old), newDocument(new)
	if was.get("type").is(`"object"`) && !is.get("type").is(`"object"`) {
		c.add(kindRootNotObject, a.member("type"), values(was.get("type").value(), is.get("type").value()))
	}
	for _, k := range rootCombinators {
		if was.get(k) != nil {
			break // those who refuse it refused it before
		}
		if v := is.get(k); v != nil {
			c.add(kindRootComposition, a.member(k), values(nil, v.raw), message(k+" at the root of the arguments"))
			break
		}
	}
	c.instructions(a, old, new)
}

// instruction matches names and values that talk to a model.
var instruction = regexp.MustCompile(`(?i)\b(ignore|disregard|forget) (all|any|previous|prior|above|the|your)\b|` +
	`\b(do|must) ?n[o']t (tell|mention|show|inform|reveal)\b|\bwithout (telling|informing|asking)\b|` +
	`\b(system|developer) ?prompt\b|\bread (the )?(file|contents? of)\b.*[/~.]|<\s*(important|system|instructions?|secret)\s*>|` +
	`\bbefore (using|calling) (any|this|other)\b`)

// wordMarks are what names have in place of blanks.
var wordMarks = strings.NewReplacer("_", " ", "-", " ")

func instructs(s string) bool { return instruction.MatchString(squash(wordMarks.Replace(s))) }

// instructions reports names and values of the new schema that read like an
// instruction and were not there before. Descriptions are compared elsewhere.
func (c *comparer) instructions(a at, old, new jsonx.Raw) {
	had := map[string]bool{}
	eachWord(old, func(raw string, _ jsonx.Token) { had[raw] = true })
	eachWord(new, func(raw string, t jsonx.Token) {
		s, _ := jsonx.Text([]byte(raw))
		if had[raw] || !instructs(s) {
			return
		}
		had[raw] = true
		p := a
		p.Path = pathOf(a.Path, t.Pointer())
		p.Pointer += t.Pointer()
		c.add(kindPropertyInstruction, p, values(nil, str(s)),
			message("a new name or value reads like an instruction: "+text.Line(text.Clip(s, 120))))
	})
}

// described are the keywords whose strings are texts or no words at all.
var described = map[string]bool{
	`"description"`: true, `"title"`: true, `"$comment"`: true, `"type"`: true, `"$ref"`: true, `"format"`: true, `"pattern"`: true,
}

// eachWord visits the names and the other strings of a schema, at any depth.
func eachWord(raw jsonx.Raw, visit func(raw string, t jsonx.Token)) {
	name := ""
	_ = jsonx.Walk(raw, func(t jsonx.Token) error {
		switch {
		case t.Name:
			name = string(t.Raw)
			visit(name, t)
		case t.Kind == jsonx.String && !described[name]:
			visit(string(t.Raw), t)
		}
		return nil
	})
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
	said := `the result was wrapped into {"result": ...}`
	if inner(old) != nil && !equal(inner(new), old) {
		said = `the result was taken out of {"result": ...}`
	}
	c.add(kindOutputWrapped, a, values(old, new), message(said), func(ch *Change) {
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
