// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

const (
	ruleAudience = "auth.audience-checked"
	ruleFresh    = "sec.session-fresh-token"
)

// jwt is a token that says something of itself.
func jwt(claims string) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc([]byte(claims)) + ".c2lnbmF0dXJl"
}

// taking is a server that takes some tokens, at all methods or those named.
func taking(tokens []string, at ...string) mock.Script {
	s := mock.Script{Tools: []mock.Tool{reading("lookup", nil)}}
	if len(at) == 0 {
		at = []string{""}
	}
	for _, m := range at {
		invalid := mock.On(m)
		for _, t := range tokens {
			invalid = invalid.When(mock.Not(bearer(t)))
		}
		s.Faults = append(s.Faults, invalid.HTTP(http.StatusUnauthorized, "", ""),
			mock.On(m).When(mock.NoHeader(probe.HeaderAuthorization)).HTTP(http.StatusUnauthorized, "", ""))
	}
	return s
}

// What comes for a further token is judged by what came, where something can be said.
func TestTokens(t *testing.T) {
	const issuer = `"iss":"https://issuer.example","sub":"alice"`
	opaque := probe.Tokens{Own: "opaque-own", OtherAudience: "opaque-other", SameUser: "opaque-renewed"}
	// The clock of these tests begins in the year 2000.
	own, other := jwt(`{`+issuer+`,"aud":"here","exp":4e9,"jti":1}`), jwt(`{`+issuer+`,"aud":["there"],"exp":4e9}`)
	ofOther := func(token string) mock.Place { return mock.On("").When(bearer(cmp.Or(token, opaque.OtherAudience))) }
	other500 := ofOther("").HTTP(http.StatusInternalServerError, "", "")
	of := func(o string) probe.Tokens { return probe.Tokens{Own: own, OtherAudience: o} }
	fresh := func(claims string) probe.Tokens { return probe.Tokens{Own: own, SameUser: jwt(claims)} }
	inSession := func(token string) mock.Place { return mock.On(spec.MethodToolsList).When(bearer(token)).OnTurn(2) }
	all := func(k probe.Tokens) []string { return []string{k.Own, k.OtherAudience, k.SameUser} }
	good := func(k probe.Tokens) []string { return []string{k.Own, k.SameUser} }
	for _, x := range []struct {
		name   string
		rule   string
		tokens probe.Tokens
		takes  func(probe.Tokens) []string // all of them where nil
		at     []string
		faults []mock.Fault
		want   rule.Status
		says   string
		legacy bool // of the handshake era alone
	}{
		{name: "refused", rule: ruleAudience, tokens: opaque, takes: good, want: rule.Pass},
		{name: "served", rule: ruleAudience, tokens: opaque, want: rule.Fail, says: "was accepted: got HTTP 200, a result; with no token: HTTP 401"},
		{name: "500", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{other500}, want: rule.Fail, says: "was not refused with HTTP 401: got HTTP 500"},
		{name: "-32603", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").Error(spec.CodeInternalError, "invalid audience")}, want: rule.Fail, says: "not refused with HTTP 401: got HTTP"},
		{name: "403", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HTTP(http.StatusForbidden, "", "")}, want: rule.Warn, says: "was refused, but not with HTTP 401: got HTTP 403"},
		{name: "400", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HTTP(http.StatusBadRequest, "", "")}, want: rule.Warn, says: "got HTTP 400"},
		{name: "an error in HTTP 200", rule: ruleAudience, tokens: opaque, want: rule.Warn, says: "was refused, but not with HTTP 401: got HTTP 200, error -32001", faults: []mock.Fault{
			ofOther("").HTTP(http.StatusOK, spec.MediaJSON, `{"jsonrpc":"2.0","id":{{/id}},"error":{"code":-32001,"message":"Unauthorized"}}`),
		}},
		{name: "a page to log in", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HTTP(http.StatusFound, "", "")}, want: rule.Warn, says: "neither served nor refused"},
		{name: "503", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HTTP(http.StatusServiceUnavailable, "", "")}, want: rule.Skip, says: "turned requests away"},
		{name: "429", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HTTP(http.StatusTooManyRequests, "", "")}, want: rule.Skip, says: "turned requests away"},
		{name: "hung up", rule: ruleAudience, tokens: opaque, faults: []mock.Fault{ofOther("").HangUp()}, want: rule.Skip, says: "it was not answered"},
		{name: "open", rule: ruleAudience, tokens: opaque, at: []string{spec.MethodComplete}, want: rule.Skip, says: "without any token, so that none protects it"},
		{name: "open to greet, refused", rule: ruleAudience, tokens: opaque, takes: good, at: []string{spec.MethodToolsList}, want: rule.Pass},
		{name: "open to greet, served", rule: ruleAudience, tokens: opaque, at: []string{spec.MethodToolsList}, want: rule.Fail, says: "tools/list with a token that was issued for another server was accepted"},
		{name: "not given", rule: ruleAudience, tokens: probe.Tokens{Own: "opaque-own"}, want: rule.Skip, says: "not run: give a token of the same issuer.* --token-other-audience FILE"},
		{name: "JWT refused", rule: ruleAudience, tokens: of(other), takes: good, want: rule.Pass},
		{name: "JWT served", rule: ruleAudience, tokens: of(other), want: rule.Fail, says: "was accepted"},
		{name: "expired and refused", rule: ruleAudience, tokens: of(jwt(`{` + issuer + `,"aud":"there","exp":5}`)), takes: good, want: rule.Skip, says: "not valid at this time"},
		{name: "expired and served", rule: ruleAudience, tokens: of(jwt(`{` + issuer + `,"aud":"there","exp":5}`)), want: rule.Fail, says: "was accepted"},
		{name: "not valid yet", rule: ruleAudience, tokens: of(jwt(`{` + issuer + `,"aud":"there","nbf":4e9}`)), takes: good, want: rule.Skip, says: "not valid at this time"},
		{name: "of another issuer", rule: ruleAudience, tokens: of(jwt(`{"iss":"https://else.example","aud":"there"}`)), takes: good, want: rule.Skip, says: "another issuer"},
		{name: "for this server too", rule: ruleAudience, tokens: of(jwt(`{` + issuer + `,"aud":["there","here"]}`)), want: rule.Skip, says: "the same audience"},
		{name: "one audience in common", rule: ruleAudience, want: rule.Skip, says: "one audience in common",
			tokens: probe.Tokens{Own: jwt(`{` + issuer + `,"aud":["here","account"]}`), OtherAudience: jwt(`{` + issuer + `,"aud":["there","account"]}`)}},
		{name: "one audience in common, and refused", rule: ruleAudience, takes: good, want: rule.Pass,
			tokens: probe.Tokens{Own: jwt(`{` + issuer + `,"aud":["here","account"]}`), OtherAudience: jwt(`{` + issuer + `,"aud":["there","account"]}`)}},

		{name: "goes on", rule: ruleFresh, tokens: opaque, want: rule.Pass, legacy: true},
		{name: "refused", rule: ruleFresh, tokens: opaque, legacy: true, want: rule.Warn, says: "was not served in a session of the first one: got HTTP 401",
			faults: []mock.Fault{inSession(opaque.SameUser).HTTP(http.StatusUnauthorized, "", "")}},
		{name: "not found", rule: ruleFresh, tokens: opaque, legacy: true, want: rule.Warn, says: "got HTTP 404",
			faults: []mock.Fault{inSession(opaque.SameUser).HTTP(http.StatusNotFound, "", "")}},
		{name: "503", rule: ruleFresh, tokens: opaque, legacy: true, want: rule.Skip, says: "answered by HTTP 503",
			faults: []mock.Fault{mock.On(spec.MethodToolsList).When(bearer(opaque.SameUser)).FromTurn(2).HTTP(http.StatusServiceUnavailable, "", "")}},
		{name: "refused everywhere", rule: ruleFresh, tokens: opaque, legacy: true, takes: func(k probe.Tokens) []string { return []string{k.Own} }, want: rule.Skip, says: "refused by itself"},
		{name: "not given", rule: ruleFresh, tokens: probe.Tokens{Own: "opaque-own"}, legacy: true, want: rule.Skip, says: "not run: give a fresh token .* --token-same-user FILE"},
		{name: "JWT refused", rule: ruleFresh, tokens: fresh(`{` + issuer + `,"aud":"here","exp":4e9,"jti":2}`), legacy: true, want: rule.Warn, says: "got HTTP 401",
			faults: []mock.Fault{inSession(jwt(`{`+issuer+`,"aud":"here","exp":4e9,"jti":2}`)).HTTP(http.StatusUnauthorized, "", "")}},
		{name: "of another user", rule: ruleFresh, tokens: fresh(`{"iss":"https://issuer.example","sub":"bob"}`), legacy: true, want: rule.Skip, says: `differ in "sub"`},
	} {
		for _, revision := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			if x.legacy && revision.Era() == spec.Modern {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", x.rule, strings.ReplaceAll(x.name, " ", "-"), revision), func(t *testing.T) {
				t.Parallel()
				takes := x.takes
				if takes == nil {
					takes = all
				}
				s := taking(takes(x.tokens), x.at...)
				s.Faults = append(s.Faults, x.faults...)
				o := judgeBy(t, s, stage{transport.StreamableHTTP, revision}, check.Options{Only: []string{x.rule}, Options: probe.Options{Tokens: x.tokens, Timeout: time.Second}})[x.rule]
				if o.Status != x.want || x.says != "" && !saysOf(o, x.says) {
					t.Errorf("want %s that says %q\n%s", x.want, x.says, show(o))
				}
			})
		}
	}
}

// saysOf reports whether what is said of a rule matches an expression.
func saysOf(o check.Outcome, expression string) bool {
	text := o.Reason
	for _, b := range o.Blames {
		text += "\n" + b.Message
	}
	return regexp.MustCompile(expression).MatchString(text)
}
