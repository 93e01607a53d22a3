// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// EachEra runs a test body as a subtest for every revision that the server
// claims: that it answers when it is asked for it, or that it names as
// supported. It fails when the server claims one that it does not speak, and
// when a claimed one did not run; it prints which there were.
func EachEra(t *testing.T, target any, body func(t *testing.T, c *Client), opts ...Option) {
	t.Helper()
	revisions := claimed(t, target, opts)
	var mu sync.Mutex
	ran := map[spec.Revision]bool{}
	t.Cleanup(func() {
		t.Helper()
		var names, left []string
		for _, r := range revisions {
			if names = append(names, r.String()); !ran[r] {
				left = append(left, r.String())
			}
		}
		switch {
		case len(left) == 0:
			t.Logf("ran in %s: %s", count(len(ran), "revision"), strings.Join(names, ", "))
		case filtered():
			t.Logf("left out by -run: %s", strings.Join(left, ", "))
		default:
			t.Errorf("the server claims %s, and the test did not run in %s", strings.Join(names, ", "), strings.Join(left, ", "))
		}
	})
	o := collect(opts)
	for _, r := range revisions {
		run := func(t *testing.T) {
			t.Helper()
			mu.Lock()
			ran[r] = true
			mu.Unlock()
			body(t, Open(t, target, append(slices.Clone(opts), Revision(r.String()))...))
		}
		t.Run(r.String(), func(t *testing.T) {
			if o.virtual {
				synctest.Test(t, run)
				return
			}
			run(t)
		})
	}
}

// filtered reports whether the user chose among the subtests.
func filtered() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && strings.Contains(f.Value.String(), "/") {
			return true
		}
	}
	return false
}

// Revisions are those that a server claims, oldest first. None ends the test.
func Revisions(t testing.TB, target any, opts ...Option) []string {
	t.Helper()
	var out []string
	for _, r := range claimed(t, target, opts) {
		out = append(out, r.String())
	}
	return out
}

func claimed(t testing.TB, target any, opts []Option) []spec.Revision {
	t.Helper()
	var list []spec.Revision
	named := map[spec.Revision]bool{}
	var reasons []string
	for _, r := range spec.All() {
		supported, err := asks(t, target, r, opts)
		for _, name := range supported {
			if n, err := spec.ParseRevision(name); err == nil {
				named[n] = true
			}
		}
		if err == nil {
			list = append(list, r)
		} else {
			reasons = append(reasons, fmt.Sprintf("\n  %s: %s", r, shown(err.Error())))
		}
	}
	for _, r := range spec.All() {
		if named[r] && !slices.Contains(list, r) {
			t.Errorf("the server names %s as supported, and does not speak it", r)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the server speaks no revision:%s", strings.Join(reasons, ""))
	}
	return list
}

// errOther is a server that answers in another revision: it does not claim this
// one.
var errOther = errors.New("it answers in another revision")

// asks opens a connection of its own to find out whether the server speaks a
// revision, and which ones it names.
func asks(t testing.TB, target any, r spec.Revision, opts []Option) (supported []string, err error) {
	t.Helper()
	o := collect(opts)
	to, err := targetOf(t, target, o.header, &told{})
	if err != nil {
		t.Fatal(err)
	}
	o.era, o.revision, o.listen = 0, r, false
	s, err := session.Open(t.Context(), to, o.session())
	if err != nil {
		var n *session.NegotiationError
		if errors.As(err, &n) {
			return n.Supported, err
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("the server goes on after the end of a connection: %v", err)
	}
	n := s.Negotiated()
	if n.Revision != r {
		return n.Supported, fmt.Errorf("%w, %s", errOther, n.Revision)
	}
	return n.Supported, nil
}
