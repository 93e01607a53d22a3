// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/spec"
)

// update is the one flag of the kit.
var update = flag.Bool("mcprove.update", false, "write golden files and contracts of mcptest anew")

// GoldenOption changes what a golden file holds.
type GoldenOption func(*golden)

type golden struct {
	without []string
	exact   bool
}

// Without leaves out the values at these JSON Pointers, which are those of the
// file: "/result/structuredContent/token". A * stands for any one member or item.
func Without(pointers ...string) GoldenOption {
	return func(g *golden) { g.without = append(g.without, pointers...) }
}

// Exact keeps what is left out otherwise because it differs from run to run.
func Exact() GoldenOption { return func(g *golden) { g.exact = true } }

// Golden compares the answer with testdata/golden/NAME.json, and writes that file
// when the test runs with -mcprove.update. Left out is what differs from run to
// run: the server's stamp in _meta, hints for caches, requestState and cursors;
// timestamps and UUIDs are replaced by their kind.
func (r *Reply) Golden(t testing.TB, name string, opts ...GoldenOption) *Reply {
	t.Helper()
	r.looked.Store(true)
	g := &golden{}
	for _, set := range opts {
		set(g)
	}
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		t.Fatalf("the name %q of a golden file must be that of a file below testdata/golden", name)
	}
	got := g.text(r)
	path := filepath.Join("testdata", "golden", filepath.FromSlash(name)+".json")
	if *update {
		if err := writeGolden(path, got); err != nil {
			t.Fatal(err)
		}
		return r
	}
	want, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		t.Errorf("%s: there is no golden file %s; write it with go test -run '^%s$' -mcprove.update, and read it\n  it would be\n%s",
			r.name(), path, t.Name(), text.Clip(text.Block(got), 2000))
	case err != nil:
		t.Error(err)
	case strings.ReplaceAll(string(want), "\r\n", "\n") != got:
		t.Errorf("%s: the answer is not that of %s (go test -mcprove.update writes it anew):\n%s",
			r.name(), path, text.Clip(text.Block(udiff.Unified("golden", "got", string(want), got)), 4000))
	}
	return r
}

func writeGolden(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// text is what the file of a reply holds.
func (g *golden) text(r *Reply) string {
	whole := map[string]any{}
	switch {
	case r.rpc() != nil:
		e := r.rpc()
		m := map[string]any{"code": e.Code, "message": e.Message}
		if e.Data != nil {
			m["data"] = g.value(e.Data, "/error/data")
		}
		whole["error"] = m
	case r.err != nil:
		whole["failed"] = r.err.Error()
	case r.result != nil:
		whole["result"] = g.value(r.result.Raw, "/result")
	}
	raw, err := jsonx.Marshal(whole)
	if err != nil {
		return err.Error() + "\n"
	}
	return lines(raw)
}

// value is a JSON value without what is left out.
func (g *golden) value(raw json.RawMessage, at string) json.RawMessage {
	switch jsonx.KindOf(raw) {
	case jsonx.Object:
		ms, err := jsonx.Members(raw, jsonx.Lenient)
		if err != nil {
			return raw
		}
		var parts []string
		for _, m := range ms {
			here := jsonx.Push(at, m.Name)
			if g.leaves(here, m.Name) {
				continue
			}
			v := g.value(json.RawMessage(m.Value), here)
			if m.Name == spec.FieldMeta && string(v) == "{}" && !g.exact {
				continue
			}
			parts = append(parts, string(jsonx.Quote(m.Name))+":"+string(v))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	case jsonx.Array:
		list, err := jsonx.Elements(raw, jsonx.Lenient)
		if err != nil {
			return raw
		}
		var parts []string
		for i, e := range list {
			here := at + "/" + strconv.Itoa(i)
			if !g.leaves(here, "") {
				parts = append(parts, string(g.value(json.RawMessage(e), here)))
			}
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	case jsonx.String:
		s, _ := jsonx.Text(raw)
		if g.exact {
			return raw
		}
		return json.RawMessage(jsonx.Quote(volatile(s)))
	}
	return raw
}

// volatileMembers differ from run to run or from release to release.
var volatileMembers = []string{spec.MetaServerInfo, "ttlMs", spec.FieldRequestState, spec.FieldNextCursor, "taskId"}

func (g *golden) leaves(pointer, name string) bool {
	if !g.exact && name != "" && slices.Contains(volatileMembers, name) {
		return true
	}
	return slices.ContainsFunc(g.without, func(p string) bool { return fitsPointer(p, pointer) })
}

// fitsPointer reports whether a pointer is the one of a pattern, in which * is any
// one token.
func fitsPointer(pattern, pointer string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(pointer, "/")
	return slices.EqualFunc(a, b, func(x, y string) bool { return x == "*" || x == y })
}

var (
	timestamp = regexp.MustCompile(`\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?`)
	uuid      = regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`)
)

func volatile(s string) string {
	return uuid.ReplaceAllString(timestamp.ReplaceAllString(s, "[time]"), "[uuid]")
}
