// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/wire"
)

func faults(m *wire.Message) string {
	var s []string
	for _, f := range m.Faults {
		s = append(s, fmt.Sprintf("%s@%d%s", f.Code, f.Offset, f.Pointer))
	}
	return strings.Join(s, " ")
}

func TestRead(t *testing.T) {
	deep := strings.Repeat("[", 10_001)
	for _, tc := range []struct {
		name, in string
		kind     wire.Kind
		faults   string
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, wire.Request, ""},
		{"notification", `{"jsonrpc":"2.0","method":"m"}`, wire.Notification, ""},
		{"response", `{"jsonrpc":"2.0","id":"a","result":{}}`, wire.Response, ""},
		{"a result may be null", `{"jsonrpc":"2.0","id":"a","result":null}`, wire.Response, ""},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`, wire.ErrorResponse, ""},
		{"an error may lack its id", `{"jsonrpc":"2.0","error":{"code":-1,"message":"x"}}`, wire.ErrorResponse, ""},
		{"further members are nobody's business", `{"jsonrpc":"2.0","id":1,"result":{},"x":1}`, wire.Response, ""},
		{"white space around", " \t{\"jsonrpc\":\"2.0\",\"method\":\"m\"} \r\n", wire.Notification, ""},
		{"NUL in a value is fine", `{"jsonrpc":"2.0","method":"m","params":{"a":"\u0000"}}`, wire.Notification, ""},
		{"an escaped backslash before u0000", `{"jsonrpc":"2.0","method":"m","params":{"a\\u0000":1}}`, wire.Notification, ""},
		{"surrogate pair", `{"jsonrpc":"2.0","method":"\ud83d\ude00"}`, wire.Notification, ""},

		{"empty", ``, wire.Invalid, "empty@0"},
		{"blank", " \t", wire.Invalid, "empty@0"},
		{"words", `Server running on stdio`, wire.Invalid, "not-json@0"},
		{"a number", `12`, wire.Invalid, "not-object@0"},
		{"a number and words", `12 servers`, wire.Invalid, "trailing-bytes@3 not-object@0"},
		{"half a message", `{"jsonrpc":"2.0","id":1,"res`, wire.Invalid, "not-json@28"},
		{"single quotes", `{'a':1}`, wire.Invalid, "not-json@1"},
		{"NaN", `{"jsonrpc":"2.0","id":1,"result":NaN}`, wire.Invalid, "not-json@33/result"},
		{"a raw control character", "{\"jsonrpc\":\"2.0\",\"method\":\"a\tb\"}", wire.Invalid, "not-json@28/method"},
		{"empty object", `{}`, wire.Invalid, "jsonrpc@0 no-kind@0"},
		{"two messages on a line", `{"jsonrpc":"2.0","method":"m"}{"x":1}`, wire.Notification, "trailing-bytes@30"},
		{"byte order mark", "\ufeff{\"jsonrpc\":\"2.0\",\"method\":1}", wire.Notification, "bom@0 method-type@29/method"},
		{"duplicate", `{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, wire.Response, "duplicate-key@24/id"},
		{"nested duplicate", `{"jsonrpc":"2.0","id":1,"result":{"a":[{"b/":1,"b/":2}]}}`, wire.Response, "duplicate-key@47/result/a/0/b~1"},
		{"the same name spelled twice", `{"jsonrpc":"2.0","id":1,"result":{"a":1,"\u0061":2}}`, wire.Response, "duplicate-key@40/result/a"},
		{"the same name in two objects", `{"jsonrpc":"2.0","id":1,"result":{"a":{"a":1},"b":{"a":1}}}`, wire.Response, ""},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"b\xff\"}}", wire.Response, "bad-utf8@40/result/a"},
		{"bad UTF-8 in a name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"\xc3\":1}}", wire.Response, "bad-utf8@35/result/\ufffd"},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"result":["\\\ud800x"]}`, wire.Response, "lone-surrogate@37/result/0"},
		{"the second half first", `{"jsonrpc":"2.0","id":1,"result":"\ude00\ud83d"}`, wire.Response, "lone-surrogate@34/result"},
		{"NUL in a name", `{"jsonrpc":"2.0","id":1,"result":{"a\u0000":1}}`, wire.Response, "nul-key@34/result/a\x00"},
		{"too deep", `{"jsonrpc":"2.0","id":1,"result":{"a":` + deep + strings.Repeat("]", 10_001) + `}}`, wire.Response, "too-deep@10036/result/a/0/0/0/0/0/0"},

		{"no version", `{"id":1,"result":{}}`, wire.Response, "jsonrpc@0"},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"result":{}}`, wire.Response, "jsonrpc@11/jsonrpc"},
		{"version as a number", `{"jsonrpc":2.0,"id":1,"result":{}}`, wire.Response, "jsonrpc@11/jsonrpc"},
		{"folded names", `{"jsonrpc":"2.0","ID":1,"Method":"m","Params":{}}`, wire.Invalid,
			"folded-key@22/ID folded-key@33/Method folded-key@46/Params no-kind@0"},
		{"folded by Unicode", "{\"jſonrpc\":\"2.0\",\"method\":\"m\"}", wire.Notification, "folded-key@12/jſonrpc jsonrpc@0"},
		{"id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, wire.ErrorResponse, "id-null@22/id"},
		{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, wire.Response, "id-type@22/id"},
		{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, wire.Response, "id-spelling@22/id"},
		{"id a boolean", `{"jsonrpc":"2.0","id":true,"method":"m"}`, wire.Request, "id-type@22/id"},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, wire.Request, "id-type@22/id"},
		{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, wire.Request, "id-type@22/id"},
		{"a result without an id", `{"jsonrpc":"2.0","result":{}}`, wire.Response, "id-missing@0"},
		{"params a string", `{"jsonrpc":"2.0","method":"m","params":"x"}`, wire.Notification, "params-type@39/params"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`, wire.ErrorResponse, "result-and-error@44/error"},
		{"method and result", `{"jsonrpc":"2.0","id":1,"result":{},"method":"m"}`, wire.Request, "mixed@45/method"},
		{"error a string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, wire.ErrorResponse, "error-shape@32/error"},
		{"error null", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, wire.ErrorResponse, "error-shape@44/error result-and-error@44/error"},
		{"code a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, wire.ErrorResponse, "error-shape@40/error/code"},
		{"code a fraction", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, wire.ErrorResponse, "error-shape@40/error/code"},
		{"no code and no message", `{"jsonrpc":"2.0","id":1,"error":{}}`, wire.ErrorResponse, "error-shape@32/error error-shape@32/error"},

		{"batch", `[{"jsonrpc":"2.0","method":"m"},1]`, wire.Batch, "batch@0"},
		{"empty batch", `[]`, wire.Batch, "batch@0 empty-batch@0"},
		{"broken batch", `[{"jsonrpc":"2.0"`, wire.Invalid, "not-json@17/0"},
	} {
		m := wire.Read([]byte(tc.in))
		got := faults(m)
		if m.Kind != tc.kind || got != tc.faults {
			t.Errorf("%s: %v %q, want %v %q", tc.name, m.Kind, got, tc.kind, tc.faults)
		}
		for _, f := range m.Faults {
			if f.Detail == "" {
				t.Errorf("%s: %s has no detail", tc.name, f.Code)
			}
		}
	}
}

