// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// maxFile is the largest file that is read.
const maxFile = 512 << 20

// Read reads a recording that WriteJSONL wrote. What was found out is found out
// again from what was seen. The path is for errors alone, which name the line:
// "path:line:column: ...".
func Read(path string, data []byte) (*Recording, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: a recording of %d bytes: more than %d are not read", path, len(data), maxFile)
	}
	rd := reader{frames: map[int]*wire.Frame{}, heads: map[int]*wire.Head{}}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		var err error
		if n == 1 {
			err = rd.first(text)
		} else {
			err = rd.line(text)
		}
		if err != nil {
			col := int64(0)
			var syn *jsonx.SyntaxError
			if errors.As(err, &syn) {
				col = syn.Offset
			}
			return nil, fmt.Errorf("%s:%d:%d: %w", path, n, col+1, err)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("%s: the file is empty: no recording", path)
	}
	return newRecording(rd.entries, nil, rd.dropped, Redaction{}), nil
}

// reader turns lines into entries.
type reader struct {
	dropped int
	entries []entry
	frames  map[int]*wire.Frame // by seq
	heads   map[int]*wire.Head
}

var errNoRecording = errors.New(`no recording of mcprove: the first line is to be {"format":1,"type":"` + fileType + `",...}`)

func (rd *reader) first(text []byte) error {
	var f first
	if err := jsonx.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%w: %w", errNoRecording, err)
	}
	switch {
	case f.Type != fileType:
		return errNoRecording
	case f.Format != Format:
		return fmt.Errorf("a recording of format %d: this version reads format %d", f.Format, Format)
	case f.Dropped < 0:
		return errors.New("dropped is below zero")
	}
	rd.dropped = f.Dropped
	return nil
}

func (rd *reader) line(text []byte) error {
	var l line
	if err := jsonx.Unmarshal(text, &l); err != nil {
		return err
	}
	n := entry{
		seq: l.Seq, conn: l.Conn, channel: transport.Channel(l.Channel), size: l.Size, target: l.Target,
	}
	if len(rd.entries) > 0 && n.seq <= rd.entries[len(rd.entries)-1].seq || n.seq < 1 {
		return fmt.Errorf("seq %d does not follow the line before", n.seq)
	}
	if n.conn < 1 || n.size < 0 {
		return errors.New("conn is below one, or bodySize below zero")
	}
	var err error
	if n.at, err = moment(l.Time); err != nil {
		return err
	}
	if n.kind, err = key(events, l.Event, "event"); err != nil {
		return err
	}
	if l.Error != "" || l.Reason != "" {
		n.err = &transport.Error{Reason: transport.Reason(l.Reason), Detail: l.Error}
	}
	if err := rd.fill(&n, &l); err != nil {
		return err
	}
	rd.entries = append(rd.entries, n)
	return nil
}

func moment(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if y := at.UTC().Year(); err != nil || y < 1 || y > 9999 {
		return at, fmt.Errorf("time %.40q is not of RFC 3339", s)
	}
	return at, nil
}

// key is the key of a value in a table.
func key[K comparable](table map[K]string, value, what string) (K, error) {
	for k, v := range table {
		if v == value {
			return k, nil
		}
	}
	var zero K
	return zero, fmt.Errorf("%s %.40q is not known", what, value)
}

func (rd *reader) fill(n *entry, l *line) error {
	var err error
	switch n.kind {
	case transport.EventFrame:
		n.err = nil // it is that of the failure, which has a line of its own
		if n.frame, err = rd.frame(n, l); err != nil {
			return err
		}
		n.head, n.line = n.frame.HTTP, lineNumber(l)
		n.sent = n.frame.Dir == wire.ToServer
		rd.frames[n.seq] = n.frame
	case transport.EventHead:
		dir, err := direction(l)
		if err != nil {
			return err
		}
		n.err = nil
		n.sent = dir == wire.ToServer
		if l.HTTP == nil {
			return errors.New("a head without http")
		}
		n.head, err = rd.head(n, l, dir)
		return err
	case transport.EventBody:
		if n.head, err = rd.head(n, l, wire.ToClient); err != nil {
			return err
		}
		n.body, err = foreign(l.Body, "body")
	case transport.EventSSE:
		if n.head, err = rd.head(n, l, wire.ToClient); err != nil {
			return err
		}
		n.sse, err = rd.block(l)
	case transport.EventUnsent:
		n.unsent, err = rd.unsent(n, l)
	case kindOpening:
		n.err = nil
	}
	return err
}

func (rd *reader) frame(n *entry, l *line) (*wire.Frame, error) {
	dir, err := direction(l)
	if err != nil {
		return nil, err
	}
	f := &wire.Frame{Time: n.at, Dir: dir}
	if f.HTTP, err = rd.head(n, l, dir); err != nil {
		return nil, err
	}
	if l.Line != nil {
		if f.Line, err = l.Line.read(); err != nil {
			return nil, err
		}
	}
	if l.SSE != nil {
		if f.Event, err = rd.block(l); err != nil {
			return nil, err
		}
		f.Raw = f.Event.Data
	}
	if l.Text != nil || l.SSE == nil {
		f.Raw, err = foreign(l.Text, "text")
	}
	return f, err
}

