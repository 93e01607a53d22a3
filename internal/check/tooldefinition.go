// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolDefinitionRules are those of what tools/list says of each tool.
var toolDefinitionRules = []Rule{
	{
		Info: rule.Info{
			ID: "tools.list-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#tool",
			Title: "each tool has a name and an inputSchema, and its members have their types",
			Why:   "clients that read the list by the schema refuse all of it for one tool that is malformed",
			Fix:   "give each tool a string name and an inputSchema, and leave out what is not known instead of sending null",
		},
		In: every, Watch: toolShape,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_shape","description":7,"inputSchema":{"type":"object"}}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{oneMoreTool(`{"description":"nameless","inputSchema":{"type":"object"}}`)}},
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_shape"}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.input-schema-not-null", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#tool",
			Title: "an inputSchema is an object, never null",
			Why:   "clients pass the schema on to a model provider, which refuses the whole request",
			Fix:   `give a tool without parameters {"type":"object","additionalProperties":false}`,
		},
		In: since2511, Watch: toolSchemaObject,
		Break: Break{
			Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_null","inputSchema":null}`)},
			Also:   []string{"tools.input-schema-root-object"},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.input-schema-root-object", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#tool",
			Title: "the root of an inputSchema says type object",
			Why:   "arguments are always an object, and model providers refuse a tool whose parameters may be anything else",
			Fix:   `put "type": "object" at the root of the schema, beside whatever else stands there`,
		},
		In: every, Watch: toolSchemaRoot,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_root","inputSchema":{"properties":{"a":{"type":"string"}}}}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_root","inputSchema":{"type":["object","null"]}}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.annotations-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#toolannotations",
			Title: "the hints of a tool's annotations are booleans, and its title is a string",
			Why:   "a client that reads \"false\" as true asks for no approval before a tool that destroys",
			Fix:   "send true or false, and leave out a hint that is not known",
		},
		In: since2503, Watch: toolAnnotations,
		Break: Break{Faults: []mock.Fault{
			oneMoreTool(`{"name":"mcprove_hint","inputSchema":{"type":"object"},"annotations":{"destructiveHint":"false"}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "tools.name-length", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#tool-names",
			Title: "a tool's name has 1 to 128 characters",
			Why:   "clients prefix names and providers limit them: a long one is cut, and then matches nothing",
			Fix:   "choose a shorter name, and say the rest in title and description",
		},
		In: since2511, Watch: toolNameLength,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"` + strings.Repeat("n", 129) + `","inputSchema":{"type":"object"}}`)}},
	},
	{
		Info: rule.Info{
			ID: "tools.name-charset", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#tool-names",
			Title: "a tool's name is made of A-Z, a-z, 0-9, underscore, hyphen and dot",
			Why:   "clients rewrite or refuse other characters, and the call that comes back names a tool nobody knows",
			Fix:   "use the allowed characters in the name, and any in the title",
		},
		In: since2511, Watch: toolNameCharset, Under: []string{"tools.name-no-special"},
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_größe","inputSchema":{"type":"object"}}`)}},
	},
	{
		Info: rule.Info{
			ID: "tools.name-no-special", Level: rule.ShouldNot, Basis: rule.Keyword, Section: toolsPage + "#tool-names",
			Title: "a tool's name has no space, comma or other special character",
			Why:   "a name with a separator is split by clients, logs and permission rules that list names",
			Fix:   "write an underscore or a hyphen in its place",
		},
		In: since2511, Watch: toolNameSpecial,
		Break: Break{
			Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove, special","inputSchema":{"type":"object"}}`)},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.name-unique", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#tool-names",
			Title: "no two tools have one name",
			Why:   "a call by the name reaches one of them, and nobody can tell which",
			Fix:   "name each tool differently",
		},
		In: every, Check: toolNamesUnique,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsList).OnPage(1).Copy("/result/tools/0", "/result/tools/-")}},
	},
}

// oneMoreTool lists a tool that the script does not have.
func oneMoreTool(definition string) mock.Fault {
	return mock.On(spec.MethodToolsList).OnPage(1).Set("/result/tools/-", definition)
}

// toolShapeElsewhere are places of a tool whose form other rules judge.
var toolShapeElsewhere = []string{"/annotations", "/icons", "/_meta", "/inputSchema/$schema", "/outputSchema/$schema"}

func toolShape(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, i := range t.Items(spec.MethodToolsList) {
		if v, ok := toolViolation(t.Revision, i); ok {
			say := "a tool is malformed: %s"
			args := []any{v.Message}
			if i.Name != "" {
				say, args = "the tool %s is malformed: %s", []any{brief(i.Name), v.Message}
			}
			placed(bad.add(i.Page, say, args...), i.Page.Response, i.Pointer+v.Pointer, "tool", i.Name)
			continue
		}
		c.Pass(i.Page)
	}
	c.Unseen("no tool was listed")
}

// toolViolation is the first fault in the form of a tool that is not judged by
// a rule of its own.
func toolViolation(r spec.Revision, i probe.Item) (spec.Violation, bool) {
	vs, err := spec.ValidateDefinition(r, "Tool", i.Raw)
	if err != nil {
		return spec.Violation{}, false
	}
	schema := i.Get("inputSchema")
	for _, v := range vs {
		switch {
		case v.Disputed, v.Kind == spec.Unreadable, startsWithAny(v.Pointer, toolShapeElsewhere):
		case schema != nil && v.Pointer == "/inputSchema" && jsonx.KindOf(schema) != jsonx.Object:
		case v.Pointer == "/inputSchema/type", v.Pointer == "/inputSchema" && v.Member == "type":
		case v.Pointer == "/outputSchema/type", v.Pointer == "/outputSchema" && v.Member == "type":
		default:
			return v, true
		}
	}
	return spec.Violation{}, false
}

