// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	// sameProcess bounds waiting for initialize in a process that may be
	// wedged, or is slow to start.
	sameProcess = 10 * time.Second
	// overtaking is how long the answer to an earlier request is waited for
	// when that to a later one has come: a server may answer side by side.
	overtaking = 250 * time.Millisecond
	// worthFresh is the least that the first process and a fresh one must have
	// each. With less, the first one has all of it.
	worthFresh = time.Second
)

// asking is how long server/discover is waited for before initialize is tried.
func (n *negotiator) asking() time.Duration {
	return min(bound(n.o.Timeouts.Discover), bound(n.o.Timeouts.Start)/3)
}

// share is how long initialize is waited for in the process that was asked by
// server/discover: the rest is for a fresh one.
func (n *negotiator) share() time.Duration {
	left := n.left()
	if left < 2*worthFresh {
		return left
	}
	return min(left/2, sameProcess)
}

// reply is the end of one request.
type reply struct {
	x     *wire.Exchange
	frame *wire.Frame
	err   error
}

func (a *reply) refused() bool {
	return a.err == nil && a.frame.Message().Kind == wire.ErrorResponse
}

// ask sends a request and gives its end on a channel.
func (n *negotiator) ask(ctx context.Context, l *link, method string, r spec.Revision, limit time.Duration) <-chan reply {
	l.speak(r, "", r.Era() == spec.Legacy)
	x := &wire.Exchange{Method: method}
	end, sent := make(chan reply, 1), make(chan struct{})
	params := n.hello(r)
	if method == spec.MethodDiscover {
		params = nil
	}
	l.spawn(func() {
		full, err := l.params(params, nil)
		close(sent) // from here on the link may speak another revision
		if err != nil {
			end <- reply{x, nil, err}
			return
		}
		frame, err := l.onceAs(ctx, &Request{Method: method, Timeout: limit}, full, x)
		end <- reply{x, frame, err}
	})
	<-sent
	return end
}

// autoStdio: server/discover first; any error, silence or death leads to the
// handshake (2026-07-28/basic/transports/stdio#backward-compatibility).
func (n *negotiator) autoStdio(ctx context.Context) (*link, *Negotiated, error) {
	l, err := n.open(ctx, n.target)
	if err != nil {
		return nil, nil, err
	}
	n.watch.waitFor("an answer to "+spec.MethodDiscover, l)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	r := n.modern()
	discover := n.ask(asking, l, spec.MethodDiscover, r, n.left())
	begin := time.Now()
	t := time.NewTimer(n.asking())
	defer t.Stop()
	select {
	case a := <-discover:
		return n.afterAnswer(ctx, l, n.discovered(l, r, a.x, a.frame, a.err, true))
	case <-t.C:
	}
	return n.afterSilence(ctx, asking, l, r, discover, begin)
}

// afterAnswer goes on with a server that has answered server/discover, or has
// died of it.
func (n *negotiator) afterAnswer(ctx context.Context, l *link, d discovery) (*link, *Negotiated, error) {
	if d.verdict == otherVersion {
		if next := common(d.supported, spec.Modern); next != 0 && next != n.modern() && !n.o.Revision.Valid() {
			d = n.discoverOnce(ctx, l, next, n.left(), false)
		}
	}
	switch {
	case d.verdict == isModern:
		return l, d.agreed, nil
	case d.verdict == isOther, d.verdict == otherVersion && knowsLegacy(d.supported):
		neg, err := n.initialize(ctx, l, n.share(), false)
		if err == nil {
			return l, neg, nil
		}
		d.err = err
	case d.verdict == isSilent, d.verdict == hasDied:
	default:
		n.drop(ctx, l)
		return nil, nil, n.fail(n.modern().String(), d.supported, d.err)
	}
	n.drop(ctx, l)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if n.spent() {
		return nil, nil, n.fail(n.legacy().String(), supportedBy(d.err), d.err)
	}
	// Some servers are wedged by a request before the handshake.
	return n.legacyFresh(ctx)
}

