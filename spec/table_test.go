// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestRevisions(t *testing.T) {
	if !slices.IsSorted(All()) || All()[len(All())-1] != Latest {
		t.Error("All is out of order")
	}
	for i, r := range All() {
		back, err := ParseRevision(r.String())
		if err != nil || back != r || int(r) != i+1 {
			t.Errorf("%s: %v, %v", r, back, err)
		}
		if (r.Era() == Modern) != (r >= FirstModern) || !slices.Contains(r.Era().Revisions(), r) {
			t.Errorf("%s: era %s", r, r.Era())
		}
	}
	for _, s := range []string{"", "2024-10-07", "2025-06-18 ", "DRAFT-2026"} {
		if r, err := ParseRevision(s); err == nil || r.Valid() {
			t.Errorf("%q parsed as %s", s, r)
		}
	}
	if Revision(0).Era() != 0 || Revision(0).Valid() || (Range{}).Contains(0) || (Range{}).Contains(Latest+1) {
		t.Error("no revision passes for one")
	}
}

func TestRange(t *testing.T) {
	for _, tc := range []struct {
		g    Range
		in   []Revision
		text string
	}{
		{Range{}, All(), "all revisions"},
		{since(Rev20251125), []Revision{Rev20251125, Rev20260728}, "2025-11-25 on"},
		{until(Rev20250326), []Revision{Rev20241105, Rev20250326}, "until 2025-03-26"},
		{only(Rev20250618), []Revision{Rev20250618}, "2025-06-18"},
		{between(Rev20250326, Rev20251125), []Revision{Rev20250326, Rev20250618, Rev20251125}, "2025-03-26 to 2025-11-25"},
	} {
		for _, r := range All() {
			if tc.g.Contains(r) != slices.Contains(tc.in, r) {
				t.Errorf("%s contains %s: %v", tc.g, r, tc.g.Contains(r))
			}
		}
		if tc.g.String() != tc.text {
			t.Errorf("got %q, want %q", tc.g, tc.text)
		}
	}
}

// rowRanges checks that rows with one key never overlap and that each row has a
// revision.
func rowRanges(t *testing.T, rows map[string][]Range) {
	t.Helper()
	for key, gs := range rows {
		for i, g := range gs {
			if !g.Overlaps(Range{}) {
				t.Errorf("%s: %s holds no revision", key, g)
			}
			for _, o := range gs[i+1:] {
				if g.Overlaps(o) {
					t.Errorf("%s: rows %s and %s overlap", key, g, o)
				}
			}
		}
	}
}

func TestTablesHaveOneAnswer(t *testing.T) {
	rows := map[string][]Range{}
	add := func(key string, g Range) { rows[key] = append(rows[key], g) }
	for _, m := range methodTable {
		add("method "+m.Name, m.Range)
	}
	for _, e := range errorTable {
		add("code "+strconv.Itoa(e.Code), e.Range)
	}
	for _, h := range headerTable {
		add("header "+strings.ToLower(h.Name), h.Range)
	}
	for _, c := range capabilityTable {
		add("capability "+c.Side.String()+" "+c.Path, c.Range)
	}
	for _, m := range extensionTable {
		add("extension method "+m.Name, m.Range)
		// A name must not be the core's and an extension's at once.
		for _, c := range methodTable {
			if c.Name == m.Name {
				add("extension method "+m.Name, c.Range)
			}
		}
	}
	for _, k := range metaTable {
		for _, place := range []MetaPlace{InRequest, InResult, InNotification} {
			if k.Place&place != 0 {
				add("meta "+k.Key+" "+k.Only+" "+strconv.Itoa(int(place)), k.Range)
			}
		}
	}
	for _, d := range definitions() {
		add("definition "+d.name, d.in)
	}
	rowRanges(t, rows)
}

