// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Session is one client connected to one server. Its methods may be called
// from any goroutine. Close must be called in the end.
type Session struct{}

// Open connects to the target and negotiates. The error is a
// *transport.Error, a *NegotiationError, a *TimeoutError or an *RPCError;
// nothing is left running then.
func Open(ctx context.Context, target transport.Target, o Options) (*Session, error) {
	return nil, nil
}

// Negotiated returns what was agreed.
func (s *Session) Negotiated() Negotiated { return Negotiated{} }

// Call makes one request and waits for its answer. The error is an *RPCError,
// *TimeoutError, *ResultError, *RoundsError, *transport.Error, or that of the
// context. A result is returned beside an error whenever a request was sent:
// its exchange is the evidence. A tool's own error (isError) is a result.
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage) (*Result, error) {
	return s.Do(ctx, Request{Method: method, Params: params})
}

// Do is Call with every choice.
func (s *Session) Do(ctx context.Context, r Request) (*Result, error) { return nil, nil }

// Notify sends a notification.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return nil
}

// List asks for every page of a list method. On an error the pages read so
// far are returned with it. The error is a *PageError, that wraps what Call
// returns, or a *CursorError.
func (s *Session) List(ctx context.Context, method string) (*Listing, error) { return nil, nil }

// Raw sends any text and waits for what answers it: the response with its id
// when it has one, or on HTTP the end of the request's response. Without an
// answer the exchange is returned together with a *TimeoutError.
func (s *Session) Raw(ctx context.Context, r RawRequest) (*wire.Exchange, error) { return nil, nil }

// Notifications returns every notification so far, in the order of arrival.
func (s *Session) Notifications() []*wire.Frame { return nil }

// Anomalies returns what was out of order so far, one entry for each kind and
// cause, in the order of first appearance.
func (s *Session) Anomalies() []Anomaly { return nil }

// Conn returns the connection in use, for facts of the carrier such as
// transport.ProcessConn. Receiving from it is the session's own business.
func (s *Session) Conn() transport.Conn { return nil }

// Close ends the session: a legacy HTTP session is deleted, streams and
// connections are closed, a process tree is ended. It is bounded by the
// context and Timeouts.Close, and may be called more than once.
func (s *Session) Close(ctx context.Context) error { return nil }
