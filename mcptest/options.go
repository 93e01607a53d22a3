// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Option changes how a target is opened.
type Option func(*options)

type options struct {
	era       spec.Era
	revision  spec.Revision
	header    []wire.HeaderField
	timeout   time.Duration
	start     time.Duration
	rounds    int
	lax       bool
	virtual   bool
	listen    bool
	logLevel  string
	info      json.RawMessage
	declared  json.RawMessage
	answers   script
	mistake   string // a wrong option, told when the target is opened
	contracts contractOptions
}

// The eras, and what is judged.
var (
	// Legacy speaks the newest handshake revision, 2025-11-25.
	Legacy Option = func(o *options) { o.era = spec.Legacy }
	// Modern speaks the newest stateless revision, 2026-07-28.
	Modern Option = func(o *options) { o.era = spec.Modern }
	// Lax leaves out holding the server's messages against the revision. What
	// crossed is still recorded, and assertions still hold.
	Lax Option = func(o *options) { o.lax = true }
	// VirtualTime runs each body of EachEra in a bubble of testing/synctest, in which
	// t.Parallel and t.Run cannot be called. The target must be a Fresh one where the
	// server makes channels or goroutines.
	VirtualTime Option = func(o *options) { o.virtual = true }
	// Listen opens the standing GET stream of a legacy HTTP server, for what it
	// sends outside of an answer. Without it only answers are listened to.
	Listen Option = func(o *options) { o.listen = true }
)

// Revision pins the protocol revision, such as "2025-06-18". A server that
// answers in another one fails the test.
func Revision(date string) Option {
	r, err := spec.ParseRevision(date)
	return func(o *options) {
		o.revision = r
		if err != nil {
			o.mistake = "mcptest.Revision: " + err.Error()
		}
	}
}

// Header adds a header to every HTTP request to the target, such as
// Authorization. Its value is redacted in everything that is shown or written.
func Header(name, value string) Option {
	return func(o *options) { o.header = append(o.header, wire.HeaderField{Name: name, Value: value}) }
}

// Timeout bounds each request. The default is 30 s, and no bound in virtual time:
// there a tool that hangs ends the whole program as a deadlock, unless this says
// otherwise.
func Timeout(d time.Duration) Option {
	return func(o *options) {
		if o.timeout = d; d <= 0 {
			o.mistake = "mcptest.Timeout: a bound must be above zero"
		}
	}
}

// StartTimeout bounds the start of a server and all that opening it takes. The
// default is 60 s, and no bound in virtual time.
func StartTimeout(d time.Duration) Option {
	return func(o *options) { o.start = d }
}

// MaxRounds bounds how often one request may be answered by a wish for input;
// the default is 16.
func MaxRounds(n int) Option {
	return func(o *options) { o.rounds = n }
}

// LogLevel asks for log messages of that level and above: by _meta of each
// request in the modern era, by logging/setLevel at the beginning in the legacy
// one, where the server has it.
func LogLevel(level string) Option {
	return func(o *options) { o.logLevel = level }
}

// ClientInfo is the Implementation object that the server is told, as JSON.
func ClientInfo(info string) Option {
	return func(o *options) { o.info = json.RawMessage(info) }
}

// Capabilities is the ClientCapabilities object that the server is told, as
// JSON, in place of the one that the answers of the test stand for.
func Capabilities(declared string) Option {
	return func(o *options) { o.declared = json.RawMessage(declared) }
}

func collect(opts []Option) *options {
	o := &options{}
	for _, set := range opts {
		if set != nil {
			set(o)
		}
	}
	if o.timeout == 0 {
		o.timeout = session.DefaultRequest
		if inBubble() {
			o.timeout = -1
		}
	}
	return o
}

// inBubble reports whether the caller's clock is that of testing/synctest, which
// begins with the year 2000. A bound of real time would end what waits in
// virtual time; the bubble itself finds what waits for ever.
func inBubble() bool { return time.Now().Year() < 2010 }

// session is what the session of a client is opened with.
func (o *options) session() session.Options {
	s := session.Options{
		Era: o.era, Revision: o.revision, ClientInfo: o.info, Capabilities: o.declared, Version: version,
		LogLevel: o.logLevel, MaxRounds: o.rounds, Listen: o.listen,
		Timeouts: session.Timeouts{Request: o.timeout, Start: o.start},
	}
	if o.timeout < 0 {
		s.Timeouts.Close = time.Minute
		if o.start == 0 {
			s.Timeouts.Start = -1
		}
	}
	return s
}

// version is what the client says of itself; a test's wire shall not change with
// each release.
const version = "1"
