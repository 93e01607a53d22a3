// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"sync"
	"time"
)

// Waiting is what a run waits for.
type Waiting int

// The kinds of waiting, which are all that a run does beside its own work.
const (
	// Starting is for a process or a connection to be there: over stdio until
	// the first word of the process.
	Starting Waiting = iota
	// Answering is for an answer that came.
	Answering
	// Unanswered is for an answer that did not come.
	Unanswered
	// Silence is listened to because something must not come: an answer to a
	// notification, a message before the handshake is over.
	Silence
	// Ending is for a server to end, or a stream that should end by itself.
	Ending
	// Told is as long as the server or the user said.
	Told

	waitings
)

// Clock says where the time of runs went. What is waited for side by side shares
// the time that passes meanwhile, so that all of it together is never more than
// the time of day. The zero value is ready, nil measures nothing, and it may be
// used by several goroutines.
type Clock struct {
	mu        sync.Mutex
	open      int
	last      time.Time
	share     time.Duration // what one who waited all the time has of it
	spent     [waitings]time.Duration
	processes int
}

// Wait begins to wait. The function that it returns ends it, says what it was,
// and does nothing the second time.
func (k *Clock) Wait() (end func(Waiting)) {
	if k == nil {
		return func(Waiting) {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pass()
	k.open++
	begin, ended := k.share, false
	return func(w Waiting) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if ended {
			return
		}
		ended = true
		k.pass()
		k.open--
		k.spent[w] += k.share - begin
	}
}

// pass shares the time that went by among those who wait.
func (k *Clock) pass() {
	now := time.Now()
	if k.open > 0 {
		k.share += now.Sub(k.last) / time.Duration(k.open)
	}
	k.last = now
}

// started counts a process.
func (k *Clock) started() {
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.processes++
	}
}

// Spent is how long was waited for something.
func (k *Clock) Spent(w Waiting) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spent[w]
}

// Waited is how long was waited for anything.
func (k *Clock) Waited() (all time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.spent {
		all += d
	}
	return all
}

// Processes is how many processes were started.
func (k *Clock) Processes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.processes
}
