// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
)

// group owns goroutines. Unlike a sync.WaitGroup alone, none can be added once
// somebody waits for the end.
type group struct {
	mu     sync.Mutex
	sealed bool
	wg     sync.WaitGroup
}

// start runs f, unless the group is sealed; then it returns false.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sealed {
		return false
	}
	g.wg.Go(f)
	return true
}

// wait seals the group and waits for all of it, at most until ctx ends.
func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	g.sealed = true
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
