// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Notifications are those of a method that came so far, in order; all of them
// for an empty method.
func (c *Client) Notifications(method string) []*wire.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*wire.Frame
	for _, f := range c.notes {
		if method == "" || f.Message().Method == method {
			out = append(out, f)
		}
	}
	return out
}

// Awaits asserts that a notification of the method comes within the time, or has
// come already, and gives the first one. Match, which may be nil, chooses.
func (c *Client) Awaits(method string, within time.Duration, match func(params []byte) bool) *wire.Frame {
	c.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		if c.more == nil {
			c.more = make(chan struct{})
		}
		more := c.more
		c.mu.Unlock()
		for _, f := range c.Notifications(method) {
			if match == nil || match(f.Message().Params) {
				c.tell()
				return f
			}
		}
		select {
		case <-more:
		case <-deadline.C:
			c.t.Errorf("no %s came within %s; there came %s", method, within, c.noted())
			return nil
		case <-c.ctx.Done():
			c.t.Errorf("no %s came before the end of the test", method)
			return nil
		}
	}
}

// StaysSilent asserts that no notification of the method comes within the time.
// In virtual time it costs nothing.
func (c *Client) StaysSilent(method string, within time.Duration) {
	c.t.Helper()
	before := len(c.Notifications(method))
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
	if news := c.Notifications(method)[before:]; len(news) > 0 {
		c.t.Errorf("%s came %s: %s", method, times(len(news)), shownJSON(news[0].Raw))
	}
}

func (c *Client) noted() string {
	var list []string
	for _, f := range c.Notifications("") {
		list = append(list, f.Message().Method)
	}
	return orNothing(list)
}

// Subscription is what a client listens to.
type Subscription struct {
	c       *Client
	uris    []string
	sub     *session.Subscription // modern
	started int                   // notifications there were before, legacy
}

// Subscribe listens to changes: of lists by their name ("tools", "prompts",
// "resources"), of resources by their URI. In the modern era it opens one
// subscriptions/listen stream; in the legacy one, whose servers announce changes
// of lists by themselves, it subscribes to each resource. Open the client with
// [Listen] to hear a legacy HTTP server. It is closed with the client.
func (c *Client) Subscribe(what ...string) *Subscription {
	c.t.Helper()
	s := &Subscription{c: c}
	filter := map[string]any{}
	for _, w := range what {
		switch w {
		case "tools", "prompts", "resources":
			filter[w+"ListChanged"] = true
		default:
			s.uris = append(s.uris, w)
		}
	}
	if !c.Modern() {
		c.mu.Lock()
		s.started = len(c.notes)
		c.mu.Unlock()
		for _, uri := range s.uris {
			c.Do(spec.MethodResourcesSubscribe, map[string]any{"uri": uri}).IsOK()
		}
		return s
	}
	if len(s.uris) > 0 {
		filter["resourceSubscriptions"] = s.uris
	}
	raw, err := jsonx.Marshal(filter)
	if err != nil {
		c.t.Fatal(err)
	}
	if s.sub, err = c.session.Subscribe(c.ctx, raw); err != nil {
		c.t.Fatalf("subscribe to %s: %v", strings.Join(what, ", "), err)
	}
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		_ = s.sub.Close(ctx)
	})
	return s
}

// Acknowledged is what the server honours, as JSON; nil in the legacy era.
func (s *Subscription) Acknowledged() []byte {
	if s.sub == nil {
		return nil
	}
	return s.sub.Acknowledged()
}

// Next asserts that a notification comes within the time, and gives it.
func (s *Subscription) Next(within time.Duration) *wire.Frame {
	s.c.t.Helper()
	if s.sub == nil {
		return s.nextLegacy(within)
	}
	ctx, cancel := context.WithTimeout(s.c.ctx, within)
	defer cancel()
	f, err := s.sub.Next(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.c.t.Errorf("no notification came within %s", within)
	case errors.Is(err, io.EOF):
		s.c.t.Errorf("the server ended the subscription")
	case err != nil:
		s.c.t.Errorf("the subscription broke: %v", err)
	}
	return f
}

func (s *Subscription) nextLegacy(within time.Duration) *wire.Frame {
	s.c.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		s.c.mu.Lock()
		for i := s.started; i < len(s.c.notes); i++ {
			f := s.c.notes[i]
			if subscribed[f.Message().Method] {
				s.started = i + 1
				s.c.mu.Unlock()
				return f
			}
		}
		if s.c.more == nil {
			s.c.more = make(chan struct{})
		}
		more := s.c.more
		s.c.mu.Unlock()
		select {
		case <-more:
		case <-deadline.C:
			s.c.t.Errorf("no notification of a change came within %s; there came %s", within, s.c.noted())
			return nil
		case <-s.c.ctx.Done():
			return nil
		}
	}
}

// subscribed are the notifications of changes.
var subscribed = map[string]bool{
	spec.NotificationToolsListChanged: true, spec.NotificationPromptsListChanged: true,
	spec.NotificationResourcesListChanged: true, spec.NotificationResourcesUpdated: true,
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if s.sub != nil {
		if err := s.sub.Close(ctx); err != nil {
			s.c.t.Errorf("end the subscription: %v", err)
		}
		return
	}
	for _, uri := range s.uris {
		s.c.Do(spec.MethodResourcesUnsubscribe, map[string]any{"uri": uri}).IsOK()
	}
}
