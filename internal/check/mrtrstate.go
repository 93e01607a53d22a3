// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// mrtrStateRules are about what comes back in requestState.
var mrtrStateRules = []Rule{
	{
		Info: rule.Info{
			ID: "mrtr.state-untrusted", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a requestState is treated as input of an attacker",
			Why:   "whoever sends a crafted state ends the server or learns how it is built",
			Fix:   "verify the state before it is read, and answer one plain error for whatever is wrong with it",
		},
		In: modern, Check: stateUntrusted,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/requestState", `"{}"`)).Error(spec.CodeInternalError, "panic: runtime error: index out of range")}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.state-tamper-rejected", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a requestState that was changed is rejected",
			Why:   "a client continues a step that the server never offered it, such as one that skips a confirmation",
			Fix:   "seal the state (HMAC or AEAD), and refuse it when the seal does not fit",
		},
		In: modern, Check: stateTampered, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On("").Lenient(mock.CheckStateIntegrity)},
			Also:   []string{"mrtr.state-integrity", "mrtr.state-truncated-rejected"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.state-integrity", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a requestState that matters is protected against changes",
			Why:   "a client continues a step that the server never offered it",
			Fix:   "seal the state (HMAC or AEAD)",
		},
		In: modern, Check: stateTampered, Under: []string{"mrtr.state-tamper-rejected"}, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On("").Lenient(mock.CheckStateIntegrity)},
			Also:   []string{"mrtr.state-tamper-rejected", "mrtr.state-truncated-rejected"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.state-truncated-rejected", Level: rule.Must, Basis: rule.Derived, Section: mrtrWorkflow,
			Title: "a requestState that was cut or made longer is rejected",
			Why:   "a seal that covers a part of the state only protects nothing",
			Fix:   "seal the whole state, its length included",
		},
		In: modern, Check: stateTruncated, Under: []string{"mrtr.state-tamper-rejected"}, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On("").Lenient(mock.CheckStateIntegrity)},
			Also:   []string{"mrtr.state-tamper-rejected", "mrtr.state-integrity"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.state-request-bound", Level: rule.Should, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a requestState is rejected on another request",
			Why:   "what was confirmed for one call is used for another one",
			Fix:   "put method, name and arguments under the state's seal, and compare them",
		},
		In: modern, Check: stateBound, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On("").Lenient(mock.CheckStateRequestBound)}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.state-expires", Level: rule.Should, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a requestState is rejected after its time",
			Why:   "an old state continues a step whose conditions do not hold any more",
			Fix:   "put the time under the state's seal, and refuse what is too old",
		},
		In: modern, Check: stateExpires, Needs: "--state-ttl",
		Break: Break{
			Base:   func(s *mock.Script) { s.State.TTL = shownTTL },
			Faults: []mock.Fault{mock.On("").Lenient(mock.CheckStateExpiry)},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.retry-self-contained", Level: rule.Must, Basis: rule.Prose, Section: mrtrPage + "#basic-workflow",
			Title: "a retry is served from what it holds, on any connection",
			Why:   "the answer of the user is lost as soon as the client reconnects or another instance gets it",
			Fix:   "keep what you must remember in requestState, not with the connection",
		},
		In: modern, Check: retryElsewhere, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).FromConn(2).When(mock.HasParam("/requestState")).Error(spec.CodeInvalidParams, "unknown state")}},
	},
	{
		Info: rule.Info{
			ID: "stateless.capabilities-not-sticky", Level: rule.MustNot, Basis: rule.Schema, Section: "2026-07-28/schema#requestmetaobject",
			Title: "a capability declared on one request does not carry over to the next",
			Why:   "behind a proxy, a client is asked for what another one declared",
			Fix:   "read the capabilities of each request by itself",
		},
		In: modern, Check: capabilitiesForgotten, Under: []string{"meta.no-undeclared-capability"}, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.IDIs("string"), mock.ParamIs(markAt, `"declares-nothing"`)).Lenient(mock.CheckClientCapability)},
			Also:   []string{"meta.no-undeclared-capability"},
		},
	},
}

// capabilitiesForgotten asks by a client that can answer, and then, on the same
// connection, by one that declares nothing.
func capabilitiesForgotten(c *probe.Case) {
	xs := askers(c, anyAsk)
	if len(xs) == 0 {
		return
	}
	first, ok := anew(c, xs[0])
	if !ok {
		return
	}
	y := c.Send(marked(first.Request.Capabilities(`{}`), "declares-nothing").WithID(`"declares-nothing"`))
	if y.ResultType() == spec.ResultInputRequired && len(inputsOf(y)) > 0 {
		c.Fail(y, "%s asks a client that declares nothing, after one that declared everything", y.Method).And(first)
		return
	}
	c.Pass(y)
}

// shownTTL is the life of a state where a test wants to see it end.
const shownTTL = 300 * time.Millisecond

// junk are states that no server made.
var junk = []string{"", "{}", `{"step":99,"admin":true}`, "AAAA", "../../etc/passwd", "\u0000\u0001\u0002", strings.Repeat("A", 20_000)}

// leaks are signs of a program's insides in an error.
var leaks = []string{"\n    at ", "Traceback (most recent call last)", "goroutine ", ".go:", "/node_modules/", "panic:", "Exception in thread", ".java:", "File \"/"}

