// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// negotiator finds a common revision by the algorithm of 2026-07-28
// (basic/versioning, and "backward compatibility" of each transport).
type negotiator struct {
	target   transport.Target
	o        *Options
	facts    *facts
	watch    *watch
	attempts []Attempt
	begin    time.Time
}

// left is what is left of the time for a server's start. It is never zero,
// which would be no bound.
func (n *negotiator) left() time.Duration {
	return max(bound(n.o.Timeouts.Start)-time.Since(n.begin), time.Millisecond)
}

// limit is the bound of one request on a link: what is left of the start for
// a process, that of a request where nothing has to start.
func (n *negotiator) limit(l *link) time.Duration {
	if l.http() {
		return n.o.Timeouts.Request
	}
	return n.left()
}

// spent reports whether another process would not get the time to say a word.
func (n *negotiator) spent() bool { return n.left() < leastFresh }

const leastFresh = 100 * time.Millisecond

// verdict is what an answer to server/discover says about the server.
type verdict uint8

const (
	isModern     verdict = iota + 1
	otherVersion         // modern, of another version
	isOther              // an answer that tells nothing of the modern era
	isSilent             // none in time
	hasDied              // the connection ended
	isFatal              // no other method would do better
)

// run returns an open link on which requests can be made.
func (n *negotiator) run(ctx context.Context) (*link, *Negotiated, error) {
	era := n.o.Era
	if n.o.Revision.Valid() {
		era = n.o.Revision.Era()
	}
	kind := n.target.Kind()
	if kind == transport.HTTPSSE && era == 0 {
		era = spec.Legacy // there is no other on this transport
	}
	switch {
	case era == spec.Modern:
		return n.modernOnly(ctx)
	case era == spec.Legacy && kind == transport.StreamableHTTP:
		l, err := n.open(ctx, n.target)
		if err != nil {
			return nil, nil, err
		}
		return n.legacyHTTP(ctx, l)
	case era == spec.Legacy:
		return n.legacyFresh(ctx)
	case kind == transport.Stdio:
		return n.autoStdio(ctx)
	}
	return n.autoHTTP(ctx)
}

func (n *negotiator) modern() spec.Revision {
	if n.o.Revision.Valid() && n.o.Revision.Era() == spec.Modern {
		return n.o.Revision
	}
	return newest(spec.Modern)
}

func (n *negotiator) legacy() spec.Revision {
	if n.o.Revision.Valid() && n.o.Revision.Era() == spec.Legacy {
		return n.o.Revision
	}
	return newest(spec.Legacy)
}

func newest(e spec.Era) spec.Revision {
	rs := e.Revisions()
	return rs[len(rs)-1]
}

// open connects. A bound of Start holds even where the caller gave none.
func (n *negotiator) open(ctx context.Context, target transport.Target) (*link, error) {
	n.watch.waitFor("a connection", nil)
	patience := n.left()
	if n.target.Kind() == transport.StreamableHTTP {
		patience = bound(n.o.Timeouts.Start)
	}
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l, err := openLink(limit, target, n.o, n.facts)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// drop closes a connection that is not used any more. Nothing it holds is
// worth patience, and none is left for a process that said nothing or took all
// the time there was.
func (n *negotiator) drop(ctx context.Context, l *link) {
	if h, ok := l.conn.(transport.Hurrier); ok && (l.started().IsZero() || n.left() < shortRest) {
		h.Hurry(dropCloseGrace, dropTermGrace)
	}
	limit, cancel := context.WithTimeout(ctx, dropPatience)
	defer cancel()
	_ = l.close(limit)
}

const (
	dropPatience   = time.Second
	dropCloseGrace = 200 * time.Millisecond
	dropTermGrace  = 300 * time.Millisecond
	shortRest      = 5 * time.Second
)

func (n *negotiator) note(a Attempt, err error, format string, args ...any) {
	a.Err, a.Verdict = err, fmt.Sprintf(format, args...)
	n.attempts = append(n.attempts, a)
}

// fail is the error of a negotiation in which the server did answer.
func (n *negotiator) fail(asked string, supported []string, err error) error {
	if ctxErr := contextCause(err); ctxErr != nil {
		return ctxErr
	}
	var e *transport.Error
	var t *TimeoutError
	var known *NegotiationError
	if errors.As(err, &known) {
		known.Attempts = n.attempts
		return known
	}
	if errors.As(err, &t) {
		err = n.late(t)
	}
	if len(supported) == 0 && (errors.As(err, &e) || errors.As(err, &t)) {
		return err
	}
	return &NegotiationError{Asked: asked, Supported: supported, Attempts: n.attempts, Err: err}
}

// late is the error of a wait that ended the negotiation. Where a server has to
// start, that is the bound of the start, of which the last wait had the rest.
func (n *negotiator) late(t *TimeoutError) error {
	if n.target.Kind() == transport.StreamableHTTP || n.o.Timeouts.Start <= 0 {
		return t
	}
	out := &TimeoutError{Method: t.Method, After: n.o.Timeouts.Start, Stderr: t.Stderr, Start: true}
	for _, a := range n.attempts {
		var silent *TimeoutError
		if errors.As(a.Err, &silent) && !slices.Contains(out.Tried, a.Method) {
			out.Tried = append(out.Tried, a.Method)
		}
	}
	if !slices.Contains(out.Tried, t.Method) {
		out.Tried = append(out.Tried, t.Method)
	}
	return out
}

// contextCause is the end of the caller's context, when that was the reason.
func contextCause(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case err == context.DeadlineExceeded:
		return err
	}
	return nil
}

