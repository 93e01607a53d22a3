// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// heard collects the notifications of a session.
type heard struct {
	mu  sync.Mutex
	got []string
}

func (h *heard) add(f *wire.Frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, f.Message().Method)
}

// until waits for a notification.
func (h *heard) until(t *testing.T, method string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		found := slices.Contains(h.got, method)
		h.mu.Unlock()
		if found {
			return
		}
	}
	t.Errorf("%s never came; heard %v", method, h.got)
}

// told repeats a notification until somebody has taken it: a stream opens in
// its own time.
func told(t *testing.T, s *mock.Server, method, params string) {
	t.Helper()
	var p json.RawMessage
	if params != "" {
		p = raw(params)
	}
	for range 10_000 {
		if s.Notify(method, p) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("nobody listens for %s", method)
}

func TestLegacyNotifications(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		srv, h, j := mock.New(everything()), &heard{}, newJudge(spec.Rev20251125)
		s := open(t, target(srv), session.Options{Era: spec.Legacy, Listen: true, OnNotification: h.add, Tap: j.tap})
		told(t, srv, spec.NotificationPromptsListChanged, "")
		h.until(t, spec.NotificationPromptsListChanged)
		const update = `{"uri":"library://hours"}`
		if n := srv.Notify(spec.NotificationResourcesUpdated, raw(update)); n != 0 {
			t.Errorf("%d took an update without subscribing", n)
		}
		if _, err := s.Call(within(t), spec.MethodResourcesSubscribe, raw(update)); err != nil {
			t.Fatal(err)
		}
		told(t, srv, spec.NotificationResourcesUpdated, update)
		h.until(t, spec.NotificationResourcesUpdated)
		if _, err := s.Call(within(t), spec.MethodResourcesUnsubscribe, raw(update)); err != nil {
			t.Fatal(err)
		}
		if n := srv.Notify(spec.NotificationResourcesUpdated, raw(update)); n != 0 {
			t.Errorf("%d took an update after unsubscribing", n)
		}
		j.report(t)
	})
}

func TestModernSubscription(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		srv, h, j := mock.New(everything()), &heard{}, newJudge(spec.Rev20260728)
		s := open(t, target(srv), session.Options{Era: spec.Modern, OnNotification: h.add, Tap: j.tap})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Do(t.Context(), session.Request{
				Method: spec.MethodListen, Timeout: 300 * time.Millisecond,
				Params: raw(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["library://hours"]}}`),
			})
		}()
		told(t, srv, spec.NotificationToolsListChanged, "")
		told(t, srv, spec.NotificationResourcesUpdated, `{"uri":"library://hours"}`)
		h.until(t, spec.NotificationSubscriptionsAck)
		h.until(t, spec.NotificationToolsListChanged)
		h.until(t, spec.NotificationResourcesUpdated)
		if n := srv.Notify(spec.NotificationPromptsListChanged, nil); n != 0 {
			t.Errorf("%d took what was not asked for", n)
		}
		if n := srv.Notify(spec.NotificationResourcesUpdated, raw(`{"uri":"library://rules/loans"}`)); n != 0 {
			t.Errorf("%d took the update of another resource", n)
		}
		<-done
		j.report(t)
	})
}

func TestProgressOnTheStreamOfItsRequest(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			h := &heard{}
			s := open(t, target(mock.New(everything())), session.Options{Revision: r})
			_, err := s.Do(within(t), session.Request{
				Method: spec.MethodToolsCall, Params: raw(`{"name":"count"}`), ProgressToken: raw(`"p"`), OnNotification: h.add,
			})
			if err != nil {
				t.Fatal(err)
			}
			h.until(t, spec.NotificationProgress)
			if as := s.Anomalies(); len(as) > 0 {
				t.Errorf("%s: %+v", r, as[0])
			}
		}
	})
}
