// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// noNotification is a notification that nobody knows.
const noNotification = "notifications/mcprove/no-such-notification"

// notifyUnknown sends a notification and then a request. Over stdio that is on
// a process of its own, so that what comes before the answer to the request can
// have but one cause.
func notifyUnknown(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	conn, ok := own(c, good)
	if !ok {
		return
	}
	note := c.Probe().Notification(noNotification).Planting("a notification that nobody knows")
	if !c.Probe().OneStream() {
		c.Send(note)
		return
	}
	before := len(conn.Lines())
	c.Start(conn, note).Until(c.Probe().Quiet(), func(*probe.Exchange) bool { return len(conn.Lines()) > before })
	c.SendOn(conn, good)
}

// notificationNoResponse looks at what came for notifications. Over HTTP the
// response says whose it is, and may refuse by a status with an error in it
// (2026-07-28/basic/transports/streamable-http#sending-messages). Over stdio an
// answer that no request asked for is one to a notification, where one was
// sent and nothing else that may be answered without an id.
func notificationNoResponse(c *probe.Case, t *probe.Traffic) {
	surplus := map[int][]probe.Received{}
	for _, x := range t.Exchanges {
		if x.Sent == nil || x.Sent.Message().Kind != wire.Notification || x.Err != nil && x.Head == nil && !t.Stdio() {
			continue
		}
		if !t.Stdio() {
			switch i := slices.IndexFunc(x.Frames, isResponse); {
			case i >= 0 && x.Status() < http.StatusBadRequest:
				c.Fail(x, "the notification %s was answered by HTTP %d with a JSON-RPC %s", x.Method, x.Status(), x.Frames[i].Message().Kind).In(x.Frames[i], "")
			case x.Head != nil:
				c.Pass(x)
			}
			continue
		}
		found, known := surplus[x.Conn]
		if !known {
			found = surplusAnswers(t, x.Conn)
			surplus[x.Conn] = found
		}
		if len(found) > 0 {
			r := found[0]
			c.Fail(x, "after the notification %s came an answer that no request asked for: %s under the id %.60s",
				x.Method, briefly(r.Message()), shownID(r.Message())).And(r.Exchange).In(r.Frame, "")
			return
		}
		c.Pass(x)
	}
	c.Unseen("no notification was sent")
}

func isResponse(f *wire.Frame) bool { return f.Message().IsResponse() }

// briefly is a response in a few words.
func briefly(m *wire.Message) string {
	if m.Error != nil {
		return "an error, " + clipped(m.Error.Message) + ","
	}
	return "a result"
}

func clipped(s string) string {
	const most = 60
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

// surplusAnswers are the errors on a stdio connection that answer no request:
// those of nobody, and a second one where the first was the right answer.
func surplusAnswers(t *probe.Traffic, conn int) []probe.Received {
	if sentUnreadable(t, conn) || len(unanswered(t, conn)) > 0 {
		return nil
	}
	var out []probe.Received
	ids := askedIDs(t, conn)
	for _, s := range t.Stray {
		m := s.Frame.Message()
		if key, ok := m.Key(); s.Conn == conn && m.Kind == wire.ErrorResponse && (!ok || !ids[key]) {
			out = append(out, probe.Received{Frame: s.Frame})
		}
	}
	for _, x := range t.Exchanges {
		if x.Conn != conn || len(x.Extra) == 0 {
			continue
		}
		for _, f := range append([]*wire.Frame{x.Response}, x.Extra...) {
			_, keyed := f.Message().Key()
			if f.Message().Error != nil && (!keyed || refusesMethod(f.Message()) && !x.Is(spec.CodeMethodNotFound)) {
				out = append(out, probe.Received{Frame: f, Exchange: x})
			}
		}
	}
	return out
}

// unanswered are the good requests on a connection that nothing came for.
func unanswered(t *probe.Traffic, conn int) []*probe.Exchange {
	var out []*probe.Exchange
	for _, x := range t.Exchanges {
		sent, ok := sentRequest(x)
		if x.Conn == conn && ok && len(sent.Faults) == 0 && x.Response == nil && !x.Cancelled {
			out = append(out, x)
		}
	}
	return out
}

// refusesMethod reports whether a message is the error that a server without a
// handler for a notification makes.
func refusesMethod(m *wire.Message) bool {
	return m.Error != nil && (m.Error.Code == spec.CodeMethodNotFound || m.Error.Code == spec.CodeInvalidRequest)
}

// sendBatch sends two good requests in an array.
func sendBatch(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	conn, ok := own(c, good)
	if !ok {
		return
	}
	one, two := string(good.Encode([]byte("990001"))), string(good.Encode([]byte("990002")))
	refusal(c, c.Start(conn, good.Text("["+one+","+two+"]").Planting("an array of messages")))
}

func noBatch(c *probe.Case, t *probe.Traffic) {
	sent := func(x *probe.Exchange, f *wire.Frame) {
		if n := len(f.Message().Batch()); x != nil && isBatch(x) {
			c.Fail(x, "an array of requests was answered by an array of %d messages", n).In(f, "")
		} else {
			c.Fail(x, "the server sent an array of %d messages", n).In(f, "")
		}
	}
	for _, r := range t.Messages() {
		if m := r.Message(); m.Kind == wire.Batch && r.Exchange != nil {
			sent(r.Exchange, r.Frame)
			continue
		}
		c.Pass(r.Exchange)
	}
	for _, s := range t.Stray {
		if m := s.Frame.Message(); m.Kind == wire.Batch {
			sent(batchOn(t, s.Conn), s.Frame)
		}
	}
	for _, x := range t.Exchanges {
		if !isBatch(x) {
			continue
		}
		if n := batchResults(t, x); n > 0 {
			c.Fail(x, "an array of %d requests was executed: %d results came", len(x.Sent.Message().Batch()), n)
			continue
		}
		c.Pass(x)
	}
	c.Unseen("the server sent no message")
}

func isBatch(x *probe.Exchange) bool { return x.Sent != nil && x.Sent.Message().Kind == wire.Batch }

// batchOn is the batch that was sent on a connection, nil without one.
func batchOn(t *probe.Traffic, conn int) *probe.Exchange {
	i := slices.IndexFunc(t.Exchanges, func(x *probe.Exchange) bool { return x.Conn == conn && isBatch(x) })
	if i < 0 {
		return nil
	}
	return t.Exchanges[i]
}

// batchResults counts the results that came for the messages of a batch.
func batchResults(t *probe.Traffic, x *probe.Exchange) int {
	ids := map[wire.IDKey]bool{}
	for _, m := range x.Sent.Message().Batch() {
		if key, ok := m.Key(); ok {
			ids[key] = true
		}
	}
	frames := x.Frames
	if t.Stdio() {
		frames = t.Lines[x.Conn]
	}
	n := 0
	for _, f := range frames {
		m := f.Message()
		if key, ok := m.Key(); m.Kind == wire.Response && ok && ids[key] {
			n++
		}
	}
	return n
}
