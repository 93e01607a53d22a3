// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Format is the version of the JSON Lines that are written and read.
const Format = 1

// first is the first line of a file.
type first struct {
	Format  int    `json:"format"`
	Type    string `json:"type"`
	Dropped int    `json:"dropped"` // entries that are missing at the beginning
}

const fileType = "mcprove recording"

// line is one thing that was seen. The members down to Reason are what is read
// back; those behind it say what was found out from them, for people and jq.
type line struct {
	Seq     int    `json:"seq"`
	Time    string `json:"time"` // RFC 3339, UTC
	Conn    int    `json:"conn"`
	Channel uint64 `json:"channel,omitzero"`
	Event   string `json:"event"`
	Dir     string `json:"dir,omitzero"`
	// Text is a JSON-RPC text, or what stood in its place. It is not written
	// where it is the data of SSE.
	Text json.RawMessage `json:"text,omitzero"` // like every text of foreign bytes: a string, or {"base64":"..."}
	SSE  json.RawMessage `json:"sse,omitzero"`  // the block with everything around its data
	// LastID is the stream's last event id after the block, where the block
	// does not say.
	LastID json.RawMessage `json:"lastId,omitzero"`
	Line   *lineOf         `json:"line,omitzero"`
	Head   int             `json:"head,omitzero"` // the seq of the HTTP head that carried it
	HTTP   *httpHead       `json:"http,omitzero"`
	Body   json.RawMessage `json:"body,omitzero"`
	Size   int64           `json:"bodySize,omitzero"`
	Of     int             `json:"of,omitzero"` // unsent: the seq of what was to be sent
	Target string          `json:"target,omitzero"`
	Error  string          `json:"error,omitzero"`
	Reason string          `json:"reason,omitzero"`

	Kind        string          `json:"kind,omitzero"`
	Method      string          `json:"method,omitzero"`
	ID          json.RawMessage `json:"id,omitzero"`
	Answers     int             `json:"answers,omitzero"`
	LatencyMS   *float64        `json:"latencyMs,omitzero"`
	Repeated    bool            `json:"repeated,omitzero"`
	Cancelled   bool            `json:"cancelled,omitzero"`
	AfterCancel bool            `json:"afterCancel,omitzero"`
}

// lineOf is what is known of a line of a stream.
type lineOf struct {
	N      int      `json:"n"`
	End    string   `json:"end"` // lf, crlf or none
	Size   int64    `json:"size"`
	Faults []string `json:"faults,omitempty"`
}

// httpHead is the head of an HTTP message.
type httpHead struct {
	Time   string     `json:"time,omitzero"` // where it is not the line's
	Method string     `json:"method,omitzero"`
	URL    string     `json:"url,omitzero"`
	Status int        `json:"status,omitzero"`
	Reason string     `json:"reason,omitzero"`
	Proto  string     `json:"proto,omitzero"`
	Exact  bool       `json:"exact,omitzero"`
	Header []httpLine `json:"header"`
}

type httpLine struct {
	Name  json.RawMessage `json:"name"`
	Value json.RawMessage `json:"value"`
}

// events names the kinds of entries in files.
var events = map[transport.EventKind]string{
	transport.EventFrame: "frame", transport.EventHead: "head", transport.EventBody: "body", transport.EventSSE: "sse",
	transport.EventClosed: "closed", transport.EventLost: "lost", transport.EventUnsent: "unsent",
	transport.EventLeft: "left", transport.EventLeaving: "leaving", kindOpening: "opening", kindOpenFailed: "open-failed",
}

var terminators = map[wire.Terminator]string{wire.NoTerminator: "none", wire.LF: "lf", wire.CRLF: "crlf"}

