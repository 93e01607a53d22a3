// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// way is how a scripted server is reached.
type way struct {
	name   string
	target func(*mock.Server) transport.Target
	era    spec.Era
}

func stdio(s *mock.Server) transport.Target  { return s.Stdio("") }
func inHTTP(s *mock.Server) transport.Target { return s.HTTP("") }

var ways = []way{
	{"stdio, legacy", stdio, spec.Legacy},
	{"stdio, modern", stdio, spec.Modern},
	{"http, legacy", inHTTP, spec.Legacy},
	{"http, modern", inHTTP, spec.Modern},
}

// eachWay runs a test over every transport and era.
func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { f(t, w) })
	}
}

// look collects the surface of a target, as a snapshot does.
func look(t *testing.T, target transport.Target, o session.Options) (*surface.Surface, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := session.Open(ctx, target, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() {
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	return surface.Collect(ctx, s, surface.CollectOptions{})
}

func (w way) options() session.Options { return session.Options{Era: w.era} }

// live is the surface that a script shows.
func (w way) live(t *testing.T, script mock.Script) *surface.Surface {
	t.Helper()
	s, err := look(t, w.target(mock.New(script)), w.options())
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	return s
}

// file is the contract file of a script.
func (w way) file(t *testing.T, script mock.Script) []byte {
	t.Helper()
	b, err := w.live(t, script).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, file []byte) *surface.Surface {
	t.Helper()
	s, err := surface.Decode("mcprove.contract.json", file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check holds a script to the contract file of another, as contract check does.
func (w way) check(t *testing.T, old, now mock.Script, o contract.Options) *contract.Result {
	t.Helper()
	return contract.Compare(decode(t, w.file(t, old)), w.live(t, now), o)
}

// told is what a comparison says, one "class id kind name" for each change.
// How a release is numbered is left out: it follows from the rest.
func told(r *contract.Result) []string {
	var out []string
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.ID != "server-version-unchanged-with-break" {
			out = append(out, fmt.Sprintf("%s %s %s %s", c.Class, c.ID, c.Kind, c.Name))
		}
	}
	return out
}

func wantTold(t *testing.T, r *contract.Result, want ...string) {
	t.Helper()
	got := told(r)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("changes:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func containsAll(s string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
}

// hasNote reports whether one note holds all the parts.
func hasNote(notes []string, parts ...string) bool {
	return slices.ContainsFunc(notes, func(n string) bool { return containsAll(n, parts...) })
}

func plainTool(name string) mock.Tool {
	return mock.Tool{Definition: fmt.Appendf(nil,
		`{"name":%q,"description":"Does %s.","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},"annotations":{"readOnlyHint":true}}`, name, name)}
}

func plainTools(names ...string) []mock.Tool {
	ts := make([]mock.Tool, len(names))
	for i, n := range names {
		ts[i] = plainTool(n)
	}
	return ts
}

func resourceAt(uri string) mock.Resource {
	return mock.Resource{Definition: fmt.Appendf(nil, `{"uri":%q,"name":"r","mimeType":"text/plain"}`, uri)}
}

func templateAt(uri string) mock.Template {
	return mock.Template{Definition: fmt.Appendf(nil, `{"uriTemplate":%q,"name":"t"}`, uri)}
}

func TestSituationsWhatIsNoChange(t *testing.T) {
	six := mock.Script{Tools: plainTools("a", "b", "c", "d", "e", "x"), PageSize: 2}
	for _, tc := range []struct {
		name     string
		old, now mock.Script
	}{
		{"a tool that moves to another page", mock.Script{Tools: plainTools("x", "a", "b", "c", "d", "e"), PageSize: 2}, six},
		{"a list in one page that was in three", six, mock.Script{Tools: six.Tools}},
		{"stamps on results and another time to live",
			mock.Script{Tools: six.Tools, TTL: 0},
			mock.Script{Tools: six.Tools, TTL: 300_000, Meta: []byte(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","com.example/build":"77"}`)}},
		{"stamps on the items",
			mock.Script{Tools: plainTools("a")},
			mock.Script{Tools: []mock.Tool{{Definition: bytes.Replace(plainTool("a").Definition, []byte(`{"name"`),
				[]byte(`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"9"}},"name"`), 1)}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				wantTold(t, w.check(t, tc.old, tc.now, contract.Options{}))
			})
		})
	}
}

func TestSituationsListThatFailsOnALaterPage(t *testing.T) {
	second := mock.On(spec.MethodToolsList).OnPage(2)
	for _, tc := range []struct {
		name   string
		fault  mock.Fault
		reason func(error) bool
	}{
		{"an internal error", second.Error(spec.CodeInternalError, "out of memory"), func(err error) bool {
			rpc, ok := errors.AsType[*session.RPCError](err)
			return ok && rpc.Code == spec.CodeInternalError
		}},
		{"method not found, which is no answer to a second page", second.Error(spec.CodeMethodNotFound, "gone"), func(err error) bool {
			rpc, ok := errors.AsType[*session.RPCError](err)
			return ok && rpc.Code == spec.CodeMethodNotFound
		}},
		{"a connection that is reset", second.HangUp(), func(err error) bool { return transport.ReasonOf(err) != "" }},
		{"half an answer", second.Half(), func(err error) bool { return transport.ReasonOf(err) != "" }},
		{"no answer", second.Drop(), func(err error) bool {
			_, ok := errors.AsType[*session.TimeoutError](err)
			return ok
		}},
		{"a page without a list", second.Remove("/result/tools"), func(error) bool { return true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				srv := mock.New(mock.Script{Tools: plainTools("a", "b", "c", "d", "e"), PageSize: 2, Faults: []mock.Fault{tc.fault}})
				o := w.options()
				o.Timeouts.Request = 300 * time.Millisecond
				s, err := look(t, w.target(srv), o)
				if s != nil {
					t.Error("a partial surface came back")
				}
				le, ok := errors.AsType[*surface.ListError](err)
				if !ok || le.Kind != surface.Tools {
					t.Fatalf("error %v (%T), want a *surface.ListError of tools", err, err)
				}
				if !tc.reason(err) {
					t.Errorf("the reason is lost: %v", err)
				}
			})
		})
	}
}

func TestSituationsListWithoutAnEnd(t *testing.T) {
	list := mock.On(spec.MethodToolsList)
	always := list.Set("/result/nextCursor", `""`)
	for _, tc := range []struct {
		name   string
		faults []mock.Fault
		repeat bool
		most   int64 // requests for the list
		modern bool  // the other era reads it in another way
	}{
		{"the cursor of a page leads to itself", []mock.Fault{list.OnPage(2).RepeatCursor()}, true, 3, false},
		{"the only page has a cursor", []mock.Fault{list.OnPage(1).RepeatCursor()}, true, 2, false},
		{"the cursor is empty again and again", []mock.Fault{list.EmptyCursor(), always}, true, 2, true},
		{"each page names a further one", []mock.Fault{list.EndlessCursors()}, false, 50, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				if tc.modern && w.era != spec.Modern {
					t.Skip("an empty cursor ends a list of this era")
				}
				asked := atomic.Int64{}
				o := w.options()
				o.MaxPages = 50
				o.Tap = func(e transport.TapEvent) {
					if e.Sent && e.Frame != nil && e.Frame.Message().Method == spec.MethodToolsList {
						asked.Add(1)
					}
				}
				srv := mock.New(mock.Script{Tools: plainTools("a", "b", "c", "d"), PageSize: 2, Faults: tc.faults})
				s, err := look(t, w.target(srv), o)
				if _, ok := errors.AsType[*surface.ListError](err); !ok || s != nil {
					t.Fatalf("surface %v, error %v (%T), want a *surface.ListError alone", s, err, err)
				}
				ce, ok := errors.AsType[*session.CursorError](err)
				if !ok || ce.Repeat != tc.repeat {
					t.Errorf("error %v, want a cursor error with repeat %v", err, tc.repeat)
				}
				if n := asked.Load(); n > tc.most {
					t.Errorf("the list was asked for %d times, want at most %d", n, tc.most)
				}
			})
		})
	}
}

func TestSituationsEmptyCursor(t *testing.T) {
	script := mock.Script{
		Tools: plainTools("a", "b", "c", "d"), PageSize: 2,
		Faults: []mock.Fault{mock.On(spec.MethodToolsList).EmptyCursor()},
	}
	eachWay(t, func(t *testing.T, w way) {
		s := w.live(t, script)
		n := len(s.Items(surface.Tools))
		switch {
		case w.era == spec.Modern && n != 4:
			t.Errorf("%d tools, want 4: an empty string is a cursor", n)
		case w.era == spec.Legacy && n != 2:
			t.Errorf("%d tools, want 2: an empty string ends the list", n)
		case w.era == spec.Legacy && !hasNote(s.Notes, spec.MethodToolsList, "empty"):
			t.Errorf("no note of the empty cursor: %q", s.Notes)
		}
	})
}

func TestSituationsOneNameTwice(t *testing.T) {
	other := mock.Tool{Definition: []byte(`{"name":"b","description":"Does b.","inputSchema":{"type":"object","properties":{"y":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}`)}
	now := mock.Script{Tools: append(plainTools("a", "b", "c"), other)}
	eachWay(t, func(t *testing.T, w way) {
		r := w.check(t, mock.Script{Tools: plainTools("a", "b", "c")}, now, contract.Options{})
		i := slices.IndexFunc(r.Changes, func(c contract.Change) bool { return c.ID == "tool-name-duplicate-introduced" })
		if i < 0 {
			t.Fatalf("not reported: %q", told(r))
		}
		c := r.Changes[i]
		if c.Class != contract.Breaking || c.Name != "b" {
			t.Errorf("%s of %s", c.Class, c.Name)
		}
		// The places of both, counted from 1 or from 0.
		if !containsAll(c.Message, "2", "4") && !containsAll(c.Message, "1", "3") {
			t.Errorf("the places of both are not told: %q", c.Message)
		}
		if again := contract.Compare(decode(t, w.file(t, now)), w.live(t, now), contract.Options{}); len(again.Changes) > 0 {
			t.Errorf("recorded with it, it is reported again: %q", told(again))
		}
	})
}

func TestSituationsAdvertisedButNotServed(t *testing.T) {
	script := mock.Script{
		Tools:   plainTools("a"),
		Prompts: []mock.Prompt{{Definition: []byte(`{"name":"p"}`)}},
		Faults:  []mock.Fault{mock.On(spec.MethodPromptsList).Error(spec.CodeMethodNotFound, "no such method")},
	}
	eachWay(t, func(t *testing.T, w way) {
		s := w.live(t, script)
		if !slices.Contains(s.NotServed, surface.Prompts) || !hasNote(s.Notes, spec.MethodPromptsList, "prompts", "not served") {
			t.Errorf("not served %v, notes %q", s.NotServed, s.Notes)
		}
		if len(s.Items(surface.Tools)) != 1 {
			t.Error("the other listings are gone")
		}
		whole := script
		whole.Faults = nil
		wantTold(t, w.check(t, whole, script, contract.Options{}), "breaking prompt-removed prompt p")
	})
}

func TestSituationsCacheScope(t *testing.T) {
	tools := plainTools("a")
	private, public := mock.Script{Tools: tools, CacheScope: spec.CachePrivate}, mock.Script{Tools: tools, CacheScope: spec.CachePublic}
	for _, tc := range []struct {
		name     string
		old, now mock.Script
		want     []string
	}{
		{"a private listing that is public now leaks", private, public, []string{"breaking cache-scope-widened server "}},
		{"the other way leaks nothing", public, private, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				if w.era != spec.Modern {
					t.Skip("earlier revisions have no caching hints")
				}
				wantTold(t, w.check(t, tc.old, tc.now, contract.Options{}), tc.want...)
			})
		})
	}
}

