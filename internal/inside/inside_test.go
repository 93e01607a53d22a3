// SPDX-License-Identifier: Apache-2.0

package inside_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/internal/inside"
	"github.com/mcprove/mcprove/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reports keeps what was told.
type reports struct {
	mu     sync.Mutex
	errors []string
	panics []string
}

func (r *reports) report(err error, stack []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stack != nil {
		r.panics = append(r.panics, err.Error())
		return
	}
	r.errors = append(r.errors, err.Error())
}

type valueKey struct{}

// handle is the server's handler for a word.
func handle(ctx context.Context, word string) (answer string, err error) {
	life := inside.Of(ctx)
	err = life.Call(ctx, func(ctx context.Context) {
		switch word {
		case "panic":
			panic("lost")
		case "exit":
			runtime.Goexit()
		case "value":
			answer = fmt.Sprint(ctx.Value(valueKey{}))
		case "wait":
			<-ctx.Done()
			answer = "cancelled"
		default:
			life.Tell("seen", fmt.Errorf("seen: %w", errors.New("hidden")))
			answer = word
		}
	})
	return answer, err
}

// serve answers each word with a line.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word := lines.Text()
		all.Go(func() {
			answer, err := handle(ctx, word)
			if err != nil {
				answer = "error " + err.Error()
			}
			_, _ = fmt.Fprintln(out, answer)
		})
	}
	return nil
}

var web http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	word, _ := io.ReadAll(r.Body)
	answer, err := handle(r.Context(), string(word))
	if err != nil {
		answer = "error " + err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
})

func target(kind string, r *reports) transport.Target {
	if kind == "lines" {
		return (&inside.Lines{Name: "test", Serve: serve}).Reporting(r.report)
	}
	return (&inside.Web{Name: "test", Handler: web}).Reporting(r.report)
}

// say sends a word, and gives what came for it.
func say(t *testing.T, c transport.Conn, word string) (string, error) {
	t.Helper()
	if _, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte(word)}); err != nil {
		return "", err
	}
	for {
		e, err := c.Receive(t.Context())
		switch {
		case err != nil:
			return "", err
		case e.Err != nil:
			return "", e.Err
		case e.Kind == transport.EventFrame:
			return string(e.Frame.Raw), nil
		}
	}
}

var kinds = []string{"lines", "web"}

func TestContextsHaveTheValuesOfTheOpener(t *testing.T) {
	for _, kind := range kinds {
		c, err := target(kind, &reports{}).Open(context.WithValue(t.Context(), valueKey{}, "of the opener"), transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := say(t, c, "value"); err != nil || got != "of the opener" {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestWhatIsHiddenIsTold(t *testing.T) {
	for _, kind := range kinds {
		r := &reports{}
		c, err := target(kind, r).Open(t.Context(), transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := say(t, c, "hello"); err != nil || got != "hello" {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		_ = c.Close(t.Context())
		// The outer text holds what is visible and more.
		if len(r.errors) != 1 || r.errors[0] != "seen: hidden" {
			t.Errorf("%s: told %q", kind, r.errors)
		}
	}
}

func TestPanicsEndALife(t *testing.T) { ends(t, "panic", "panic: lost") }

func TestHandlersThatExitEndALife(t *testing.T) {
	ends(t, "exit", "a handler of the server ended its goroutine (runtime.Goexit, or FailNow of a test): no answer can come")
}

// ends sends a word that ends the life of its server, and holds what is told.
func ends(t *testing.T, word, why string) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := &reports{}
			c, err := target(kind, r).Open(t.Context(), transport.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := say(t, c, word); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("got %q, %v", got, err)
			}
			if got, err := say(t, c, "hello"); err == nil {
				t.Errorf("it lives: %q", got)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if len(r.panics) != 1 || r.panics[0] != why {
				t.Errorf("told %q", r.panics)
			}
		})
	}
}

func TestWhatIsUnderWayEndsWithItsConnection(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := target(kind, &reports{}).Open(t.Context(), transport.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("wait")}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A panic that the server's HTTP handler lets through is told too, and breaks the
// exchange off.
func TestPanicsOfHandlersAreTold(t *testing.T) {
	r := &reports{}
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("guard") })
	c, err := (&inside.Web{Name: "test", Handler: h}).Reporting(r.report).Open(t.Context(), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := say(t, c, "hello"); err == nil {
		t.Errorf("got %q", got)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(r.panics) != 1 || r.panics[0] != "panic: guard" {
		t.Errorf("told %q", r.panics)
	}
}

func TestTellFindsWhatIsHidden(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		visible string
		err     error
		want    string
	}{
		{"cause", cause, ""},
		{"sorry", cause, "cause"},
		{"told: cause", fmt.Errorf("told: %w", cause), ""},
		{"sorry", discreet{cause}, "cause"},
		{"sorry", errors.Join(discreet{cause}), "cause"},
		{"", cause, "cause"},
	} {
		if got := inside.Hidden(c.visible, c.err); (got == nil) != (c.want == "") || got != nil && got.Error() != c.want {
			t.Errorf("of %v behind %q: %v, want %q", c.err, c.visible, got, c.want)
		}
	}
}

// discreet is an error that shows nothing of its cause.
type discreet struct{ error }

func (discreet) Error() string   { return "sorry" }
func (d discreet) Unwrap() error { return d.error }