// WriteJSONL writes the recording as JSON Lines, without secrets: a line that
// names the format, then a line for each thing that was seen. Texts stand in it
// as they crossed: as a string where they are UTF-8, else as
// {"base64":"..."}; what cannot be seen is escaped. [Read] reads it back.
func (r *Recording) WriteJSONL(w io.Writer) error {
	b := bufio.NewWriter(w)
	put := func(v any) error {
		raw, err := jsonx.Marshal(v)
		if err != nil {
			return fmt.Errorf("write recording: %w", err)
		}
		_, _ = b.Write(text.JSON(raw))
		return b.WriteByte('\n')
	}
	if err := put(first{Format, fileType, r.Dropped}); err != nil {
		return err
	}
	x := r.writer()
	for i := range r.entries {
		if err := put(x.line(&r.entries[i])); err != nil {
			return err
		}
	}
	return b.Flush()
}

// writer turns entries into lines.
type writer struct {
	red    *redactor
	begin  time.Time       // of the first entry
	of     map[int]*Record // the record of an entry, of a batch the first
	heads  map[*wire.Head]int
	frames map[*wire.Frame]int
}

func (r *Recording) writer() *writer {
	x := &writer{red: newRedactor(r.redact), of: map[int]*Record{}, heads: map[*wire.Head]int{}, frames: map[*wire.Frame]int{}}
	x.red.learn(r.entries)
	if len(r.entries) > 0 {
		x.begin = r.entries[0].at
	}
	for i := range r.records {
		if rec := &r.records[i]; rec.Part == 0 {
			x.of[rec.Seq] = rec
		}
	}
	return x
}

