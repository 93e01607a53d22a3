// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// Event is one block of a text/event-stream as the WHATWG rules read it
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), with the
// bytes it was read from.
type Event struct {
	// Raw is every byte of the block, comments, unknown fields and the blank
	// line included. The blocks of a stream put together are the stream, but
	// for an LF that follows the CR at its very end.
	Raw []byte

	Type    string // field event; empty means "message"
	Data    []byte // data lines joined by LF; may share Raw
	HasData bool   // a data field was there, though perhaps empty
	ID      string // field id of this block
	HasID   bool
	Retry   int64 // field retry in milliseconds, -1 when absent
	// LastID is the stream's last event id after this block: what a client
	// would send as Last-Event-ID.
	LastID string
	// Complete is false when the stream ended before the blank line. Such an
	// event was never dispatched and must not be acted on.
	Complete bool
	Faults   []Fault // offsets are within Raw
}

// Dispatched reports whether a browser would have fired the event: it is
// complete and its data buffer was not empty. A block of comments or of an id
// alone is not dispatched.
func (e *Event) Dispatched() bool { return e.Complete && e.HasData }

// Events reads a text/event-stream. Lines end with CR, LF or CRLF in any mix
// and may be split anywhere across reads. An event is returned as soon as its
// blank line was read, a CR without waiting for the LF that may follow.
type Events struct {
	r     io.Reader
	limit int
	buf   []byte
	start int // of the block in buf
	scan  int // up to here the buffer was looked at
	end   int // of what was read
	err   error

	lineLen int  // bytes of the current line so far
	sawCR   bool // the last byte looked at was a CR: an LF belongs to it
	afterCR bool // the block began in that state
	top     bool // in the first block: a byte order mark is skipped
	topLine bool // in its first line
	lastID  string

	// Of a block longer than the limit only the head is kept.
	head    []byte
	skipped int64
}

// NewEvents reads from r. A limit of zero means [DefaultLimit]; a block longer
// than it is returned without its data, with [FaultTooLong].
func NewEvents(r io.Reader, limit int) *Events {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Events{r: r, limit: limit, top: true, topLine: true}
}

// LastID is the last event id seen, empty at first.
func (s *Events) LastID() string { return s.lastID }

// Next returns the next block. The event is the caller's to keep. The error
// is io.EOF at the end of the stream, or what the reader returned; a block
// that was cut off is returned first, with Complete false.
func (s *Events) Next() (*Event, error) {
	for {
		if s.findEnd() {
			return s.take(true), nil
		}
		if s.err != nil {
			if rest := s.buf[s.start:s.end]; s.head == nil && (len(rest) == 0 || s.afterCR && string(rest) == "\n") {
				return nil, s.err
			}
			return s.take(false), nil
		}
		if s.end == len(s.buf) {
			s.room()
		}
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.err = err
	}
}

// room makes space to read into. All of the buffer has been looked at.
func (s *Events) room() {
	held := s.end - s.start
	if held+int(s.skipped) > s.limit {
		if s.head == nil {
			s.head = bytes.Clone(s.buf[s.start : s.start+min(held, overlongHead)])
		}
		s.skipped += int64(held)
		s.start, held = s.end, 0
	}
	buf := s.buf
	if size := max(4<<10, 2*held); held > len(buf)/2 || len(buf) < size || len(buf) > 1<<20 {
		buf = make([]byte, size)
	}
	copy(buf, s.buf[s.start:s.end])
	s.buf, s.start, s.scan, s.end = buf, 0, held, held
}

