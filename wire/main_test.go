// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"io"
	"testing"
)

// pieces reads b in pieces that end at the given cuts, or one byte at a time
// when every is one.
type pieces struct {
	b     []byte
	every int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := min(len(p.b), p.every, len(to))
	copy(to, p.b[:n])
	p.b = p.b[n:]
	return n, nil
}

func split(b []byte, every int) io.Reader { return &pieces{b: bytes.Clone(b), every: every} }

// halves reads b in two reads.
func halves(b []byte, at int) io.Reader {
	return io.MultiReader(bytes.NewReader(b[:at]), bytes.NewReader(b[at:]))
}

func must(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}