func TestMethodsHaveShapes(t *testing.T) {
	for _, m := range methodTable {
		if m.Name == "" || m.Kind < Request || m.Kind > InputRequest || m.Direction < ClientToServer || m.Direction > Both {
			t.Errorf("incomplete row %+v", m)
		}
		if (m.Kind == Notification) != strings.HasPrefix(m.Name, "notifications/") {
			t.Errorf("%s is a %s", m.Name, m.Kind)
		}
		if (m.Kind == Notification) != (m.Result == "") {
			t.Errorf("%s: result %q", m.Name, m.Result)
		}
		for _, r := range All() {
			if !m.Range.Contains(r) {
				continue
			}
			g := grammarOf(r)
			n := g.nodes[m.Definition]
			if n == nil {
				t.Errorf("%s %s: no definition %s", r, m.Name, m.Definition)
				continue
			}
			if got := n.fields[n.index["method"]].node.values; !slices.Equal(got, []string{m.Name}) {
				t.Errorf("%s %s: %s is about %q", r, m.Name, m.Definition, got)
			}
			p, ok := n.index["params"]
			if !ok || (n.required&(1<<p) != 0) != m.ParamsRequired {
				t.Errorf("%s %s: params required in the table: %v", r, m.Name, m.ParamsRequired)
				continue
			}
			params := n.fields[p].node
			has := func(n *node, name string) bool {
				_, ok := n.index[name]
				for _, m := range n.members {
					_, inMember := m.index[name]
					ok = ok || inMember
				}
				return ok
			}
			if has(params, "cursor") != m.Paged {
				t.Errorf("%s %s: paged %v", r, m.Name, m.Paged)
			}
			if has(params, "task") != m.Taskable {
				t.Errorf("%s %s: taskable %v", r, m.Name, m.Taskable)
			}
			if has(params, FieldRequestState) != m.MultiRound {
				t.Errorf("%s %s: multi round %v", r, m.Name, m.MultiRound)
			}
			if m.NameFrom != "" && !has(params, m.NameFrom) {
				t.Errorf("%s %s: no params.%s", r, m.Name, m.NameFrom)
			}
			if m.Result == "" {
				continue
			}
			result := g.nodes[m.Result]
			if result == nil {
				t.Errorf("%s %s: no definition %s", r, m.Name, m.Result)
				continue
			}
			if result.form == formObject && (has(result, FieldNextCursor) != m.Paged || has(result, FieldTTL) != m.Cacheable) {
				t.Errorf("%s %s: paged %v, cacheable %v do not agree with %s", r, m.Name, m.Paged, m.Cacheable, m.Result)
			}
			side := m.Capability.Side
			if path := m.Capability.Path; path != "" {
				for _, s := range []Side{Client, Server} {
					if _, ok := CapabilityAt(s, path, r); !ok && (side == 0 || side == s) {
						t.Errorf("%s %s: %s has no capability %s", r, m.Name, s, path)
					}
				}
			}
		}
	}
}

func TestMethodLookup(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    Revision
		kind MethodKind
	}{
		{MethodInitialize, Rev20251125, Request},
		{MethodInitialize, Rev20260728, 0},
		{MethodDiscover, Rev20251125, 0},
		{MethodRootsList, Rev20251125, Request},
		{MethodRootsList, Rev20260728, InputRequest},
		{MethodElicit, Rev20250326, 0},
		{NotificationTasksStatus, Rev20251125, Notification},
		{"nope", Rev20260728, 0},
		{MethodPing, 0, 0},
	} {
		if m, ok := MethodAt(tc.name, tc.r); m.Kind != tc.kind || ok != (tc.kind != 0) {
			t.Errorf("%s in %s: %s, %v", tc.name, tc.r, m.Kind, ok)
		}
	}
	var modern []string
	for _, m := range Methods(Rev20260728, ClientToServer) {
		if m.Kind == Request {
			modern = append(modern, m.Name)
		}
	}
	if len(modern) != 10 {
		t.Errorf("requests of 2026-07-28: %v", modern)
	}
	cacheable := 0
	for _, m := range Methods(Rev20260728, 0) {
		if m.Cacheable {
			cacheable++
		}
	}
	if cacheable != 6 {
		t.Errorf("%d cacheable methods", cacheable)
	}
	if len(MethodRange(MethodToolsCall)) != 3 || MethodRange("nope") != nil || !slices.IsSorted(MethodNames()) {
		t.Error("ranges of methods")
	}
}

