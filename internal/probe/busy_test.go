// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcprove/mcprove/wire"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              -1,
		"soon":                          -1,
		"-1":                            -1,
		"0":                             0,
		" 7 ":                           7 * time.Second,
		"Tue, 01 Dec 2026 10:00:03 GMT": 3 * time.Second,
		"Tue, 01 Dec 2026 09:00:00 GMT": 0,
	} {
		x := &Exchange{Head: &wire.Head{Status: http.StatusTooManyRequests}}
		if value != "" {
			x.Head.Header = []wire.HeaderField{{Name: "retry-after", Value: value}}
		}
		got, named := retryAfter(x, now)
		if !named {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// However often a server refuses, an exchange comes to an end, and one after which
// another is served is tried again.
func TestThrottle(t *testing.T) {
	var l throttle
	x := &Exchange{Method: "tools/list", Head: &wire.Head{Status: http.StatusTooManyRequests}}
	tries := func() (n int, all time.Duration) {
		for {
			wait, again := l.refused(x, n)
			if !again {
				l.gaveUp(kindOf(x))
				return n, all
			}
			n, all = n+1, all+wait
		}
	}
	if n, all := tries(); n != mostRefusals || all != 3150*time.Millisecond {
		t.Errorf("%d times in %s", n, all)
	}
	tries()
	if n, _ := tries(); n != 0 {
		t.Errorf("%d times, for a kind of request that is always refused", n)
	}
	l.served(x)
	if n, _ := tries(); n != mostRefusals {
		t.Errorf("%d times, after one was served", n)
	}
}
