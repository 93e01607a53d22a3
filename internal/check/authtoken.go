// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Flags that give a run further tokens.
const (
	flagOtherAudience = "--token-other-audience"
	flagSameUser      = "--token-same-user"
)

// tokenRules are those that take another token than the one the target is asked with.
var tokenRules = []Rule{
	{
		Info: rule.Info{
			ID: "auth.audience-checked", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/authorization#token-handling", Transport: "http",
			Title: "a token that was issued for another server is refused",
			Why:   "whoever runs another server of the same issuer gets in here with the tokens of its users",
			Fix:   "accept a token only where its audience names this server, and answer HTTP 401 otherwise, before the request is looked at",
			Detail: "judged with a token that you give, by the greeting, or by a list where that is served to everybody. It fails where the token is served, and where " +
				"the server breaks at it: HTTP 500, or error -32603. It is a warning where access is refused by anything but HTTP 401, at which clients get another token. " +
				"Nothing is said of a server that serves the same without a token, of one that refuses the token it is asked with, and where the two tokens, " +
				"as far as they can be read, do not differ in their audience alone",
		},
		In: since2506, Check: audienceChecked, Apart: true, Needs: flagOtherAudience,
		Break: Break{Base: guardedServer, Change: func(s *mock.Script) {
			f := &s.Faults[len(s.Faults)-1]
			f.Place = f.When(notBearer(GuardTokens.OtherAudience))
		}},
	},
	{
		Info: rule.Info{
			ID: "sec.session-fresh-token", Level: rule.Should, Basis: rule.Derived, Section: sessionPage, Transport: "http",
			Title: "a session goes on with a fresh token of its user",
			Why:   "tokens live for minutes: each time a client renews its own, its session is lost with all that was under way",
			Fix:   "bind a session to the user whom the token names, such as issuer and subject, and not to the text of the token",
			Detail: "judged with a second token of the same user that you give. It is a warning where it is refused in a session of the first one, " +
				"while it is served in a session of its own, and the first one still is in that session",
		},
		In: streamable, Check: freshToken, Apart: true, Needs: flagSameUser,
		// Every second list that is asked for with that token is the one in a session of
		// the other.
		Break: Break{Base: guardedServer, Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).When(mock.HeaderIs(probe.HeaderAuthorization, probe.Bearer(GuardTokens.SameUser))).EveryTurn(2).HTTP(http.StatusUnauthorized, "", "", guardChallenge),
		}},
	},
}

// GuardTokens are those that the mock knows which asks for a token.
var GuardTokens = probe.Tokens{Own: "mock-token-of-alice", OtherAudience: "mock-token-for-another-server", SameUser: "mock-token-of-alice-renewed"}

var guardChallenge = wire.HeaderField{
	Name: challengeHeader, Value: `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`,
}

// guardedServer is a server that serves nothing without a token.
func guardedServer(s *mock.Script) {
	at := mock.On("")
	refusal := at.When(mock.NoHeader(probe.HeaderAuthorization)).HTTP(http.StatusUnauthorized, "", "", guardChallenge)
	s.Faults = append(s.Faults, refusal)
	refusal.Place = at.When(notBearer(GuardTokens.Own), notBearer(GuardTokens.SameUser))
	s.Faults = append(s.Faults, refusal)
}

func notBearer(token string) mock.Condition {
	return mock.Not(mock.HeaderIs(probe.HeaderAuthorization, probe.Bearer(token)))
}

// visitor is somebody who asks the server something on a connection of their own.
type visitor struct{ token, whose string }

// Visitors: the user, somebody without a token, and those with a further one.
var (
	itself   = visitor{}
	nobody   = visitor{whose: "no token"}
	stranger = func(token string) visitor { return visitor{token, "a token for another server"} }
	renewed  = func(token string) visitor { return visitor{token, "a fresh token of the same user"} }
)

// asks greets the server as a client does, and asks for a list where a method names
// one. It returns the last answer; nil, and the case is skipped, where there is no
// connection, or the server takes no requests.
func (v visitor) asks(c *probe.Case, method string) *probe.Exchange {
	conn := c.Dial()
	if conn == nil {
		return nil
	}
	conn.As(v.token, v.whose)
	ask := func() *probe.Exchange { return c.SendOn(conn, c.Request(method, "")) }
	var x *probe.Exchange
	if !c.Probe().Legacy() {
		x = ask()
	} else {
		x = conn.Greet(c.Context(), "{}")
		if x.OK() && conn.Agreed() != c.Probe().Revision() {
			c.Disagreed(x)
			return nil
		}
		if x.OK() && method != x.Method {
			x = ask()
		}
	}
	if x.Busy() {
		c.Skip("%s", probe.Busy)
		return nil
	}
	return x
}

func audienceChecked(c *probe.Case) {
	tokens := c.Probe().Tokens()
	if tokens.OtherAudience == "" {
		c.Skip("not run: give a token of the same issuer that was made for another server, with %s FILE", flagOtherAudience)
		return
	}
	methods := []string{probe.GreetingMethod(c.Probe().Revision())}
	if ls := lists(c); len(ls) > 0 {
		methods = append(methods, ls[0].Method)
	}
	for _, m := range methods {
		anybody := nobody.asks(c, m)
		if anybody == nil {
			return
		}
		if anybody.OK() {
			continue
		}
		x := stranger(tokens.OtherAudience).asks(c, m)
		if x == nil {
			return
		}
		control := itself.asks(c, m)
		switch {
		case control == nil:
		case !control.OK():
			c.Skip("%s with the token of the target does not work either: %s", m, control.Brief())
		default:
			audience(c, x, anybody, control, tokens)
		}
		return
	}
	c.Skip("the server serves %s without any token, so that none protects it", strings.Join(methods, " and "))
}

