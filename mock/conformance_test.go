// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// The fixture of the official suite is a right server by our own description of
// the messages, too, in every revision.
func TestConformanceFixture(t *testing.T) {
	for _, r := range spec.All() {
		eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
			j := newJudge(r)
			s := open(t, target(mock.New(mock.Conformance())), session.Options{Revision: r, Tap: j.tap})
			got, err := surface.Collect(within(t), s, surface.CollectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.Items(surface.Tools)); n < 30 {
				t.Errorf("%s: %d tools", r, n)
			}
			for _, tool := range []string{"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types", "test_error_handling"} {
				call(t, s, tool, "{}")
			}
			j.report(t)
		})
	}
}

// The one tool of the fixture that is no data: it takes as long as it is told.
func TestSlowCompute(t *testing.T) {
	s := open(t, mock.New(mock.Conformance()).HTTP(""), session.Options{Era: spec.Modern})
	begin := time.Now()
	if got := call(t, s, "slow_compute", `{"seconds":0.05}`); !contains(got, "It is computed.") || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("%s after %s", got, time.Since(begin))
	}
}

// initialize with the _meta of the modern era is a modern request for a method
// that is gone, also where the handshake is served (2026-07-28/basic/transports/streamable-http).
func TestModernInitialize(t *testing.T) {
	body := strings.Replace(modern(spec.MethodInitialize, ""), "tools/list", "initialize", 1)
	w := post(mock.New(everything()), body, nil)
	if w.Code != http.StatusNotFound || code(t, w.Body.Bytes()) != spec.CodeMethodNotFound {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
	var out strings.Builder
	if err := mock.New(everything()).ServeStdio(within(t), strings.NewReader(body+"\n"+initialize("2025-11-25")+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(out.String(), "\n")
	if code(t, []byte(first)) != spec.CodeMethodNotFound || code(t, []byte(second)) != 0 {
		t.Errorf("stdio: %s", out.String())
	}
	if !json.Valid([]byte(first)) {
		t.Error("no JSON")
	}
}
