// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/transport"
)

// tape keeps what crossed, for the failure of a test. What is shown or written
// of it holds no secret that the test handed in.
type tape struct {
	mu      sync.Mutex
	events  []transport.TapEvent
	size    int
	dropped int
	secrets text.Redactor
}

const (
	// tapeSize bounds the bytes that are kept: of more, the oldest go.
	tapeSize = 32 << 20
	// shownEvents is how many of the last messages a failure shows.
	shownEvents = 40
	shownBytes  = 600
)

func newTape(o *options) *tape {
	x := &tape{}
	for _, h := range o.header {
		x.secrets.Add(h.Value)
		if _, token, ok := strings.Cut(h.Value, " "); ok {
			x.secrets.Add(token)
		}
	}
	return x
}

// tap implements transport.Tap.
func (x *tape) tap(e transport.TapEvent) {
	n := 128 + len(e.Body)
	if e.Frame != nil {
		n += len(e.Frame.Raw)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, e)
	x.size += n
	if x.size > tapeSize {
		half := len(x.events) / 2
		x.dropped += half
		x.events = append(x.events[:0:0], x.events[half:]...)
		x.size /= 2
	}
}

// show adds to a failed test what crossed and what the server said.
func (x *tape) show(t testing.TB, told *told, stderr string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	errs, _ := told.said()
	for _, e := range errs {
		t.Logf("inside the server: %s", shown(x.secrets.String(e.err.Error())))
	}
	if s := strings.TrimSpace(stderr); s != "" {
		t.Logf("the server's standard error:\n%s", text.Block(x.secrets.String(s)))
	}
	all := x.lines()
	if len(all) == 0 {
		t.Log("nothing crossed")
		return
	}
	last := all[max(0, len(all)-shownEvents):]
	head := "what crossed:"
	if len(last) < len(all) || x.dropped > 0 {
		head = fmt.Sprintf("the last %d of %d messages that crossed:", len(last), len(all)+x.dropped)
	}
	t.Logf("%s\n%s%s", head, strings.Join(last, "\n"), x.save(t, all))
}

// save writes all of it to the test's artifacts, and says where. Without -artifacts
// they are gone when the test has ended.
func (x *tape) save(t testing.TB, all []string) string {
	if len(all) <= shownEvents && !x.clipped() {
		return ""
	}
	if !keepsArtifacts() {
		return "\n(go test -artifacts keeps all of it)"
	}
	path := filepath.Join(t.ArtifactDir(), fileName(t.Name())+".transcript.txt")
	if err := os.WriteFile(path, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		return "\n(the whole transcript could not be written: " + err.Error() + ")"
	}
	return "\n(all of it: " + path + ")"
}

// keepsArtifacts reports whether the test was started with -artifacts.
func keepsArtifacts() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}

func (x *tape) clipped() bool {
	for _, e := range x.events {
		if e.Frame != nil && len(e.Frame.Raw) > shownBytes {
			return true
		}
	}
	return false
}

var notName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(test string) string { return notName.ReplaceAllString(test, "-") }

// lines are the events as a person reads them.
func (x *tape) lines() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	var begin time.Time
	for _, e := range x.events {
		at := when(e)
		if begin.IsZero() {
			begin = at
		}
		if s := x.line(e); s != "" {
			out = append(out, fmt.Sprintf("%9.3fms %s", float64(at.Sub(begin))/float64(time.Millisecond), s))
		}
	}
	return out
}

func when(e transport.TapEvent) time.Time {
	switch {
	case e.Frame != nil:
		return e.Frame.Time
	case e.Head != nil:
		return e.Head.Time
	}
	return time.Now()
}

func (x *tape) line(e transport.TapEvent) string {
	arrow := "<-"
	if e.Sent {
		arrow = "->"
	}
	switch {
	case e.Kind == transport.EventFrame:
		return arrow + " " + x.foreign(string(e.Frame.Raw))
	case e.Kind == transport.EventHead && e.Sent:
		return arrow + " " + x.foreign(e.Head.Method+" "+e.Head.URL)
	case e.Kind == transport.EventHead:
		return arrow + " " + x.foreign(fmt.Sprintf("HTTP %d %s", e.Head.Status, e.Head.MediaType()))
	case e.Kind == transport.EventBody:
		return arrow + " body: " + x.foreign(string(e.Body))
	case e.Kind == transport.EventClosed && e.Err != nil:
		return arrow + " closed: " + x.foreign(e.Err.Error())
	case e.Kind == transport.EventLost && e.Err != nil:
		return arrow + " lost: " + x.foreign(e.Err.Error())
	}
	return ""
}

func (x *tape) foreign(s string) string {
	return text.Clip(text.Line(x.secrets.String(s)), shownBytes)
}
