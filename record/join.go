// SPDX-License-Identifier: Apache-2.0

package record

import (
	"net/url"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// join makes records of entries: it finds the request of each answer, by id,
// direction and connection.
type join struct {
	records []Record
	asked   map[address]*queue
	on      map[flow][]*question // those that the client sent by an HTTP request of their own
	heads   map[flow]*wire.Head  // the request of each exchange
	carries map[*wire.Head]bool  // heads that carry something that has a record
	shown   map[any]int          // the record of a frame or head, where some could not be sent; else nil
	opening map[int]int          // the record of the opening of a connection
	urls    map[string]string    // without secrets
}

// address is where the request of an answer is looked for: first on the
// answer's own channel, then, with channel Main, on the whole connection.
type address struct {
	flow
	dir wire.Direction // of the request
	key wire.IDKey
}

// queue is the requests of one id. Nothing in it is looked at twice, or a
// server that uses one id for everything would cost the square of its length.
type queue struct {
	list      []*question
	head      int // those before it are answered
	cancelled int // those before it are cancelled, or answered
}

// next is the first that is not answered, or else the last that is.
func (q *queue) next() *question {
	if q == nil {
		return nil
	}
	for q.head < len(q.list)-1 && q.list[q.head].answered {
		q.head++
	}
	return q.list[q.head]
}

// flow is one channel of one connection.
type flow struct {
	conn    int
	channel transport.Channel
}

func joined(entries []entry, before []*question) []Record {
	j := &join{
		records: make([]Record, 0, len(entries)),
		asked:   map[address]*queue{}, on: map[flow][]*question{}, heads: map[flow]*wire.Head{},
		carries: map[*wire.Head]bool{}, opening: map[int]int{}, urls: map[string]string{},
	}
	for _, q := range before {
		j.ask(q)
	}
	for i := range entries {
		switch n := &entries[i]; {
		case n.kind == transport.EventFrame && n.frame.HTTP != nil:
			j.carries[n.frame.HTTP] = true
		case n.kind == transport.EventBody && n.head != nil:
			j.carries[n.head] = true
		case n.kind == transport.EventUnsent:
			j.shown = map[any]int{}
		}
	}
	for i := range entries {
		j.take(&entries[i])
	}
	return j.records
}

func (j *join) take(n *entry) {
	at := flow{n.conn, n.channel}
	r := Record{Seq: n.seq, Time: n.at, Conn: n.conn, Channel: n.channel}
	switch n.kind {
	case transport.EventFrame:
		j.frame(r, n)
	case transport.EventHead:
		if r.Kind, r.Dir = HTTPResponse, wire.ToClient; n.sent {
			r.Kind, r.Dir = HTTPRequest, wire.ToServer
			j.heads[at] = n.head
		}
		if j.carries[n.head] {
			return
		}
		r.HTTP = j.http(at, n.head)
		j.show(n.head)
		j.add(r)
	case transport.EventBody:
		r.Kind, r.Dir, r.Body, r.Size, r.HTTP = Body, wire.ToClient, n.body, int(n.size), j.http(at, n.head)
		j.add(r)
	case transport.EventSSE:
		r.Kind, r.Dir, r.Event, r.HTTP = Block, wire.ToClient, n.sse, j.http(at, n.head)
		if n.sse != nil {
			r.Size, r.EventID = len(n.sse.Raw), n.sse.ID
		}
		j.add(r)
	case transport.EventClosed:
		if n.err != nil && transport.ReasonOf(n.err) != transport.Closed {
			r.Kind = Broken
			j.failed(r, n.err)
		}
	case transport.EventLost:
		r.Kind = Lost
		j.failed(r, n.err)
	case transport.EventLeft:
		r.Kind = Left
		j.leave(at)
		j.add(r)
	case transport.EventLeaving:
		r.Kind = Closed
		j.add(r)
	case transport.EventUnsent:
		j.unsent(r, n)
	case kindOpening:
		r.Kind, r.Target = Opened, n.target
		j.opening[n.conn] = len(j.records)
		j.add(r)
	case kindOpenFailed:
		r.Kind, r.Target = OpenFailed, n.target
		if i, ok := j.opening[n.conn]; ok { // one thing, one record
			fail(&j.records[i], OpenFailed, n.err)
			return
		}
		j.failed(r, n.err)
	}
}

func (j *join) add(r Record) { j.records = append(j.records, r) }

// show notes that the next record is that of a frame or head.
func (j *join) show(what any) {
	if j.shown != nil {
		j.shown[what] = len(j.records)
	}
}

func (j *join) failed(r Record, err error) {
	fail(&r, r.Kind, err)
	j.add(r)
}

func fail(r *Record, kind Kind, err error) {
	r.Kind = kind
	if err != nil {
		r.Err, r.Reason = err.Error(), transport.ReasonOf(err)
	}
}

// frame makes the record of a text, and those of the messages of a batch.
func (j *join) frame(r Record, n *entry) {
	f := n.frame
	r.Dir, r.Frame, r.Size, r.Line = f.Dir, f, len(f.Raw), n.line
	if f.HTTP != nil {
		r.HTTP = j.http(flow{n.conn, n.channel}, f.HTTP)
	}
	if f.Event != nil {
		r.EventID = f.Event.ID
	}
	j.show(f)
	m := f.Message()
	j.message(r, n, m)
	for i, part := range m.Batch() {
		p := r
		p.Part, p.Size, p.msg = i+1, len(part.Raw), part
		j.message(p, n, part)
	}
}

var kindOf = [...]Kind{
	wire.Invalid: Noise, wire.Request: Request, wire.Notification: Notification,
	wire.Response: Response, wire.ErrorResponse: ErrorResponse, wire.Batch: Batch,
}

func (j *join) message(r Record, n *entry, m *wire.Message) {
	r.Kind, r.Method, r.ID = kindOf[m.Kind], m.Method, m.ID
	switch {
	case m.Kind == wire.Request:
		key, _ := m.Key()
		q := ask(n, m, key)
		q.record = len(j.records)
		j.ask(q)
	case m.Kind == wire.Notification && m.Method == spec.NotificationCancelled:
		j.cancel(n, m)
	case m.IsResponse():
		j.answer(&r, m)
	}
	j.add(r)
}

func (j *join) ask(q *question) {
	at := flow{q.conn, q.channel}
	j.queue(flow{conn: q.conn}, q)
	if q.channel == transport.Main {
		return
	}
	j.queue(at, q)
	if q.dir == wire.ToServer {
		j.on[at] = append(j.on[at], q)
	}
}

func (j *join) queue(at flow, q *question) {
	to := address{at, q.dir, q.key}
	if j.asked[to] == nil {
		j.asked[to] = &queue{}
	}
	j.asked[to].list = append(j.asked[to].list, q)
}

func (j *join) answer(r *Record, m *wire.Message) {
	q := j.question(r, m)
	if q == nil {
		return
	}
	r.Method, r.Answers = q.method, q.seq
	r.Repeated = q.answered
	r.AfterCancel = q.cancelled || q.left && (q.modern || q.channel == r.Channel)
	if q.answered {
		return
	}
	q.answered = true
	r.Latency = max(0, r.Time.Sub(q.at))
	if q.record >= 0 {
		j.records[q.record].Answered = true
		r.request = q.record + 1
	}
}

// question is the request that an answer belongs to, nil for none. On an HTTP
// request of its own that one is meant; elsewhere the first that has no answer
// yet, and else the last that has one.
func (j *join) question(r *Record, m *wire.Message) *question {
	at := flow{r.Conn, r.Channel}
	dir := wire.ToServer
	if r.Dir == wire.ToServer {
		dir = wire.ToClient
	}
	if m.ID == nil || jsonx.KindOf(m.ID) == jsonx.Null {
		// An error may not know the id of what it refuses: then it is that of
		// the one request which it answers.
		if on := j.on[at]; len(on) == 1 && m.Kind == wire.ErrorResponse && dir == wire.ToServer {
			return on[0]
		}
		return nil
	}
	key, _ := m.Key()
	if own := j.asked[address{at, dir, key}]; own != nil {
		return own.next()
	}
	return j.asked[address{flow{conn: r.Conn}, dir, key}].next()
}

// cancel marks the requests that a notification cancels.
func (j *join) cancel(n *entry, m *wire.Message) {
	id, err := jsonx.Lookup(m.Params, "/requestId")
	if err != nil {
		return
	}
	key, _ := wire.KeyOf(id)
	all := j.asked[address{flow{conn: n.conn}, n.frame.Dir, key}]
	if all == nil {
		return
	}
	for ; all.cancelled < len(all.list); all.cancelled++ {
		if q := all.list[all.cancelled]; !q.answered {
			q.cancelled = true
			j.cancelled(q)
		}
	}
}

func (j *join) cancelled(q *question) {
	if q.record >= 0 {
		j.records[q.record].Cancelled = true
	}
}

// leave marks the requests whose stream the client closed.
func (j *join) leave(at flow) {
	for _, q := range j.on[at] {
		if !q.answered {
			q.left = true
			if q.modern {
				j.cancelled(q)
			}
		}
	}
}

// unsent makes the record of what was to be sent that of a failure.
func (j *join) unsent(r Record, n *entry) {
	var what transport.Sent
	if n.unsent != nil {
		what = *n.unsent
	}
	var shown any = what.Head
	if what.Frame != nil {
		shown = what.Frame
	}
	if i, ok := j.shown[shown]; ok {
		for seq := j.records[i].Seq; i < len(j.records) && j.records[i].Seq == seq; i++ {
			fail(&j.records[i], FailedSend, n.err)
		}
		return
	}
	r.Dir = wire.ToServer
	if f := what.Frame; f != nil {
		m := f.Message()
		r.Dir, r.Frame, r.Size, r.Method, r.ID = f.Dir, f, len(f.Raw), m.Method, m.ID
	}
	if what.Head != nil {
		r.HTTP = j.http(flow{n.conn, n.channel}, what.Head)
	}
	r.Kind = FailedSend
	j.failed(r, n.err)
}

// http is what is known of an HTTP message.
func (j *join) http(at flow, h *wire.Head) *HTTP {
	if h == nil {
		return nil
	}
	x := &HTTP{Method: h.Method, Status: h.Status, Head: h}
	raw := h.URL
	if asked := j.heads[at]; h.Method == "" && asked != nil {
		x.Method, raw = asked.Method, asked.URL
	}
	safe, ok := j.urls[raw]
	if !ok {
		safe = safeURL(raw)
		j.urls[raw] = safe
	}
	x.URL = safe
	return x
}

// safeURL is a URL without user information, query and fragment.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}
