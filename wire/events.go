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
	scan  int // bytes of the block looked at
	line  int // start of the current line
	end   int
	err   error

	first   bool // no block was read yet: a byte order mark is skipped
	afterCR bool // the block before ended with a CR
	lastID  string
	dropped int64 // bytes of an over-long block forgotten so far
	lineLen int64 // of the current line, when its start was forgotten
}

// NewEvents reads from r. A limit of zero means [DefaultLimit]; a block longer
// than it is returned without its data, with [FaultTooLong].
func NewEvents(r io.Reader, limit int) *Events {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Events{r: r, limit: limit, first: true}
}

// LastID is the last event id seen, empty at first.
func (s *Events) LastID() string { return s.lastID }

// Next returns the next block. The event is the caller's to keep. The error
// is io.EOF at the end of the stream, or what the reader returned; a block
// that was cut off is returned first, with Complete false.
func (s *Events) Next() (*Event, error) {
	for {
		if e := s.block(); e != nil {
			return e, nil
		}
		if s.err != nil {
			return s.rest()
		}
		s.fill()
	}
}

// rest returns what stands after the last blank line.
func (s *Events) rest() (*Event, error) {
	raw := s.buf[s.start:s.end]
	if s.dropped == 0 && (len(raw) == 0 || s.afterCR && string(raw) == "\n") {
		return nil, s.err
	}
	e := s.parse(bytes.Clone(raw), false)
	s.start, s.scan, s.line = s.end, s.end, s.end
	return e, nil
}

func (s *Events) fill() {
	if s.end == len(s.buf) {
		s.room()
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	s.err = err
}

func (s *Events) room() {
	held := s.end - s.start
	if held > s.limit || s.dropped > 0 && held > 2*overlongHead {
		s.forget()
		held = s.end - s.start
	}
	buf := s.buf
	if size := max(4<<10, 2*held); s.start == 0 || held > len(s.buf)/2 {
		buf = make([]byte, size)
	}
	copy(buf, s.buf[s.start:s.end])
	s.scan, s.line, s.end, s.start, s.buf = s.scan-s.start, s.line-s.start, held, 0, buf
}

// forget drops the middle of an over-long block: its head and its last byte
// stay, for evidence and for the end of the line.
func (s *Events) forget() {
	head := s.start + min(overlongHead, s.end-s.start)
	if gone := s.end - 1 - head; gone > 0 {
		s.buf[head] = s.buf[s.end-1]
		s.dropped += int64(gone)
		if s.line < s.end-1 {
			// The line began before the cut: it is not blank.
			s.lineLen = 1
			s.line = head
		} else {
			s.line -= gone
		}
		s.end = head + 1
		s.scan = min(s.scan-gone, s.end)
		s.scan = max(s.scan, head)
	}
}

// block looks for the end of the current block in the buffer.
func (s *Events) block() *Event {
	for s.scan < s.end {
		rest := s.buf[s.scan:s.end]
		i := lineEnd(rest)
		if i < 0 {
			s.scan = s.end
			return nil
		}
		at := s.scan + i
		leading := s.afterCR && at == s.start && s.dropped == 0 && s.buf[at] == '\n'
		blank := at == s.line && s.lineLen == 0 && !leading
		next := at + 1
		if s.buf[at] == '\r' {
			if next == s.end && !blank && s.err == nil {
				// Only the next byte tells CR from CRLF. It decides nothing
				// but where the following line starts, so waiting is safe.
				s.scan = at
				return nil
			}
			if next < s.end && s.buf[next] == '\n' {
				next++
			}
		}
		if s.first && s.line == 0 && at == len(bom) && bytes.HasPrefix(s.buf, bom) {
			blank = true
		}
		s.scan, s.line, s.lineLen = next, next, 0
		if !blank {
			continue
		}
		e := s.parse(bytes.Clone(s.buf[s.start:next]), true)
		s.afterCR = s.buf[next-1] == '\r'
		s.start = next
		return e
	}
	return nil
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

// parse reads the fields of one block.
func (s *Events) parse(raw []byte, complete bool) *Event {
	e := &Event{Raw: raw, Retry: -1, Complete: complete}
	if s.dropped > 0 {
		e.Faults = addFault(e.Faults, Fault{Code: FaultTooLong, Offset: int64(len(raw)),
			Detail: fmt.Sprintf("an event of %d bytes, longer than %d", int64(len(raw))+s.dropped, s.limit)})
		s.dropped, s.first, e.LastID = 0, false, s.lastID
		return e
	}
	off := 0
	if s.first && bytes.HasPrefix(raw, bom) {
		e.Faults = addFault(e.Faults, Fault{Code: FaultBOM, Detail: "byte order mark before the stream"})
		off = len(bom)
	}
	s.first = false
	if s.afterCR && len(raw) > 0 && raw[0] == '\n' {
		off = 1
	}
	lines := 0
	for off < len(raw) {
		line := raw[off:]
		next := len(raw)
		if i := lineEnd(line); i >= 0 {
			next = off + i + 1
			if raw[next-1] == '\r' && next < len(raw) && raw[next] == '\n' {
				next++
			}
			line = line[:i]
		} else if !complete {
			// Without its end the line's content is unknown.
			break
		}
		if len(line) > 0 {
			lines = s.field(e, line, int64(off), lines)
		}
		off = next
	}
	if !complete {
		e.Faults = addFault(e.Faults, Fault{Code: FaultUnfinished, Offset: int64(len(raw)),
			Detail: "the stream ended inside the event"})
	} else if e.HasID {
		s.lastID = e.ID
	}
	e.LastID = s.lastID
	return e
}

// field interprets one line and returns the number of data lines so far.
func (s *Events) field(e *Event, line []byte, off int64, dataLines int) int {
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
