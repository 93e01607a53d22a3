// SPDX-License-Identifier: Apache-2.0

package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// bigScript lists tools of about a megabyte, of the form that SDKs write.
func bigScript() (mock.Script, []byte) {
	var s mock.Script
	var all []string
	for i := 0; ; i++ {
		def := fmt.Sprintf(`{"name":"tool_%d","title":"Tool %d","description":"Finds the records that match a query, newest first. Use it when the user asks for \"records\" – not for single ones.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"query":{"type":"string","minLength":1,"description":"What to look for"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"At most so many"},"filter":{"type":"object","properties":{"city":{"type":"string"},"year":{"type":["integer","null"]},"tags":{"type":"array","items":{"enum":["a","b","c"]}}},"required":["city"],"additionalProperties":false}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i)
		s.Tools = append(s.Tools, mock.Tool{Definition: json.RawMessage(def)})
		all = append(all, def)
		if len(all)*len(def) > 1_000_000 {
			break
		}
	}
	return s, []byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + strings.Join(all, ",") + `]}}`)
}

// canned answers tools/list with bytes that were made before, so that making
// them is in no measurement; everything else is the mock's.
func canned(server http.Handler, body []byte) http.Handler {
	id := regexp.MustCompile(`"id":(\d+)`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/list" {
			server.ServeHTTP(w, r)
			return
		}
		request, err := io.ReadAll(r.Body)
		m := id.FindSubmatch(request)
		if err != nil || m == nil {
			http.Error(w, "no id", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, m[1])
		_, _ = w.Write(body)
	})
}

// One megabyte of tools: read from the server, checked, brought into canonical
// form and hashed. The floor is one validity scan of the same bytes by
// encoding/json in the same run; the ratio is what counts.
func BenchmarkCollect1MB(b *testing.B) {
	script, body := bigScript()
	answer := []byte(strings.TrimPrefix(string(body), `{"jsonrpc":"2.0","id":2,`))
	answer = []byte(strings.Replace(string(answer), `"result":{`, `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",`, 1))
	ctx := context.Background()
	s, err := session.Open(ctx, &transport.Handler{Handler: canned(mock.New(script), answer)}, session.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close(ctx) }()
	floor := best(b, func() {
		if !json.Valid(body) {
			b.Fatal("not valid")
		}
	})
	b.SetBytes(int64(len(body)))
	whole := time.Duration(1 << 62)
	for b.Loop() {
		began := time.Now()
		x, err := surface.Collect(ctx, s, surface.CollectOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if len(x.Items(surface.Tools)) != len(script.Tools) || x.Digest() == "" {
			b.Fatal("not collected")
		}
		whole = min(whole, time.Since(began))
	}
	b.ReportMetric(float64(whole)/float64(floor), "x-floor")
}

// best is the shortest of several runs: what the work costs when nothing else
// runs.
func best(b *testing.B, f func()) time.Duration {
	b.Helper()
	d := time.Duration(1 << 62)
	for range 20 {
		began := time.Now()
		f()
		d = min(d, time.Since(began))
	}
	return d
}
