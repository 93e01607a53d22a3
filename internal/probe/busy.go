// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/transport"
)

// errBusy is the Err of an exchange that was refused each time it was sent, for
// a reason that has nothing to do with it.
var errBusy = errors.New("the server takes no more requests for now")

// Busy is why a case is skipped for which the server, or what stands before it,
// took no requests.
const Busy = "the server turned requests away each time, as one that limits how many it takes (HTTP 429, 502, 503 or 504): lift the limit for the check, or choose rules with --only"

// Busy reports whether the server refused it each time for a reason of the
// moment, so that it says nothing of the server.
func (x *Exchange) Busy() bool { return x != nil && x.Err == errBusy }

// transient are the statuses of HTTP by which a request is turned away for a
// reason of the moment. Of all but the first a message says more than the status.
var transient = map[int]bool{
	http.StatusTooManyRequests:    true,
	http.StatusBadGateway:         true,
	http.StatusServiceUnavailable: true,
	http.StatusGatewayTimeout:     true,
}

// turnedAway reports whether what came so far turns the request away.
func (x *Exchange) turnedAway() bool {
	return transient[x.Status()] && (x.Response == nil || x.Status() == http.StatusTooManyRequests)
}

// Bounds on what is sent again because it was turned away.
const (
	mostRefusals   = 6                     // of one exchange, and its pauses double from the first on
	firstPause     = 50 * time.Millisecond // then 100, 200, 400, 800 and 1600
	longestPause   = 2 * time.Second       // at a time, whatever the server asks for
	certainRefused = 2                     // where it is known that the status has another reason
	// vainly is how many exchanges in a row end refused before less is tried, with
	// longer pauses: nobody is served at all.
	vainly      = 3
	vainPause   = 800 * time.Millisecond
	vainRefused = 2
	// vainlyOfKind is how many of one kind of request end refused, while others
	// are served, before it is not tried again.
	vainlyOfKind = 2
	// controlPause is the pause before each of two controls, by which a limit is
	// told from a fault; twice of it is before the request itself.
	controlPause = 300 * time.Millisecond
	firstGap     = 5 * time.Millisecond
	longestGap   = 200 * time.Millisecond
	// gapTime is how long refusals count as one, since those under way at once
	// come together.
	gapTime = 100 * time.Millisecond
)

// throttle is what all connections of a probe know of how many requests the
// server takes, and keep to. The zero value is one that takes all.
type throttle struct {
	mu    sync.Mutex
	until time.Time // as long as the server asked to wait
	next  time.Time // when the next request may go, with the gap after the last
	gap   time.Duration
	wider time.Time       // when the gap was made wider
	vain  int             // exchanges in a row that ended refused
	kinds map[string]int  // the same by kind of request
	good  map[string]bool // methods of which one was served
	tried map[string]bool // kinds of which it was tried to find out
	own   map[int]bool    // statuses that are given for what a request asks
	alone chan struct{}   // closed when others may send again, nil when they may
}

