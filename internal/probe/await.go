// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// await waits until the exchange is as wanted, is over, or the time is up. It
// returns what there is then.
func (c *Conn) await(ctx context.Context, k *call, d time.Duration, until func(*Exchange) bool) *Exchange {
	failing := Unanswered // it is an answer that is waited for
	if d <= c.probe.o.Quiet {
		failing = Silence
	}
	return c.awaiting(ctx, k, d, failing, until)
}

// awaiting is await where it is known what the time was for that passed in vain.
func (c *Conn) awaiting(ctx context.Context, k *call, d time.Duration, failing Waiting, until func(*Exchange) bool) *Exchange {
	t := time.NewTimer(d)
	defer t.Stop()
	// A process that has not sent a message may still be starting.
	var start <-chan time.Time
	var s *time.Timer
	begin := time.Now()
	cold := c.cold()
	end, what := c.probe.o.Clock.Wait(), failing
	defer func() { end(what) }()
	if cold && d > c.probe.o.Quiet {
		s = time.NewTimer(c.probe.allowance())
		defer s.Stop()
		start = s.C
	}
	for {
		c.mu.Lock()
		x := c.snapshot(k)
		changed := c.changed
		if start != nil && c.spoke {
			start = nil
			t.Reset(d)
		}
		if cold && c.spoke {
			end(Starting)
			cold, end = false, c.probe.o.Clock.Wait()
		}
		c.mu.Unlock()
		if x.Closed {
			switch next, wait := c.outcome(k); next {
			case anew, doubtful:
				end(Answering)
				if next == anew {
					c.resend(ctx, k, wait)
				} else {
					c.whose(ctx, k)
				}
				end = c.probe.o.Clock.Wait()
				t.Reset(d)
				continue
			}
			x = c.now(k)
		}
		// Whether it is sent again is seen when what turned it away is over.
		if x.Closed || until(x) && !x.turnedAway() {
			what = Answering
			return x
		}
		select {
		case <-changed:
		case <-t.C:
			if start == nil {
				return x
			}
		case <-start:
			// Others may have taken longer since: the machine is busy.
			more := c.probe.allowance() - time.Since(begin)
			if more <= 0 {
				return x
			}
			s.Reset(more)
		case <-ctx.Done():
			return x
		}
	}
}

// cold reports whether a process has not sent a message yet.
func (c *Conn) cold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil && c.conn.Kind() == transport.Stdio && !c.spoke
}

// snapshot copies an exchange as it is. The lock is held.
func (c *Conn) snapshot(k *call) *Exchange {
	x := k.x
	x.Frames, x.Extra, x.Other = slices.Clone(x.Frames), slices.Clone(x.Extra), slices.Clone(x.Other)
	if x.Response == nil && x.Closed && x.Err == nil {
		x.Err = c.lost
		if !c.isLost {
			x.Err = x.ClosedErr
		}
	}
	if x.Closed && (x.turnedAway() || k.turned) && !k.own && (c.probe == nil || c.probe.yields()) {
		x.Err = errBusy
	}
	return &x
}

// now is an exchange as it is.
func (c *Conn) now(k *call) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snapshot(k)
}

// give ends the waiting for an exchange. The lock must not be held.
func (c *Conn) give(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.given = true
}

// answered says that nothing more is needed: a response, or over HTTP the end
// of a response without one.
func answered(x *Exchange) bool { return x.Response != nil }

// exchange sends a request and waits for its answer.
func (c *Conn) exchange(ctx context.Context, r *Request) *Exchange {
	k := c.start(ctx, r)
	return c.finish(ctx, k)
}

func (c *Conn) finish(ctx context.Context, k *call) *Exchange {
	silent := k.x.Request.noID && c.conn.Kind() == transport.Stdio // nothing answers it
	if silent {
		return c.await(ctx, k, 0, answered)
	}
	patience := c.probe.patience()
	if c.probe.OneStream() && c.probe.called.takesLong(k.x.Request) {
		// Once is enough to wait for it, unless it asks something this time: it
		// may go on when that was answered.
		x := c.await(ctx, k, c.probe.briefPatience(), func(x *Exchange) bool { return answered(x) || slices.ContainsFunc(x.Frames, isRequest) })
		if !slices.ContainsFunc(x.Frames, isRequest) {
			patience = 0
		}
	}
	x := c.await(ctx, k, patience, answered)
	for c.comeBack(ctx, k) {
		x = c.await(ctx, k, c.probe.patience(), answered)
		if x.Response != nil && !x.Closed {
			c.cancel(k) // whether a stream that was resumed ends by itself is open
		}
	}
	if ctx.Err() != nil && x.Response == nil {
		return c.cutShort(k)
	}
	if x.Response == nil && !x.Closed {
		c.probe.wasSilent(x)
		return c.giveUp(k)
	}
	c.mu.Lock()
	first := len(c.calls) > 0 && c.calls[0] == k // one that could not be sent is not among them
	c.mu.Unlock()
	c.probe.wasQuick(x, first)
	c.mu.Lock()
	doubtful := k.guessed && c.matched // a server that never repeats an id would cost a wait each time
	c.mu.Unlock()
	if doubtful {
		guess := x.Response
		x = c.await(ctx, k, c.probe.o.Quiet, func(x *Exchange) bool { return x.Response != guess })
	}
	return x
}

func isRequest(f *wire.Frame) bool { return f.Message().Kind == wire.Request }

// giveUp ends the waiting for an exchange to which nothing came.
func (c *Conn) giveUp(k *call) *Exchange {
	c.give(k)
	c.mu.Lock()
	k.x.Err = ErrSilent
	x := c.snapshot(k)
	c.mu.Unlock()
	if k.onChan && k.channel != transport.Main {
		c.cancel(k)
	}
	return x
}

// cutShort gives an exchange up for which the run had no more time: nothing can
// be said of its silence.
func (c *Conn) cutShort(k *call) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.given, k.x.Cancelled = true, true
	if k.x.Err == nil {
		k.x.Err = errRunEnded
	}
	return c.snapshot(k)
}

// CutShort reports whether the end of the run kept an exchange from being answered.
func (x *Exchange) CutShort() bool { return x.Err == errRunEnded && x.Response == nil }

// cut gives everything up that a connection still waits for: the run has ended.
func (c *Conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		streams := k.onChan && k.channel != transport.Main
		if k.x.Closed || !streams && !k.open() {
			continue
		}
		k.given, k.x.Cancelled = true, true
		if k.x.Response == nil && k.x.Err == nil {
			k.x.Err = errRunEnded
		}
	}
}

// errRunEnded is the Err of an exchange that the end of the run cut short.
var errRunEnded = errors.New("the run ended")
