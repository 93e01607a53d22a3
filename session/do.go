// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// maxReissues is how often a safe request is sent again after a broken stream.
const maxReissues = 2

// Call makes one request and waits for its answer. The error is an *RPCError,
// *TimeoutError, *ResultError, *RoundsError, *transport.Error, or that of the
// context. A result is returned beside an error whenever a request was sent:
// its exchange is the evidence. A tool's own error (isError) is a result.
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage) (*Result, error) {
	return s.Do(ctx, Request{Method: method, Params: params})
}

// Do is Call with every choice.
func (s *Session) Do(ctx context.Context, r Request) (*Result, error) {
	if r.Timeout == 0 {
		r.Timeout = s.o.Timeouts.Request
	}
	return s.link.do(ctx, r)
}

// do sends a request, again where it is allowed, and answers what the server
// asks for in between.
func (l *link) do(ctx context.Context, r Request) (*Result, error) {
	result := &Result{Exchange: &wire.Exchange{Method: r.Method}}
	params := r.Params
	for {
		result.Rounds++
		err := l.round(ctx, &r, params, result)
		if err != nil {
			return result, err
		}
		if result.ResultType != spec.ResultInputRequired || r.KeepRounds {
			return result, nil
		}
		if result.Rounds > l.o.MaxRounds {
			return result, &RoundsError{Method: r.Method, Rounds: result.Rounds}
		}
		if params, err = l.nextRound(ctx, r.Params, result); err != nil {
			return result, fmt.Errorf("%s: %w", r.Method, err)
		}
	}
}

// round is one request and its answer, sent again when a modern stream broke.
func (l *link) round(ctx context.Context, r *Request, params json.RawMessage, result *Result) error {
	for {
		frame, err := l.once(ctx, r, params, result.Exchange)
		if err != nil {
			if !l.mayReissue(r, err) || result.Reissued == maxReissues {
				return err
			}
			result.Reissued++
			continue
		}
		return l.interpret(r.Method, frame, result)
	}
}

// mayReissue: a broken stream is a lost request in the modern era, to be sent
// again under a new id (2026-07-28/basic/transports/streamable-http), but only
// what does no harm twice is sent twice.
func (l *link) mayReissue(r *Request, err error) bool {
	if !l.http() || l.spoken().Era() != spec.Modern || transport.ReasonOf(err) != transport.Broken {
		return false
	}
	m, ok := spec.MethodAt(r.Method, l.spoken())
	return r.Safe || ok && m.Repeatable
}

// once sends one request under an id of its own and waits for the response.
func (l *link) once(ctx context.Context, r *Request, params json.RawMessage, x *wire.Exchange) (*wire.Frame, error) {
	full, err := l.params(params, r.ProgressToken)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Method, err)
	}
	return l.onceAs(ctx, r, full, x)
}

// onceAs is once with params that are complete.
func (l *link) onceAs(ctx context.Context, r *Request, full json.RawMessage, x *wire.Exchange) (*wire.Frame, error) {
	own, err := l.paramHeader(r.ToolSchema, full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Method, err)
	}
	id, key := l.newID()
	header := replaceHeader(append(l.header(r.Method, full), own...), r.Header)
	c := newCall(r.Method, x)
	c.notify = r.OnNotification
	c.patient = r.Patient
	c.keys = []wire.IDKey{key}
	if r.ProgressToken != nil {
		c.token, _ = wire.KeyOf(r.ProgressToken)
	}
	if x.ID == nil {
		x.ID = id
	}
	if err := l.register(c); err != nil {
		return nil, err
	}
	return l.run(ctx, c, transport.Outgoing{Raw: requestText(id, r.Method, full), Header: header}, r.Timeout)
}

// run sends a registered call and waits for its response.
func (l *link) run(ctx context.Context, c *call, out transport.Outgoing, limit time.Duration) (*wire.Frame, error) {
	limited := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		if c.patient {
			limited, cancel = l.renewable(ctx, c, limit)
		} else {
			limited, cancel = context.WithTimeout(ctx, limit)
		}
		defer cancel()
	}
	if err := l.send(limited, c, out); err != nil {
		if ctx.Err() == nil && (transport.ReasonOf(err) == transport.TimedOut || limited.Err() != nil) {
			err = &TimeoutError{Method: c.name(), After: limit, Stderr: l.stderr()}
		}
		err = l.sendFailed(c, err)
		l.abandon(c, err, fateAbandoned)
		return nil, err
	}
	if err := l.wait(ctx, limited, c, limit); err != nil {
		return nil, err
	}
	return c.response, nil
}