func TestReadSharesTheText(t *testing.T) {
	raw := []byte(` {"jsonrpc":"2.0", "id" : "x", "result" : { "a": 1.0 } }`)
	m := wire.Read(raw)
	must(t, string(m.Result) == `{ "a": 1.0 }`, "result %s", m.Result)
	raw[bytes.IndexByte(raw, 'a')] = 'b'
	must(t, string(m.Result) == `{ "b": 1.0 }`, "result is a copy")
	m = wire.Read([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601.0,"message":"m","data":[1]}}`))
	must(t, m.Error.Code == -32601 && m.Error.Message == "m" && string(m.Error.Data) == "[1]", "%+v", m.Error)
}

func TestReadTakesTheLastOfTwo(t *testing.T) {
	m := wire.Read([]byte(`{"jsonrpc":"2.0","id":1,"result":{},"id":2}`))
	key, ok := m.Key()
	want, _ := wire.KeyOf([]byte("2"))
	must(t, ok && key == want && m.Has(wire.FaultDuplicateKey), "key %q", key)
}

func TestBatch(t *testing.T) {
	m := wire.Read([]byte(`[{"jsonrpc":"2.0","id":1,"result":{}}, [], 3]`))
	b := m.Batch()
	must(t, len(b) == 3, "%d messages", len(b))
	must(t, b[0].Kind == wire.Response && b[1].Kind == wire.Batch && b[2].Kind == wire.Invalid, "%v %v %v", b[0].Kind, b[1].Kind, b[2].Kind)
}

func TestFaultsAreBounded(t *testing.T) {
	in := `{"jsonrpc":"2.0","method":"m","params":{` + strings.Repeat(`"a":1,`, 1000) + `"b":1}}`
	m := wire.Read([]byte(in))
	must(t, len(m.Faults) == 64 && m.Faults[63].Code == wire.FaultManyFaults, "%d faults", len(m.Faults))
}

func TestKeyOf(t *testing.T) {
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, ` 1 `}, {`"1"`, `"\u0031"`}, {`0`, `-0`, `0.0`, `0e9`}, {`100`, `1e2`}, {`-1`, `-1.0`},
		{`9007199254740993`}, {`9007199254740992`}, {`1.5`, `15e-1`}, {`"n1"`}, {`"a"`}, {`"A"`}, {`null`}, {`true`},
		{`1e999999999`}, {`1e999999998`}, {`1e99999999999999999999`},
	}
	seen := map[wire.IDKey]int{}
	for i, group := range same {
		for _, raw := range group {
			k, _ := wire.KeyOf([]byte(raw))
			if at, ok := seen[k]; ok && at != i {
				t.Errorf("%s has the key of %s", raw, same[at][0])
			}
			seen[k] = i
		}
	}
	must(t, len(seen) == len(same), "%d keys for %d ids", len(seen), len(same))
	for _, raw := range []string{`null`, `true`, `{}`, `[]`, ``} {
		_, ok := wire.KeyOf([]byte(raw))
		must(t, !ok, "%s counts as an id", raw)
	}
}

func TestFrameMessageIsReadOnce(t *testing.T) {
	f := &wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","method":"m"}`)}
	first := f.Message()
	must(t, first == f.Message() && first.Method == "m", "read twice")
}

