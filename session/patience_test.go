// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Progress begins the timeout of a patient request anew; silence ends it, and so
// does progress of something else.
func TestPatientRequest(t *testing.T) {
	for _, c := range []struct {
		name    string
		patient bool
		token   string
		steps   int
		want    time.Duration // of the call; an error unless it is that of all steps
	}{
		{"prolonged", true, `"t"`, 5, 5 * 700 * time.Millisecond},
		{"not patient", false, `"t"`, 5, time.Second},
		{"of another request", true, `"other"`, 5, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, once(legacy(on("tools/call", func(p *peer, m *wire.Message) {
					for range c.steps {
						select {
						case <-time.After(700 * time.Millisecond):
						case <-p.dead:
							return
						}
						p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, c.token)
					}
					p.result(m, `{}`)
				}))), session.Options{Era: spec.Legacy, Timeouts: session.Timeouts{Request: time.Second}})
				begin := time.Now()
				_, err := s.Do(t.Context(), session.Request{Method: "tools/call", Params: json.RawMessage(`{}`), ProgressToken: json.RawMessage(`"t"`), Patient: c.patient})
				if took := time.Since(begin); took != c.want {
					t.Errorf("it took %s; want %s", took, c.want)
				}
				if timedOut := c.want == time.Second; timedOut {
					as[*session.TimeoutError](t, err)
				} else if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A session that is closed right after a request was given up still tells the
// server so, even when there is no time for anything else.
func TestCloseLetsCancellationsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 1)
		s, err := session.Open(t.Context(), once(legacy(func(p *peer, m *wire.Message) bool {
			switch m.Method {
			case "tools/call":
				return true // for ever
			case spec.NotificationCancelled:
				told <- string(m.Params)
			}
			return false
		})), session.Options{Era: spec.Legacy})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if _, err := s.Call(ctx, "tools/call", nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		_ = s.Close(ctx)
		select {
		case got := <-told:
			if want := `{"requestId":2,"reason":"cancelled"}`; got != want {
				t.Errorf("told %s; want %s", got, want)
			}
		default:
			t.Error("the server was not told")
		}
	})
}

// Pages are given one by one; an error of the visitor ends the listing.
func TestEachPage(t *testing.T) {
	s := open(t, once(legacy(on("tools/list", func(p *peer, m *wire.Message) {
		p.result(m, `{"tools":[],"nextCursor":"`+string(m.ID)+`"}`)
	}))), session.Options{Era: spec.Legacy})
	enough := errors.New("enough")
	n := 0
	l, err := s.EachPage(t.Context(), session.Request{Method: "tools/list"}, func(page *session.Result) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if err != enough || n != 3 || len(l.Pages) != 0 {
		t.Errorf("%d pages, %d kept, %v", n, len(l.Pages), err)
	}
}