// without returns a contract file as a version wrote it that did not know some
// facets: neither their names nor their members.
func without(t *testing.T, file []byte, facet string, member string) []byte {
	t.Helper()
	out := file
	cut := func(from, to string) {
		i := bytes.Index(out, []byte(from))
		if i < 0 {
			t.Fatalf("%q is not in the file:\n%s", from, file)
		}
		j := i + bytes.Index(out[i:], []byte(to)) + len(to)
		out = slices.Concat(out[:i], out[j:])
	}
	cut(`    "`+facet+`",`, "\n")
	for bytes.Contains(out, []byte(`      "`+member+`": {`)) {
		cut(`      "`+member+`": {`, "},\n")
	}
	cut(`  "digests": {`, "\n  },\n")
	return out
}

func TestSituationsContractOfAnOlderVersion(t *testing.T) {
	script := mock.Script{Tools: plainTools("a", "b")}
	eachWay(t, func(t *testing.T, w way) {
		old := without(t, w.file(t, script), "tools.annotations", "annotations")
		r := contract.Compare(decode(t, old), w.live(t, script), contract.Options{})
		wantTold(t, r)
		if !hasNote(r.Notes, "annotations") {
			t.Errorf("no note of what was not compared: %q", r.Notes)
		}
	})
}

func TestSituationsContractOfANewerFormat(t *testing.T) {
	file := ways[0].file(t, mock.Script{Tools: plainTools("a")})
	file = bytes.Replace(file, fmt.Appendf(nil, `"format": %d`, surface.Format), []byte(`"format": 7000`), 1)
	s, err := surface.Decode("mcprove.contract.json", file)
	fe, ok := errors.AsType[*surface.FileError](err)
	if !ok || s != nil {
		t.Fatalf("surface %v, error %v, want a *surface.FileError alone", s, err)
	}
	if fe.Line == 0 || !strings.Contains(fe.Error(), "7000") || !strings.Contains(fe.Try, "upgrade") {
		t.Errorf("%v; try: %s", fe, fe.Try)
	}
}

