// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/spec"
)

// Panic is what went wrong in a function of a script, and was not told to the
// client: a panic, a goroutine that ended itself, or an answer that cannot be
// sent.
type Panic struct {
	Method, Name string // of the call
	// Value is what was given to panic; nil when the function ended its
	// goroutine, as FailNow of the package testing does.
	Value any
	Stack []byte
}

// maxPanics bounds those that are kept.
const maxPanics = 64

type panics struct {
	mu   sync.Mutex
	kept []Panic
}

// Panics returns what panicked so far, at most the first 64. The clients only
// got an internal error.
func (s *Server) Panics() []Panic {
	s.panics.mu.Lock()
	defer s.panics.mu.Unlock()
	return slices.Clone(s.panics.kept)
}

func (p *panics) keep(one Panic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) < maxPanics {
		p.kept = append(p.kept, one)
	}
}

// guarded is a Func whose panic is an answer. It runs in a goroutine of its own,
// because nothing else outlives runtime.Goexit.
func guarded(f Func) Func {
	return func(ctx context.Context, c *Call) (result json.RawMessage, err error) {
		done, returned, aborted := make(chan struct{}), false, false
		go func() {
			defer close(done)
			defer func() {
				switch v := recover(); {
				case returned:
				case v == http.ErrAbortHandler: // a fault closed the connection under the call
					aborted = true
				default:
					c.Server.panics.keep(Panic{Method: c.Method, Name: c.Name, Value: v, Stack: debug.Stack()})
					result, err = nil, &Error{Code: spec.CodeInternalError, Message: "Internal error"}
				}
			}()
			result, err = f(ctx, c)
			returned = true
		}()
		<-done
		if aborted {
			panic(http.ErrAbortHandler)
		}
		return result, err
	}
}
