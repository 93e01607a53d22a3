// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
)

// deadConn is a connection from which everything was read already.
type deadConn struct{ net.Conn }

func (deadConn) Close() error { return nil }

// FuzzResponse reads any bytes as HTTP/1.1 responses: never a panic, never
// more than what was there, and the same for every way of splitting them.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 404 No\nA:b\n\nrest", "hello",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		at = max(0, min(at, len(in)))
		read := func(r io.Reader) (string, bool) {
			h := &h1{closed: true}
			p := &h1Pending{h1: h, conn: &h1Conn{Conn: deadConn{}, br: bufio.NewReaderSize(r, 64)}}
			resp, err := p.response()
			if err != nil {
				return "", false
			}
			body, err := readAll(resp.body, resp.head)
			if len(body) > len(in) {
				t.Fatalf("%d bytes out of %d", len(body), len(in))
			}
			return string(body), err == nil
		}
		whole, ok := read(bytes.NewReader(in))
		cut, cutOK := read(io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:])))
		if ok != cutOK || ok && whole != cut {
			t.Fatalf("split at %d: %q %v, want %q %v", at, cut, cutOK, whole, ok)
		}
	})
}
