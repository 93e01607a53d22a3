// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
)

// group owns goroutines. Unlike a sync.WaitGroup alone, none can be added once
// somebody waits for the end. Its zero value is ready.
//
// One goroutine that has done its work waits for more: a new one would grow its
// stack anew, which is a fifth of what an exchange inside the process costs.
type group struct {
	mu     sync.Mutex
	sealed bool
	idle   chan func() // of the one that waits; nil when there is none
	wg     sync.WaitGroup
}

// start runs f, unless the group is sealed; then it returns false.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sealed {
		return false
	}
	if to := g.idle; to != nil {
		g.idle = nil
		to <- f // it has room for one
		return true
	}
	g.wg.Go(func() { g.work(f) })
	return true
}

// work runs f, and what else there is to do.
func (g *group) work(f func()) {
	var more chan func()
	for {
		f()
		g.mu.Lock()
		if g.sealed || g.idle != nil {
			g.mu.Unlock()
			return
		}
		if more == nil {
			more = make(chan func(), 1)
		}
		g.idle = more
		g.mu.Unlock()
		if f = <-more; f == nil {
			return
		}
	}
}

// wait seals the group and waits for all of it, at most until ctx ends.
func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	g.sealed = true
	if g.idle != nil {
		g.idle <- nil
		g.idle = nil
	}
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return ctx.Err()
	}
}
