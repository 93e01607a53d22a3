// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const (
	paramSchema  = httpPage + "#schema-extension"
	droppedTools = "clients must leave a tool with a bad annotation out of their list, so nobody can call it over HTTP"
)

// annotate puts a property with an annotation into the first tool listed.
func annotate(name, schema string) []mock.Fault {
	return []mock.Fault{mock.On(spec.MethodToolsList).OnPage(1).Set("/result/tools/0/inputSchema/properties/"+name, schema)}
}

// paramHeaderRules are those of x-mcp-header in the schemas of tools, by
// looking at what is listed.
var paramHeaderRules = []Rule{
	{
		Info: rule.Info{
			ID: "x-mcp-header.not-empty", Level: rule.MustNot, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "an x-mcp-header is not empty",
			Why:   droppedTools,
			Fix:   "name the header, or take the annotation out",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, isReason(spec.EmptyName), "the x-mcp-header at %s is empty")
		},
		Break: Break{Faults: annotate("extra", `{"type":"string","x-mcp-header":""}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.token", Level: rule.Must, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "an x-mcp-header is an HTTP field name: letters, digits and !#$%&'*+-.^_`|~",
			Why:   droppedTools,
			Fix:   "use letters, digits and hyphens",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, func(f *mirrorFault) bool {
				return f.Reason == spec.NotString || f.Reason == spec.NotToken && !f.controls()
			},
				"the x-mcp-header at %s is no HTTP field name")
		},
		Break:  Break{Faults: annotate("extra", `{"type":"string","x-mcp-header":"my header"}`)},
		Breaks: []Break{{Faults: annotate("extra", `{"type":"string","x-mcp-header":true}`)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.no-controls", Level: rule.MustNot, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "an x-mcp-header has no control characters",
			Why:   "a line break in it would begin a header of the server's choice in the requests of a client that does not look",
			Fix:   "take the control characters out",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, func(f *mirrorFault) bool { return f.Reason == spec.NotToken && f.controls() }, "the x-mcp-header at %s holds control characters")
		},
		Break: Break{Faults: annotate("extra", `{"type":"string","x-mcp-header":"Region\r\nX-Admin"}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.unique", Level: rule.Must, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "the x-mcp-header values of one tool differ, also when case is ignored",
			Why:   "two arguments would share one header, since header names have no case",
			Fix:   "give each property a name of its own",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, isReason(spec.DuplicateName), "the x-mcp-header at %s stands at another property too")
		},
		Break: Break{Faults: append(annotate("extra", `{"type":"string","x-mcp-header":"Extra"}`), annotate("other", `{"type":"string","x-mcp-header":"extra"}`)...)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.primitive-only", Level: rule.Must, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "x-mcp-header stands on properties of type string, integer or boolean",
			Why:   droppedTools,
			Fix:   "annotate a property of one of these types, or say which type the property has",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, func(f *mirrorFault) bool { return f.Reason == spec.NotPrimitive && !f.number() },
				"the property with x-mcp-header at %s is no string, integer or boolean")
		},
		Break: Break{Faults: annotate("extra", `{"type":"array","items":{"type":"string"},"x-mcp-header":"Extra"}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.no-number-type", Level: rule.MustNot, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "x-mcp-header does not stand on a property of type number",
			Why:   droppedTools,
			Fix:   "make the property an integer or a string, or take the annotation out",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, func(f *mirrorFault) bool { return f.Reason == spec.NotPrimitive && f.number() },
				"the property with x-mcp-header at %s is a number")
		},
		Break: Break{Faults: annotate("extra", `{"type":"number","x-mcp-header":"Extra"}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.integer-safe-range", Level: rule.Must, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "the integers of an annotated property lie within 2^53-1",
			Why:   "clients written in JavaScript cannot send a larger value as it is, and header and body differ",
			Fix:   "make the property a string, or leave values beyond 9007199254740991 out of its schema",
		},
		In: modern, Watch: safeIntegers,
		Break: Break{Faults: annotate("extra", `{"type":"integer","enum":[1,9007199254740993],"x-mcp-header":"Extra"}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.statically-reachable", Level: rule.Must, Basis: rule.Keyword, Section: paramSchema, Transport: "http",
			Title: "an annotated property is reached through properties keywords alone",
			Why:   droppedTools,
			Fix:   "move the property out of items, oneOf, anyOf, allOf, not, if, then, else and $defs",
		},
		In: modern, Watch: func(c *probe.Case, t *probe.Traffic) {
			annotated(c, t, isReason(spec.NotReachable), "properties keywords alone do not lead to the x-mcp-header at %s")
		},
		Break: Break{Faults: annotate("extra", `{"type":"array","items":{"type":"string","x-mcp-header":"Extra"}}`)},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.no-sensitive", Level: rule.ShouldNot, Basis: rule.Keyword, Section: "2026-07-28/server/tools#x-mcp-header", Transport: "http",
			Title: "secrets and personal data are not mirrored into headers",
			Why:   "proxies and logs on the way keep headers, and so the value",
			Fix:   "take x-mcp-header off the property",
		},
		In: modern, Watch: noSensitive,
		Break: Break{Faults: annotate("api_key", `{"type":"string","x-mcp-header":"Key"}`)},
	},
}

