// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Pending is a call that is under way.
type Pending struct {
	c      *Client
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	reply  *Reply
	taken  bool // by Wait or Cancel

	mu   sync.Mutex
	seen []*wire.Frame
	more chan struct{}
}

// Start calls a tool and does not wait for its answer.
func (c *Client) Start(name string, args any, opts ...CallOption) *Pending {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	p := &Pending{c: c, name: name, cancel: cancel, done: make(chan struct{})}
	r, err := c.toolRequest(ctx, name, args, opts)
	if err != nil {
		c.t.Fatalf("the arguments of %s: %v", name, err)
	}
	r.OnNotification = p.notified
	go func() {
		defer close(p.done)
		result, err := c.send(ctx, r)
		p.reply = &Reply{c: c, method: spec.MethodToolsCall, of: name, result: result, err: err}
		if p.reply.exchange = (&wire.Exchange{}); result != nil {
			p.reply.exchange = result.Exchange
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		<-p.done
		if !p.taken && !errors.Is(p.reply.err, context.Canceled) {
			c.settle(p.reply) // nobody waited for it, and it failed
		}
	})
	return p
}

func (p *Pending) notified(f *wire.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, f)
	if p.more != nil {
		close(p.more)
		p.more = nil
	}
}

// Wait waits for the answer.
func (p *Pending) Wait() *Reply {
	p.c.t.Helper()
	<-p.done
	p.cancel()
	p.take()
	return p.reply
}

// take settles the reply, once.
func (p *Pending) take() {
	p.c.t.Helper()
	if !p.taken {
		p.taken = true
		p.c.settle(p.reply)
	}
	p.c.tell()
}

// Done is closed when the call has ended.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Cancel cancels the call as the revision says: by a notification, or over HTTP
// in the modern era by closing the stream. The reply is that of a call that was
// given up.
func (p *Pending) Cancel() *Reply {
	p.c.t.Helper()
	p.cancel()
	<-p.done
	p.reply.looked.Store(true)
	if p.reply.err == nil {
		p.c.t.Errorf("%s had ended before it was cancelled: %s", p.name, p.reply.outcome())
	} else if !errors.Is(p.reply.err, context.Canceled) {
		p.c.t.Errorf("%s failed before it was cancelled: %s", p.name, p.reply.failure())
	}
	p.take()
	return p.reply
}

// Reports asserts that progress of at least that much is reported within the
// time; start the call with [WithProgress].
func (p *Pending) Reports(progress float64, within time.Duration) {
	p.c.t.Helper()
	last := "nothing"
	p.await(within, func(f *wire.Frame) bool {
		if f.Message().Method != spec.NotificationProgress {
			return false
		}
		var got Progress
		if jsonx.Unmarshal(f.Message().Params, &got) != nil {
			return false
		}
		last = strconv.FormatFloat(got.Progress, 'g', -1, 64)
		return got.Progress >= progress
	}, func(when string) { p.c.t.Errorf("%s reported %s%s, want %v", p.name, last, when, progress) })
}

// Sees asserts that a notification of the method comes for the call within the
// time.
func (p *Pending) Sees(method string, within time.Duration) *wire.Frame {
	p.c.t.Helper()
	return p.await(within, func(f *wire.Frame) bool { return f.Message().Method == method },
		func(when string) { p.c.t.Errorf("no %s came for %s%s", method, p.name, when) })
}

func (p *Pending) await(within time.Duration, match func(*wire.Frame) bool, fail func(when string)) *wire.Frame {
	p.c.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ended := false
	for i := 0; ; {
		p.mu.Lock()
		if p.more == nil {
			p.more = make(chan struct{})
		}
		more, seen := p.more, p.seen
		p.mu.Unlock()
		for ; i < len(seen); i++ {
			if match(seen[i]) {
				return seen[i]
			}
		}
		if ended {
			fail(" before it ended")
			return nil
		}
		select {
		case <-more:
		case <-p.done:
			ended = true // what came with the answer is there now
		case <-deadline.C:
			fail(" within " + within.String())
			return nil
		}
	}
}
