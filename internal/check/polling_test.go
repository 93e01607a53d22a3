// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A server that closes the stream of each call, and lets its client come back
// for the answer, is a good server of 2025-11-25.
func TestServerThatIsPolled(t *testing.T) {
	s := specimen()
	s.Resumable, s.Retry = true, 5*time.Millisecond
	s.Faults = append(s.Faults, mock.On(spec.MethodToolsCall).Poll(), mock.On(spec.MethodPromptsList).Poll())
	got := judge(t, s, stage{transport.StreamableHTTP, spec.Rev20251125})
	for id, o := range got {
		if o.Status == rule.Fail || o.Status == rule.Warn || o.Status == rule.Error {
			t.Errorf("%s: %s", id, show(o))
		}
	}
	for _, id := range []string{"http-legacy.sse-retry-before-close", "tools.call-answered", "prompts.list-shape"} {
		if o, ok := got[id]; ok && o.Status != rule.Pass {
			t.Errorf("%s: %s", id, show(o))
		}
	}
}
