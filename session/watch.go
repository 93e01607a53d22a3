// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"
	"sync"
	"time"
)

// watch tells the Progress callback what Open waits for.
type watch struct {
	mu    sync.Mutex
	what  string
	l     *link
	stop  chan struct{}
	owned sync.WaitGroup
}

// progressEvery is how often a wait is told, and how long the first one is.
const progressEvery = time.Second

func startWatch(tell func(Waiting)) *watch {
	w := &watch{stop: make(chan struct{})}
	if tell == nil {
		return w
	}
	w.owned.Go(func() {
		begin := time.Now()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(w.state(begin))
			case <-w.stop:
				return
			}
		}
	})
	return w
}

func (w *watch) waitFor(what string, l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what, w.l = what, l
}

func (w *watch) state(begin time.Time) Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Waiting{For: w.what, Elapsed: time.Since(begin)}
	if w.l != nil {
		text := strings.TrimRight(w.l.stderr(), "\r\n\t ")
		s.Stderr = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return s
}

func (w *watch) end() {
	close(w.stop)
	w.owned.Wait()
}
