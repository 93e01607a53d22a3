// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Options of a session. The zero value finds out the era and offers no client
// capability.
type Options struct {
	// Era to speak; zero finds out by the algorithm of 2026-07-28
	// (basic/versioning), newest first.
	Era spec.Era
	// Revision to ask for; zero is the newest of the era. It implies its era.
	Revision spec.Revision

	// ClientInfo is the Implementation object sent to the server; nil sends
	// the name mcprove and Version.
	ClientInfo json.RawMessage
	Version    string
	// Capabilities is the ClientCapabilities object; nil is derived from
	// Handlers, which is empty without any.
	Capabilities json.RawMessage
	Handlers     Handlers
	// LogLevel is sent in _meta of every modern request when not empty.
	LogLevel string

	Timeouts Timeouts
	// MaxPages bounds List; zero is 10,000.
	MaxPages int
	// MaxRounds bounds the rounds of a multi round-trip request; zero is 16.
	MaxRounds int
	// Limit is the longest frame in bytes, zero for 64 MiB.
	Limit int

	// Listen opens the standing GET stream of a legacy HTTP server after the
	// handshake, for notifications and requests that belong to no call.
	Listen bool

	// Progress is told what Open waits for, once the wait has lasted a second,
	// and then each second. It is called from a goroutine of the session.
	Progress func(Waiting)
	// OnNotification sees each notification in order; it must not block.
	OnNotification func(*wire.Frame)
	// Tap sees everything that crosses, on every connection of the session.
	Tap transport.Tap
	// Stderr receives a copy of what a child process writes there.
	Stderr io.Writer
}

// Timeouts bound every wait of a session. A zero field has its default; a
// negative one is no bound but the context.
type Timeouts struct {
	Request  time.Duration // one request: 30 s
	Start    time.Duration // a stdio server's start, all that Open tries together: 60 s
	Discover time.Duration // server/discover on a silent stdio server, before initialize is tried too: 3 s, at most a third of Start
	Close    time.Duration // ending streams and process: 5 s
}

// Waiting says what Open is waiting for.
type Waiting struct {
	For     string // "an answer to server/discover"
	Elapsed time.Duration
	Stderr  string // last line the process wrote there, foreign text
}

// Handler answers one request of the server: the params in, the result out.
// An error of type *RPCError is sent as it is, another one as -32603.
type Handler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// Handlers answer what a server asks the client, by request in the legacy era
// and by input_required in the modern one. A nil one is not declared as a
// capability, and the method is answered by -32601.
type Handlers struct {
	Elicit Handler // elicitation/create
	Sample Handler // sampling/createMessage
	Roots  Handler // roots/list
	// Other answers every other method; ping is answered without it.
	Other func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}