// time is a moment as it is written. Those of a live recording are told from
// the first on, so that a clock that is set does not change what lies between.
func (x *writer) time(at time.Time) string {
	if told := x.begin.Round(0).Add(at.Sub(x.begin)); told.Sub(at).Abs() < maxClockSet {
		at = told
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// maxClockSet is how far a clock is set in a recording; what is farther away
// was no moment of it.
const maxClockSet = 24 * time.Hour

func (x *writer) line(n *entry) line {
	l := line{
		Seq: n.seq, Time: x.time(n.at), Conn: n.conn, Channel: uint64(n.channel),
		Event: events[n.kind], Target: x.text(n.target), Size: n.size,
	}
	if n.err != nil {
		l.Error, l.Reason = x.text(n.err.Error()), string(transport.ReasonOf(n.err))
	}
	switch n.kind {
	case transport.EventFrame:
		x.frame(&l, n.frame, n.line)
	case transport.EventHead:
		if l.Dir = wire.ToClient.String(); n.sent {
			l.Dir = wire.ToServer.String()
		}
		if n.head != nil {
			x.heads[n.head] = n.seq
			l.HTTP = x.http(&l, n.head)
		}
	case transport.EventBody:
		x.head(&l, n.head)
		l.Body = exact(x.red.JSON(n.body))
	case transport.EventSSE:
		x.head(&l, n.head)
		if n.sse != nil {
			l.SSE = exact(x.block(n.sse))
			x.lastID(&l, n.sse)
		}
	case transport.EventUnsent:
		if n.unsent != nil {
			x.unsent(&l, n.unsent)
		}
	}
	if rec := x.of[n.seq]; rec != nil {
		x.found(&l, rec)
	}
	return l
}

// found adds what was found out.
func (x *writer) found(l *line, r *Record) {
	l.Kind, l.Method, l.Answers = r.Kind.String(), x.text(r.Method), r.Answers
	l.Repeated, l.Cancelled, l.AfterCancel = r.Repeated, r.Cancelled, r.AfterCancel
	if r.ID != nil && jsonx.Check(r.ID, jsonx.Strict) == nil {
		l.ID = x.red.JSON(r.ID)
	}
	if r.Timed() {
		ms := float64(r.Latency) / float64(time.Millisecond)
		l.LatencyMS = &ms
	}
	if l.Error == "" {
		l.Error, l.Reason = x.text(r.Err), string(r.Reason)
	}
}

func (x *writer) frame(l *line, f *wire.Frame, n int) {
	l.Dir = f.Dir.String()
	raw := x.red.JSON(f.Raw)
	if f.Event != nil {
		l.SSE = exact(x.block(f.Event))
		x.lastID(l, f.Event)
		if again := blockOf(x.block(f.Event), ""); again == nil || string(again.Data) != string(raw) {
			l.Text = exact(raw)
		}
	} else {
		l.Text = exact(raw)
	}
	if f.Line != nil {
		l.Line = &lineOf{N: n, End: terminators[f.Line.Terminator], Size: f.Line.Size}
		for _, fault := range f.Line.Faults {
			l.Line.Faults = append(l.Line.Faults, string(fault.Code))
		}
	}
	x.head(l, f.HTTP)
	x.frames[f] = l.Seq
}

// head says which head carried something: one that has a line, or its own.
func (x *writer) head(l *line, h *wire.Head) {
	if h == nil {
		return
	}
	if l.Head = x.heads[h]; l.Head == 0 {
		l.HTTP = x.http(l, h)
		x.heads[h] = l.Seq
	}
}

func (x *writer) unsent(l *line, s *transport.Sent) {
	switch {
	case s.Frame != nil:
		if l.Of = x.frames[s.Frame]; l.Of == 0 {
			x.frame(l, s.Frame, 0)
		}
	case s.Head != nil:
		if l.Of = x.heads[s.Head]; l.Of == 0 {
			l.HTTP = x.http(l, s.Head)
		}
	}
}

func (x *writer) http(l *line, h *wire.Head) *httpHead {
	out := &httpHead{
		Method: x.text(h.Method), Status: h.Status, Reason: x.text(h.Reason), Proto: x.text(h.Proto), Exact: h.Exact,
		Header: make([]httpLine, 0, len(h.Header)),
	}
	if at := x.time(h.Time); at != l.Time {
		out.Time = at
	}
	if h.URL != "" {
		out.URL = valid(x.red.url(h.URL))
	}
	for _, f := range h.Header {
		f = x.red.field(f)
		out.Header = append(out.Header, httpLine{exact([]byte(f.Name)), exact([]byte(f.Value))})
	}
	return out
}

// block is an SSE block without secrets, the same bytes where none was in it.
func (x *writer) block(e *wire.Event) []byte {
	data := x.red.JSON(e.Data)
	raw := x.red.String(string(e.Raw))
	if string(data) == string(e.Data) && raw == string(e.Raw) {
		return e.Raw
	}
	var b strings.Builder
	if e.Type != "" {
		b.WriteString("event: " + x.red.String(e.Type) + "\n")
	}
	if e.HasID {
		b.WriteString("id: " + x.red.String(e.ID) + "\n")
	}
	if e.HasData {
		for part := range strings.SplitSeq(string(data), "\n") {
			b.WriteString("data: " + part + "\n")
		}
	} else {
		b.WriteString(": " + oneLine(x.red.String(string(e.Raw))) + "\n")
	}
	if e.Complete {
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// oneLine is a text on one line.
func oneLine(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func (x *writer) lastID(l *line, e *wire.Event) {
	if e.LastID != "" && !(e.HasID && e.Complete && e.ID == e.LastID) {
		l.LastID = exact([]byte(x.red.String(e.LastID)))
	}
}

// text is words of ours or of the server, which need not be exact.
func (x *writer) text(s string) string {
	if s == "" {
		return s
	}
	return valid(x.red.String(s))
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// inBase64 is a text that is no UTF-8.
type inBase64 struct {
	Base64 string `json:"base64"`
}

// exact is foreign bytes as JSON.
func exact(b []byte) json.RawMessage {
	if utf8.Valid(b) {
		return json.RawMessage(jsonx.Quote(string(b)))
	}
	raw, _ := jsonx.Marshal(inBase64{base64.StdEncoding.EncodeToString(b)}) // of a string it cannot fail
	return raw
}