func lineNumber(l *line) int {
	if l.Line == nil {
		return 0
	}
	return l.Line.N
}

func (o *lineOf) read() (*wire.Line, error) {
	end, err := key(terminators, o.End, "line end")
	if err != nil {
		return nil, err
	}
	if o.N < 0 || o.Size < 0 {
		return nil, errors.New("the number or size of a line is below zero")
	}
	x := &wire.Line{Terminator: end, Size: o.Size}
	for _, code := range o.Faults {
		x.Faults = append(x.Faults, wire.Fault{Code: wire.FaultCode(code)})
	}
	return x, nil
}

func direction(l *line) (wire.Direction, error) {
	for _, d := range []wire.Direction{wire.ToServer, wire.ToClient} {
		if l.Dir == d.String() {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dir %.40q is neither %s nor %s", l.Dir, wire.ToServer, wire.ToClient)
}

// head is the head that a line refers to, or has; nil for neither.
func (rd *reader) head(n *entry, l *line, dir wire.Direction) (*wire.Head, error) {
	if l.Head != 0 {
		h := rd.heads[l.Head]
		if h == nil {
			return nil, fmt.Errorf("head %d is of no line before", l.Head)
		}
		return h, nil
	}
	if l.HTTP == nil {
		return nil, nil
	}
	h := &wire.Head{
		Time: n.at, Dir: dir, Method: l.HTTP.Method, URL: l.HTTP.URL, Status: l.HTTP.Status, Reason: l.HTTP.Reason,
		Proto: l.HTTP.Proto, Exact: l.HTTP.Exact, Header: make([]wire.HeaderField, 0, len(l.HTTP.Header)),
	}
	if l.HTTP.Time != "" {
		at, err := moment(l.HTTP.Time)
		if err != nil {
			return nil, err
		}
		h.Time = at
	}
	for _, f := range l.HTTP.Header {
		name, err := foreign(f.Name, "the name of a header")
		if err != nil {
			return nil, err
		}
		value, err := foreign(f.Value, "the value of a header")
		if err != nil {
			return nil, err
		}
		h.Header = append(h.Header, wire.HeaderField{Name: string(name), Value: string(value)})
	}
	rd.heads[n.seq] = h
	return h, nil
}

func (rd *reader) block(l *line) (*wire.Event, error) {
	raw, err := foreign(l.SSE, "sse")
	if err != nil {
		return nil, err
	}
	last := ""
	if l.LastID != nil {
		b, err := foreign(l.LastID, "lastId")
		if err != nil {
			return nil, err
		}
		last = string(b)
	}
	e := blockOf(raw, last)
	if e == nil {
		return nil, errors.New("sse is no block of an event stream")
	}
	return e, nil
}

// blockOf reads one block; last is the stream's last id where it does not give
// one itself.
func blockOf(raw []byte, last string) *wire.Event {
	s := wire.NewEvents(bytes.NewReader(raw), 0)
	e, err := s.Next()
	if err != nil {
		return nil
	}
	if last != "" {
		e.LastID = last
	}
	if !bytes.Equal(e.Raw, raw) { // more than one, of which the rest is kept too
		e.Raw = slices.Clone(raw)
	}
	return e
}

func (rd *reader) unsent(n *entry, l *line) (*transport.Sent, error) {
	s := &transport.Sent{Channel: n.channel}
	switch {
	case l.Of != 0:
		if s.Frame = rd.frames[l.Of]; s.Frame != nil {
			s.Head = s.Frame.HTTP
			return s, nil
		}
		if s.Head = rd.heads[l.Of]; s.Head == nil {
			return nil, fmt.Errorf("of %d is of no line before", l.Of)
		}
		return s, nil
	case l.Text != nil:
		f, err := rd.frame(n, l)
		if err != nil {
			return nil, err
		}
		s.Frame, s.Head = f, f.HTTP
		return s, nil
	}
	h, err := rd.head(n, l, wire.ToServer)
	s.Head = h
	return s, err
}

// foreign are the bytes that exact wrote.
func foreign(raw json.RawMessage, what string) ([]byte, error) {
	switch jsonx.KindOf(raw) {
	case jsonx.String:
		s, _ := jsonx.Text(raw)
		return []byte(s), nil
	case jsonx.Object:
		var in inBase64
		if err := jsonx.UnmarshalKnown(raw, &in); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		b, err := base64.StdEncoding.DecodeString(in.Base64)
		if err != nil {
			return nil, fmt.Errorf("%s is no Base64", what)
		}
		return b, nil
	}
	return nil, fmt.Errorf(`%s is neither a string nor {"base64":"..."}`, what)
}