func TestSituationsCommandIsNoPartOfTheContract(t *testing.T) {
	srv := mock.New(mock.Library())
	var files [][]byte
	for _, path := range []string{"/home/ada/src/library/bin/server --config ~/conf.json", `C:\ci\build\server.exe`} {
		s, err := look(t, srv.Stdio(path), session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(file, []byte(path)) || bytes.Contains(file, []byte("server.exe")) || bytes.Contains(file, []byte("/home/ada")) {
			t.Errorf("the file holds %s", path)
		}
		files = append(files, file)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the path of the command shows in the file")
	}
}

func TestSituationsNoiseOnStdout(t *testing.T) {
	const banner = "\x1b[32mListening\x1b[0m on stdio"
	list := mock.On(spec.MethodToolsList)
	for _, w := range ways[:2] {
		t.Run(w.name, func(t *testing.T) {
			quiet := mock.Script{Tools: plainTools("a", "b")}
			noisy := quiet
			noisy.Faults = []mock.Fault{mock.Banner(banner), list.Before("debug: listing"), list.After("debug: listed")}
			s := w.live(t, noisy)
			var about []string
			for _, n := range s.Notes {
				if strings.Contains(n, "stdout") {
					about = append(about, n)
				}
			}
			if len(about) != 1 || !containsAll(about[0], "3", "Listening") || strings.ContainsRune(about[0], '\x1b') {
				t.Errorf("notes: %q, want one with the count and the first line, escaped", s.Notes)
			}
			wantTold(t, contract.Compare(decode(t, w.file(t, quiet)), s, contract.Options{}))
			if file, err := s.Encode(); err != nil || bytes.Contains(file, []byte("Listening")) {
				t.Errorf("the noise was recorded (%v)", err)
			}
		})
	}
}

func TestSituationsListingsThatComeAndGo(t *testing.T) {
	ignore, err := surface.ParsePattern(`resources[uri=~^log://\d{4}-]`)
	if err != nil {
		t.Fatal(err)
	}
	script := func(template string, uris ...string) mock.Script {
		s := mock.Script{Templates: []mock.Template{templateAt(template)}}
		for _, u := range uris {
			s.Resources = append(s.Resources, resourceAt(u))
		}
		return s
	}
	old := script("log://day/{day}", "log://2026-07-01T10:00:00Z", "log://2026-07-01T11:00:00Z", "conf://main")
	for _, tc := range []struct {
		name string
		now  mock.Script
		want []string
	}{
		{"only what is ignored changed", script("log://day/{day}", "log://2026-07-02T09:00:00Z", "conf://main"), nil},
		{"the template is compared still", script("log://hour/{hour}", "log://2026-07-02T09:00:00Z", "conf://main"),
			[]string{"breaking template-removed template log://day/{day}", "additive template-added template log://hour/{hour}"}},
		{"so are other resources", script("log://day/{day}", "log://2026-07-02T09:00:00Z"),
			[]string{"breaking resource-removed resource conf://main"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				wantTold(t, w.check(t, old, tc.now, contract.Options{Ignore: []surface.Pattern{ignore}}), tc.want...)
			})
		})
	}
}