// afterSilence goes on with a server that did not answer server/discover in
// time. Silence means legacy; but a server that takes long to start is silent
// too. An initialize tells them apart: who answers it was up, and has ignored
// server/discover; who was slow answers both. The process is spoilt by two
// openings and mostly given up for a fresh one. begin is when it was started.
func (n *negotiator) afterSilence(ctx, asking context.Context, l *link, r spec.Revision, discover <-chan reply, begin time.Time) (*link, *Negotiated, error) {
	n.watch.waitFor("an answer to "+spec.MethodInitialize, l)
	hello := n.ask(asking, l, spec.MethodInitialize, n.legacy(), n.share())
	var first, second *reply // answers to server/discover and initialize
	select {
	case a := <-discover:
		first = &a
		second = n.soon(hello)
	case a := <-hello:
		second = &a
		var late *TimeoutError
		if !errors.As(a.err, &late) {
			first = n.soon(discover)
		}
	}
	if first != nil && first.err == nil {
		l.speak(r, "", false)
	}
	d := discovery{verdict: isSilent}
	if first != nil {
		d = n.discovered(l, r, first.x, first.frame, first.err, true)
	} else {
		n.note(Attempt{Transport: l.conn.Kind(), Method: spec.MethodDiscover, Revision: r.String(), Fresh: true},
			&TimeoutError{Method: spec.MethodDiscover, After: n.asking()}, "no answer")
	}
	if d.verdict != isModern && d.verdict != isFatal && second != nil && second.err == nil && n.left() < 2*l.started().Sub(begin)+overtaking {
		// A fresh process would not come up in time: this one has to do.
		at := Attempt{Transport: l.conn.Kind(), Method: spec.MethodInitialize, Revision: n.legacy().String(), Exchange: second.x}
		l.speak(n.legacy(), "", true)
		neg, err := n.greeted(ctx, l, n.legacy(), at, second.frame, nil)
		if err == nil {
			return l, neg, nil
		}
		n.drop(ctx, l)
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	sure := n.noteHello(l, second)
	if d.verdict == isModern && second != nil && second.refused() {
		d.agreed.Attempts = n.attempts
		return l, d.agreed, nil // it has refused the handshake: nothing is spoilt
	}
	n.drop(ctx, l)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case d.verdict == isModern:
		return n.modernOnly(ctx)
	case d.verdict == isFatal, d.verdict == otherVersion && !knowsLegacy(d.supported):
		return nil, nil, n.fail(r.String(), d.supported, d.err)
	case n.spent() && second != nil && second.err != nil:
		return nil, nil, n.fail(n.legacy().String(), d.supported, second.err)
	case n.spent() && d.err != nil:
		return nil, nil, n.fail(n.legacy().String(), d.supported, d.err)
	case d.verdict == isSilent && !sure:
		return n.handshakeThenAsk(ctx)
	}
	return n.legacyFresh(ctx)
}

// noteHello records what initialize told of a silent server, and reports
// whether it told that the server was up.
func (n *negotiator) noteHello(l *link, a *reply) (up bool) {
	at := Attempt{Transport: l.conn.Kind(), Method: spec.MethodInitialize, Revision: n.legacy().String()}
	if a == nil {
		return false
	}
	at.Exchange = a.x
	up = a.err == nil && a.frame.Message().Result != nil
	switch {
	case up:
		n.note(at, nil, "it is up")
	case a.refused():
		n.note(at, nil, "it is up, and refuses the handshake")
	default:
		n.note(at, a.err, "no answer either")
	}
	return up
}

func (n *negotiator) soon(c <-chan reply) *reply {
	t := time.NewTimer(min(overtaking, n.left()+50*time.Millisecond)) // both may end with the bound
	defer t.Stop()
	select {
	case a := <-c:
		return &a
	case <-t.C:
		return nil
	}
}

func isRPC(err error) bool {
	var rpc *RPCError
	return errors.As(err, &rpc)
}

// handshakeThenAsk does the handshake in a fresh process, after one that said
// nothing at all. It may have been wedged, or very slow: so server/discover
// is asked once more, with the patience that this start has shown to be needed.
func (n *negotiator) handshakeThenAsk(ctx context.Context) (*link, *Negotiated, error) {
	l, err := n.open(ctx, n.target)
	if err != nil {
		return nil, nil, err
	}
	begin := time.Now()
	neg, err := n.initialize(ctx, l, n.left(), true)
	if isRPC(err) {
		// It is up and refuses the handshake: perhaps it is modern only.
		if d := n.discover(ctx, l, n.modern(), n.left(), false); d.verdict == isModern {
			return l, d.agreed, nil
		}
	}
	if err != nil {
		n.drop(ctx, l)
		return nil, nil, n.fail(n.legacy().String(), supportedBy(err), err)
	}
	start := l.started().Sub(begin)
	if n.left() < start+overtaking {
		return l, neg, nil // nothing would come of asking again
	}
	again, err := n.open(ctx, n.target)
	if err != nil {
		return l, neg, nil
	}
	d := n.discover(ctx, again, n.modern(), min(2*start+n.o.Timeouts.Discover, n.left()), true)
	if d.verdict == isModern {
		n.drop(ctx, l)
		return again, d.agreed, nil
	}
	n.drop(ctx, again)
	if ctx.Err() != nil {
		n.drop(ctx, l)
		return nil, nil, ctx.Err()
	}
	neg.Attempts = n.attempts
	return l, neg, nil
}
