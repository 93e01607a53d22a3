// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// witness is a test that is watched: it keeps what a failing test would say.
type witness struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	failed   bool
	said     []string
	cleanups []func()
}

func (w *witness) Helper()                  {}
func (w *witness) Context() context.Context { return w.ctx }
func (w *witness) Name() string             { return "TestWatched" }
func (w *witness) ArtifactDir() string      { return w.TB.TempDir() }

func (w *witness) Failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *witness) say(fails bool, s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = w.failed || fails
	w.said = append(w.said, s)
}

func (w *witness) Error(args ...any)                 { w.say(true, fmt.Sprintln(args...)) }
func (w *witness) Errorf(format string, args ...any) { w.say(true, fmt.Sprintf(format, args...)) }
func (w *witness) Fatal(args ...any)                 { w.Error(args...); runtime.Goexit() }
func (w *witness) Fatalf(format string, args ...any) { w.Errorf(format, args...); runtime.Goexit() }
func (w *witness) Log(args ...any)                   { w.say(false, fmt.Sprintln(args...)) }
func (w *witness) Logf(format string, args ...any)   { w.say(false, fmt.Sprintf(format, args...)) }

func (w *witness) Cleanup(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, f)
}

// watch runs a test body to its end, clean-up included, and gives what it said,
// and whether it failed.
func watch(t *testing.T, body func(t testing.TB)) (said string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &witness{TB: t, ctx: ctx}
	run := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	run(func() { body(w) })
	cancel()
	for i := len(w.cleanups) - 1; i >= 0; i-- {
		run(w.cleanups[i])
	}
	return strings.Join(w.said, "\n"), w.failed
}

// exit is what FailNow of a test does to the goroutine of a handler.
func exit() { runtime.Goexit() }

// end runs the clean-up, and prints how the test ended.
func (w *witness) end() {
	for i := len(w.cleanups) - 1; i >= 0; i-- {
		w.cleanups[i]()
	}
	fmt.Println(strings.Join(append(w.said, map[bool]string{true: "fail", false: "pass"}[w.failed]), "\n"))
}