func TestSituationsTemplates(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, now mock.Script
		want     string // id of the only change, which is additive
	}{
		{"a template gains an optional variable",
			mock.Script{Templates: []mock.Template{templateAt("log://{day}")}},
			mock.Script{Templates: []mock.Template{templateAt("log://{day}{?limit}")}},
			"template-optional-variable-added"},
		{"a resource is no longer listed but a template matches it",
			mock.Script{Resources: []mock.Resource{resourceAt("log://a"), resourceAt("log://b")}, Templates: []mock.Template{templateAt("log://{day}")}},
			mock.Script{Resources: []mock.Resource{resourceAt("log://a")}, Templates: []mock.Template{templateAt("log://{day}")}},
			"resource-removed-covered-by-template"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, w way) {
				r := w.check(t, tc.old, tc.now, contract.Options{})
				if len(r.Changes) != 1 || r.Changes[0].ID != tc.want || r.Changes[0].Class != contract.Additive {
					t.Errorf("changes: %q, want %s alone, additive", told(r), tc.want)
				}
			})
		})
	}
}

func TestSituationsRenamedTool(t *testing.T) {
	schema := `"description":"Finds one order.","inputSchema":{"type":"object","properties":{"order":{"type":"string"},"fields":{"type":"array","items":{"type":"string"}}},"required":["order"]}`
	tool := func(name string) mock.Tool {
		return mock.Tool{Definition: []byte(`{"name":"` + name + `",` + schema + `}`)}
	}
	old := mock.Script{Tools: append(plainTools("a"), tool("get_order"))}
	now := mock.Script{Tools: append(plainTools("a"), tool("fetch_order"))}
	eachWay(t, func(t *testing.T, w way) {
		r := w.check(t, old, now, contract.Options{})
		wantTold(t, r, "breaking tool-renamed-candidate tool get_order", "additive tool-added tool fetch_order")
		if i := slices.IndexFunc(r.Changes, func(c contract.Change) bool { return c.Name == "get_order" }); i < 0 || !strings.Contains(r.Changes[i].Message, "renamed to fetch_order") {
			t.Errorf("no hint at the new name: %q", told(r))
		}
	})
}