// findEnd looks on for the blank line that ends the block; after it, scan is
// behind that line.
func (s *Events) findEnd() bool {
	for s.scan < s.end {
		if s.sawCR {
			if s.sawCR = false; s.buf[s.scan] == '\n' {
				s.scan++
				continue
			}
		}
		i := lineEnd(s.buf[s.scan:s.end])
		if i < 0 {
			s.lineLen += s.end - s.scan
			s.scan = s.end
			return false
		}
		s.lineLen += i
		s.scan += i + 1
		if s.buf[s.scan-1] == '\r' {
			if s.sawCR = true; s.scan < s.end && s.buf[s.scan] == '\n' {
				s.scan++
				s.sawCR = false
			}
		}
		blank := s.lineLen == 0 || s.topLine && s.lineLen == len(bom) && bytes.HasPrefix(s.buf[s.start:], bom)
		s.lineLen, s.topLine = 0, false
		if blank {
			return true
		}
	}
	return false
}

// take returns the block that ends at scan.
func (s *Events) take(complete bool) *Event {
	e := &Event{Retry: -1, Complete: complete}
	size := s.skipped + int64(s.scan-s.start)
	switch {
	case s.head != nil:
		e.Raw = s.head
	case size > int64(s.limit):
		e.Raw = bytes.Clone(s.buf[s.start : s.start+min(s.scan-s.start, overlongHead)])
	default:
		e.Raw = bytes.Clone(s.buf[s.start:s.scan])
		s.fields(e)
	}
	if size > int64(s.limit) {
		e.Faults = addFault(e.Faults, Fault{Code: FaultTooLong, Offset: int64(len(e.Raw)),
			Detail: fmt.Sprintf("an event of %d bytes, longer than %d", size, s.limit)})
	}
	if !complete {
		e.Faults = addFault(e.Faults, Fault{Code: FaultUnfinished, Offset: int64(len(e.Raw)),
			Detail: "the stream ended inside the event"})
	} else if e.HasID {
		s.lastID = e.ID
	}
	e.LastID = s.lastID
	s.start, s.head, s.skipped = s.scan, nil, 0
	s.afterCR, s.top = s.sawCR, false
	return e
}

// fields reads the lines of the event's bytes.
func (s *Events) fields(e *Event) {
	raw, off := e.Raw, 0
	if s.top && bytes.HasPrefix(raw, bom) {
		e.Faults = addFault(e.Faults, Fault{Code: FaultBOM, Detail: "byte order mark before the stream"})
		off = len(bom)
	}
	if s.afterCR && len(raw) > 0 && raw[0] == '\n' {
		off = 1
	}
	dataLines := 0
	for off < len(raw) {
		line := raw[off:]
		i := lineEnd(line)
		if i < 0 {
			// Without its end the content of the line is unknown.
			return
		}
		if line = line[:i]; len(line) > 0 {
			dataLines = field(e, line, int64(off), dataLines)
		}
		if off += i + 1; raw[off-1] == '\r' && off < len(raw) && raw[off] == '\n' {
			off++
		}
	}
}

// lineEnd returns the index of the first CR or LF, -1 when there is none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// field interprets one line and returns the number of data lines so far.
func field(e *Event, line []byte, off int64, dataLines int) int {
	name, value, colon := bytes.Cut(line, []byte{':'})
	if colon {
		value = bytes.TrimPrefix(value, []byte{' '})
	}
	switch string(name) {
	case "": // a comment
	case "data":
		e.HasData = true
		switch dataLines {
		case 0:
			e.Data = value[:len(value):len(value)]
		default:
			e.Data = append(append(e.Data, '\n'), value...)
		}
		return dataLines + 1
	case "event":
		e.Type = string(value)
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			e.Faults = addFault(e.Faults, Fault{Code: FaultEventIDNUL, Offset: off, Detail: "an id that holds U+0000 is ignored"})
			break
		}
		e.ID, e.HasID = string(value), true
	case "retry":
		n, err := strconv.ParseInt(string(value), 10, 64)
		if !allDigits(value) || err != nil {
			e.Faults = addFault(e.Faults, Fault{Code: FaultRetryNotDigit, Offset: off, Detail: "retry is not a number of milliseconds"})
			break
		}
		e.Retry = n
	default:
		e.Faults = addFault(e.Faults, Fault{Code: FaultFieldIgnored, Offset: off, Detail: fmt.Sprintf("unknown field %.40q", name)})
	}
	return dataLines
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
