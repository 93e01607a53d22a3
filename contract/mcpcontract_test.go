// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// The promises of mcp-contract, held by mcprove: one row for each point of its
// README and each behaviour that its own tests pin. Those that need a running
// server are in mcpcontractlive_test.go; exit codes and messages of the
// command line are tested with the command line.

// promise is one row: two listings, and everything that may be said of them.
type promise struct {
	point    string
	old, new string
	says     []string // "class id path", the path where it matters; all of them
	better   string   // why the verdict is another than mcp-contract's
}

// Listings of one tool, one of whose parts matters.
func withArgs(schema string) string {
	return `{"tools":[{"name":"export","description":"Exports rows.","inputSchema":` + schema + `}]}`
}

func withResult(schema string) string {
	return `{"tools":[{"name":"export","inputSchema":{"type":"object"},"outputSchema":` + schema + `}]}`
}

func withMembers(members string) string {
	return `{"tools":[{"name":"export","inputSchema":{"type":"object"}` + members + `}]}`
}

func hinted(annotations string) string { return withMembers(`,"annotations":{` + annotations + `}`) }

func tasked(support string) string {
	return withMembers(`,"execution":{"taskSupport":"` + support + `"}`)
}

func promptWith(arguments string) string {
	return `{"prompts":[{"name":"translate","arguments":[` + arguments + `]}]}`
}