// startsWithAny reports whether a pointer leads to one of the places, or into it.
func startsWithAny(pointer string, places []string) bool {
	for _, p := range places {
		if pointer == p || strings.HasPrefix(pointer, p+"/") {
			return true
		}
	}
	return false
}

// eachTool judges a member of each tool that has it.
func eachTool(c *probe.Case, t *probe.Traffic, member string, judge func(i probe.Item, bad *blames) bool) {
	bad := &blames{say: c.Fail}
	for _, i := range t.Items(spec.MethodToolsList) {
		if i.Get(member) != nil && judge(i, bad) {
			c.Pass(i.Page)
		}
	}
	c.Unseen("no tool with %s was listed", member)
}

func toolSchemaObject(c *probe.Case, t *probe.Traffic) {
	eachTool(c, t, "inputSchema", func(i probe.Item, bad *blames) bool {
		s := i.Get("inputSchema")
		if jsonx.KindOf(s) != jsonx.Object {
			placed(bad.add(i.Page, "the inputSchema of the tool %s is %s", brief(i.Name), asJSON(s)), i.Page.Response, i.Pointer+"/inputSchema", "tool", i.Name)
			return false
		}
		return true
	})
}

func toolSchemaRoot(c *probe.Case, t *probe.Traffic) {
	eachTool(c, t, "inputSchema", func(i probe.Item, bad *blames) bool {
		s := i.Get("inputSchema")
		root := probe.Lookup(s, "/type")
		if jsonx.KindOf(s) == jsonx.Object && probe.Text(root) == "object" {
			return true
		}
		at, what := "/inputSchema", "is "+asJSON(s)
		if jsonx.KindOf(s) == jsonx.Object {
			at, what = "/inputSchema/type", "has the type "+asJSON(root)+" at its root"
			if root == nil {
				at, what = "/inputSchema", "has no type at its root"
			}
		}
		placed(bad.add(i.Page, "the inputSchema of the tool %s %s, not the type \"object\"", brief(i.Name), what), i.Page.Response, i.Pointer+at, "tool", i.Name)
		return false
	})
}

func toolAnnotations(c *probe.Case, t *probe.Traffic) {
	eachTool(c, t, "annotations", func(i probe.Item, bad *blames) bool {
		vs, err := spec.ValidateDefinition(t.Revision, "ToolAnnotations", i.Get("annotations"))
		v, malformed := malformation(vs, nil)
		if err != nil || !malformed {
			return true
		}
		placed(bad.add(i.Page, "the annotations of the tool %s are malformed: %s", brief(i.Name), v.Message), i.Page.Response, i.Pointer+"/annotations"+v.Pointer, "tool", i.Name)
		return false
	})
}

// eachToolName judges the name of each tool that has one.
func eachToolName(c *probe.Case, t *probe.Traffic, judge func(name string) (fault string)) {
	eachTool(c, t, "name", func(i probe.Item, bad *blames) bool {
		if jsonx.KindOf(i.Get("name")) != jsonx.String {
			return false
		}
		fault := judge(i.Name)
		if fault != "" {
			placed(bad.add(i.Page, "the name of the tool %s %s", brief(i.Name), fault), i.Page.Response, i.Pointer+"/name", "tool", i.Name)
		}
		return fault == ""
	})
}

// mostNameRunes bounds a tool's name (2026-07-28/server/tools#tool-names).
const mostNameRunes = 128

func toolNameLength(c *probe.Case, t *probe.Traffic) {
	eachToolName(c, t, func(name string) string {
		switch n := utf8.RuneCountInString(name); {
		case n == 0:
			return "is the empty string"
		case n > mostNameRunes:
			return "has more than 128 characters"
		}
		return ""
	})
}

// nameRune reports whether a tool's name should be allowed to hold r.
func nameRune(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r))
}

func toolNameCharset(c *probe.Case, t *probe.Traffic) {
	eachToolName(c, t, func(name string) string {
		for _, r := range name {
			if !nameRune(r) {
				return "holds " + brief(string(r))
			}
		}
		return ""
	})
}

// toolNameSpecial judges what is no letter or digit of any alphabet.
func toolNameSpecial(c *probe.Case, t *probe.Traffic) {
	eachToolName(c, t, func(name string) string {
		for _, r := range name {
			if !nameRune(r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				return "holds the special character " + brief(string(r))
			}
		}
		return ""
	})
}

// toolNamesUnique leaves to the rules on pages the same tool on two of them.
func toolNamesUnique(c *probe.Case) {
	l, ok := c.Listed(spec.MethodToolsList)
	if !ok {
		return
	}
	bad := blames{say: c.Fail}
	first := map[string]probe.Item{}
	for _, i := range l.Items {
		before, twice := first[i.Name]
		switch {
		case jsonx.KindOf(i.Get("name")) != jsonx.String:
		case !twice:
			first[i.Name] = i
			c.Pass(i.Page)
		case before.Page == i.Page || !probe.Same(before.Raw, i.Raw):
			placed(bad.add(i.Page, "two tools are named %s, at %s and %s", brief(i.Name), before.Pointer, i.Pointer), i.Page.Response, i.Pointer+"/name", "tool", i.Name).And(otherPage(before, i)...)
		}
	}
	c.Unseen("no tool was listed")
}

// otherPage is the page of the first item where the second stands on another.
func otherPage(a, b probe.Item) []*probe.Exchange {
	if a.Page == b.Page {
		return nil
	}
	return []*probe.Exchange{a.Page}
}
