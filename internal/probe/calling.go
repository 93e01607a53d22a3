// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// callings is what became of the calls of tools that were well-formed.
type callings struct {
	answered, silent atomic.Bool

	mu   sync.Mutex
	long map[string]bool // tools whose last call gave no answer in time
}

func (c *callings) take(x *Exchange) {
	if x.Planted() != "" {
		return
	}
	was := &c.silent
	if x.Response != nil {
		was = &c.answered
	}
	was.Store(true)
	if x.Request == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.long == nil {
		c.long = map[string]bool{}
	}
	c.long[string(x.Request.Value("name"))] = x.Response == nil
}

// takesLong reports whether the request is a call of a tool that gave no answer
// the last time, when there was time enough.
func (c *callings) takesLong(r *Request) bool {
	if r.Method != spec.MethodToolsCall {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.long[string(r.Value("name"))]
}

// none reports whether tools were called and no call was answered.
func (c *callings) none() bool { return c.silent.Load() && !c.answered.Load() }

// nameTool is in every reason of a skip that a tool which answers would help.
const nameTool = "--tool '"

// RuleRequests is the id of the rule that says that a server asks its client
// by the results it gives, and sends no request of its own.
const RuleRequests = "mrtr.server-requests-only-in-results"

// waits skips the case where the silence that it blames has a cause which
// another rule says: the server asked its client something in the way of the
// handshake era and waits for that, or it answers no call of a tool at all.
func (c *Case) waits(x *Exchange) bool {
	if !x.Silent() || x.Response != nil || c.info.ID == RuleAnswers {
		return false
	}
	asked := func(f *wire.Frame) bool { return f.Message().Kind == wire.Request }
	switch calls := owner(spec.MethodToolsCall); {
	case x.Revision().Era() == spec.Modern && c.info.ID != RuleRequests && slices.ContainsFunc(x.Frames, asked):
		c.SkipFor(RuleRequests, "%s is not answered: the server sent a request of its own, and waits for its answer", x.Method)
	case x.Method == spec.MethodToolsCall && c.info.ID != calls && c.uncalled():
		c.SkipFor(calls, "no call of a tool is answered")
	default:
		return false
	}
	return true
}
