// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// errDown is the Err of a message that was not sent, because the server does
// not answer anybody any more.
var errDown = errors.New("the server is down")

// RuleStaysUp is the id of the rule about servers that end in the middle.
const RuleStaysUp = "base.stays-up"

// down is the state of a server that everybody shares, reached over HTTP.
type down struct {
	mu sync.Mutex
	// checking is held by the one who finds out.
	checking Turn
	x        *Exchange
}

// Down is the exchange in which a server reached over HTTP ended, nil while it
// is up. A process over stdio is started again instead.
func (p *Probe) Down() *Exchange {
	p.down.mu.Lock()
	defer p.down.mu.Unlock()
	return p.down.x
}

// fell finds out whether a connection that broke was the end of the server: a
// plain request on a new connection says so.
func (p *Probe) fell(ctx context.Context, x *Exchange) {
	p.down.checking.Lock()
	defer p.down.checking.Unlock()
	if p.Down() != nil || ctx.Err() != nil || p.facts.Greeting == nil {
		return
	}
	c, err := p.dial(ctx)
	if err == nil {
		var y *Exchange
		if p.Legacy() {
			y = c.Greet(ctx, "{}")
		} else {
			y = c.exchange(ctx, p.Request(spec.MethodDiscover, ""))
		}
		if y.Response != nil || y.Head != nil || !y.Died() {
			return
		}
	}
	p.down.mu.Lock()
	defer p.down.mu.Unlock()
	p.down.x = x
}

// undone drops what a case blames on a server that was down, and skips the
// case where nothing else is left.
func (c *Case) undone(down *Exchange) {
	if down == nil || c.probe != nil && c.probe.o.Stressing {
		return
	}
	v := &c.verdict
	had := len(v.Blames)
	v.Blames = slices.DeleteFunc(v.Blames, func(b *Blame) bool {
		return c.info.ID != RuleStaysUp && slices.ContainsFunc(b.Exchanges, func(x *Exchange) bool {
			return x.Err == errDown || transport.ReasonOf(x.Err) != "" && x.Response == nil
		})
	})
	if had > len(v.Blames) || v.Reason != "" || v.Seen == 0 && len(v.Blames) == 0 {
		v.Reason, v.Because = "the server ended in the middle of the run", RuleStaysUp
	}
}
