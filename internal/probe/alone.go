// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// alone is what is known of a server over stdio whose further processes end at their
// start: nothing in the protocol asks for a second one beside the first.
type alone struct {
	once once
	// why is empty as long as further processes live. unsure says that the run ended
	// before that was known.
	why    string
	unsure bool
}

// bornDead takes note that a process ended by itself before it answered anything. The
// lock is held.
func (c *Conn) bornDead() {
	answered := slices.ContainsFunc(c.calls, func(k *call) bool { return k.x.Response != nil })
	c.stillborn = c.stillborn || c.n > 1 && c.left.IsZero() && !answered && c.conn != nil && c.conn.Kind() == transport.Stdio
}

func (c *Conn) isStillborn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.Process(); p != nil {
		select {
		case <-p.Exited(): // which may be known before its output has ended
			c.bornDead()
		default:
		}
	}
	return c.stillborn
}

// Alone says why the server is given no further processes; empty for one that may have
// them.
func (p *Probe) Alone() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone.why
}

// stillborn reports whether one of some exchanges was with a process that ended before
// its first answer.
func (p *Probe) stillborn(xs ...*Exchange) bool {
	p.mu.Lock()
	conns := p.conns
	p.mu.Unlock()
	return slices.ContainsFunc(xs, func(x *Exchange) bool {
		return x.Conn > 0 && x.Conn <= len(conns) && conns[x.Conn-1].isStillborn()
	})
}

// FindAlone finds out, where a further process ended before its first answer, whether
// all of them do while the first one lives: then it is for no rule to blame. One that
// ends at what it was sent does so where others live.
func (p *Probe) FindAlone(ctx context.Context) {
	p.mu.Lock()
	found := slices.ContainsFunc(p.conns, (*Conn).isStillborn)
	p.mu.Unlock()
	if found {
		p.alone.once.Do(func() { p.findAlone(ctx) })
	}
}

// aloneTimes is how often a plain further process has to end for that to be its way.
const aloneTimes = 2

func (p *Probe) findAlone(ctx context.Context) {
	why := ""
	for range aloneTimes {
		c, err := p.dial(ctx)
		if err != nil {
			return
		}
		if p.Legacy() {
			c.Greet(ctx, "{}")
		} else {
			c.exchange(ctx, p.Request(spec.MethodDiscover, ""))
		}
		dead := c.isStillborn()
		why = c.epitaph()
		c.Close(ctx)
		if lost, _ := p.Shared().Lost(); lost || !dead {
			p.mu.Lock()
			p.alone.unsure = ctx.Err() != nil
			p.mu.Unlock()
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone.why = "a further process ended at its start while the first one ran" + why + ", so that the rule, which needs one, cannot be judged"
}

// epitaph is how a process ended, in words, empty where nobody knows.
func (c *Conn) epitaph() string {
	p := c.Process()
	if p == nil {
		return ""
	}
	select {
	case <-p.Exited():
	default:
		return ""
	}
	exit := p.Exit()
	out := fmt.Sprintf(" (exit code %d", exit.Code)
	if exit.Signal != "" {
		out = " (" + exit.Signal
	}
	lines := strings.Split(strings.TrimSpace(exit.Stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		out += ": " + clip(hideSecrets(last))
	}
	return out + ")"
}

// further reports whether the case may have a process beside the first one; otherwise
// it is skipped.
func (c *Case) further() bool {
	why := c.probe.Alone()
	if why != "" {
		c.Skip("%s", why)
	}
	return why == ""
}

// lonely skips a case that had a process which ended as all further ones do.
func (c *Case) lonely() {
	p := c.probe
	if p == nil || !p.Stdio() {
		return
	}
	had := c.bereft || slices.ContainsFunc(c.conns, (*Conn).isStillborn) ||
		slices.ContainsFunc(c.verdict.Blames, func(b *Blame) bool { return p.stillborn(b.Exchanges...) })
	if !had {
		return
	}
	p.FindAlone(c.ctx)
	if why := p.Alone(); why != "" {
		c.verdict = Verdict{Reason: why}
	}
}