// TestCapabilitiesAreInTheShapes compares the capability table with the
// definitions, both ways.
func TestCapabilitiesAreInTheShapes(t *testing.T) {
	for _, r := range All() {
		for side, name := range map[Side]string{Client: "ClientCapabilities", Server: "ServerCapabilities"} {
			inShapes := map[string]bool{}
			var walk func(n *node, path string)
			walk = func(n *node, path string) {
				for _, f := range n.fields {
					p := strings.TrimPrefix(path+"."+f.name, ".")
					inShapes[p] = true
					c, ok := CapabilityAt(side, p, r)
					if !ok {
						t.Errorf("%s %s %s is in no row", r, side, p)
					}
					if c.Flag != (f.node.form == formBoolean) || c.Open != (f.node.rest != nil) {
						t.Errorf("%s %s %s: row %+v does not fit", r, side, p, c)
					}
					walk(f.node, p)
				}
			}
			walk(grammarOf(r).nodes[name], "")
			for _, c := range Capabilities(side, r) {
				if !inShapes[c.Path] {
					t.Errorf("%s %s %s is in no shape", r, side, c.Path)
				}
			}
		}
	}
}

func TestErrorCodes(t *testing.T) {
	for _, e := range errorTable {
		for _, r := range All() {
			if !e.Range.Contains(r) || e.Definition == "" {
				continue
			}
			n := grammarOf(r).nodes[e.Definition]
			if n == nil {
				t.Errorf("%s %s: no definition %s", r, e.Name, e.Definition)
			}
		}
	}
	for _, tc := range []struct {
		code int
		r    Revision
		want CodeClass
	}{
		{-32602, Rev20241105, CodeDefined},
		{-32002, Rev20251125, CodeDefined},
		{-32002, Rev20260728, CodeRetired},
		{-32042, Rev20260728, CodeRetired},
		{-32042, Rev20251125, CodeDefined},
		{-32042, Rev20250618, CodeLegacyRange},
		{-32001, Rev20260728, CodeLegacyRange},
		{-32000, Rev20250618, CodeLegacyRange},
		{-32020, Rev20260728, CodeDefined},
		{-32023, Rev20260728, CodeReserved},
		{-32099, Rev20260728, CodeReserved},
		{-32100, Rev20260728, CodeJSONRPC},
		{-32768, Rev20260728, CodeJSONRPC},
		{-32769, Rev20260728, CodeApplication},
		{-31999, Rev20260728, CodeApplication},
		{1, Rev20260728, CodeApplication},
	} {
		if got := ClassOf(tc.code, tc.r); got != tc.want {
			t.Errorf("%d in %s: %s, want %s", tc.code, tc.r, got, tc.want)
		}
	}
	for code, want := range map[int]bool{-32020: true, -32021: true, -32022: true, -32601: false, -32042: false, 5: false} {
		if ModernError(code) != want {
			t.Errorf("ModernError(%d) = %v", code, !want)
		}
	}
	if e, _ := ErrorCode(CodeMethodNotFound, Rev20260728); e.Status != 404 {
		t.Errorf("method not found: status %d", e.Status)
	}
}

