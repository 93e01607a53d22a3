// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// EchoError says that an opening request came back as it was sent, and that
// nothing answered it: what was started is no server, or something before it
// repeats its input, as a terminal does.
type EchoError struct {
	Method string // server/discover or initialize
}

func (e *EchoError) Error() string {
	return "the program only echoes what it is sent: " + e.Method + " came back as it was, and nothing answered it"
}

// echoPatience is how long an opening request is waited for that has come back:
// behind a terminal that echoes there may be a server all the same.
const echoPatience = 5 * time.Second

// echoOf returns the call under way whose own request a request of the server
// is, by its id and every byte. Only a method that no server may ask by can be
// taken for one. mu is held.
func (l *link) echoOf(key wire.IDKey, f *wire.Frame, m *wire.Message) *call {
	if !clientOnly(m.Method) {
		return nil
	}
	for _, c := range l.calls[key] {
		if own := c.exchange.Request(); own != nil && bytes.Equal(bytes.TrimSpace(own.Raw), bytes.TrimSpace(f.Raw)) {
			return c
		}
	}
	return nil
}

// clientOnly reports whether a method is one that, in every revision that has
// it, clients alone ask by.
func clientOnly(method string) bool {
	known := false
	for _, r := range spec.All() {
		m, ok := spec.MethodAt(method, r)
		if ok && m.Direction != spec.ClientToServer {
			return false
		}
		known = known || ok
	}
	return known
}

// opening reports whether a method is one that sessions begin with.
func opening(method string) bool {
	return method == spec.MethodInitialize || method == spec.MethodDiscover
}
