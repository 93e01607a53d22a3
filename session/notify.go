// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// notification keeps a notification and hands it to what it belongs to.
func (l *link) notification(on *call, f *wire.Frame, m *wire.Message) {
	l.facts.keep(f)
	if l.o.OnNotification != nil {
		l.o.OnNotification(f)
	}
	switch m.Method {
	case spec.NotificationCancelled:
		l.serverCancelled(m)
	case spec.NotificationProgress:
		if on == nil {
			on = l.byToken(m, f)
		}
	}
	if id := path(m.Params, spec.FieldMeta, spec.MetaSubscriptionID); id != nil && on == nil {
		on = l.byID(id)
	}
	l.mu.Lock()
	if on == nil && l.conn.Kind() == transport.Stdio && m.Method != spec.NotificationProgress {
		on = l.only()
	}
	var tell func(*wire.Frame)
	if on != nil && !on.finished {
		on.add(f)
		tell = on.notify
		if on.sub != nil {
			on.sub.arrived(f)
		}
		if on.renew != nil && m.Method == spec.NotificationProgress {
			on.renew()
		}
	}
	l.mu.Unlock()
	if tell != nil {
		tell(f)
	}
}

func (l *link) byToken(m *wire.Message, f *wire.Frame) *call {
	token := member(m.Params, spec.MetaProgressToken)
	if token == nil {
		return nil
	}
	key, _ := wire.KeyOf(token)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.tokens[key]
	if c == nil && len(l.all) == 0 {
		l.facts.note(ExtraNotification, "progress for a request that has ended", f)
	}
	return c
}

func (l *link) byID(id json.RawMessage) *call {
	key, ok := wire.KeyOf(id)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cs := l.calls[key]; len(cs) > 0 {
		return cs[0]
	}
	return nil
}

// post sends a text that gets no JSON-RPC answer, and over HTTP waits for its
// acceptance, so that what follows cannot overtake it.
func (l *link) post(ctx context.Context, text []byte, header []wire.HeaderField) error {
	c := newCall("", &wire.Exchange{})
	c.method = "notification"
	if err := l.register(c); err != nil {
		return err
	}
	err := l.send(ctx, c, transport.Outgoing{Raw: text, Header: header})
	if err != nil || l.conn.Kind() == transport.Stdio {
		l.abandon(c, err, fateAnswered)
		return err
	}
	limit := time.NewTimer(bound(l.o.Timeouts.Request))
	defer limit.Stop()
	select {
	case <-c.done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = &TimeoutError{Method: "HTTP response to a notification", After: l.o.Timeouts.Request}
	}
	l.mu.Lock()
	h, body, frame := c.head(), c.exchange.Body, c.response
	l.mu.Unlock()
	l.abandon(c, err, fateAnswered)
	switch {
	case err != nil:
		return err
	case h == nil:
		return c.err
	case succeeded(h):
		return nil
	}
	l.facts.note(RefusedPost, fmt.Sprintf("HTTP %d to a notification or an answer", h.Status), frame)
	if err := transport.StatusError(h, body); err != nil {
		return err
	}
	return &transport.Error{Reason: transport.BadStatus, Status: h.Status, Detail: fmt.Sprintf("HTTP %d to a notification", h.Status)}
}

// forever stands for no bound in a timer.
const forever = 1<<63 - 1

func bound(d time.Duration) time.Duration {
	if d <= 0 {
		return forever
	}
	return d
}

// cancelAt tells the server that nobody waits for the call any more: over
// modern HTTP by closing the stream, elsewhere by a notification. An
// initialize is never cancelled (basic/lifecycle).
func (l *link) cancelAt(c *call, why string) {
	l.mu.Lock()
	modern := l.revision.Era() == spec.Modern || c.method == spec.MethodDiscover
	channel, onChannel := c.channel, c.onChannel
	id := c.exchange.ID
	l.mu.Unlock()
	if l.http() && modern {
		if onChannel {
			l.conn.CloseChannel(channel)
		}
		return
	}
	if c.method == spec.MethodInitialize || c.method == spec.MethodDiscover || id == nil {
		return
	}
	params := `{"requestId":` + string(id) + `,"reason":` + string(jsonx.Quote(why)) + `}`
	text := notificationText(spec.NotificationCancelled, json.RawMessage(params))
	header := l.header(spec.NotificationCancelled, nil)
	sent := make(chan struct{})
	l.mu.Lock()
	l.parting[sent] = struct{}{}
	l.mu.Unlock()
	if !l.spawn(func() {
		ctx, done := context.WithTimeout(l.life, cancelPatience)
		defer done()
		_ = l.post(ctx, text, header)
		l.departed(sent)
	}) {
		l.departed(sent)
	}
}

func (l *link) departed(sent chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.parting, sent)
	close(sent)
}

// cancelPatience bounds the sending of a cancellation.
const cancelPatience = 2 * time.Second

// partingPatience is what cancellations get to be sent when the link closes:
// little, since whoever interrupts is waiting.
const partingPatience = 300 * time.Millisecond

// part lets cancellations that are being sent arrive.
func (l *link) part() {
	l.mu.Lock()
	under := slices.Collect(maps.Keys(l.parting))
	l.mu.Unlock()
	t := time.NewTimer(partingPatience)
	defer t.Stop()
	for _, sent := range under {
		select {
		case <-sent:
		case <-t.C:
			return
		}
	}
}

// Notify sends a notification. Over HTTP it waits for its acceptance; a
// refusal is an error of type *transport.Error.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.link.post(ctx, notificationText(method, params), s.link.header(method, params))
}
