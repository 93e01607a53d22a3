// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"os"
	"sync"
	"time"
)

// mempipe is a pipe in memory which holds as much as those of a system do, so
// that a writer goes on while its reader is busy. Its writes can be ended by a
// deadline that has passed, and by no other.
type mempipe struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	off     int   // of what was read of buf
	err     error // that reads end with, once all was read; nil before the end
	broken  bool  // nobody reads any more
	late    bool  // the deadline of writes has passed
}

// pipeSize is what a pipe holds.
const pipeSize = 64 << 10

type pipeReader struct{ *mempipe }

type pipeWriter struct{ *mempipe }

func newPipe() (pipeReader, pipeWriter) {
	p := &mempipe{}
	p.changed.L = &p.mu
	return pipeReader{p}, pipeWriter{p}
}

// Read implements io.Reader.
func (p pipeReader) Read(to []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off == len(p.buf) && p.err == nil && !p.broken {
		p.changed.Wait()
	}
	switch {
	case p.broken:
		return 0, io.ErrClosedPipe
	case p.off == len(p.buf):
		return 0, p.err
	}
	n := copy(to, p.buf[p.off:])
	if p.off += n; p.off == len(p.buf) {
		p.buf, p.off = p.buf[:0], 0
	}
	p.changed.Broadcast()
	return n, nil
}

// Close ends reading, and writing too.
func (p pipeReader) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.buf, p.off = true, nil, 0
	p.changed.Broadcast()
	return nil
}

// Write implements io.Writer. It returns when all is in the pipe.
func (p pipeWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for {
		switch {
		case p.broken || p.err != nil:
			return n, io.ErrClosedPipe
		case p.late:
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		}
		if room := pipeSize - (len(p.buf) - p.off); room > 0 {
			if p.off > 0 {
				p.buf = append(p.buf[:0], p.buf[p.off:]...)
				p.off = 0
			}
			part := b[n:min(len(b), n+room)]
			p.buf = append(p.buf, part...)
			n += len(part)
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// Close ends writing; what was written can still be read.
func (p pipeWriter) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = io.EOF
	}
	p.changed.Broadcast()
	return nil
}

// SetWriteDeadline ends writes for a time that has passed; it lets them go on for
// any other.
func (p pipeWriter) SetWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = !t.IsZero() && !t.After(time.Now())
	p.changed.Broadcast()
	return nil
}