func TestSituationsRecordedAgainElsewhere(t *testing.T) {
	// The same promises as another machine, library or order of start shows them.
	respelled := mock.Script{
		ServerInfo: []byte("{ \"version\" : \"1.0.0\",\r\n \"name\":\"mock\" }"),
		PageSize:   1, TTL: 900,
		Tools: []mock.Tool{
			{Definition: []byte("{\r\n\t\"inputSchema\": {\"required\":[\"x\"], \"properties\":{\"x\":{\"type\":\"string\"}}, \"type\":\"object\"},\r\n\t\"annotations\": {\"readOnlyHint\": true}, \"description\":\"Does \\u0062.\", \"name\":\"b\"}")},
			plainTool("a"),
		},
		Resources: []mock.Resource{{Definition: []byte(`{"uri":"conf://main","size":9,"name":"r","mimeType":"text/plain","annotations":{"lastModified":"2026-07-02T00:00:00Z"}}`)}},
	}
	plain := mock.Script{
		Tools:     plainTools("a", "b"),
		Resources: []mock.Resource{{Definition: []byte(`{"uri":"conf://main","name":"r","mimeType":"text/plain","size":7,"annotations":{"lastModified":"2026-07-01T00:00:00Z"}}`)}},
	}
	eachWay(t, func(t *testing.T, w way) {
		one, two := w.file(t, plain), w.file(t, respelled)
		if !bytes.Equal(one, two) {
			t.Errorf("not the same bytes:\n%s\n%s", one, two)
		}
		if bytes.ContainsRune(one, '\r') || !bytes.HasSuffix(one, []byte("\n")) || bytes.Contains(one, []byte("2026-07-01")) {
			t.Errorf("the file must have LF line ends and no times:\n%s", one)
		}
		again, err := decode(t, one).Encode()
		if err != nil || !bytes.Equal(again, one) {
			t.Errorf("read and written again it differs (%v)", err)
		}
	})
}

