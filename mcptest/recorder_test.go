// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// witness is a test that is watched: it keeps what a failing test would say.
type witness struct {
	testing.TB
	ctx       context.Context
	cancel    context.CancelFunc
	artifacts string

	mu       sync.Mutex
	said     []string // errors
	logged   []string
	failed   bool
	cleanups []func()
}

func (w *witness) Helper()                  {}
func (w *witness) Context() context.Context { return w.ctx }
func (w *witness) Name() string             { return "TestWatched" }

func (w *witness) ArtifactDir() string {
	if w.artifacts != "" {
		return w.artifacts
	}
	return w.TB.TempDir()
}

func (w *witness) Failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *witness) say(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = true
	w.said = append(w.said, s)
}

func (w *witness) Error(args ...any)                 { w.say(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }
func (w *witness) Errorf(format string, args ...any) { w.say(fmt.Sprintf(format, args...)) }
func (w *witness) Fatal(args ...any)                 { w.Error(args...); runtime.Goexit() }
func (w *witness) Fatalf(format string, args ...any) { w.Errorf(format, args...); runtime.Goexit() }

func (w *witness) Log(args ...any)                 { w.log(strings.TrimSuffix(fmt.Sprintln(args...), "\n")) }
func (w *witness) Logf(format string, args ...any) { w.log(fmt.Sprintf(format, args...)) }

func (w *witness) log(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logged = append(w.logged, s)
}

func (w *witness) Cleanup(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, f)
}

// watch runs a test body to its end, clean-up included, and gives what it said.
func watch(t *testing.T, body func(t testing.TB)) *witness {
	t.Helper()
	w := &witness{TB: t}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	run := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	run(func() { body(w) })
	w.cancel()
	for i := len(w.cleanups) - 1; i >= 0; i-- {
		run(w.cleanups[i])
	}
	return w
}

var updateGolden = flag.Bool("update", false, "write the golden files of failures anew")

var (
	duration = regexp.MustCompile(`\b\d+(?:\.\d+)?(?:ns|µs|ms|s)\b`)
	frame    = regexp.MustCompile(`(?s)goroutine \d+ \[.*`)
)

// saysAs holds what a failing test said against a golden file.
func saysAs(t *testing.T, name string, w *witness) {
	t.Helper()
	if !w.failed {
		t.Fatal("the test did not fail")
	}
	got := strings.Join(w.said, "\n----\n") + "\n"
	got = frame.ReplaceAllString(duration.ReplaceAllString(got, "[took]"), "[stack]\n")
	path := filepath.Join("testdata", "failures", name+".txt")
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the test said\n%swant\n%s", path, got, want)
	}
}
