// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// secSlowRules are those of clients that take their time.
var secSlowRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleSlowBody, Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title: "clients that send slowly keep nobody waiting",
			Why:   "a handful of sockets on which hardly anything is sent takes the server away from everybody else",
			Fix:   "read each request beside the others, and give a body a time within which it must have come",
			Detail: "20 clients send the body of a plain request one byte at a time. It fails where another client is not answered meanwhile, twice, " +
				"though it was before. Over stdio there is one client alone",
		},
		In: since2503, Check: slowBody, Whole: true, Intrusive: true,
		Break: Break{Only: transport.StreamableHTTP, Faults: []mock.Fault{mock.Serial(mock.SerialReading)}},
	},
	{
		Info: rule.Info{
			ID: ruleSlowReader, Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title: "clients that do not read their answers keep nobody waiting",
			Why:   "a client that sleeps, or a few sockets that nobody reads, stop the server for everybody else",
			Fix:   "write each answer beside the others, and end a connection that takes nothing for a while",
			Detail: "20 clients ask for the longest answer that is known of the server, two of them again and again up to 5 MiB, and read nothing. It fails where another client " +
				"is not answered meanwhile, twice, though it was before, and while as many clients asked for as much and read it; where that is too much work each asks once. " +
				"Over stdio there is one client alone",
		},
		In: since2503, Check: slowReader, Whole: true, Intrusive: true,
		Break: Break{Base: longResource, Only: transport.StreamableHTTP, Faults: []mock.Fault{mock.Serial(mock.SerialWriting)}},
	},
}

// longResource is a Base with an answer that fills every buffer.
func longResource(s *mock.Script) {
	s.Resources = append([]mock.Resource{{ // in front: not all are read
		Definition: []byte(`{"uri":"almanac://tides","name":"tides","description":"The tides of many years.","mimeType":"text/plain"}`),
		Contents:   []byte(`[{"uri":"almanac://tides","mimeType":"text/plain","text":"` + strings.Repeat("ebb and flow, ", 20_000) + `"}]`),
	}}, s.Resources...)
}

// slowClients is how many of them there are.
const slowClients = 20

// headRoom is what the head of a request is counted for.
const headRoom = 400

// dripPause is the time between two bytes.
const dripPause = 100 * time.Millisecond

func slowBody(c *probe.Case) {
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	body := s.plain.Encode([]byte(`"mcprove-slow"`))
	s.starve("send their bodies one byte at a time", func(ctx context.Context, conn *probe.Conn, wait *sync.WaitGroup) bool {
		if !s.takes(headRoom + len(body)) {
			return false
		}
		h, err := c.Hold(ctx, conn, s.plain.Planting("a slow body"), int64(len(body)))
		if err != nil {
			return false
		}
		wait.Go(func() {
			defer h.Close()
			tick := time.NewTicker(dripPause)
			defer tick.Stop()
			for i := range body {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				if h.Write(ctx, body[i:i+1]) != nil {
					return // it does not wait for ever, as it should not
				}
			}
		})
		return true
	})
}

// Bounds on what clients that do not read ask for. The first of them ask for so
// much that no buffer on the way holds it all, which takes 4 MiB on a machine as
// it comes; the others ask once.
const (
	greedyClients  = 2
	unreadBytes    = 5 << 20
	unreadRequests = 1000
	// unreadWork is how long another client waits at most while the same is asked
	// for and read. Where it waits longer the work is too much for the server,
	// whoever reads, and each client asks once.
	unreadWork = 500 * time.Millisecond
)

// reader is what a client that does not read asks for.
type reader struct {
	s       *strain
	request *probe.Request
	body    []byte
	greedy  int // how often the first clients ask
	clients int // so far
}

func slowReader(c *probe.Case) {
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	if !s.client.CanHold() {
		c.Skip(noSockets)
		return
	}
	r, weight := longest(c, s.control)
	u := &reader{s: s, request: r.Planting("an answer that is not read"), body: r.Encode([]byte(`"mcprove-unread"`))}
	// There is room for the control and for two times.
	room := s.load.Bytes / (3*greedyClients + 1) / (headRoom + len(u.body))
	if u.greedy = min(unreadRequests, 1+unreadBytes/weight, room); !u.bearable() {
		u.greedy = 1
		s.calm()
	}
	s.starve("do not read their answers", func(ctx context.Context, conn *probe.Conn, wait *sync.WaitGroup) bool {
		return u.hold(ctx, conn, wait, (*transport.Held).Sips)
	})
}