func leaking(s string) string {
	for _, l := range leaks {
		if strings.Contains(s, l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// stateUntrusted sends states that no server made, on a tool that no server has:
// nothing is executed.
func stateUntrusted(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	plain, ok := c.Plain()
	if !ok {
		return
	}
	r := c.Request(spec.MethodToolsCall, `{"name":"`+noName+`","arguments":{}}`).Planting("a made-up requestState")
	for _, s := range junk {
		x := c.Send(r.Param(spec.FieldRequestState, string(jsonx.Quote(s))))
		switch m := x.Message(); {
		case x.Silent():
			c.Fail(x, "a made-up requestState got no answer")
			return
		case m != nil && m.Error != nil && leaking(m.Error.Message) != "":
			c.Fail(x, "the answer to a made-up requestState shows the program's insides: %q", leaking(m.Error.Message))
			return
		case x.Died():
			c.Fail(x, "a made-up requestState ended the connection")
			return
		}
		c.Pass(x)
	}
	if x := c.Send(plain); !x.OK() {
		c.Fail(x, "after made-up requestStates, %s was answered by %s", x.Method, x.Brief())
	}
}

// flipped is a state with one character changed, never the last ones: in Base64
// these may hold bits that mean nothing.
func flipped(s string, i int) string {
	b := []byte(s)
	if b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}

// withOther is the retry of x with another state.
func withOther(x *probe.Exchange, state string) *probe.Request {
	return retry(x, replies(x)).Param(spec.FieldRequestState, string(jsonx.Quote(state)))
}

func stateTampered(c *probe.Case) {
	for _, x := range askers(c, withState) {
		good, ok := honest(c, x)
		if !ok {
			return
		}
		n := len(probe.Text(x.Member(spec.FieldRequestState)))
		for _, part := range []int{0, n / 3, n / 2, n - n/5 - 3} {
			first, ok := anew(c, x)
			if !ok {
				return
			}
			state := probe.Text(first.Member(spec.FieldRequestState))
			if part < 0 || part >= len(state) {
				continue
			}
			y := c.Send(withOther(first, flipped(state, part)).Planting("a requestState with one character changed"))
			if went(y) {
				c.Fail(y, "%s with character %d of its requestState changed was served", x.Method, part+1).And(first, good)
				return
			}
			c.Pass(y)
		}
	}
}

func stateTruncated(c *probe.Case) {
	for _, x := range askers(c, withState) {
		good, ok := honest(c, x)
		if !ok {
			return
		}
		for what, change := range map[string]func(string) string{
			"cut":         func(s string) string { return s[:len(s)-4] },
			"made longer": func(s string) string { return s + "AAAA" },
		} {
			first, ok := anew(c, x)
			if !ok {
				return
			}
			state := probe.Text(first.Member(spec.FieldRequestState))
			y := c.Send(withOther(first, change(state)).Planting("a requestState that was " + what))
			if went(y) {
				c.Fail(y, "%s with a requestState that was %s was served", x.Method, what).And(first, good)
				return
			}
			c.Pass(y)
		}
	}
}

// stateBound presents the state of one request with another one that asks the
// same, or with other arguments.
func stateBound(c *probe.Case) {
	xs := askers(c, withState)
	if len(xs) == 0 {
		return
	}
	for i, x := range xs {
		other := xs[(i+1)%len(xs)]
		if other == x || other.Method != x.Method {
			continue
		}
		first, ok := anew(c, x)
		if !ok {
			return
		}
		own, ok := anew(c, other)
		if !ok {
			return
		}
		state := probe.Text(first.Member(spec.FieldRequestState))
		y := c.Send(withOther(own, state).Planting("the requestState of another request"))
		if went(y) {
			c.Fail(y, "%s was served with the requestState of another request", y.Method).And(first, own)
			return
		}
		c.Pass(y)
	}
	c.Unseen("only one thing asks for input with a requestState, so no other could be given its state: name a second tool with --tool 'NAME={...}'")
}

func stateExpires(c *probe.Case) {
	ttl := c.Probe().StateTTL()
	if ttl <= 0 || ttl > mostTTL {
		c.Skip("it needs --state-ttl, of at most %s: how long a requestState of the server is valid", mostTTL)
		return
	}
	xs := askers(c, withState)
	if len(xs) == 0 {
		return
	}
	first, ok := anew(c, xs[0])
	if !ok {
		return
	}
	c.Outlast(ttl + ttl/2)
	if c.Context().Err() != nil {
		return
	}
	y := c.Send(retry(first, replies(first)))
	if went(y) {
		c.Fail(y, "%s was served with a requestState %s after it was given; it is valid for %s", y.Method, ttl+ttl/2, ttl).And(first)
		return
	}
	c.Pass(y)
}

// mostTTL bounds the wait for a state to expire.
const mostTTL = 10 * time.Second

func retryElsewhere(c *probe.Case) {
	xs := askers(c, anyAsk)
	if len(xs) == 0 {
		return
	}
	x := xs[0]
	good, ok := honest(c, x)
	if !ok {
		return
	}
	conn, ok := c.Elsewhere()
	if !ok {
		return
	}
	first, ok := anew(c, x)
	if !ok {
		return
	}
	y := c.SendOn(conn, retry(first, replies(first)))
	if !y.OK() {
		c.Fail(y, "the retry of %s on another connection was answered by %s", x.Method, y.Brief()).And(first, good)
		return
	}
	c.Pass(y)
}
