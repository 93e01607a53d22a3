// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// ofHandshake are the rules of the handshake and of ping.
var ofHandshake = []string{"base.lifecycle-supported", "lifecycle", "ping"}

// judgeHandshake judges a server of the handshake era with faults by them.
func judgeHandshake(t *testing.T, at stage, change func(*mock.Script), faults ...mock.Fault) map[string]check.Outcome {
	t.Helper()
	s := specimen()
	s.Revisions = spec.Legacy.Revisions()
	if change != nil {
		change(&s)
	}
	s.Faults = append(s.Faults, faults...)
	return judgeBy(t, s, at, check.Options{Only: ofHandshake, Options: probe.Options{Failing: failing}})
}

// Servers as they are in the wild, which do nothing wrong.
func TestHandshakeOfGoodServers(t *testing.T) {
	latest := spec.Rev20251125
	for name, tc := range map[string]struct {
		at     stage
		change func(*mock.Script)
		faults []mock.Fault
		note   string // that is not passed, and why
	}{
		"stateless": {
			at: stage{transport.StreamableHTTP, latest},
			faults: []mock.Fault{
				mock.On(spec.MethodInitialize).Header(spec.HeaderSessionID, ""),
				mock.Lenient(mock.CheckSessionMissing),
				mock.On(http.MethodGet).Status(http.StatusMethodNotAllowed),
			},
			note: "lifecycle.uninitialized-request",
		},
		"one revision": {
			at:     stage{transport.StreamableHTTP, latest},
			change: func(s *mock.Script) { s.Revisions = []spec.Revision{latest} },
		},
		"an older one": {
			at:     stage{transport.Stdio, spec.Rev20241105},
			change: func(s *mock.Script) { s.Revisions = []spec.Revision{spec.Rev20241105} },
		},
		"refuses a second initialize": {
			at:     stage{transport.StreamableHTTP, latest},
			faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasHeader(spec.HeaderSessionID)).Error(spec.CodeInvalidRequest, "Server already initialized")},
		},
		"tells of versions like a newer server": {
			at:     stage{transport.Stdio, latest},
			faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.ParamIs("/protocolVersion", `"2026-07-28"`)).ErrorData(spec.CodeUnsupportedVersion, "Unsupported protocol version", `{"supported":["2026-07-28","2025-11-25"],"requested":"2026-07-28"}`)},
		},
		"logs and pings early": {
			at: stage{transport.StreamableHTTP, latest},
			faults: []mock.Fault{
				mock.On(spec.MethodInitialize).Notify(spec.NotificationMessage, `{"level":"info","data":"starting"}`),
				mock.On(spec.MethodInitialize).Request(spec.MethodPing, "{}", `"early"`),
			},
		},
		"names members of later revisions": {
			at: stage{transport.StreamableHTTP, spec.Rev20250326},
			faults: []mock.Fault{
				mock.On(spec.MethodPing).Set("/result/resultType", `"complete"`),
				mock.On(spec.MethodToolsList).Set("/result/resultType", `"complete"`),
				mock.On(spec.MethodPing).Set("/result/_meta", `{"com.example/at":1}`),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for id, o := range judgeHandshake(t, tc.at, tc.change, tc.faults...) {
				switch {
				case o.Status == rule.Pass, o.Status == rule.Skip && id == tc.note:
				default:
					t.Errorf("%s", show(o))
				}
			}
		})
	}
}

func TestHandshakeThatAgreesOnNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		fault mock.Fault
		by    string
		as    rule.Status
	}{
		"no version":      {mock.On(spec.MethodInitialize).Remove("/result/protocolVersion"), "lifecycle.init-result", rule.Fail},
		"a number":        {mock.On(spec.MethodInitialize).Set("/result/protocolVersion", "1"), "lifecycle.init-result", rule.Fail},
		"a draft":         {mock.On(spec.MethodInitialize).Set("/result/protocolVersion", `"2025-12-01"`), "lifecycle.version-alternative", rule.Warn},
		"a newer one":     {mock.On(spec.MethodInitialize).Set("/result/protocolVersion", `"2026-07-28"`), "lifecycle.version-alternative", rule.Warn},
		"one other alone": {mock.On(spec.MethodInitialize).Set("/result/protocolVersion", `"2024-11-05"`), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for id, o := range judgeHandshake(t, stage{transport.StreamableHTTP, spec.Rev20251125}, nil, tc.fault) {
				switch {
				case id == tc.by:
					if o.Status != tc.as {
						t.Errorf("want %s: %s", tc.as, show(o))
					}
				case id == "lifecycle.init-result" && o.Status == rule.Pass: // the form is right
				case o.Status != rule.Skip && !strings.HasPrefix(id, "base."), blamed(o), o.Status == rule.Skip && o.Because != tc.by:
					t.Errorf("because of %q: %s", o.Because, show(o))
				}
			}
		})
	}
}

// A server that serves one client alone gets one remark, and nothing is said of
// what could not be tried.
func TestHandshakeOfOneClientAlone(t *testing.T) {
	got := judgeHandshake(t, stage{transport.StreamableHTTP, spec.Rev20251125}, nil,
		mock.On(spec.MethodInitialize).FromTurn(2).Error(spec.CodeInvalidRequest, "Server already initialized"))
	for id, o := range got {
		switch {
		case id == "lifecycle.init-result":
			if o.Status != rule.Warn {
				t.Error(show(o))
			}
		case blamed(o), o.Status == rule.Skip && o.Because != "lifecycle.init-result":
			t.Errorf("because of %q: %s", o.Because, show(o))
		}
	}
}
