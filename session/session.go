// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Session is one client connected to one server. Its methods may be called
// from any goroutine. Close must be called in the end.
type Session struct {
	o      Options
	facts  facts
	link   *link
	agreed Negotiated

	closing  sync.Once
	closeErr error
}

// Open connects to the target and negotiates. The error is a
// *transport.Error, a *NegotiationError (an *EchoError may be its cause), a
// *TimeoutError, or that of the context; nothing is left running then.
func Open(ctx context.Context, target transport.Target, o Options) (*Session, error) {
	s := &Session{o: o}
	if err := s.o.complete(); err != nil {
		return nil, err
	}
	w := startWatch(o.Progress)
	defer w.end()
	n := &negotiator{target: target, o: &s.o, facts: &s.facts, watch: w, begin: time.Now()}
	l, agreed, err := n.run(ctx)
	if err != nil {
		return nil, err
	}
	s.link, s.agreed = l, *agreed
	if o.Listen {
		l.listen(ctx)
	}
	return s, nil
}

// Defaults of Options and Timeouts.
const (
	DefaultRequest  = 30 * time.Second
	DefaultStart    = 60 * time.Second
	DefaultDiscover = 3 * time.Second
	DefaultClose    = 5 * time.Second
	DefaultPages    = 10_000
	DefaultRounds   = 16
)

// complete fills in defaults and checks what callers hand in as JSON.
func (o *Options) complete() error {
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&o.Timeouts.Request, DefaultRequest}, {&o.Timeouts.Start, DefaultStart},
		{&o.Timeouts.Discover, DefaultDiscover}, {&o.Timeouts.Close, DefaultClose},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if o.MaxPages <= 0 {
		o.MaxPages = DefaultPages
	}
	if o.MaxRounds <= 0 {
		o.MaxRounds = DefaultRounds
	}
	if o.ClientInfo == nil {
		version := o.Version
		if version == "" {
			version = "0.0.0"
		}
		o.ClientInfo = json.RawMessage(`{"name":"mcprove","version":` + string(jsonx.Quote(version)) + `}`)
	}
	if o.Capabilities == nil {
		o.Capabilities = o.Handlers.capabilities()
	}
	for _, raw := range []json.RawMessage{o.ClientInfo, o.Capabilities} {
		if jsonx.KindOf(raw) != jsonx.Object || jsonx.Check(raw, jsonx.Strict) != nil {
			return errors.New("client info and capabilities must be JSON objects")
		}
	}
	if o.Era != 0 && o.Revision.Valid() && o.Revision.Era() != o.Era {
		return errors.New("revision " + o.Revision.String() + " is not of the " + o.Era.String() + " era")
	}
	return nil
}

// Negotiated returns what was agreed.
func (s *Session) Negotiated() Negotiated {
	n := s.agreed
	n.Supported, n.Attempts = slices.Clone(n.Supported), slices.Clone(n.Attempts)
	return n
}

// Conn returns the connection in use, for facts of the carrier such as
// transport.ProcessConn. Receiving from it is the session's own business.
func (s *Session) Conn() transport.Conn { return s.link.conn }

// Close ends the session: a legacy HTTP session is deleted, streams and
// connections are closed, a process tree is ended. It is bounded by the
// context and Timeouts.Close, and may be called more than once.
func (s *Session) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.link.part()
		limit, cancel := context.WithTimeout(ctx, bound(s.o.Timeouts.Close))
		defer cancel()
		s.link.deleteSession(limit)
		s.closeErr = s.link.close(limit)
	})
	return s.closeErr
}

// deleteSession ends a legacy HTTP session (2025-03-26/basic/transports). A
// server may refuse it.
func (l *link) deleteSession(ctx context.Context) {
	r, ok := l.conn.(transport.Requester)
	if !ok || !l.http() || l.sessionID == "" {
		return
	}
	limit, cancel := context.WithTimeout(ctx, deletePatience)
	defer cancel()
	c := newCall("DELETE", &wire.Exchange{})
	if l.register(c) != nil {
		return
	}
	if _, err := r.Request(limit, transport.Request{Method: "DELETE", Header: l.header("", nil), Tag: c}); err == nil {
		select {
		case <-c.done:
		case <-limit.Done():
		}
	}
	l.abandon(c, nil, fateAnswered)
}

// deletePatience bounds the wait for the answer to a DELETE, which changes
// nothing for us.
const deletePatience = time.Second
