// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
)

func TestLure(t *testing.T) {
	l, err := new(probe.Probe).Lure()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(l.URL, "http://"), "/mcprove.json"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close() // connects and asks for nothing
	if l.Hit(t.Context(), 20*time.Millisecond) {
		t.Error("a connection without a request counts")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	if !l.Hit(t.Context(), time.Second) {
		t.Error("a request does not count")
	}
}