func TestHead(t *testing.T) {
	h := &wire.Head{Header: []wire.HeaderField{
		{Name: "content-TYPE", Value: "Text/Event-Stream; charset=utf-8"}, {Name: "a", Value: "1"}, {Name: "A", Value: "2"}}}
	must(t, h.MediaType() == "text/event-stream", "%q", h.MediaType())
	must(t, h.Get("A") == "1" && len(h.Values("a")) == 2, "%v", h.Values("a"))
	_, ok := (*wire.Head)(nil).Lookup("a")
	must(t, !ok, "a nil head has a header")
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a\u0000":"\ud800"}}`, `[{"id":1.50e1},[]]`, "\ufeff{}x",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1e2,"message":"x"}}`, "{\"a\":\"\xff\",\"a\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		kept := bytes.Clone(in)
		m := wire.Read(in)
		if !bytes.Equal(in, kept) {
			t.Fatal("the text was changed")
		}
		strict := jsonx.Check(in, jsonx.Strict) == nil
		textFault := false
		for _, flt := range m.Faults {
			if flt.Offset < 0 || flt.Offset > int64(len(in)) {
				t.Fatalf("fault outside of the text: %v", flt)
			}
			switch flt.Code {
			case wire.FaultEmpty, wire.FaultNotJSON, wire.FaultTrailing, wire.FaultBOM, wire.FaultUTF8,
				wire.FaultSurrogate, wire.FaultDuplicateKey, wire.FaultTooDeep:
				textFault = true
			}
		}
		if strict == textFault {
			t.Fatalf("strict reading says %v, faults are %v", strict, m.Faults)
		}
		for _, part := range []json.RawMessage{m.ID, m.Params, m.Result, m.JSONRPC} {
			if part != nil && !bytes.Contains(in, part) {
				t.Fatalf("%q is not in the text", part)
			}
		}
		if m.ID != nil {
			m.Key()
		}
		for _, b := range m.Batch() {
			_ = b.Kind
		}
	})
}
