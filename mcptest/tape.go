// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/wire"
)

// tape keeps what crossed, for the failure of a test. What is shown or written
// of it holds no secret that the test handed in.
type tape struct {
	*record.Recorder
	secrets text.Redactor
}

const (
	tapeSize = 32 << 20
	// shownRecords is how many of the last records a failure shows.
	shownRecords = 40
	shownBytes   = 600
)

func newTape(o *options) *tape {
	x := &tape{}
	var values []string
	for _, h := range o.header {
		values = append(values, h.Value)
		if _, token, ok := strings.Cut(h.Value, " "); ok {
			values = append(values, token)
		}
	}
	x.secrets.Add(values...)
	x.Recorder = record.New(record.Options{Limit: tapeSize, Tail: true, Redact: record.Redaction{Values: values}})
	return x
}

// Recording is everything that crossed so far: to count, to time, to look for what
// was never answered, to write as JSON Lines or HAR.
func (c *Client) Recording() *record.Recording { return c.tape.Recording() }

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
	recording := x.Recording()
	all, cut := x.lines(recording)
	if len(all) == 0 {
		t.Log("nothing crossed")
		return
	}
	last := all[max(0, len(all)-shownRecords):]
	head := "what crossed:"
	if cut = cut || len(last) < len(all) || recording.Dropped > 0; len(last) < len(all) {
		head = fmt.Sprintf("the last %d of %d things that crossed:", len(last), len(all)+recording.Dropped)
	}
	t.Logf("%s\n%s%s", head, strings.Join(last, "\n"), save(t, recording, cut))
}

// save writes the recording to the test's artifacts, and says where. Without
// -artifacts they are gone when the test has ended.
func save(t testing.TB, r *record.Recording, cut bool) string {
	if !keepsArtifacts() {
		if cut {
			return "\n(go test -artifacts keeps all of it)"
		}
		return ""
	}
	path := filepath.Join(t.ArtifactDir(), fileName(t.Name())+".jsonl")
	var b bytes.Buffer
	err := r.WriteJSONL(&b)
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		return "\n(the recording could not be written: " + err.Error() + ")"
	}
	return "\n(all of it: " + path + ")"
}

// keepsArtifacts reports whether the test was started with -artifacts.
func keepsArtifacts() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}

var notName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(test string) string { return notName.ReplaceAllString(test, "-") }

// lines are the records as a person reads them. Some may be cut.
func (x *tape) lines(recording *record.Recording) (out []string, cut bool) {
	var begin time.Time
	for _, r := range recording.Records() {
		if r.Part > 0 {
			continue // its batch is shown
		}
		if begin.IsZero() {
			begin = r.Time
		}
		s := x.line(&r)
		if s == "" {
			continue
		}
		cut = cut || len(s) > shownBytes
		out = append(out, fmt.Sprintf("%9.3fms %s", float64(r.Time.Sub(begin))/float64(time.Millisecond), text.Clip(s, shownBytes)))
	}
	return out, cut
}

// line is one record, empty for what explains nothing.
func (x *tape) line(r *record.Record) string {
	arrow := "   "
	switch r.Dir {
	case wire.ToServer:
		arrow = "-> "
	case wire.ToClient:
		arrow = "<- "
	}
	head := ""
	switch {
	case r.HTTP == nil:
	case r.Dir == wire.ToServer && r.Kind != record.Request:
		head = r.HTTP.Method + " "
	case r.Dir == wire.ToClient && (r.HTTP.Status != 200 || r.Kind > record.Batch):
		head = fmt.Sprintf("HTTP %d ", r.HTTP.Status)
	}
	if r.Latency > 0 {
		head = fmt.Sprintf("(%.3fms) ", float64(r.Latency)/float64(time.Millisecond)) + head
	}
	switch {
	case r.Frame != nil:
		return arrow + head + x.foreign(string(r.Frame.Raw))
	case len(r.Body) > 0:
		return arrow + head + x.foreign(string(r.Body))
	case r.Event != nil:
		return arrow + head + x.foreign(string(r.Event.Raw))
	case r.Err != "":
		return arrow + r.Kind.String() + ": " + x.foreign(r.Err)
	case r.Kind == record.Opened, r.Kind == record.Closed:
		return ""
	}
	return arrow + strings.TrimSpace(head+r.Kind.String())
}

func (x *tape) foreign(s string) string { return text.Line(x.secrets.String(s)) }
