// SPDX-License-Identifier: Apache-2.0

package probe

import "sync"

// Turn is a lock for what waits for a server while it holds it. Unlike those
// waiting for a [sync.Mutex], those waiting for their turn let the virtual clock
// of [testing/synctest] run, so that a whole run can be tested without its waits.
type Turn chan struct{}

// NewTurn is a turn that nobody has.
func NewTurn() Turn { return make(Turn, 1) }

// Lock waits for the turn.
func (t Turn) Lock() { t <- struct{}{} }

// Unlock hands it on.
func (t Turn) Unlock() { <-t }

// once is a [sync.Once] for what waits for a server, for the reason of [Turn].
type once struct {
	mu   sync.Mutex
	done chan struct{}
}

// Do runs f if nobody did, and returns when it has run.
func (o *once) Do(f func()) {
	o.mu.Lock()
	if done := o.done; done != nil {
		o.mu.Unlock()
		<-done
		return
	}
	o.done = make(chan struct{})
	o.mu.Unlock()
	defer close(o.done)
	f()
}