// hold connects one client and asks, while then does with the answers what it
// does.
func (u *reader) hold(ctx context.Context, conn *probe.Conn, wait *sync.WaitGroup, then func(*transport.Held)) bool {
	times := 1
	if u.clients%slowClients < greedyClients {
		times = u.greedy
	}
	u.clients++
	if !u.s.takes(times * (headRoom + len(u.body))) {
		return false
	}
	h, err := u.s.c.Hold(ctx, conn, u.request, int64(len(u.body)))
	if err != nil {
		return false
	}
	wait.Go(func() { then(h) })
	wait.Go(func() {
		defer h.Close()
		if h.Write(ctx, u.body) != nil {
			return
		}
		for range times - 1 {
			if !h.Again(ctx, u.body) {
				break
			}
		}
		<-ctx.Done()
	})
	return true
}

// calm waits until the server has worked off what it was asked before: until it
// serves at once.
func (s *strain) calm() {
	for range 4 {
		begin := time.Now()
		if lives(s.other(otherWait)) && time.Since(begin) < unreadWork/5 {
			return
		}
		s.c.Rest(s.left(pause))
	}
}

// bearable reports whether another client is served soon while as many clients
// ask for as much, and read it: the control.
func (u *reader) bearable() bool {
	ctx, release := context.WithCancel(u.s.ctx)
	var wait sync.WaitGroup
	defer func() { release(); wait.Wait() }()
	for range slowClients {
		if !u.hold(ctx, u.s.client, &wait, (*transport.Held).Drain) {
			return false
		}
	}
	slowest := time.Duration(0)
	for range 3 { // the work begins at once, and may go on for a while
		begin := time.Now()
		if !lives(u.s.other(otherWait)) {
			return false
		}
		slowest = max(slowest, time.Since(begin))
		u.s.c.Rest(u.s.left(pause / 3))
	}
	return slowest < unreadWork
}

// longest is the request with the longest answer that is known, and how long
// that is: a list, or a resource that is listed.
func longest(c *probe.Case, control *probe.Exchange) (r *probe.Request, weight int) {
	known := []*probe.Exchange{control}
	for _, l := range c.Facts().Lists {
		known = append(known, l.Pages...)
	}
	for _, x := range append(known, c.Reads()...) {
		if x.OK() && x.Request != nil && x.Planted() == "" && len(x.Response.Raw) > weight {
			r, weight = x.Request, len(x.Response.Raw)
		}
	}
	return r, weight
}

// starve connects slow clients and looks whether another one is served
// meanwhile. Twice is no accident. slow makes one of them, whose work ends with
// its context and is waited for.
func (s *strain) starve(how string, slow func(ctx context.Context, conn *probe.Conn, wait *sync.WaitGroup) bool) {
	if !s.client.CanHold() {
		s.c.Skip(noSockets)
		return
	}
	if x, ok := s.serves(); !ok {
		s.c.Skip("a second client beside the first is not served, without any load: %s %s", x.Method, outcome(x))
		return
	}
	var starved *probe.Exchange
	for range 2 {
		x, ok := s.beside(how, slow)
		switch {
		case x == nil:
			return // said already
		case ok && starved == nil:
			s.c.Pass(x)
			return
		case ok:
			s.c.Skip("another client was kept waiting once, and served the second time")
			return
		}
		starved = x
	}
	after, _ := s.serves()
	s.fail(starved, "while %d clients %s, another one %s", slowClients, how, outcome(starved)).And(after, s.control)
}

// beside holds the slow clients for a while, and asks as another one. It is nil
// where nothing can be said, or all is said.
func (s *strain) beside(how string, slow func(context.Context, *probe.Conn, *sync.WaitGroup) bool) (x *probe.Exchange, ok bool) {
	ctx, release := context.WithCancel(s.ctx)
	var wait sync.WaitGroup
	over := sync.OnceFunc(func() { release(); wait.Wait() })
	defer over()
	n := 0
	for range slowClients {
		if !slow(ctx, s.client, &wait) {
			break
		}
		n++
	}
	if n == 0 {
		s.c.Skip("no slow client could connect")
		return nil, false
	}
	for range 3 {
		s.c.Rest(s.left(pause))
		if x = s.other(otherWait); !lives(x) {
			break
		}
	}
	over()
	switch {
	case s.ctx.Err() != nil:
		s.c.Skip("the time was up while the slow clients were connected")
		return nil, false
	case lives(x):
		return x, true
	}
	if !s.goesOn("clients that "+how+" had gone", x) {
		return nil, false
	}
	return x, false
}
