// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// mostLoud bounds the tools, besides those that the user named, that are called
// to hear what they say on the way.
const mostLoud = 12

// Progress tokens of calls that faults and rules tell apart.
const (
	integerToken = "7300001"
	besideToken  = `"mcprove-beside"`
	streamTokenA = `"mcprove-stream-a"`
	streamTokenB = `"mcprove-stream-b"`
)

// leastLevel is the log level that holds nothing back.
var leastLevel = spec.LogLevels()[0]

// loudCall is a call that asks for every log message, and for progress under a
// token of its own.
func loudCall(c *probe.Case, t probe.Tool, token string) *probe.Request {
	return c.Probe().CallRequest(t.Item, t.Arguments).LogLevel(leastLevel).Progress(token)
}

// loudTools are those of the callable tools that are heard.
func loudTools(c *probe.Case) []probe.Tool {
	if c.Facts().List(spec.MethodToolsList).Items == nil {
		return nil
	}
	tools := c.Probe().Callable()
	named := 0
	for _, t := range tools {
		if t.Named {
			named++
		}
	}
	return tools[:min(len(tools), named+mostLoud)]
}

// loudCalls call tools that may be called, once for all checks, and ask for
// all that they say on the way.
func loudCalls(c *probe.Case) []*probe.Exchange {
	tools := loudTools(c)
	if c.Probe().Legacy() { // a connection asks for log messages there, not a request
		xs := c.CapableCalls()
		return xs[:min(len(xs), len(tools))]
	}
	requests := make([]*probe.Request, len(tools))
	for i, t := range tools {
		requests[i] = loudCall(c, t, fmt.Sprintf(`"mcprove-loud-%d"`, i))
	}
	return c.Onces(requests)
}

// talker is the first tool whose loud call has a notification of a method.
func talker(c *probe.Case, method string) (t probe.Tool, x *probe.Exchange, ok bool) {
	tools := loudTools(c)
	for i, x := range loudCalls(c) {
		if x.OK() && len(x.Notifications(method)) > 0 {
			return tools[i], x, true
		}
	}
	return t, nil, false
}

// talkerOn is talker for checks that run apart. Over stdio they call on a
// connection of their own: there what two calls say cannot be told apart.
func talkerOn(c *probe.Case, conn *probe.Conn, method string) (t probe.Tool, x *probe.Exchange, ok bool) {
	if c.HTTP() {
		return talker(c, method)
	}
	for i, t := range loudTools(c) {
		x := c.SendOn(conn, loudCall(c, t, fmt.Sprintf(`"mcprove-apart-%d"`, i)))
		if x.OK() && len(x.Notifications(method)) > 0 {
			return t, x, true
		}
	}
	return t, nil, false
}

// stir is loudCalls for rules that look on.
func stir(c *probe.Case) { loudCalls(c) }

// said is a notification that belongs to a request, or should.
type said struct {
	*wire.Frame
	x     *probe.Exchange // on whose stream it came, or that it names; nil for none
	conn  int
	late  bool   // after the response of x
	token []byte // of progress
}

func tokenIn(f *wire.Frame) []byte { return probe.Lookup(f.Message().Params, "/progressToken") }

// param is a member of its params.
func (s said) param(name string) []byte { return probe.Lookup(s.Message().Params, "/"+name) }

// sayings are all notifications of a method.
func sayings(t *probe.Traffic, method string) []said {
	return probe.Known(t, "sayings "+method, func() []said {
		var out []said
		is := func(f *wire.Frame) bool {
			m := f.Message()
			return m.Kind == wire.Notification && m.Method == method
		}
		for _, x := range t.Exchanges {
			late := false
			for _, f := range x.Frames {
				late = late || f == x.Response
				if is(f) {
					out = append(out, said{f, x, x.Conn, late, tokenIn(f)})
				}
			}
		}
		for _, s := range t.Stray {
			if is(s.Frame) {
				out = append(out, said{s.Frame, nil, s.Conn, false, tokenIn(s.Frame)})
			}
		}
		return out
	})
}

// one gathers everything that breaks a rule in one way into one finding: the
// first says it, the others are shown beside it.
type one struct {
	blame *probe.Blame
	n     int
}

// mostShown bounds the exchanges that one finding shows.
const mostShown = 6

// add blames a saying the first time, and shows it after that.
func (o *one) add(say func(x *probe.Exchange, format string, args ...any) *probe.Blame, s said, format string, args ...any) {
	o.n++
	if o.blame == nil {
		o.blame = say(s.x, format, args...).In(s.Frame, "")
		return
	}
	if o.n <= mostShown {
		o.blame.And(s.x)
	}
}

// wanting is a request that asks for notifications.
type wanting struct {
	x     *probe.Exchange
	token []byte // progress token, nil for none
	level bool   // it asks for log messages
}

// wantings are all requests that ask for any.
func wantings(t *probe.Traffic) []wanting {
	return probe.Known(t, "wantings", func() []wanting {
		var out []wanting
		for _, x := range t.Exchanges {
			if a := (wanting{x, x.Meta(spec.MetaProgressToken), leveled(x)}); a.token != nil || a.level {
				out = append(out, a)
			}
		}
		return out
	})
}

// leveled reports whether a request asks for log messages.
func leveled(x *probe.Exchange) bool { return jsonx.KindOf(x.Meta(spec.MetaLogLevel)) != 0 }