// objectWith is the schema of an object: its properties, and which are required.
func objectWith(properties string, required ...string) string {
	s := `{"type":"object","properties":{` + properties + `}`
	if len(required) > 0 {
		s += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return s + `}`
}

func serverOf(version string) string {
	return `{"initialize":{"serverInfo":{"name":"s","version":"` + version + `"},"protocolVersion":"2025-11-25","capabilities":{"tools":{}}},"tools":[]}`
}

const filtersModel = `"$defs":{"Filters":{"type":"object","properties":{"city":{"type":"string"},"year":{"type":"integer"}},"required":["city"]}}`

// modelled is an argument that is a model behind a reference.
func modelled(argument, defs string, required string) string {
	return withArgs(`{"type":"object","properties":{"filters":` + argument + `},"required":[` + required + `],` + defs + `}`)
}

var promises = []promise{
	// What breaks a call.
	{point: "identical contracts have no change", old: withArgs(objectWith(`"path":{"type":"string"}`, "path")), new: withArgs(objectWith(`"path":{"type":"string"}`, "path"))},
	{point: "a removed tool breaks", old: `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`, new: `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`,
		says: []string{"breaking tool-removed"}},
	{point: "a removed argument breaks", old: withArgs(objectWith(`"path":{"type":"string"},"pages":{"type":"integer"}`, "path")), new: withArgs(objectWith(`"path":{"type":"string"}`, "path")),
		says: []string{"breaking argument-removed-open pages"}},
	{point: "a new required argument breaks", old: withArgs(objectWith(`"path":{"type":"string"}`)), new: withArgs(objectWith(`"path":{"type":"string"},"key":{"type":"string"}`, "key")),
		says: []string{"breaking required-argument-added key"}},
	{point: "an optional argument that becomes required breaks", old: withArgs(objectWith(`"pages":{"type":"integer"}`)), new: withArgs(objectWith(`"pages":{"type":"integer"}`, "pages")),
		says: []string{"breaking argument-now-required pages"}},
	{point: "string or null to string breaks", old: withArgs(objectWith(`"lang":{"anyOf":[{"type":"string"},{"type":"null"}]}`)), new: withArgs(objectWith(`"lang":{"type":"string"}`)),
		says: []string{"breaking input-became-not-nullable lang"}},
	{point: "string to integer breaks", old: withArgs(objectWith(`"x":{"type":"string"}`)), new: withArgs(objectWith(`"x":{"type":"integer"}`)),
		says: []string{"breaking input-type-changed x"}},
	{point: "a removed value breaks", old: withArgs(objectWith(`"as":{"type":"string","enum":["csv","json"]}`)), new: withArgs(objectWith(`"as":{"type":"string","enum":["csv"]}`)),
		says: []string{"breaking input-enum-value-removed as"}},

	// What adds to a promise.
	{point: "a new tool is additive", old: `{"tools":[]}`, new: withArgs(objectWith(``)), says: []string{"additive tool-added"}},
	{point: "a new optional argument is additive", old: withArgs(objectWith(`"path":{"type":"string"}`)), new: withArgs(objectWith(`"path":{"type":"string"},"lang":{"type":"string"}`)),
		says: []string{"additive argument-added lang"}},
	{point: "a required argument that becomes optional is additive", old: withArgs(objectWith(`"path":{"type":"string"}`, "path")), new: withArgs(objectWith(`"path":{"type":"string"}`)),
		says: []string{"additive argument-now-optional path"}},
	{point: "string to string or null is additive", old: withArgs(objectWith(`"lang":{"type":"string"}`)), new: withArgs(objectWith(`"lang":{"type":["string","null"]}`)),
		says: []string{"additive input-became-nullable lang"}},
	{point: "a new value is additive", old: withArgs(objectWith(`"as":{"type":"string","enum":["csv"]}`)), new: withArgs(objectWith(`"as":{"type":"string","enum":["csv","json"]}`)),
		says: []string{"additive input-enum-value-added as"}},
	{point: "a set of values for free text", old: withArgs(objectWith(`"as":{"type":"string"}`)), new: withArgs(objectWith(`"as":{"type":"string","enum":["csv","json"]}`)),
		says: []string{"breaking input-enum-introduced as"}, better: "every other text was accepted and is refused; mcp-contract sees new values in it"},
	{point: "an integer that may be any number", old: withArgs(objectWith(`"n":{"type":"integer"}`)), new: withArgs(objectWith(`"n":{"type":"number"}`)),
		says: []string{"additive input-integer-to-number n"}, better: "an integer is a number: no call is refused"},

	// What steers the choice of a tool.
	{point: "a tool's description is routing", old: withMembers(`,"description":"Old words."`), new: withMembers(`,"description":"New words."`), says: []string{"routing tool-description-changed"}},
	{point: "an argument's description is routing", old: withArgs(objectWith(`"x":{"type":"string","description":"Old."}`)), new: withArgs(objectWith(`"x":{"type":"string","description":"New."}`)),
		says: []string{"routing argument-description-changed x"}},
	{point: "a title is routing", old: withMembers(`,"title":"Old"`), new: withMembers(`,"title":"New"`), says: []string{"routing tool-title-changed"}},
	{point: "a server's version is cosmetic", old: serverOf("1.0.0"), new: serverOf("1.0.1"), says: []string{"cosmetic server-version-changed"}},

	// What the caller receives: the mirror.
	{point: "a removed result field breaks", old: withResult(objectWith(`"id":{"type":"string"},"n":{"type":"integer"}`, "id")), new: withResult(objectWith(`"n":{"type":"integer"}`)),
		says: []string{"breaking output-required-field-removed id"}},
	{point: "a new result field is additive", old: withResult(objectWith(`"id":{"type":"string"}`)), new: withResult(objectWith(`"id":{"type":"string"},"n":{"type":"integer"}`)),
		says: []string{"additive output-field-added-open n"}},
	{point: "a wider result type breaks", old: withResult(objectWith(`"id":{"type":"string"}`)), new: withResult(objectWith(`"id":{"type":["string","null"]}`)),
		says: []string{"breaking output-became-nullable id"}},
	{point: "a narrower result type is additive", old: withResult(objectWith(`"id":{"type":["string","null"]}`)), new: withResult(objectWith(`"id":{"type":"string"}`)),
		says: []string{"additive output-became-not-nullable id"}},
	{point: "a result field that is no longer guaranteed breaks", old: withResult(objectWith(`"id":{"type":"string"}`, "id")), new: withResult(objectWith(`"id":{"type":"string"}`)),
		says: []string{"breaking output-now-optional id"}},
	{point: "a new value in a result breaks", old: withResult(objectWith(`"s":{"type":"string","enum":["a"]}`)), new: withResult(objectWith(`"s":{"type":"string","enum":["a","b"]}`)),
		says: []string{"breaking output-enum-value-added s"}},
	{point: "a result of another type", old: withResult(objectWith(`"id":{"type":"string"}`)), new: withResult(objectWith(`"id":{"type":"integer"}`)),
		says: []string{"breaking output-type-changed id"}, better: "readers of the text get a number; mcp-contract calls it narrowed, and additive"},
	{point: "an open result has no fields to compare", old: withResult(`{"type":"object","additionalProperties":true}`), new: withResult(`{"type":"object","additionalProperties":true}`)},

	// Resources and prompts.
	{point: "a removed resource breaks", old: `{"resources":[{"uri":"a://1","name":"1"}]}`, new: `{"resources":[]}`, says: []string{"breaking resource-removed"}},
	{point: "a new resource is additive", old: `{"resources":[]}`, new: `{"resources":[{"uri":"a://1","name":"1"}]}`, says: []string{"additive resource-added"}},
	{point: "a removed prompt breaks", old: `{"prompts":[{"name":"p"}]}`, new: `{"prompts":[]}`, says: []string{"breaking prompt-removed"}},
	{point: "a new prompt is additive", old: `{"prompts":[]}`, new: `{"prompts":[{"name":"p"}]}`, says: []string{"additive prompt-added"}},
	{point: "a removed prompt argument breaks", old: promptWith(`{"name":"text"},{"name":"lang"}`), new: promptWith(`{"name":"text"}`), says: []string{"breaking prompt-argument-removed lang"}},
	{point: "a new required prompt argument breaks", old: promptWith(`{"name":"text"}`), new: promptWith(`{"name":"text"},{"name":"lang","required":true}`), says: []string{"breaking prompt-required-argument-added lang"}},
	{point: "a new optional prompt argument is additive", old: promptWith(`{"name":"text"}`), new: promptWith(`{"name":"text"},{"name":"lang"}`), says: []string{"additive prompt-argument-added lang"}},
	{point: "a prompt argument that becomes required breaks", old: promptWith(`{"name":"lang"}`), new: promptWith(`{"name":"lang","required":true}`), says: []string{"breaking prompt-argument-now-required lang.required"}},

	// What a tool says of itself.
	{point: "unchanged behaviour is no change", old: hinted(`"readOnlyHint":true,"openWorldHint":false`), new: hinted(`"openWorldHint":false,"readOnlyHint":true`)},
	{point: "read-only that is reversed breaks", old: hinted(`"readOnlyHint":true`), new: hinted(`"readOnlyHint":false`), says: []string{"breaking hint-read-only-withdrawn"}},
	{point: "a reader that now writes and destroys", old: hinted(`"readOnlyHint":true,"destructiveHint":false`), new: hinted(`"readOnlyHint":false,"destructiveHint":true`),
		says: []string{"breaking hint-destructive-raised", "breaking hint-read-only-withdrawn"}},
	{point: "destructive that is raised breaks", old: hinted(`"destructiveHint":false`), new: hinted(`"destructiveHint":true`), says: []string{"breaking hint-destructive-raised"}},
	{point: "idempotent that is withdrawn breaks", old: hinted(`"idempotentHint":true`), new: hinted(`"idempotentHint":false`), says: []string{"breaking hint-idempotent-withdrawn"}},
	{point: "an omitted hint has its documented default", old: hinted(`"readOnlyHint":true`), new: hinted(``), says: []string{"breaking hint-read-only-withdrawn"}},
	{point: "stating a default is cosmetic", old: hinted(``), new: hinted(`"destructiveHint":true`), says: []string{"cosmetic hint-restated"}},
	{point: "leaving a default out is cosmetic", old: hinted(`"openWorldHint":true`), new: hinted(``), says: []string{"cosmetic hint-restated"}},
	{point: "a hint against its default is the signal", old: hinted(``), new: hinted(`"destructiveHint":false`), says: []string{"additive hint-destructive-lowered"}},
	{point: "a hint that is moot on a read-only tool", old: hinted(`"readOnlyHint":true,"destructiveHint":false`), new: hinted(`"readOnlyHint":true,"destructiveHint":true`),
		says: []string{"cosmetic hint-moot-on-read-only", "routing hint-contradiction-introduced"}, better: "it changes nothing for the tool, but hosts disagree which of the two wins; mcp-contract says nothing"},
	{point: "a moot hint that goes when a tool becomes read-only", old: hinted(`"destructiveHint":false,"idempotentHint":true`), new: hinted(`"readOnlyHint":true`),
		says: []string{"additive hint-read-only-granted", "cosmetic hint-moot-on-read-only", "cosmetic hint-moot-on-read-only"}, better: "a tool that reads only cannot destroy; mcp-contract reports two breaks"},
	{point: "moving to the safer value is additive", old: hinted(`"destructiveHint":true`), new: hinted(`"destructiveHint":false`), says: []string{"additive hint-destructive-lowered"}},
	{point: "task support that is withdrawn breaks", old: tasked("required"), new: withMembers(``), says: []string{"breaking task-support-withdrawn"}},
	{point: "required to optional serves both styles", old: tasked("required"), new: tasked("optional"), says: []string{"additive task-support-relaxed"}},
	{point: "forbidden to optional serves both styles", old: tasked("forbidden"), new: tasked("optional"), says: []string{"additive task-support-added-optional"}},
	{point: "optional to required drops plain calls", old: tasked("optional"), new: tasked("required"), says: []string{"breaking task-support-now-required"}},
	{point: "optional to forbidden drops tasks", old: tasked("optional"), new: tasked("forbidden"), says: []string{"breaking task-support-withdrawn"}},
	{point: "absent to forbidden", old: withMembers(``), new: tasked("forbidden"), says: []string{"cosmetic task-support-restated"}, better: "absent means forbidden; mcp-contract reports a break"},

	// Nested arguments.
	{point: "a field behind a reference that is renamed breaks", old: modelled(`{"$ref":"#/$defs/Filters"}`, filtersModel, `"filters"`),
		new:  modelled(`{"$ref":"#/$defs/Filters"}`, strings.ReplaceAll(filtersModel, `"city"`, `"town"`), `"filters"`),
		says: []string{"breaking argument-removed-open filters.city", "breaking required-argument-added filters.town"}},
	{point: "definitions is read like $defs", old: modelled(`{"$ref":"#/definitions/Filters"}`, strings.Replace(filtersModel, "$defs", "definitions", 1), ``),
		new:  modelled(`{"$ref":"#/definitions/Filters"}`, strings.Replace(strings.Replace(filtersModel, "$defs", "definitions", 1), `"integer"`, `"string"`, 1), ``),
		says: []string{"breaking input-type-changed filters.year"}},
	{point: "a list of models has brackets", old: withArgs(`{"type":"object","properties":{"tags":{"type":"array","items":{"$ref":"#/$defs/Filters"}}},` + filtersModel + `}`),
		new:  withArgs(`{"type":"object","properties":{"tags":{"type":"array","items":{"$ref":"#/$defs/Filters"}}},` + strings.Replace(filtersModel, `,"year":{"type":"integer"}`, ``, 1) + `}`),
		says: []string{"breaking argument-removed-open tags[].year"}},
	{point: "a model or null is a model", old: modelled(`{"anyOf":[{"$ref":"#/$defs/Filters"},{"type":"null"}]}`, filtersModel, ``),
		new:  modelled(`{"anyOf":[{"$ref":"#/$defs/Filters"},{"type":"null"}]}`, strings.Replace(filtersModel, `,"year":{"type":"integer"}`, ``, 1), ``),
		says: []string{"breaking argument-removed-open filters.year"}},
	{point: "nested results are followed", old: withResult(`{"type":"object","properties":{"f":{"$ref":"#/$defs/Filters"}},` + filtersModel + `}`),
		new:  withResult(`{"type":"object","properties":{"f":{"$ref":"#/$defs/Filters"}},` + strings.Replace(filtersModel, `,"required":["city"]`, ``, 1) + `}`),
		says: []string{"breaking output-now-optional f.city"}},
	{point: "required is relative to its parent", old: withArgs(objectWith(`"limit":{"type":"integer"}`)),
		new:  withArgs(objectWith(`"limit":{"type":"integer"},"filters":` + objectWith(`"city":{"type":"string"}`, "city"))),
		says: []string{"additive optional-parent-with-required-child-added filters"}, better: "no call has the new object yet; mcp-contract counts its required member as a break"},
	{point: "a member that a given parent needs breaks", old: withArgs(objectWith(`"filters":` + objectWith(`"city":{"type":"string"}`))), new: withArgs(objectWith(`"filters":` + objectWith(`"city":{"type":"string"}`, "city"))),
		says: []string{"breaking argument-now-required filters.city"}},
	{point: "a model that refers to itself ends", old: withArgs(`{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/N"}}}}}`),
		new:  withArgs(`{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/N"}}}}}`),
		says: []string{"breaking input-type-changed n.v"}, better: "also inside the loop, which mcp-contract leaves out"},
	{point: "an external reference is not fetched, and told", old: withArgs(objectWith(`"x":{"type":"string"}`)), new: withArgs(objectWith(`"x":{"$ref":"https://example.org/x.json"}`)),
		says: []string{"breaking external-ref-introduced"}},
	{point: "fields below four levels", old: withArgs(deepObject(6, "string")), new: withArgs(deepObject(6, "integer")), says: []string{"breaking input-type-changed a.a.a.a.a.a"}, better: "mcp-contract stops at four levels"},
	{point: "a boolean in place of a schema", old: withArgs(objectWith(`"x":true`)), new: withArgs(objectWith(`"x":true`))},
	{point: "two object branches are compared", old: withArgs(objectWith(`"x":{"anyOf":[` + objectWith(`"a":{"type":"string"}`, "a") + `,` + objectWith(`"b":{"type":"string"}`, "b") + `]}`)),
		new:  withArgs(objectWith(`"x":{"anyOf":[` + objectWith(`"a":{"type":"string"}`, "a") + `,` + objectWith(`"b":{"type":"integer"}`, "b") + `]}`)),
		says: []string{"breaking input-type-changed x.b"}, better: "mcp-contract does not look into them"},

	// Spellings.
	{point: "both SDK spellings are one", old: `{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}`, new: `{"tools":[{"name":"a","input_schema":{"type":"object"},"output_schema":{"type":"object"}}]}`},
	{point: "a wrapper around a reference is no change of type", old: modelled(`{"allOf":[{"$ref":"#/$defs/Filters"}]}`, filtersModel, ``), new: modelled(`{"$ref":"#/$defs/Filters"}`, filtersModel, ``),
		says: []string{"cosmetic ref-inlined-or-extracted"}, better: "the same values are accepted; mcp-contract reports a break"},
}

// deepObject is a schema of nested objects.
func deepObject(n int, leaf string) string {
	s := `{"type":"` + leaf + `"}`
	for range n {
		s = objectWith(`"a":` + s)
	}
	return s
}

func TestPromisesOfMCPContract(t *testing.T) {
	for _, p := range promises {
		t.Run(p.point, func(t *testing.T) {
			r := contract.Compare(read(t, "old", []byte(p.old)), read(t, "new", []byte(p.new)), contract.Options{})
			var got []string
			for i := range r.Changes {
				c := &r.Changes[i]
				if c.ID == "server-version-unchanged-with-break" {
					continue
				}
				said := c.Class.String() + " " + c.ID
				if i := slices.IndexFunc(p.says, func(s string) bool { return strings.HasPrefix(s, said+" ") }); i >= 0 {
					said += " " + c.Path
				}
				for range c.Count() {
					got = append(got, said)
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(p.says))
			if !slices.Equal(got, want) {
				t.Errorf("says\n\t%s\nwant\n\t%s\n%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), p.better)
			}
		})
	}
}

// A routing change alone does not fail, unless that is asked for; breaks come
// first, and the counts are of what is not approved.
func TestPromisesOfTheReport(t *testing.T) {
	old := read(t, "old", []byte(`{"tools":[{"name":"a","description":"A.","inputSchema":`+objectWith(`"x":{"type":"string"}`)+`},{"name":"b","inputSchema":{"type":"object"}}]}`))
	r := contract.Compare(old, read(t, "new", []byte(`{"tools":[{"name":"a","description":"B.","inputSchema":`+objectWith(`"x":{"type":"string"},"y":{"type":"string"}`)+`}]}`)), contract.Options{})
	var classes []contract.Class
	for _, c := range r.Changes {
		classes = append(classes, c.Class)
	}
	if !slices.Equal(classes, []contract.Class{contract.Breaking, contract.Routing, contract.Additive}) {
		t.Errorf("order: %v", classes)
	}
	if n := r.Counts(); n[contract.Breaking] != 1 || n[contract.Routing] != 1 || n[contract.Additive] != 1 || n[contract.Cosmetic] != 0 {
		t.Errorf("counts: %v", n)
	}
	raw, err := r.Changes[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"id":"tool-removed"`, `"class":"breaking"`, `"kind":"tool"`, `"name":"b"`, `"why":"`} {
		if !strings.Contains(string(raw), member) {
			t.Errorf("%s is missing in %s", member, raw)
		}
	}
	text := contract.Compare(old, read(t, "new", []byte(`{"tools":[{"name":"a","description":"B.","inputSchema":`+objectWith(`"x":{"type":"string"}`)+`},{"name":"b","inputSchema":{"type":"object"}}]}`)), contract.Options{})
	if text.Worst() != contract.Routing {
		t.Errorf("worst: %v", text.Worst())
	}
	for _, fail := range []struct {
		from contract.Class
		want string
	}{{contract.Breaking, "warn"}, {contract.Routing, "fail"}} {
		if f := text.Changes[0].Finding("t", fail.from, nil); fmt.Sprint(f.Status) != fail.want {
			t.Errorf("failing from %s: %v", fail.from, f.Status)
		}
	}
	for hint, harm := range map[string]string{"readOnlyHint": "approve", "idempotentHint": "twice"} {
		r := contract.Compare(read(t, "old", []byte(hinted(`"`+hint+`":true`))), read(t, "new", []byte(hinted(`"`+hint+`":false`))), contract.Options{})
		if len(r.Changes) == 0 || !strings.Contains(r.Changes[0].Why, harm) {
			t.Errorf("%s: nobody is told about %q: %+v", hint, harm, r.Changes)
		}
	}
}

// A format number says what a file could hold: another release of the tool
// never looks like a change of the server, and real changes are still found.
func TestPromisesOfOldFiles(t *testing.T) {
	live := read(t, "live", []byte(modelled(`{"$ref":"#/$defs/Filters"}`, filtersModel, `"filters"`)))
	const one = `{"server":{"name":"s"},"command":"c","tools":[{"name":"export","description":"Exports rows.","arguments":[{"name":"filters","required":true}%s]}]}`
	const two = `{"format":2,"server":{"name":"s"},"command":"c","tools":[{"name":"export","description":"Exports rows.","arguments":[` +
		`{"name":"filters","required":true,"type":"object"},{"name":"filters.city","required":true,"type":"string"},{"name":"filters.year","required":false,"type":"integer"}%s]}]}`
	for _, p := range []struct {
		point, file string
		says        []string
	}{
		{"format 1 never promised nested fields", fmt.Sprintf(one, ""), nil},
		{"format 1 still finds a removal", fmt.Sprintf(one, `,{"name":"limit","required":false,"type":"integer"}`), []string{"argument-removed-open limit"}},
		{"format 2 is unchanged", fmt.Sprintf(two, ""), nil},
		{"format 2 finds a nested removal", fmt.Sprintf(two, `,{"name":"filters.zip","required":false,"type":"string"}`), []string{"argument-removed-open filters.zip"}},
		{"hints, titles and tasks came without a new number", `{"format":2,"tools":[{"name":"export","description":"Exports rows.","arguments":[]}]}`, []string{"required-argument-added filters"}},
	} {
		recorded, err := surface.Read("mcp-contract.json", []byte(p.file))
		if err != nil {
			t.Fatal(err)
		}
		r := contract.Compare(recorded, live, contract.Options{})
		var got []string
		for _, c := range r.Changes {
			got = append(got, c.ID+" "+c.Path)
		}
		if !slices.Equal(got, p.says) {
			t.Errorf("%s: %q, want %q", p.point, got, p.says)
		}
		if n := strings.Join(recorded.Notes, "\n"); !strings.Contains(n, "record the contract again") {
			t.Errorf("%s: the notes do not say what to do: %q", p.point, n)
		}
	}
}

// The file that is committed changes only with the promise.
func TestPromisesOfTheFile(t *testing.T) {
	encode := func(listing string) string {
		b, err := read(t, "l", []byte(listing)).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	a := encode(`{"tools":[{"name":"b","description":"Größe","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}],"resources":[{"uri":"x://2","name":"2"},{"uri":"x://1","name":"1"}],"prompts":[]}`)
	b := encode(`{"prompts":[],"resources":[{"name":"1","uri":"x://1"},{"name":"2","uri":"x://2"}],"tools":[{"name":"a","inputSchema":{"type":"object"}},{"inputSchema":{"type":"object"},"description":"Größe","name":"b"}]}`)
	if a != b {
		t.Errorf("the order of a listing shows in the file:\n%s\n%s", a, b)
	}
	if !strings.HasSuffix(a, "}\n") || !strings.Contains(a, "Größe") || !strings.Contains(a, `"format": `) {
		t.Errorf("one line feed at the end, letters as they are, a format number:\n%s", a)
	}
	recorded, err := surface.Decode("c", []byte(a))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := recorded.Encode(); err != nil || string(again) != a {
		t.Errorf("written, read and written again (%v):\n%s", err, again)
	}
	for in, says := range map[string]string{`{not json`: "", `{"hello":"world"}`: "unknown file format", `[]x`: ""} {
		if _, err := surface.Read("c", []byte(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
