// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// schemaRules are those of the JSON Schemas that tools publish.
var schemaRules = []Rule{
	{
		Info: rule.Info{
			ID: "schema.valid", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#schema-validation",
			Title: "published schemas are valid under their dialect",
			Why:   "a client's validator refuses the schema, and with it every call of the tool",
			Fix:   "correct the keyword that is named, or say in $schema which dialect is meant",
			Detail: "The schema is read by the description of the dialect that $schema names, JSON Schema 2020-12 without one. " +
				"A pattern that is no regular expression of ECMA-262 is a warning, since that is only recommended.",
		},
		In: since2511, Watch: schemasValid,
		Break: Break{Faults: []mock.Fault{
			oneMoreTool(`{"name":"mcprove_schema","inputSchema":{"type":"object","properties":{"a":{"type":"strng"}}}}`),
		}},
		Breaks: []Break{
			// The root of a schema has a form in 2025-11-25, which says so too.
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_schema","inputSchema":{"type":"object"},"outputSchema":{"required":true}}`)}, In: modern},
		},
	},
	{
		Info: rule.Info{
			ID: "schema.default-2020-12", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#implementation-requirements",
			Title: "a schema without $schema can be used as JSON Schema 2020-12",
			Why:   "every peer reads it by that dialect: what was written for another one means something else, or nothing",
			Fix:   "define what the references lead to, and write by 2020-12 or name the dialect in $schema",
			Detail: "Looked for are references into the schema itself that lead nowhere, and schemas that only an older " +
				"dialect allows.",
		},
		In: since2511, Watch: schemasDefault,
		Break: Break{Faults: []mock.Fault{
			oneMoreTool(`{"name":"mcprove_default","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/mcprove"}}}}`),
		}},
		Breaks: []Break{{
			Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_default","inputSchema":{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}}`)},
			Also:   []string{"schema.valid"},
		}},
	},
	{
		Info: rule.Info{
			ID: "schema.dialect-honoured", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#implementation-requirements",
			Title: "a schema with $schema can be used under the dialect that it names",
			Why:   "peers read it by that dialect, and refuse it or read something else than what was meant",
			Fix:   "write by the dialect that $schema names, or take $schema out for 2020-12",
			Detail: "Looked for are references into the schema itself that lead nowhere, and schemas that are valid as 2020-12 " +
				"and not as what they say they are.",
		},
		In: since2511, Watch: schemasDeclared,
		Break: Break{Faults: []mock.Fault{
			oneMoreTool(`{"name":"mcprove_dialect","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/mcprove"}}}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "schema.no-remote-ref-published", Level: rule.Should, Basis: rule.Derived, Section: "2026-07-28/basic#ref-resolution",
			Title: "published schemas need nothing from the network",
			Why:   "no peer fetches a reference by itself, so the schema is refused or takes anything",
			Fix:   "put what is referred to into $defs of the schema itself",
		},
		In: modern, Watch: schemasRemote,
		Break: Break{Faults: []mock.Fault{
			oneMoreTool(`{"name":"mcprove_remote","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}}`),
		}},
	},
}

// published is a schema that a tool shows, with what there is to say of it.
type published struct {
	tool    probe.Item
	member  string
	raw     json.RawMessage
	dialect string // $schema; empty without one
	fault   *contract.SchemaFault
}

// publishedSchemas are the schemas of all tools listed.
func publishedSchemas(t *probe.Traffic) []published {
	return probe.Known(t, "published schemas", func() []published {
		var out []published
		for _, i := range t.Items(spec.MethodToolsList) {
			for _, member := range []string{"inputSchema", "outputSchema"} {
				raw := i.Get(member)
				if jsonx.KindOf(raw) != jsonx.Object {
					continue
				}
				out = append(out, published{
					tool: i, member: member, raw: raw,
					dialect: probe.Text(probe.Lookup(raw, "/$schema")), fault: contract.CheckSchema(raw),
				})
			}
		}
		return out
	})
}

// blame says what is wrong with the schema of a tool.
func (p published) blame(bad *blames, format string, args ...any) {
	args = append([]any{p.member, brief(p.tool.Name)}, args...)
	placed(bad.add(p.tool.Page, "the %s of the tool %s "+format, args...), p.tool.Page.Response, p.tool.Pointer+"/"+p.member, "tool", p.tool.Name)
}

func schemasValid(c *probe.Case, t *probe.Traffic) {
	bad, odd := blames{say: c.Fail}, blames{say: c.Warn}
	for _, p := range publishedSchemas(t) {
		switch {
		case p.fault == nil || p.fault.Kind == contract.SchemaDangling:
			c.Pass(p.tool.Page)
		case p.fault.Kind == contract.SchemaInvalid:
			p.blame(&bad, "is no valid schema of %s: %s", p.named(), p.fault.Text)
		case p.fault.Kind == contract.SchemaPattern && nowhereParsed(p.raw):
			p.blame(&odd, "holds a pattern that is no regular expression of ECMA-262: %s", brief(p.fault.Text))
		}
	}
	c.Unseen("no schema was listed that can be judged")
}

// named is the dialect that a schema is read by, for people.
func (p published) named() string {
	s, _ := schemaset.Parse(p.raw, schemaset.ParseOptions{})
	if d := s.Dialect(); d != schemaset.DialectUnknown {
		return "JSON Schema " + d.String()
	}
	return brief(p.dialect)
}

// nowhereParsed reports whether a second reader, too, finds a pattern that is
// none.
func nowhereParsed(raw json.RawMessage) bool { return hasProblem(raw, schemaset.ProblemBadPattern) }

func hasProblem(raw json.RawMessage, kind schemaset.ProblemKind) bool {
	_, problems := schemaset.Parse(raw, schemaset.ParseOptions{})
	for _, p := range problems {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// usable judges whether a schema that its own dialect describes well enough can
// be used under it.
func usable(c *probe.Case, p published, bad *blames, other, otherName string) {
	switch {
	case p.fault == nil:
		c.Pass(p.tool.Page)
	case p.fault.Kind == contract.SchemaDangling && hasProblem(p.raw, schemaset.ProblemDanglingRef):
		p.blame(bad, "refers to %s, which is not in it", brief(p.fault.Text))
	case p.fault.Kind == contract.SchemaInvalid && contract.CheckSchema(dialectSet(p.raw, other)) == nil:
		p.blame(bad, "is valid as %s, and is to be read as %s: %s", otherName, p.named(), p.fault.Text)
	}
}

const draft07 = "http://json-schema.org/draft-07/schema#"

func schemasDefault(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, p := range publishedSchemas(t) {
		if p.dialect == "" {
			usable(c, p, &bad, draft07, "JSON Schema draft-07")
		}
	}
	c.Unseen("no schema without $schema was listed that can be judged")
}

func schemasDeclared(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, p := range publishedSchemas(t) {
		if p.dialect != "" {
			usable(c, p, &bad, "", "JSON Schema 2020-12")
		}
	}
	c.Unseen("no schema with $schema was listed that can be judged")
}

// dialectSet is a schema with another $schema, without one when it is empty.
func dialectSet(raw json.RawMessage, dialect string) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	if dialect != "" {
		b.WriteString(`"$schema":` + string(jsonx.Quote(dialect)))
	}
	for _, m := range probe.Members(raw) {
		if m.Name == "$schema" {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(string(jsonx.Quote(m.Name)) + ":" + string(m.Value))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

func schemasRemote(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, p := range publishedSchemas(t) {
		ref := remoteRef(p.raw)
		if ref == "" {
			c.Pass(p.tool.Page)
			continue
		}
		p.blame(&bad, "refers to %s, which nobody fetches", brief(ref))
	}
	c.Unseen("no schema was listed")
}

// remoteRef is a reference of a schema that leads to the network, empty when it
// has none. The descriptions of the dialects themselves are part of every
// validator.
func remoteRef(raw json.RawMessage) string {
	base, err := url.Parse(probe.Text(probe.Lookup(raw, "/$id")))
	if err != nil {
		base = &url.URL{}
	}
	_, problems := schemaset.Parse(raw, schemaset.ParseOptions{})
	for _, p := range problems {
		if p.Kind != schemaset.ProblemExternalRef {
			continue
		}
		ref, err := base.Parse(p.Detail)
		if err == nil && (ref.Scheme == "http" || ref.Scheme == "https") && ref.Host != "json-schema.org" {
			return ref.String()
		}
	}
	return ""
}
