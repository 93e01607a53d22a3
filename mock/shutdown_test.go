// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A subscription ends with its answer, and one that comes later at once.
func TestShutdownAnswersSubscriptions(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		srv := mock.New(everything())
		s := open(t, target(srv), session.Options{Era: spec.Modern})
		sub, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := srv.Shutdown(within(t)); err != nil {
				t.Error(err)
			}
		}
		if f, err := sub.Next(within(t)); !errors.Is(err, io.EOF) {
			t.Errorf("the subscription ended with %v, %v; want the answer", f, err)
		}
		for range 50 { // acknowledgement and end come together, and both count
			late, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true}`))
			if err != nil {
				t.Fatal(err)
			}
			if f, err := late.Next(within(t)); !errors.Is(err, io.EOF) {
				t.Errorf("a late subscription ended with %v, %v; want the answer", f, err)
			}
		}
		if n := srv.Notify(spec.NotificationToolsListChanged, nil); n != 0 {
			t.Errorf("%d still listen", n)
		}
	})
}

func TestShutdownEndsStandingStreams(t *testing.T) {
	srv := mock.New(everything())
	begun := post(srv, initialize("2025-11-25"), nil)
	r := httptest.NewRequestWithContext(within(t), http.MethodGet, "/mcp", nil)
	r.Header.Set(spec.HeaderSessionID, begun.Header().Get(spec.HeaderSessionID))
	if err := srv.Shutdown(within(t)); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, r) // returns, which is what is tested
	if w.Code != http.StatusOK || r.Context().Err() != nil {
		t.Errorf("the stream: %d, %v", w.Code, r.Context().Err())
	}
}