func TestMetaKeys(t *testing.T) {
	for _, tc := range []struct {
		key string
		r   Revision
		ok  bool
	}{
		{"a", Rev20260728, true},
		{"", Rev20260728, true},
		{"com.example/", Rev20260728, true},
		{"com.example/a.b_c-d", Rev20260728, true},
		{"io.modelcontextprotocol/protocolVersion", Rev20260728, true},
		{"a-b.c1/x", Rev20260728, true},
		{"/x", Rev20260728, false},
		{"1a/x", Rev20260728, false},
		{"a-/x", Rev20260728, false},
		{"a..b/x", Rev20260728, false},
		{"a_b/x", Rev20260728, false},
		{"a/b/c", Rev20260728, false},
		{"-a", Rev20260728, false},
		{"a.", Rev20260728, false},
		{"a b", Rev20260728, false},
		{"é", Rev20260728, false},
		{"a b", Rev20250326, true},
	} {
		if err := CheckMetaKey(tc.key, tc.r); (err == nil) != tc.ok {
			t.Errorf("%q in %s: %v", tc.key, tc.r, err)
		}
	}
	for _, tc := range []struct {
		key string
		r   Revision
		ok  bool
	}{
		{"io.modelcontextprotocol/x", Rev20260728, true},
		{"com.mcp.tools/x", Rev20251125, true},
		{"com.example.mcp/x", Rev20260728, false},
		{"mcp.dev/x", Rev20260728, false},
		{"mcp.dev/x", Rev20250618, true},
		{"tools.mcp.com/x", Rev20250618, true},
		{"io.modelcontextprotocol/x", Rev20250618, false},
		{"mcp/x", Rev20250618, false},
		{"mcp", Rev20260728, false},
		{"io.modelcontextprotocol/x", Rev20250326, false},
	} {
		if got := ReservedMetaKey(tc.key, tc.r); got != tc.ok {
			t.Errorf("%q reserved in %s: %v", tc.key, tc.r, got)
		}
	}
	required := 0
	for _, k := range MetaKeys(InRequest, Rev20260728) {
		if k.Need == Must {
			required++
		}
	}
	if required != 2 {
		t.Errorf("%d required request keys", required)
	}
	if k, ok := MetaKeyAt(MetaSubscriptionID, InResult, MethodListen, Rev20260728); !ok || k.Need != Must {
		t.Errorf("subscription id of the listen result: %+v", k)
	}
	if _, ok := MetaKeyAt(MetaSubscriptionID, InResult, MethodToolsCall, Rev20260728); ok {
		t.Error("subscription id is about listen results only")
	}
	for _, k := range metaTable {
		for _, r := range All() {
			if k.Range.Contains(r) && k.Definition != "" && grammarOf(r).nodes[k.Definition] == nil {
				t.Errorf("%s %s: no definition %s", r, k.Key, k.Definition)
			}
			if k.Range.Contains(r) && CheckMetaKey(k.Key, r) != nil {
				t.Errorf("%s breaks its own grammar", k.Key)
			}
		}
		if k.Key != MetaProgressToken && !strings.Contains(k.Key, "/") && k.Range.Since != Rev20260728 {
			t.Errorf("%s: bare key", k.Key)
		}
	}
}

func TestHeaderLookup(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    Revision
		want string
	}{
		{"mcp-protocol-version", Rev20250618, HeaderProtocolVersion},
		{"MCP-Protocol-Version", Rev20250326, ""},
		{"Mcp-Session-Id", Rev20251125, HeaderSessionID},
		{"Mcp-Session-Id", Rev20260728, ""},
		{"MCP-PARAM-City", Rev20260728, HeaderParamPrefix},
		{"Mcp-Param-", Rev20260728, ""},
		{"Mcp-Name", Rev20260728, HeaderName},
	} {
		if h, ok := HeaderAt(tc.name, tc.r); h.Name != tc.want || ok != (tc.want != "") {
			t.Errorf("%s in %s: %q, %v", tc.name, tc.r, h.Name, ok)
		}
	}
	if len(Headers(Rev20260728)) < 8 {
		t.Error("headers are missing")
	}
}