// renewable is a context that ends after limit, which begins anew with each
// progress notification for the call.
func (l *link) renewable(ctx context.Context, c *call, limit time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(limit, cancel)
	l.mu.Lock()
	c.renew = func() { t.Reset(limit) }
	l.mu.Unlock()
	return limited, func() {
		l.mu.Lock()
		c.renew = nil
		l.mu.Unlock()
		t.Stop()
		cancel()
	}
}

// sendFailed prefers the reason why the connection ended to the failed write
// that it caused: a process that died tells more than a broken pipe.
func (l *link) sendFailed(c *call, err error) error {
	if l.conn.Kind() != transport.Stdio || transport.ReasonOf(err) == transport.Closed || !isLost(err) {
		return err
	}
	t := time.NewTimer(lostPatience)
	defer t.Stop()
	select {
	case <-l.gone:
	case <-t.C:
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	return err
}

// lostPatience is how long the reason of a broken pipe is waited for.
const lostPatience = 2 * time.Second

func (l *link) newID() (id json.RawMessage, key wire.IDKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		l.nextID++
		key := wire.KeyOfNumber(l.nextID)
		// A raw text may have used the number.
		if _, used := l.past[key]; !used && len(l.calls[key]) == 0 {
			return strconv.AppendInt(nil, l.nextID, 10), key
		}
	}
}

// failure is the error that a response carries.
func failure(method string, f *wire.Frame) error {
	m := f.Message()
	e := &RPCError{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data, Method: method}
	if f.HTTP == nil {
		return e
	}
	e.Status = f.HTTP.Status
	empty := e.Code == 0 && e.Message == "" // the status tells more
	if e.Status < 300 || e.Status != 401 && e.Status != 403 && !empty {
		return e
	}
	status, ok := transport.StatusError(f.HTTP, nil).(*transport.Error)
	if !ok {
		return e
	}
	if !empty {
		status.Err = e // the way in matters more than the words of the refusal
	}
	return status
}

// interpret reads a response into r: an error, or a result and its type.
func (l *link) interpret(method string, f *wire.Frame, r *Result) error {
	m := f.Message()
	r.Raw, r.ResultType, r.members = nil, "", nil
	if m.Kind == wire.ErrorResponse {
		return failure(method, f)
	}
	r.Raw = m.Result
	for _, fault := range m.Faults {
		if fault.Code == wire.FaultTooDeep {
			return &ResultError{Method: method, Detail: "the result has " + fault.Detail + ", at " + fault.Pointer, Frame: f}
		}
	}
	if k := jsonx.KindOf(m.Result); k != jsonx.Object {
		return &ResultError{Method: method, Detail: "the result is no object but " + k.Name(), Frame: f}
	}
	if len(m.Faults) == 0 {
		r.members = jsonx.Skim(m.Result) // it was read strictly
	} else {
		var err error
		if r.members, err = jsonx.Members(m.Result, jsonx.Lenient); err != nil {
			return &ResultError{Method: method, Detail: "the result cannot be read: " + err.Error(), Frame: f}
		}
	}
	r.ResultType = spec.ResultComplete
	raw := r.Member(spec.FieldResultType)
	if raw == nil || l.spoken().Era() != spec.Modern {
		return nil // an absent one is complete (2026-07-28/basic#resulttype)
	}
	var ok bool
	if r.ResultType, ok = jsonx.Text(raw); !ok {
		return &ResultError{Method: method, Detail: "resultType is no string", Frame: f}
	}
	if !l.knownResult(method, r.ResultType) {
		return &ResultError{Method: method, Detail: fmt.Sprintf("unknown resultType %.80q", r.ResultType), Frame: f}
	}
	return nil
}

// knownResult: input_required belongs to some methods only, and other types
// to extensions that the client declared.
func (l *link) knownResult(method, resultType string) bool {
	switch resultType {
	case spec.ResultComplete:
		return true
	case spec.ResultInputRequired:
		m, ok := spec.MethodAt(method, l.spoken())
		return !ok || m.MultiRound
	case spec.ResultTask:
		return path(l.o.Capabilities, "extensions", spec.ExtensionTasks) != nil
	}
	return false
}
