// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// discovery is the outcome of server/discover.
type discovery struct {
	verdict   verdict
	agreed    *Negotiated
	supported []string
	err       error
}

// discover asks by server/discover, and once more for a version that the
// server names.
func (n *negotiator) discover(ctx context.Context, l *link, r spec.Revision, limit time.Duration, fresh bool) discovery {
	d := n.discoverOnce(ctx, l, r, limit, fresh)
	if d.verdict != otherVersion {
		return d
	}
	next := common(d.supported, spec.Modern)
	if next == 0 || next == r || n.o.Revision.Valid() {
		return d
	}
	return n.discoverOnce(ctx, l, next, min(limit, n.limit(l)), false)
}

func (n *negotiator) discoverOnce(ctx context.Context, l *link, r spec.Revision, limit time.Duration, fresh bool) discovery {
	n.watch.waitFor("an answer to "+spec.MethodDiscover, l)
	l.speak(r, "", false)
	x := &wire.Exchange{Method: spec.MethodDiscover}
	frame, err := l.once(ctx, &Request{Method: x.Method, Timeout: limit}, nil, x)
	return n.discovered(l, r, x, frame, err, fresh)
}

// discovered reads the answer to a server/discover.
func (n *negotiator) discovered(l *link, r spec.Revision, x *wire.Exchange, frame *wire.Frame, err error, fresh bool) discovery {
	a := Attempt{Transport: l.conn.Kind(), Method: x.Method, Revision: r.String(), Fresh: fresh, Exchange: x}
	var result Result
	if err == nil {
		err = l.interpret(x.Method, frame, &result)
	}
	if err == nil && !isDiscoverResult(&result) {
		err = &ResultError{Method: x.Method, Detail: "the result is not that of " + x.Method, Frame: frame}
	}
	d := discovery{err: err}
	var word string
	d.verdict, word = judge(l, err)
	d.supported = supportedBy(err)
	if d.verdict == isModern {
		d.agreed = n.agree(l, r, x, &result)
		d.supported = d.agreed.Supported
		if err := n.choose(d.agreed, l); err != nil {
			d.verdict, d.err, word = otherVersion, err, "a DiscoverResult that names other versions only"
		}
	}
	n.note(a, err, "%s", word)
	if d.agreed != nil {
		d.agreed.Attempts = n.attempts
	}
	return d
}

// isDiscoverResult tells a DiscoverResult from the {} of a server that answers
// every method.
func isDiscoverResult(r *Result) bool {
	return jsonx.KindOf(r.Member("supportedVersions")) == jsonx.Array || r.Member(spec.FieldResultType) != nil
}

// agree is what a DiscoverResult says.
func (n *negotiator) agree(l *link, r spec.Revision, x *wire.Exchange, result *Result) *Negotiated {
	neg := &Negotiated{
		Transport: l.conn.Kind(), Era: spec.Modern, Revision: r, Asked: r.String(), Handshake: x,
		Supported:    texts(result.Member("supportedVersions")),
		Capabilities: result.Member("capabilities"),
		ServerInfo:   member(result.Member(spec.FieldMeta), spec.MetaServerInfo),
	}
	if s, ok := jsonx.Text(result.Member("instructions")); ok {
		neg.Instructions = &s
	}
	return neg
}

// choose takes the newest modern version that both know. That a server answers
// server/discover in a version does not mean that it speaks it: there are ones
// that list only legacy versions, and refuse every other modern request.
// Without a list the version of the answer is all there is.
func (n *negotiator) choose(neg *Negotiated, l *link) error {
	r := common(neg.Supported, spec.Modern)
	switch {
	case len(neg.Supported) == 0, slices.Contains(neg.Supported, neg.Revision.String()) && n.o.Revision.Valid():
		r = neg.Revision
	case r == 0, n.o.Revision.Valid():
		return &NegotiationError{Asked: neg.Asked, Supported: neg.Supported, Attempts: n.attempts}
	}
	neg.Revision = r
	l.speak(r, "", false)
	l.settle()
	return nil
}

// common is the newest revision of an era in a list.
func common(list []string, e spec.Era) spec.Revision {
	var best spec.Revision
	for _, s := range list {
		if r, err := spec.ParseRevision(s); err == nil && r.Era() == e && r > best {
			best = r
		}
	}
	return best
}

func knowsLegacy(list []string) bool { return common(list, spec.Legacy) != 0 }

// supportedBy is the list of versions in an error, nil without one.
func supportedBy(err error) []string {
	var rpc *RPCError
	if !errors.As(err, &rpc) {
		var n *NegotiationError
		if errors.As(err, &n) {
			return n.Supported
		}
		return nil
	}
	return texts(member(rpc.Data, "supported"))
}