// mirrorFault is an annotation that breaks a rule, with the schema it is in.
type mirrorFault struct {
	spec.ParamHeaderFault
	schema json.RawMessage
}

func isReason(r spec.ParamHeaderReason) func(*mirrorFault) bool {
	return func(f *mirrorFault) bool { return f.Reason == r }
}

// controls reports whether the annotation has control characters.
func (f *mirrorFault) controls() bool {
	return strings.ContainsFunc(probe.Text(probe.Lookup(f.schema, f.Pointer)), unicode.IsControl)
}

// number reports whether the annotated property is a number that may have a
// fraction.
func (f *mirrorFault) number() bool {
	at := f.Pointer[:strings.LastIndexByte(f.Pointer, '/')]
	typ := probe.Lookup(f.schema, at+"/type")
	return probe.Text(typ) == "number" ||
		slices.ContainsFunc(probe.Elements(typ), func(e json.RawMessage) bool { return probe.Text(e) == "number" })
}

// noAnnotation is why there is nothing to look at.
const noAnnotation = "no tool that was listed has x-mcp-header"

// annotated judges the annotations of every tool that was listed: wrong says
// which of their faults are those of the rule, and message takes the place.
func annotated(c *probe.Case, t *probe.Traffic, wrong func(*mirrorFault) bool, message string) {
	for _, tool := range t.Items(spec.MethodToolsList) {
		schema := tool.Get("inputSchema")
		hs, err := spec.ParseParamHeaders(schema)
		if err != nil || len(hs.Valid)+len(hs.Faults) == 0 {
			continue
		}
		good := true
		for _, f := range hs.Faults {
			if !wrong(&mirrorFault{f, schema}) {
				continue
			}
			good = false
			c.Fail(tool.Page, message+" in tool %s", placeOf(f.Pointer), quoted(tool.Name)).
				In(tool.Page.Response, tool.Pointer+"/inputSchema"+f.Pointer).Of("tool", tool.Name)
		}
		if good {
			c.Pass(tool.Page)
		}
	}
	if len(t.Items(spec.MethodToolsList)) > 0 {
		c.Unseen(noAnnotation)
		return
	}
	c.UnseenOf(t, spec.MethodToolsList)
}

// placeOf is a pointer for a message.
func placeOf(pointer string) string {
	if len(pointer) > 100 {
		return "…" + pointer[len(pointer)-99:]
	}
	return pointer
}