// audience judges what came for a token that was made for another server, beside what
// did for none and for the right one.
func audience(c *probe.Case, x, anybody, control *probe.Exchange, tokens probe.Tokens) {
	own, other := claimsOf(tokens.Own), claimsOf(tokens.OtherAudience)
	refused := x.Status() == http.StatusUnauthorized
	why := ""
	switch {
	case overloaded(x), x.Head == nil:
		why = "it was not answered: " + x.Brief()
	case other.names(own):
		why = "both tokens name the same audience"
	case x.OK() && other.namesAny(own):
		why = "both tokens have one audience in common, which may be this server"
	case refused && other.invalid(time.Now()):
		why = "it is not valid at this time, as it says itself: that it is refused says nothing of its audience"
	case refused && own.differ(other, "iss"):
		why = "it is of another issuer: that it is refused says nothing of its audience"
	case refused:
		c.Pass(x)
		return
	}
	if why != "" {
		c.Skip("nothing can be said of the token for another server: %s", why)
		return
	}
	blame, what := c.Fail, "was not refused with HTTP 401"
	switch {
	case x.OK():
		what, control = "was accepted", anybody
	case x.Status() >= http.StatusInternalServerError, success(x) && x.Is(spec.CodeInternalError):
	case x.Refused():
		blame, what = c.Warn, "was refused, but not with HTTP 401"
	default:
		blame, what = c.Warn, "was neither served nor refused with HTTP 401"
	}
	of := "the token of the target"
	if control == anybody {
		of = "no token"
	}
	blame(x, "%s with a token that was issued for another server %s: got %s; with %s: %s", x.Method, what, x.Brief(), of, control.Brief()).And(control)
}

func freshToken(c *probe.Case) {
	tokens := c.Probe().Tokens()
	if tokens.SameUser == "" {
		c.Skip("not run: give a fresh token of the same user, with %s FILE", flagSameUser)
		return
	}
	if !stateful(c) {
		return
	}
	own, fresh := claimsOf(tokens.Own), claimsOf(tokens.SameUser)
	for _, name := range []string{"iss", "sub", "client_id", "azp"} {
		if own.differ(fresh, name) {
			c.Skip("the two tokens differ in %q, so they are not of the same user and client: %s takes a fresh one of both", name, flagSameUser)
			return
		}
	}
	r, ok := anyList(c)
	if !ok {
		return
	}
	alone := renewed(tokens.SameUser).asks(c, r.Method)
	switch {
	case alone == nil:
		return
	case !alone.OK():
		c.Skip("the second token is refused by itself, so nothing can be said of it in a session of the first: %s", alone.Brief())
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	before := c.SendOn(conn, r)
	if !before.OK() {
		c.Lacks(before)
		return
	}
	as := renewed(tokens.SameUser)
	conn.As(as.token, as.whose)
	x := c.SendOn(conn, r)
	conn.As("", "")
	after := c.SendOn(conn, r)
	switch {
	case x.Busy(), overloaded(x):
		c.Skip("%s was answered by %s", r.Method, x.Brief())
	case conn.Session() == "":
		c.Skip(noSessions)
	case x.OK():
		c.Pass(x)
	case x.Head == nil:
		c.Skip("%s with a fresh token of the same user was not answered: %s", r.Method, x.Brief())
	case !after.OK():
		c.Skip("the session is gone for its first token too: %s", after.Brief())
	default:
		c.Warn(x, "%s with a fresh token of the same user was not served in a session of the first one: got %s; it is served in a session of its own", r.Method, x.Brief()).And(after, alone)
	}
}

// claims are what a token says of itself; nil where it is not known, as of one that is
// no JWT (RFC 7519). Nothing but what keeps a rule from a verdict is taken from it.
type claims json.RawMessage

func claimsOf(token string) claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || jsonx.Check(b, jsonx.Strict) != nil {
		return nil
	}
	return b
}

func (t claims) get(name string) json.RawMessage {
	return probe.Lookup(json.RawMessage(t), "/"+name)
}

// differ reports whether both tokens say something under a name, and not the same.
func (t claims) differ(o claims, name string) bool {
	a, b := probe.Text(t.get(name)), probe.Text(o.get(name))
	return a != "" && b != "" && a != b
}

// audiences are whom a token is for: a text, or several.
func (t claims) audiences() (out []string) {
	aud := t.get("aud")
	for _, e := range append(probe.Elements(aud), aud) {
		if s := probe.Text(e); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (t claims) namesAny(o claims) bool {
	of := o.audiences()
	return slices.ContainsFunc(t.audiences(), func(a string) bool { return slices.Contains(of, a) })
}

// names reports whether a token names every audience of another one.
func (t claims) names(o claims) bool {
	mine, of := t.audiences(), o.audiences()
	return len(of) > 0 && !slices.ContainsFunc(of, func(a string) bool { return !slices.Contains(mine, a) })
}

// invalid reports whether a token says that it is not valid yet, or not any more.
func (t claims) invalid(now time.Time) bool {
	at := func(name string) (seconds float64, has bool) {
		v := t.get(name)
		return seconds, jsonx.KindOf(v) == jsonx.Number && jsonx.Unmarshal(v, &seconds) == nil
	}
	exp, ends := at("exp")
	nbf, begins := at("nbf")
	return ends && exp <= float64(now.Unix()) || begins && nbf > float64(now.Unix())
}