func texts(raw json.RawMessage) []string {
	es, err := jsonx.Elements(raw, jsonx.Lenient)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range es {
		if s, ok := jsonx.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

// judge says what the end of a server/discover means.
func judge(l *link, err error) (verdict, string) {
	var rpc *RPCError
	var t *TimeoutError
	var e *transport.Error
	var echo *EchoError
	switch {
	case err == nil:
		return isModern, "a DiscoverResult: modern"
	case transport.ReasonOf(err) == transport.AuthNeeded:
		return isFatal, "authentication is needed first"
	case errors.As(err, &rpc):
		return judgeCode(l, rpc)
	case errors.As(err, &t), errors.As(err, &echo):
		return isSilent, "no answer: the handshake comes next"
	case errors.As(err, &e):
		return judgeTransport(l, e)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return isFatal, "given up"
	}
	return isOther, "an answer that is no DiscoverResult: the handshake comes next"
}

func judgeCode(l *link, rpc *RPCError) (verdict, string) {
	switch {
	case rpc.Code == spec.CodeUnsupportedVersion:
		return otherVersion, "the server names other versions"
	case spec.ModernError(int(rpc.Code)):
		return isFatal, fmt.Sprintf("error %d, which only a modern server sends", rpc.Code)
	}
	return isOther, fmt.Sprintf("error %d: the handshake comes next", rpc.Code)
}

func judgeTransport(l *link, e *transport.Error) (verdict, string) {
	reason := e.Reason
	if reason == transport.Broken && l.conn.Kind() == transport.Stdio {
		reason = transport.Died // a pair of streams has no process to tell of
	}
	switch reason {
	case transport.Died:
		return hasDied, "the process ended: the handshake comes next"
	case transport.NotFound, transport.BadStatus, transport.Broken:
		return isOther, "no answer of the modern era: the handshake comes next"
	case transport.NotMCP:
		if e.Status != 200 {
			return isOther, "no answer of the modern era: the handshake comes next"
		}
		return isFatal, "a page, not MCP"
	}
	return isFatal, "no way to go on: " + string(e.Reason)
}

// initialize does the handshake of the legacy era.
func (n *negotiator) initialize(ctx context.Context, l *link, limit time.Duration, fresh bool) (*Negotiated, error) {
	n.watch.waitFor("an answer to "+spec.MethodInitialize, l)
	asked := n.legacy()
	l.speak(asked, "", true)
	x := &wire.Exchange{Method: spec.MethodInitialize}
	a := Attempt{Transport: l.conn.Kind(), Method: x.Method, Revision: asked.String(), Fresh: fresh, Exchange: x}
	frame, err := l.once(ctx, &Request{Method: x.Method, Timeout: limit}, n.hello(asked), x)
	return n.greeted(ctx, l, asked, a, frame, err)
}

// greeted reads the answer to an initialize and ends the handshake.
func (n *negotiator) greeted(ctx context.Context, l *link, asked spec.Revision, a Attempt, frame *wire.Frame, err error) (*Negotiated, error) {
	x := a.Exchange
	var result Result
	if err == nil {
		err = l.interpret(x.Method, frame, &result)
	}
	if err != nil {
		n.note(a, err, "the handshake failed")
		return nil, err
	}
	neg := &Negotiated{
		Transport: l.conn.Kind(), Era: spec.Legacy, Asked: asked.String(), Handshake: x,
		ServerInfo: result.Member("serverInfo"), Capabilities: result.Member("capabilities"),
	}
	if s, ok := jsonx.Text(result.Member("instructions")); ok {
		neg.Instructions = &s
	}
	for _, h := range x.Heads {
		if id, ok := h.Lookup(spec.HeaderSessionID); ok && h.Status != 0 {
			neg.SessionID = id
		}
	}
	if err := n.accept(neg, &result, frame); err != nil {
		n.note(a, err, "the handshake names a version we cannot speak")
		return nil, err
	}
	l.speak(neg.Revision, neg.SessionID, true)
	l.settle()
	n.note(a, nil, "legacy")
	neg.Attempts = n.attempts
	limit, cancel := context.WithTimeout(ctx, n.limit(l))
	defer cancel()
	err = l.post(limit, notificationText(spec.NotificationInitialized, nil), l.header(spec.NotificationInitialized, nil))
	if err != nil && (ctx.Err() != nil || isLost(err)) {
		return nil, err
	}
	return neg, nil
}

// hello is the params of initialize.
func (n *negotiator) hello(asked spec.Revision) json.RawMessage {
	return json.RawMessage(`{"protocolVersion":` + string(jsonx.Quote(asked.String())) +
		`,"capabilities":` + string(n.o.Capabilities) + `,"clientInfo":` + string(n.o.ClientInfo) + `}`)
}

// accept reads the version that the server answered. A client that cannot
// follow leaves (basic/lifecycle#version-negotiation).
func (n *negotiator) accept(neg *Negotiated, result *Result, frame *wire.Frame) error {
	version, ok := jsonx.Text(result.Member("protocolVersion"))
	if !ok {
		return &ResultError{Method: spec.MethodInitialize, Detail: "the result has no protocolVersion", Frame: frame}
	}
	neg.Answered = version
	r, err := spec.ParseRevision(version)
	if err != nil || r.Era() != spec.Legacy || n.o.Revision.Valid() && r != n.o.Revision {
		return &NegotiationError{Asked: neg.Asked, Supported: []string{version}, Attempts: n.attempts}
	}
	neg.Revision = r
	return nil
}

// probe looks for a modern server that has no server/discover.
func (n *negotiator) probe(ctx context.Context, l *link) *Negotiated {
	for _, method := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList} {
		x := &wire.Exchange{Method: method}
		frame, err := l.once(ctx, &Request{Method: method, Timeout: n.limit(l)}, nil, x)
		if err != nil || member(frame.Message().Result, spec.FieldResultType) == nil {
			continue
		}
		l.settle()
		n.note(Attempt{Transport: l.conn.Kind(), Method: method, Revision: l.revision.String(), Exchange: x}, nil,
			"a result with resultType: modern, without %s", spec.MethodDiscover)
		return &Negotiated{
			Transport: l.conn.Kind(), Era: spec.Modern, Revision: l.revision, Asked: l.revision.String(), Attempts: n.attempts,
			ServerInfo: path(frame.Message().Result, spec.FieldMeta, spec.MetaServerInfo),
		}
	}
	return nil
}
