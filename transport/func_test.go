// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// parrot gives back each line, until its input ends.
func parrot(_ context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintln(out, lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func TestFuncOpensAnyNumberOfTimes(t *testing.T) {
	target := &transport.Func{Serve: parrot}
	if target.String() != "function" || (&transport.Func{Name: "x"}).String() != "x" || target.Kind() != transport.Stdio {
		t.Error(target)
	}
	for range 3 {
		c := open(t, target, transport.Options{})
		send(t, c, `{"a":1}`)
		e := receive(t, c)
		if e.Kind != transport.EventFrame || string(e.Frame.Raw) != `{"a":1}` || e.Frame.Dir != wire.ToClient || e.Frame.Line.Terminator != wire.LF {
			t.Error(tell(e))
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := (&transport.Func{}).Open(t.Context(), transport.Options{}); transport.ReasonOf(err) != transport.BadTarget {
		t.Error(err)
	}
}

func TestFuncTellsHowItEnded(t *testing.T) {
	for name, x := range map[string]struct {
		serve  func(context.Context, io.Reader, io.Writer) error
		detail string
		told   string
		stack  bool
	}{
		"returned": {func(context.Context, io.Reader, io.Writer) error { return nil }, "the server's function returned", "", false},
		"failed":   {func(context.Context, io.Reader, io.Writer) error { return errors.New("no harbour") }, "no harbour", "no harbour", false},
		"panicked": {func(context.Context, io.Reader, io.Writer) error { panic("no ship") }, "the server panicked: no ship", "no ship", true},
	} {
		t.Run(name, func(t *testing.T) {
			var told error
			var stack []byte
			c := open(t, &transport.Func{Serve: x.serve, Failed: func(err error, s []byte) { told, stack = err, s }}, transport.Options{})
			e := receive(t, c)
			if e.Kind != transport.EventLost || transport.ReasonOf(e.Err) != transport.Died || !strings.Contains(e.Err.Error(), x.detail) {
				t.Error(tell(e))
			}
			if (told == nil) != (x.told == "") || told != nil && !strings.Contains(told.Error(), x.told) || (stack != nil) != x.stack {
				t.Errorf("told %v, with a stack of %d bytes", told, len(stack))
			}
			if _, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")}); err == nil {
				t.Error("sent to a function that has ended")
			}
		})
	}
}

func TestFuncIsGivenItsTime(t *testing.T) {
	for name, x := range map[string]struct {
		serve func(ctx context.Context, in io.Reader, out io.Writer) error
		took  time.Duration
		fails bool
	}{
		"ends with its input": {parrot, 0, false},
		"takes a moment": {func(_ context.Context, in io.Reader, _ io.Writer) error {
			_, err := io.Copy(io.Discard, in)
			time.Sleep(500 * time.Millisecond)
			return err
		}, 500 * time.Millisecond, false},
		"ends with its context": {func(ctx context.Context, _ io.Reader, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }, time.Second, false},
		"goes on for a while":   {func(context.Context, io.Reader, io.Writer) error { time.Sleep(time.Minute); return nil }, 10 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told error
				c, err := (&transport.Func{Serve: x.serve, Failed: func(err error, _ []byte) { told = err }}).Open(t.Context(), transport.Options{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				err = c.Close(ctx)
				if took := time.Since(begin); took != x.took || (err != nil) != x.fails {
					t.Errorf("closed in %s: %v", took, err)
				}
				if x.fails && transport.ReasonOf(err) != transport.TimedOut {
					t.Error(err)
				}
				time.Sleep(time.Minute) // until all of them have ended
				if told != nil {
					t.Errorf("told %v", told)
				}
			})
		})
	}
}