// mirroredIn calls visit for every good annotation of every tool listed.
func mirroredIn(c *probe.Case, t *probe.Traffic, visit func(tool probe.Item, p spec.ParamHeader, property json.RawMessage) bool) {
	for _, tool := range t.Items(spec.MethodToolsList) {
		schema := tool.Get("inputSchema")
		hs, err := spec.ParseParamHeaders(schema)
		if err != nil {
			continue
		}
		for _, p := range hs.Valid {
			if visit(tool, p, probe.Lookup(schema, p.Pointer)) {
				c.Pass(tool.Page)
			}
		}
	}
	c.Unseen(noAnnotation)
}

// safeIntegers looks at values that the schema names or demands: what it merely
// allows may never be sent.
func safeIntegers(c *probe.Case, t *probe.Traffic) {
	mirroredIn(c, t, func(tool probe.Item, p spec.ParamHeader, property json.RawMessage) bool {
		if p.Type != "integer" {
			return true
		}
		values := append(probe.Elements(probe.Lookup(property, "/enum")), probe.Elements(probe.Lookup(property, "/examples"))...)
		for _, name := range []string{"const", "default"} {
			if v := probe.Lookup(property, "/"+name); v != nil {
				values = append(values, v)
			}
		}
		for _, v := range values {
			if jsonx.KindOf(v) == jsonx.Number && !mirrors(v) {
				c.Fail(tool.Page, "the annotated integer %s of tool %s may be %s, which is beyond 2^53-1", placeOf(p.Pointer), quoted(tool.Name), short(v)).
					In(tool.Page.Response, tool.Pointer+"/inputSchema"+p.Pointer).Of("tool", tool.Name)
				return false
			}
		}
		return true
	})
}

// mirrors reports whether a value can stand in a header.
func mirrors(v json.RawMessage) bool {
	one := spec.ParamHeaders{Valid: []spec.ParamHeader{{Name: "V", Path: []string{"v"}, Type: "integer"}}}
	_, err := one.Fields([]byte(`{"v":` + string(v) + `}`))
	return err == nil
}

func noSensitive(c *probe.Case, t *probe.Traffic) {
	mirroredIn(c, t, func(tool probe.Item, p spec.ParamHeader, property json.RawMessage) bool {
		name := p.Path[len(p.Path)-1]
		why := ""
		for _, s := range []string{name, p.Name} {
			if w := sensitive(s); w != "" {
				why = "called " + quoted(s)
			}
		}
		switch {
		case why != "":
		case probe.Text(probe.Lookup(property, "/format")) == "password":
			why = "of format password"
		case probe.Text(probe.Lookup(property, "/format")) == "email":
			why = "of format email"
		case jsonx.KindOf(probe.Lookup(property, "/writeOnly")) == jsonx.True:
			why = "write-only"
		default:
			return true
		}
		c.Fail(tool.Page, "tool %s mirrors a property %s into %s", quoted(tool.Name), why, p.HeaderName()).
			In(tool.Page.Response, tool.Pointer+"/inputSchema"+p.Pointer).Of("tool", tool.Name)
		return false
	})
}

// Words that name a secret or a person's data by themselves, and those that do
// so only behind another: a page token is no secret, an access token is.
var (
	secretWords = []string{
		"password", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials", "apikey",
		"ssn", "email", "phone", "iban", "passport", "birthdate", "birthday",
	}
	secretPairs = map[string][]string{
		"token": {"access", "auth", "bearer", "refresh", "session", "id", "api", "security", "csrf"},
		"key":   {"api", "access", "private", "secret", "encryption", "signing"},
		"card":  {"credit", "debit"},
	}
)

// sensitive returns the word in a name that says that it holds a secret or
// personal data, empty where there is none.
func sensitive(name string) string {
	words := wordsOf(name)
	for i, w := range words {
		if slices.Contains(secretWords, w) {
			return w
		}
		if before, ok := secretPairs[w]; ok && (i > 0 && slices.Contains(before, words[i-1]) || w == "token" && len(words) == 1) {
			return w
		}
	}
	return ""
}

// wordsOf splits a name at punctuation and where a capital begins a word.
func wordsOf(name string) []string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Fields(b.String())
}