// modernOnly speaks the modern era or fails.
func (n *negotiator) modernOnly(ctx context.Context) (*link, *Negotiated, error) {
	l, err := n.open(ctx, n.target)
	if err != nil {
		return nil, nil, err
	}
	d := n.discover(ctx, l, n.modern(), n.limit(l), true)
	if d.verdict == isModern {
		return l, d.agreed, nil
	}
	var rpc *RPCError
	if errors.As(d.err, &rpc) && rpc.Code == spec.CodeMethodNotFound {
		// A modern server that forgot server/discover still marks its results.
		if neg := n.probe(ctx, l); neg != nil {
			return l, neg, nil
		}
	}
	n.drop(ctx, l)
	return nil, nil, n.fail(n.modern().String(), d.supported, d.err)
}

// legacyFresh does the handshake on a connection of its own.
func (n *negotiator) legacyFresh(ctx context.Context) (*link, *Negotiated, error) {
	l, err := n.open(ctx, n.target)
	if err != nil {
		return nil, nil, err
	}
	neg, err := n.initialize(ctx, l, n.left(), true)
	if err != nil {
		n.drop(ctx, l)
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	return l, neg, nil
}

// autoHTTP: a modern request first, then initialize, then GET for an endpoint
// event (2026-07-28/basic/transports/streamable-http#backward-compatibility).
func (n *negotiator) autoHTTP(ctx context.Context) (*link, *Negotiated, error) {
	l, err := n.open(ctx, n.target)
	if err != nil {
		return nil, nil, err
	}
	d := n.discover(ctx, l, n.modern(), n.o.Timeouts.Request, true)
	switch {
	case d.verdict == isModern:
		return l, d.agreed, nil
	case d.verdict == isFatal || ctx.Err() != nil,
		d.verdict == otherVersion && !knowsLegacy(d.supported):
		n.drop(ctx, l)
		return nil, nil, n.fail(n.modern().String(), d.supported, d.err)
	}
	return n.legacyHTTP(ctx, l)
}

// legacyHTTP does the handshake by Streamable HTTP, then by HTTP+SSE.
func (n *negotiator) legacyHTTP(ctx context.Context, l *link) (*link, *Negotiated, error) {
	neg, err := n.initialize(ctx, l, n.o.Timeouts.Request, false)
	if err == nil {
		return l, neg, nil
	}
	n.drop(ctx, l)
	target, ok := n.target.(transport.SSEFallback)
	if !ok || ctx.Err() != nil || !isClientError(err) {
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	sse, openErr := n.open(ctx, target.HTTPSSE())
	if openErr != nil {
		n.note(Attempt{Transport: transport.HTTPSSE, Method: "GET", Fresh: true}, openErr, "no HTTP+SSE either")
		if transport.ReasonOf(openErr) == transport.AuthNeeded {
			err = openErr
		}
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	neg, err = n.initialize(ctx, sse, n.o.Timeouts.Request, true)
	if err != nil {
		n.drop(ctx, sse)
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	return sse, neg, nil
}

// isClientError reports whether an error is an HTTP 4xx that may come from a
// server of the older transport. The newest text names 400, 404 and 405; up to
// 2025-06-18 it was any 4xx.
func isClientError(err error) bool {
	var e *transport.Error
	if !errors.As(err, &e) {
		var rpc *RPCError
		return errors.As(err, &rpc) && rpc.Status >= 400 && rpc.Status < 500 && rpc.Status != 401 && rpc.Status != 403
	}
	switch e.Reason {
	case transport.NotFound, transport.BadStatus:
		return e.Status >= 400 && e.Status < 500
	}
	return false
}
