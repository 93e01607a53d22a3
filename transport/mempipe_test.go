// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipeCarriesMoreThanItHolds(t *testing.T) {
	r, w := newPipe()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 3*pipeSize/16)
	written := make(chan error, 1)
	go func() {
		n, err := w.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		_ = w.Close()
		written <- err
	}()
	got, err := io.ReadAll(r)
	if werr := <-written; err != nil || werr != nil || !bytes.Equal(got, sent) {
		t.Errorf("read %d of %d bytes, errors %v and %v", len(got), len(sent), err, werr)
	}
}

func TestPipeHoldsWhatNobodyReadsYet(t *testing.T) {
	r, w := newPipe()
	for range 3 {
		if _, err := w.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	if _, err := w.Write([]byte("more")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing after the end gives %v", err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "line\nline\nline\n" {
		t.Errorf("read %q, %v", got, err)
	}
}

// A writer that waits for room is let go by its deadline, and by the end of its
// reader; a reader that waits by either end.
func TestPipeLetsGo(t *testing.T) {
	full := make([]byte, 2*pipeSize)
	for name, c := range map[string]struct {
		wait func(pipeReader, pipeWriter) (int, error)
		let  func(pipeReader, pipeWriter)
		n    int
		err  error
	}{
		"deadline of the writer": {func(_ pipeReader, w pipeWriter) (int, error) { return w.Write(full) },
			func(_ pipeReader, w pipeWriter) { _ = w.SetWriteDeadline(time.Unix(1, 0)) }, pipeSize, os.ErrDeadlineExceeded},
		"end of the reader": {func(_ pipeReader, w pipeWriter) (int, error) { return w.Write(full) },
			func(r pipeReader, _ pipeWriter) { _ = r.Close() }, pipeSize, io.ErrClosedPipe},
		"reading, end of the writer": {func(r pipeReader, _ pipeWriter) (int, error) { return r.Read(make([]byte, 8)) },
			func(_ pipeReader, w pipeWriter) { _ = w.Close() }, 0, io.EOF},
		"reading, end of the reader": {func(r pipeReader, _ pipeWriter) (int, error) { return r.Read(make([]byte, 8)) },
			func(r pipeReader, _ pipeWriter) { _ = r.Close() }, 0, io.ErrClosedPipe},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := newPipe()
				done := false
				go func() {
					n, err := c.wait(r, w)
					if done = true; n != c.n || !errors.Is(err, c.err) {
						t.Errorf("got %d, %v, want %d, %v", n, err, c.n, c.err)
					}
				}()
				synctest.Wait()
				if done {
					t.Fatal("it did not wait")
				}
				c.let(r, w)
				synctest.Wait()
				if !done {
					t.Error("it waits on")
					_, _ = r.Close(), w.Close()
				}
			})
		})
	}
}

// A deadline that was lifted lets writes go on.
func TestPipeDeadlineIsLifted(t *testing.T) {
	_, w := newPipe()
	_ = w.SetWriteDeadline(time.Unix(1, 0))
	if _, err := w.Write([]byte("a")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_ = w.SetWriteDeadline(time.Time{})
	if n, err := w.Write([]byte("a")); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
