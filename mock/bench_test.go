// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkToolsCall is one tools/call of the modern era, from the bytes of the
// request to those of the answer.
func BenchmarkToolsCall(b *testing.B) {
	body := []byte(modern(spec.MethodToolsCall, `"name":"search_books","arguments":{"query":"harbour","filters":{"language":"en"},"limit":5}`))
	b.Run("http", func(b *testing.B) {
		s := mock.New(mock.Library())
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", spec.MediaJSON)
			r.Header.Set(spec.HeaderProtocolVersion, "2026-07-28")
			r.Header.Set(spec.HeaderMethod, spec.MethodToolsCall)
			r.Header.Set(spec.HeaderName, "search_books")
			s.ServeHTTP(&discard{http.Header{}}, r)
		}
	})
	b.Run("stdio", func(b *testing.B) {
		s := mock.New(mock.Library())
		in, w := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.ServeStdio(context.Background(), in, io.Discard) }()
		text := append(bytes.Clone(body), '\n')
		b.ReportAllocs()
		for b.Loop() {
			_, _ = w.Write(text)
		}
		_ = w.Close()
		<-done
	})
}
