// SPDX-License-Identifier: Apache-2.0

package probe

import "time"

// Rest waits a while: for a server that was refused something to catch up, not
// for one to say something, which a stream waits for.
func (c *Case) Rest(d time.Duration) {
	c.rest(d, Silence)
}

// Outlast waits until a time is over that the user named.
func (c *Case) Outlast(d time.Duration) { c.rest(d, Told) }

func (c *Case) rest(d time.Duration, what Waiting) {
	defer c.probe.o.Clock.Wait()(what)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// Lured waits until somebody asks for a lure, for a while.
func (c *Case) Lured(l *Lure, d time.Duration) bool {
	defer c.probe.o.Clock.Wait()(Silence)
	return l.Hit(c.ctx, d)
}
