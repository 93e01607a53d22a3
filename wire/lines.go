// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultLimit is the longest line, event or body that readers hold: 64 MiB.
const DefaultLimit = 64 << 20

// Terminator says how a line of a byte stream ended.
type Terminator uint8

// The ends of lines.
const (
	NoTerminator Terminator = iota // the stream ended first
	LF
	CRLF
)

func (t Terminator) String() string {
	switch t {
	case LF:
		return "\n"
	case CRLF:
		return "\r\n"
	}
	return ""
}

// Line is what is known of the line that carried a text.
type Line struct {
	Terminator Terminator
	// Size is the length of the line in bytes without its terminator. It is
	// more than the text has when the line was longer than the limit.
	Size int64
	// Faults is FaultTooLong, or FaultUnfinished for text at the end of the
	// stream without a terminator.
	Faults []Fault
}

// Lines cuts a byte stream into lines, as the stdio transport frames them: a
// line ends with LF or CRLF, a lone CR is part of the line. Nothing is
// changed: text and terminators put together are the stream.
//
// A line longer than the limit is not held in memory: its first bytes are
// returned with [FaultTooLong], and reading goes on behind it.
type Lines struct {
	r     io.Reader
	limit int
	buf   []byte
	start int // of unread bytes in buf
	end   int
	err   error
}

const (
	readSize = 32 << 10
	// overlongHead is what is kept of a line beyond the limit.
	overlongHead = 4 << 10
)

// NewLines reads from r. A limit of zero means [DefaultLimit].
func NewLines(r io.Reader, limit int) *Lines {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Lines{r: r, limit: limit}
}

// Next returns the next line. The text is the caller's to keep. The error is
// io.EOF at the end of the stream, or what the reader returned; a text is
// never returned together with an error, so an unfinished line comes first.
func (l *Lines) Next() (text []byte, line Line, err error) {
	var parts [][]byte // full buffers of a long line
	size := 0          // of parts
	dropped := int64(0)
	for {
		chunk := l.buf[l.start:l.end]
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			l.start += i + 1
			return l.finish(parts, size, dropped, chunk[:i], LF)
		}
		if l.err != nil {
			if len(chunk) == 0 && size == 0 && dropped == 0 {
				return nil, Line{}, l.err
			}
			l.start = l.end
			return l.finish(parts, size, dropped, chunk, NoTerminator)
		}
		if l.end == len(l.buf) {
			if len(chunk) > 0 {
				if size+len(chunk) > l.limit {
					dropped, parts, size = l.drop(parts, size, dropped, chunk)
				} else {
					parts, size = append(parts, bytes.Clone(chunk)), size+len(chunk)
				}
			}
			l.grow(size)
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
	}
}

// grow makes room for reading when the buffer is full: short lines keep their
// small buffer, a long line is read in larger steps.
func (l *Lines) grow(size int) {
	l.start, l.end = 0, 0
	want := readSize
	if size > 4*readSize {
		want = 16 * readSize
	}
	if len(l.buf) != want {
		l.buf = make([]byte, want)
	}
}

// drop forgets all of an over-long line but its head and its last byte, which
// may be the CR of its terminator.
func (l *Lines) drop(parts [][]byte, size int, dropped int64, chunk []byte) (int64, [][]byte, int) {
	head := make([]byte, 0, overlongHead)
	for _, p := range append(parts, chunk) {
		head = append(head, p[:min(len(p), overlongHead-len(head))]...)
	}
	total := dropped + int64(size) + int64(len(chunk))
	head = append(head, chunk[len(chunk)-1])
	return total - int64(len(head)), [][]byte{head}, len(head)
}

func (l *Lines) finish(parts [][]byte, size int, dropped int64, last []byte, t Terminator) ([]byte, Line, error) {
	text := make([]byte, 0, size+len(last))
	for _, p := range parts {
		text = append(text, p...)
	}
	text = append(text, last...)
	line := Line{Terminator: t}
	if n := len(text); t == LF && n > 0 && text[n-1] == '\r' {
		text, line.Terminator = text[:n-1:n-1], CRLF
	}
	line.Size = dropped + int64(len(text))
	if line.Size > int64(l.limit) {
		text = text[:min(len(text), overlongHead, l.limit)]
		line.Faults = []Fault{{Code: FaultTooLong, Offset: int64(len(text)),
			Detail: fmt.Sprintf("a line of %d bytes, longer than %d", line.Size, l.limit)}}
	}
	if t == NoTerminator {
		line.Faults = append(line.Faults, Fault{Code: FaultUnfinished, Offset: line.Size,
			Detail: "the stream ended inside the line"})
	}
	return text, line, nil
}
