// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/mock"
)

// told is what the inside of a server said, which its client never sees. It
// goes into the failure of the test.
type told struct {
	mu     sync.Mutex
	errors []inner
	panics []inner

	// mocked is the target where that is a mock, which keeps panics itself; before
	// is how many it had.
	mocked *mock.Server
	before int
}

// inner is an error inside the server.
type inner struct {
	err   error
	stack []byte
}

// most bounds the errors that are kept.
const most = 100

type toldKey struct{}

// Report tells the running test of an error that the client will see only in
// another form, such as behind a sanitised internal error. It works where the
// context comes from a request of a target in the process, and does nothing
// elsewhere, so that it may stay in middleware that is deployed.
func Report(ctx context.Context, err error) {
	if x, ok := ctx.Value(toldKey{}).(*told); ok && err != nil {
		x.report(err, nil)
	}
}

// ServerLog is a writer for the log of a server in the process. What is written
// there, of much the last 64 KiB, is shown when the test fails, and nowhere else.
func ServerLog(t testing.TB) io.Writer {
	x := &serverLog{}
	t.Cleanup(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if t.Failed() && x.buf.Len() > 0 {
			t.Logf("the server logged:\n%s", text.Block(x.String()))
		}
	})
	return x
}

type serverLog struct {
	mu sync.Mutex
	tail
}

// Write implements io.Writer; a server logs from any goroutine.
func (x *serverLog) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tail.Write(p)
}

// report keeps an error. A stack makes it that of a panic.
func (x *told) report(err error, stack []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := &x.errors
	if stack != nil {
		list = &x.panics
	}
	if len(*list) < most {
		*list = append(*list, inner{err, stack})
	}
}

// failed is what a transport.Func tells. An end with an error is no panic.
func (x *told) failed(err error, stack []byte) { x.report(err, stack) }

func (x *told) said() (errs, panics []inner) {
	x.mu.Lock()
	defer x.mu.Unlock()
	panics = slices.Clone(x.panics)
	if x.mocked != nil {
		for _, p := range x.mocked.Panics()[x.before:] {
			panics = append(panics, inner{fmt.Errorf("panic in %s: %v", p.Name, p.Value), p.Stack})
		}
	}
	return slices.Clone(x.errors), panics
}

// handler is h whose panics and reported errors are kept.
func (x *told) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				x.report(fmt.Errorf("panic: %v", v), debug.Stack())
			}
			panic(v) // the carrier ends the response as a server would
		}()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), toldKey{}, x)))
	})
}

func (x *told) serve(f Serve) Serve {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		return f(context.WithValue(ctx, toldKey{}, x), in, out)
	}
}

// tail keeps the last of what is written to it.
type tail struct {
	buf     bytes.Buffer
	dropped bool
}

const tailSize = 64 << 10

func (x *tail) Write(p []byte) (int, error) {
	x.buf.Write(p)
	if over := x.buf.Len() - tailSize; over > 0 {
		x.buf.Next(over)
		x.dropped = true
	}
	return len(p), nil
}

func (x *tail) String() string {
	if x.dropped {
		return "[...] " + x.buf.String()
	}
	return x.buf.String()
}