func TestValueTables(t *testing.T) {
	if n, ok := LogSeverity("emergency"); !ok || n != 7 || len(LogLevels()) != 8 {
		t.Error("log levels")
	}
	for _, r := range All() {
		// The tables and the shapes must tell the same.
		for name, want := range map[string][]string{"PromptMessage": ResultContentTypes(r), "SamplingMessage": SamplingContentTypes(r)} {
			n := grammarOf(r).nodes[name]
			content := n.fields[n.index["content"]].node
			var got []string
			for v := range content.tagged {
				got = append(got, v)
			}
			slices.Sort(got)
			if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
				t.Errorf("%s %s: shapes %v, table %v", r, name, got, want)
			}
		}
		if BatchAllowed(r) != (grammarOf(r).nodes["JSONRPCBatchRequest"] != nil) {
			t.Errorf("%s: batches", r)
		}
	}
}

// TestShapesAreSound looks for slips that no single message would show.
func TestShapesAreSound(t *testing.T) {
	everywhere := map[string]bool{}
	for _, d := range definitions() {
		everywhere[d.name] = true
	}
	for _, r := range All() {
		seen := map[*node]bool{}
		var check func(where string, n *node)
		check = func(where string, n *node) {
			if n == nil {
				t.Errorf("%s %s: a reference leads nowhere", r, where)
				return
			}
			if seen[n] {
				return
			}
			seen[n] = true
			if n.form == 0 || n.label == "" || n.kinds == 0 || len(n.fields) > maxFields || len(n.index) != len(n.fields) {
				t.Errorf("%s %s: unsound node %+v", r, where, n)
			}
			if (n.form == formUnion || n.form == formAll) && len(n.members) < 2 {
				t.Errorf("%s %s: %d members", r, where, len(n.members))
			}
			for _, f := range n.fields {
				check(where+"."+f.name, f.node)
			}
			for _, m := range n.members {
				check(where+"|", m)
			}
			if n.form == formArray {
				check(where+"[]", n.item)
			}
			if n.rest != nil {
				check(where+".*", n.rest)
			}
		}
		for name, n := range grammarOf(r).nodes {
			check(name, n)
		}
	}
	var refs func(s *shape)
	refs = func(s *shape) {
		if s == nil {
			return
		}
		if s.form == formRef && !everywhere[s.name] {
			t.Errorf("no revision defines %s", s.name)
		}
		for _, f := range s.fields {
			refs(f.shape)
		}
		for _, m := range s.members {
			refs(m.shape)
		}
		refs(s.item)
		refs(s.rest)
	}
	for _, d := range definitions() {
		refs(d.shape)
	}
}

// TestConstantsAreInTables reads the constants from the source, so that none is
// forgotten in its table.
func TestConstantsAreInTables(t *testing.T) {
	known := map[string]map[string]bool{"Method": {}, "Notification": {}, "Meta": {}, "Header": {}, "Code": {}, "Content": {}}
	for _, m := range methodTable {
		known["Method"][m.Name], known["Notification"][m.Name] = true, true
	}
	for _, k := range metaTable {
		known["Meta"][k.Key] = true
	}
	for _, h := range headerTable {
		known["Header"][h.Name] = true
	}
	for _, e := range errorTable {
		known["Code"][strconv.Itoa(e.Code)] = true
	}
	for _, c := range contentTable {
		known["Content"][c.Type] = true
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			value := ""
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				value, _ = strconv.Unquote(v.Value)
			case *ast.UnaryExpr:
				if lit, ok := v.X.(*ast.BasicLit); ok {
					value = v.Op.String() + lit.Value
				}
			}
			for prefix, values := range known {
				if strings.HasPrefix(spec.Names[0].Name, prefix) && value != "" {
					checked++
					if !values[value] {
						t.Errorf("%s = %q is in no table", spec.Names[0].Name, value)
					}
				}
			}
			return true
		})
	}
	if checked < 60 {
		t.Errorf("only %d constants found", checked)
	}
}
