// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// shared is an exchange that was made once for all.
type shared struct {
	once once
	x    *Exchange
}

// once makes an exchange that is the same for every check, one time.
func (p *Probe) once(ctx context.Context, r *Request) *Exchange {
	var key strings.Builder
	key.Write(r.Encode(json.RawMessage("0")))
	for _, h := range r.headers() {
		fmt.Fprintf(&key, "\n%s: %s", h.Name, h.Value)
	}
	fmt.Fprintf(&key, "\n%q %s %s", r.without, r.verb, r.id)
	p.mu.Lock()
	s := p.onces[key.String()]
	if s == nil {
		s = &shared{}
		p.onces[key.String()] = s
	}
	p.mu.Unlock()
	s.once.Do(func() { s.x = p.send(ctx, nil, r) })
	if s.x.Busy() { // the next one may be served
		p.mu.Lock()
		if p.onces[key.String()] == s {
			delete(p.onces, key.String())
		}
		p.mu.Unlock()
	}
	return s.x
}

// thing is what [Share] made.
type thing struct {
	once  once
	value any
}

// Share makes something one time for all checks of a run, such as a set of
// exchanges that go on side by side. Who asks meanwhile waits.
func Share[T any](p *Probe, key string, make func() T) T {
	p.mu.Lock()
	if p.made == nil {
		p.made = map[string]*thing{}
	}
	m := p.made[key]
	if m == nil {
		m = &thing{}
		p.made[key] = m
	}
	p.mu.Unlock()
	m.once.Do(func() { m.value = make() })
	return m.value.(T)
}

// Brief says in a few words what came for a request: for reasons, not for
// evidence.
func (x *Exchange) Brief() string {
	m := x.Message()
	status := ""
	if x.Head != nil {
		status = fmt.Sprintf("HTTP %d", x.Head.Status)
	}
	with := func(s string) string {
		if status == "" {
			return s
		}
		return status + ", " + s
	}
	switch {
	case x.Err == errNotMine:
		return "it was not sent"
	case x.Busy() && m == nil:
		return status + " each time"
	case m != nil && m.Error != nil:
		if code, ok := x.Code(); ok {
			return with(fmt.Sprintf("error %d %s", code, clip(m.Error.Message)))
		}
		return with("an error without a code")
	case m != nil:
		if t := x.ResultType(); t != "" && t != "complete" {
			return with("a result of type " + clip(t))
		}
		return with("a result")
	case x.Silent():
		return with("no answer in time")
	case x.Err != nil:
		if e, ok := x.Err.(*transport.Error); ok && e.Detail != "" {
			return with(e.Detail)
		}
		return with(clip(x.Err.Error()))
	case len(x.Body) > 0 && x.Head != nil && wire.Read(x.Body).IsResponse():
		return with("a JSON-RPC message whose Content-Type is " + clip(strconv.Quote(x.Head.Get("Content-Type"))))
	case len(x.Body) > 0:
		return with("a body that is no JSON-RPC message")
	case status != "":
		return status + " with an empty body"
	}
	return "nothing"
}

func clip(s string) string {
	const most = 120
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

func pointerTo(base, name string, i int) string {
	return fmt.Sprintf("%s/%d", jsonx.Push(base, name), i)
}