func TestSituationsSameBytesOverBothTransports(t *testing.T) {
	for _, pair := range [][2]way{{ways[0], ways[2]}, {ways[1], ways[3]}} {
		if !bytes.Equal(pair[0].file(t, mock.Library()), pair[1].file(t, mock.Library())) {
			t.Errorf("%s and %s differ", pair[0].name, pair[1].name)
		}
	}
}

// bounded is a script whose only promise is how many rows may be asked for.
func bounded(most int) mock.Script {
	return mock.Script{Tools: []mock.Tool{{Definition: fmt.Appendf(nil,
		`{"name":"rows","description":"Reads rows.","inputSchema":{"type":"object","properties":{"limit":{"type":"integer","maximum":%d}}}}`, most)}}}
}

func TestSituationsApprovedBreakThatBreaksDifferently(t *testing.T) {
	today := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	eachWay(t, func(t *testing.T, w way) {
		first := w.check(t, bounded(100), bounded(50), contract.Options{})
		wantTold(t, first, "breaking input-maximum-tightened tool rows")
		file := rule.Exceptions{}
		for i := range first.Changes {
			file.Entries = append(file.Entries, first.Changes[i].Approval("agreed with the callers", ""))
		}
		text, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		approvals, err := rule.ParseExceptions("mcprove.accept.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if stale := first.Accept(approvals, today); len(stale) > 0 || first.Counts()[contract.Breaking] != 0 {
			t.Errorf("approved, and still: %v, %v", first.Counts(), stale)
		}
		reverted := w.check(t, bounded(100), bounded(100), contract.Options{})
		wantTold(t, reverted)
		if stale := reverted.Accept(approvals, today); len(stale) != len(approvals.Entries) {
			t.Errorf("%d of %d approvals are told to match nothing", len(stale), len(approvals.Entries))
		}
		again := w.check(t, bounded(100), bounded(20), contract.Options{})
		stale := again.Accept(approvals, today)
		if again.Counts()[contract.Breaking] != 1 || again.Worst() != contract.Breaking || len(stale) == 0 {
			t.Errorf("the second break is hidden: %v, stale %v", again.Counts(), stale)
		}
	})
}

func TestSituationsApprovalThatExpired(t *testing.T) {
	r := ways[0].check(t, bounded(100), bounded(50), contract.Options{})
	approvals := &rule.Exceptions{Entries: []rule.Exception{r.Changes[0].Approval("until the callers are moved", "2026-07-31")}}
	if stale := r.Accept(approvals, time.Date(2026, 7, 31, 23, 0, 0, 0, time.UTC)); len(stale) > 0 || r.Worst() == contract.Breaking {
		t.Errorf("on its last day it does not hold: %v", stale)
	}
	stale := r.Accept(approvals, time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC))
	if r.Worst() != contract.Breaking || len(stale) == 0 || !stale[0].Expired {
		t.Errorf("after its last day it still holds: %v", stale)
	}
}