// pass waits until a request may be sent, and reports whether it had to.
func (l *throttle) pass(ctx context.Context, clock *Clock) (waited bool) {
	var end func(Waiting)
	var slot time.Time
	for {
		l.mu.Lock()
		now := time.Now()
		alone := l.alone
		if slot.IsZero() || l.until.After(slot) {
			slot = now
			for _, t := range []time.Time{l.until, l.next} {
				if t.After(slot) {
					slot = t
				}
			}
			l.next = slot.Add(l.gap)
		}
		l.mu.Unlock()
		if alone == nil && !slot.After(now) {
			break
		}
		if end == nil {
			end = clock.Wait()
		}
		if alone != nil {
			select {
			case <-alone:
			case <-ctx.Done():
			}
		} else {
			sleep(ctx, slot.Sub(now))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if end != nil {
		end(Told)
	}
	return end != nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// served takes note that a request was not turned away.
func (l *throttle) served(x *Exchange) {
	kind := kindOf(x)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.good == nil {
		l.good = map[string]bool{}
	}
	l.good[x.Method] = true
	l.vain = 0
	delete(l.kinds, kind)
	if l.gap -= l.gap / 10; l.gap < time.Millisecond {
		l.gap = 0
	}
}

// refused says how long to wait after a refusal until it is tried again, and
// whether it is. n counts those of the exchange before.
func (l *throttle) refused(x *Exchange, n int) (wait time.Duration, again bool) {
	kind, now := kindOf(x), time.Now()
	asked, named := retryAfter(x, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	most, pause := mostRefusals, firstPause
	switch {
	case l.kinds[kind] >= vainlyOfKind:
		return 0, false
	case l.vain >= vainly:
		most, pause = vainRefused, vainPause
	case l.own[x.Status()]:
		most = certainRefused
	}
	if asked > mostRefusals*longestPause { // longer than is waited for it
		most = 1
	}
	if n >= most {
		return 0, false
	}
	// That a method is refused again which never was served is no news.
	if (n == 0 || l.good[x.Method]) && now.Sub(l.wider) > gapTime && !l.own[x.Status()] {
		l.wider = now
		l.gap = min(max(firstGap, 2*l.gap), longestGap)
	}
	if !named {
		return pause << n, true
	}
	wait = min(max(asked, firstPause), longestPause)
	if until := now.Add(wait); until.After(l.until) {
		l.until = until
	}
	return wait, true
}

// gaveUp takes note that an exchange ended refused.
func (l *throttle) gaveUp(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vain++
	if l.kinds == nil {
		l.kinds = map[string]int{}
	}
	l.kinds[kind]++
}

// seize keeps all others from sending until release is called. It is false when
// somebody did already.
func (l *throttle) seize() (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alone != nil {
		return nil, false
	}
	ch := make(chan struct{})
	l.alone = ch
	return func() {
		l.mu.Lock()
		l.alone = nil
		l.mu.Unlock()
		close(ch)
	}, true
}

// doubts reports whether it was not tried yet to find out why a kind of request
// is refused.
func (l *throttle) doubts(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.tried[kind]
}

// finds takes note that this is tried.
func (l *throttle) finds(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tried == nil {
		l.tried = map[string]bool{}
	}
	l.tried[kind] = true
}

// blames reports whether a status is known to be given for what a request asks.
func (l *throttle) blames(status int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own[status]
}

// learn takes note that a status is given for what a request asks.
func (l *throttle) learn(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = map[int]bool{}
	}
	l.own[status] = true
}

// kindOf names the kind of a request of which each is refused or none.
func kindOf(x *Exchange) string {
	item := ""
	if x.Request != nil {
		item = string(x.Request.Value("name"))
	}
	return x.Method + "\n" + x.Planted() + "\n" + item
}

// retryAfter is how long the server asks to wait (RFC 9110, section 10.2.3).
func retryAfter(x *Exchange, now time.Time) (d time.Duration, named bool) {
	v := strings.TrimSpace(x.Head.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now)), true
	}
	return 0, false
}

// yields reports whether what the server refuses for a moment is sent again: not
// where a load is put on it, since a refusal is what that is about.
func (p *Probe) yields() bool {
	return p.target.Kind() != transport.Stdio && !(p.o.Stressing && p.surveyed.Load())
}

// again is what is done about an exchange that has ended.
type again uint8

// What is done about an exchange that has ended. What is sent again is in
// [Conn.outcome] alone.
const (
	over     again = iota // it is as it is
	anew                  // it is sent again, after a pause
	doubtful              // it is not, and whose fault that is can be found out
)

// outcome says what is done about an exchange that has ended, and clears it where
// it is sent again: one that went out on a connection which the server was
// closing, once and on another connection, as clients that reuse connections do,
// since a server that ends at the request does so again; and one that was turned
// away for a reason of the moment, after a pause.
func (c *Conn) outcome(k *call) (what again, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &k.x
	var e *transport.Error
	switch {
	case !x.Closed || x.Cancelled:
		return over, 0
	case !k.fresh && errors.As(x.ClosedErr, &e) && e.Stale:
		k.fresh = true
	case x.turnedAway() && c.probe.yields() && !k.settled:
		wait, more := c.probe.limit.refused(x, k.refusals)
		if !more {
			k.settled = true
			switch _, named := retryAfter(x, time.Now()); {
			case c.probe.limit.blames(x.Status()) && !named:
				k.own = true
			case x.Status() != http.StatusTooManyRequests && !named && c.probe.limit.doubts(kindOf(x)):
				return doubtful, 0
			}
			if !k.own {
				c.probe.limit.gaveUp(kindOf(x))
			}
			return over, 0
		}
		k.refusals++
		k.clear()
		return anew, wait
	default:
		return over, 0
	}
	k.clear()
	return anew, 0
}

// clear forgets what came. The connection's lock is held.
func (k *call) clear() {
	x := &k.x
	x.Closed, x.ClosedErr, x.Err, x.Start = false, nil, nil, time.Now()
	x.End, x.Ended = time.Time{}, time.Time{}
	x.Head, x.Body, x.Frames, x.Response, x.Extra, x.Other, x.Opening = nil, nil, nil, nil, nil, nil, nil
	k.resending = true
}

// resend sends a call again that was cleared.
func (c *Conn) resend(ctx context.Context, k *call, wait time.Duration) {
	if wait > 0 {
		end := c.probe.o.Clock.Wait()
		sleep(ctx, wait)
		end(Told)
	}
	c.mu.Lock()
	var text []byte
	if k.x.Sent != nil {
		text = k.x.Sent.Raw
	}
	gone := k.x.Cancelled
	if k.resending = false; gone { // by somebody else, meanwhile
		k.x.Closed, k.x.ClosedErr, k.x.Ended = true, &transport.Error{Reason: transport.Closed}, time.Now()
	}
	c.mu.Unlock()
	if !gone {
		c.deliver(ctx, k, text)
	}
}

// whose finds out why a request stays refused that was sent so often: a server
// that serves a plain request before it and after it, while nobody else asks
// anything, has no other reason than what is asked.
func (c *Conn) whose(ctx context.Context, k *call) {
	l := &c.probe.limit
	refused, own := c.now(k), false
	status, kind := refused.Status(), kindOf(refused)
	if release, ok := l.seize(); ok {
		own = c.refusesIt(ctx, k)
		release()
	}
	c.mu.Lock()
	k.own = own
	c.mu.Unlock()
	if own {
		l.learn(status)
		return
	}
	l.gaveUp(kind)
}

func (c *Conn) refusesIt(ctx context.Context, k *call) bool {
	plain := c.probe.servedBefore(k.x.Request)
	if plain == nil {
		return false
	}
	c.probe.limit.finds(kindOf(c.now(k)))
	pause := func(d time.Duration) {
		end := c.probe.o.Clock.Wait()
		sleep(ctx, d)
		end(Silence)
	}
	for range 2 { // one may be what a limit lets through just now
		pause(controlPause)
		o := c.begin(ctx, plain, true)
		if !c.awaiting(ctx, o, c.probe.patience(), Unanswered, answered).OK() {
			return false
		}
	}
	pause(2 * controlPause)
	c.mu.Lock()
	k.clear()
	k.alone = true
	c.mu.Unlock()
	c.resend(ctx, k, 0)
	x := c.awaiting(ctx, k, c.probe.patience(), Unanswered, answered)
	return x.Closed && x.turnedAway()
}

// servedBefore is a plain request that was served, of another method than r; nil
// when there is none yet.
func (p *Probe) servedBefore(r *Request) *Request {
	if g := p.facts.Greeting; g != nil && g.OK() && p.Plainest() != r.Method {
		return p.Request(p.Plainest(), "")
	}
	if !p.surveyed.Load() {
		return nil
	}
	for _, f := range families {
		if l := p.facts.List(f.method); f.method != r.Method && len(l.Pages) > 0 && l.Pages[0].OK() {
			return p.Request(f.method, "")
		}
	}
	return nil
}
