// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// serverRequest answers a request of the server (legacy era). A modern server
// may send none: it is noted, and nobody answers, because a client of that era
// never sends a response. Nor is a request of ours answered that came back.
func (l *link) serverRequest(on *call, f *wire.Frame, m *wire.Message) {
	l.mu.Lock()
	legacy := l.legacy
	if on == nil && !l.http() {
		on = l.only()
	}
	if on != nil {
		on.add(f)
	}
	key, ok := m.Key()
	echo := l.echoOf(key, f, m)
	if echo != nil {
		echo.cameBack()
	}
	l.mu.Unlock()
	switch {
	case echo != nil:
		l.facts.note(ServerRequest, "a request of ours came back as it was sent", f)
		return // an answer would come back, too, and be taken for the server's
	case !legacy:
		l.facts.note(ServerRequest, "a request from a server that may send none", f)
		return
	}
	if !ok {
		l.facts.note(BadID, "a request whose id is neither string nor whole number", f)
	}
	ctx, cancel := context.WithCancel(l.life)
	l.mu.Lock()
	l.serving[key] = cancel
	l.mu.Unlock()
	select {
	case l.slots <- struct{}{}:
	case <-l.life.Done():
		cancel()
		return
	}
	l.spawn(func() {
		defer func() { <-l.slots }()
		l.answer(ctx, on, key, m)
		cancel()
	})
}

func (l *link) answer(ctx context.Context, on *call, key wire.IDKey, m *wire.Message) {
	result, err := l.o.Handlers.run(ctx, m.Method, m.Params)
	l.mu.Lock()
	delete(l.serving, key)
	l.mu.Unlock()
	if ctx.Err() != nil {
		return // cancelled by the server, or we are leaving: no answer is due
	}
	id := m.ID
	var text []byte
	if err != nil {
		text = errorText(id, asRPCError(err))
	} else {
		text = []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + string(result) + `}`)
	}
	c := newCall("answer", &wire.Exchange{})
	c.parent = on
	if l.register(c) != nil {
		return
	}
	limit, done := context.WithTimeout(ctx, bound(l.o.Timeouts.Request))
	defer done()
	sendErr := l.send(limit, c, transport.Outgoing{Raw: text, Header: l.header("", nil)})
	if sendErr == nil && l.conn.Kind() != transport.Stdio {
		select {
		case <-c.done:
		case <-limit.Done():
		}
		l.mu.Lock()
		h := c.head()
		l.mu.Unlock()
		if h != nil && !succeeded(h) {
			l.facts.note(RefusedPost, fmt.Sprintf("HTTP %d to a notification or an answer", h.Status), nil)
		}
	}
	l.abandon(c, nil, fateAnswered)
}

// serverCancelled ends the handler of a request that the server takes back.
func (l *link) serverCancelled(m *wire.Message) {
	key, ok := wire.KeyOf(member(m.Params, "requestId"))
	if !ok {
		return
	}
	l.mu.Lock()
	cancel := l.serving[key]
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// of returns the handler of a method, nil when there is none.
func (h *Handlers) of(method string) Handler {
	switch method {
	case spec.MethodElicit:
		return h.Elicit
	case spec.MethodCreateMessage:
		return h.Sample
	case spec.MethodRootsList:
		return h.Roots
	}
	return nil
}

func (h *Handlers) run(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	f := h.of(method)
	switch {
	case f == nil && method == spec.MethodPing:
		return json.RawMessage(`{}`), nil
	case f == nil && h.Other != nil && !h.known(method):
		f = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			return h.Other(ctx, method, params)
		}
	case f == nil:
		return nil, &RPCError{Code: spec.CodeMethodNotFound, Message: "method not found: " + method}
	}
	result, err := f(ctx, params)
	if err == nil && jsonx.Check(result, jsonx.Strict) != nil {
		err = errors.New("the handler's result is no JSON")
	}
	return result, err
}

// known reports whether a method has a field of its own.
func (h *Handlers) known(method string) bool {
	switch method {
	case spec.MethodElicit, spec.MethodCreateMessage, spec.MethodRootsList:
		return true
	}
	return false
}

// capabilities is the ClientCapabilities object that the handlers stand for.
func (h *Handlers) capabilities() json.RawMessage {
	text := ""
	for _, c := range []struct {
		handler Handler
		member  string
	}{{h.Elicit, `"elicitation":{}`}, {h.Roots, `"roots":{}`}, {h.Sample, `"sampling":{}`}} {
		if c.handler == nil {
			continue
		}
		if text != "" {
			text += ","
		}
		text += c.member
	}
	return json.RawMessage("{" + text + "}")
}

func asRPCError(err error) *RPCError {
	var e *RPCError
	if errors.As(err, &e) {
		return e
	}
	return &RPCError{Code: spec.CodeInternalError, Message: err.Error()}
}

func errorText(id json.RawMessage, e *RPCError) []byte {
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, id, e.Code, jsonx.Quote(e.Message))
	if len(e.Data) > 0 {
		text += `,"data":` + string(e.Data)
	}
	return []byte(text + `}}`)
}
