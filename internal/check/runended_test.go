// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// answersAfter is a target whose answers all come late, those to a GET and a DELETE
// too.
func answersAfter(late time.Duration, at stage) (mock.Script, func(*mock.Server) transport.Target) {
	script := specimen()
	if at.kind == transport.Stdio {
		script.Faults = append(script.Faults, mock.On("").Late(late))
		return script, func(s *mock.Server) transport.Target { return s.Stdio("mock") }
	}
	if at.kind == transport.HTTPSSE {
		script.SSEPath = ssePath
	}
	return script, func(s *mock.Server) transport.Target {
		h := &transport.Handler{Name: "mock", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(late):
				s.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})}
		if at.kind == transport.HTTPSSE {
			h.URL = "http://localhost" + ssePath
		}
		return atKind(h, at)
	}
}

// A server that is right and slow gets no finding because a run ended, wherever in
// the run that is.
func TestRunThatEndsBlamesNobody(t *testing.T) {
	step := 2370 * time.Millisecond
	if testing.Short() {
		step *= 8
	}
	for _, at := range everyStage() {
		t.Run(at.String(), func(t *testing.T) {
			for budget := 3100 * time.Millisecond; budget < 45*time.Second; budget += step {
				t.Run(budget.String(), func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					script, target := answersAfter(1500*time.Millisecond, at)
					r := runOn(t, script, target, check.Options{
						Budget: budget, Options: probe.Options{Revision: at.revision, Quiet: probe.DefaultQuiet},
					})
					if r.Unserved != "" {
						t.Errorf("unserved: %s", r.Unserved)
					}
					if over := r.Elapsed - budget; over > check.ClosingTime {
						t.Errorf("it went on for %s when its time was over", over)
					}
					late := 0
					for _, o := range r.Outcomes {
						if o.Status > rule.Note {
							t.Error(show(o))
						}
						if o.Reason == probe.RunEnded {
							late++
						}
					}
					if late == 0 {
						t.Error("no rule says that there was no time for it")
					}
				})
			}
		})
	}
}
