// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
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

// A server that sends more than a run keeps ends it, and is told why.
func TestServerThatSendsTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 128 MB and more")
	}
	peak := watchHeap(t)
	got := judgeBy(t, mock.Script{Tools: []mock.Tool{{
		Definition: json.RawMessage(`{"name":"a","description":"` + strings.Repeat("many words ", 1<<20) + `","inputSchema":{"type":"object"}}`),
	}}}, stage{transport.StreamableHTTP, spec.Rev20251125}, check.Options{Budget: time.Minute, Options: probe.Options{Quiet: probe.DefaultQuiet}})
	full := 0
	for _, o := range got {
		if o.Status == rule.Skip && o.Reason == probe.Full {
			full++
		}
	}
	if full == 0 {
		t.Error("everything was kept")
	}
	if heap := peak(); heap > mostHeap {
		t.Errorf("%d MB of memory", heap>>20)
	} else {
		t.Logf("%d rules came too late; %d MB of memory", full, heap>>20)
	}
}
