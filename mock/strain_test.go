// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// answersBeside reports whether a server answers a client while another one is
// in the middle of its body, or does not read its answer.
func answersBeside(t *testing.T, s *mock.Server, slow func(context.Context)) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	gone, answered := make(chan struct{}), make(chan struct{})
	go func() { defer close(gone); slow(ctx) }()
	time.Sleep(20 * time.Millisecond) // until it is in the middle
	go func() { defer close(answered); post(s, modern(spec.MethodDiscover, ""), nil) }()
	beside := true
	select {
	case <-answered:
	case <-time.After(100 * time.Millisecond):
		beside = false
	}
	cancel()
	<-gone
	<-answered
	return beside
}

// unread is a client that takes nothing of its answer until the context ends.
type unread struct {
	http.ResponseWriter
	ctx context.Context
}

func (w unread) Write(b []byte) (int, error) { <-w.ctx.Done(); return len(b), nil }

func TestSerial(t *testing.T) {
	for _, what := range []string{"", mock.SerialReading, mock.SerialWriting} {
		script := mock.Library()
		script.Faults = []mock.Fault{mock.Serial(what)}
		s := mock.New(script)
		reading := answersBeside(t, s, func(ctx context.Context) {
			body, end := io.Pipe()
			context.AfterFunc(ctx, func() { _ = end.Close() })
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body)
			s.ServeHTTP(httptest.NewRecorder(), r)
		})
		writing := answersBeside(t, s, func(ctx context.Context) {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(modern(spec.MethodDiscover, "")))
			r.Header.Set("Content-Type", spec.MediaJSON)
			for name, value := range map[string]string{spec.HeaderProtocolVersion: spec.Latest.String(), spec.HeaderMethod: spec.MethodDiscover} {
				r.Header.Set(name, value)
			}
			s.ServeHTTP(unread{httptest.NewRecorder(), ctx}, r)
		})
		if reading != (what != mock.SerialReading) || writing != (what != mock.SerialWriting) {
			t.Errorf("%q: answers while a body comes %t, while an answer is not read %t", what, reading, writing)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	s := withFault(mock.BodyLimit(300))
	for _, tc := range []struct {
		length int64
		want   int
	}{{300, 200}, {301, 413}, {-1, 200}} {
		text := modern(spec.MethodDiscover, "")
		body := io.NopCloser(strings.NewReader(text + strings.Repeat(" ", 300)))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
		r.ContentLength = tc.length
		for name, value := range map[string]string{"Content-Type": spec.MediaJSON, spec.HeaderProtocolVersion: spec.Latest.String(), spec.HeaderMethod: spec.MethodDiscover} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("a body that announces %d bytes: %d, want %d", tc.length, w.Code, tc.want)
		}
	}
}

func TestBacktrack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withFault(mock.On(spec.MethodResourcesRead).Backtrack("/params/uri", ",", time.Millisecond))
		for uri, want := range map[string]time.Duration{
			"x:a": time.Millisecond, "x:,,,": 8 * time.Millisecond, "x:" + strings.Repeat(",", 60): 5 * time.Second,
		} {
			begin := time.Now()
			post(s, modern(spec.MethodResourcesRead, `"uri":"`+uri+`"`), nil)
			if took := time.Since(begin); took != want {
				t.Errorf("%s took %s, want %s", uri, took, want)
			}
		}
	})
}

func TestDepth(t *testing.T) {
	s := withFault(mock.On("").When(mock.DepthFrom(10)).Status(299))
	for _, tc := range []struct {
		deep string
		hit  bool
	}{
		{`[[1],[2],{"a":{}}]`, false}, {strings.Repeat("[", 7) + strings.Repeat("]", 7), false},
		{strings.Repeat("[", 8) + strings.Repeat("]", 8), true}, {`"\"[[[[[[[[[["`, false}, {strings.Repeat("[", 20000), true},
	} {
		if w := post(s, modern(spec.MethodDiscover, `"deep":`+tc.deep), nil); (w.Code == 299) != tc.hit {
			t.Errorf("%.40s: %d", tc.deep, w.Code)
		}
	}
}

// The operators and the condition as they are written in a script.
func TestStrainInYAML(t *testing.T) {
	script, err := read(`
faults:
  - {do: serial, while: writing}
  - {do: limit, count: 4096}
  - {do: backtrack, method: resources/read, pointer: /params/uri, text: ",", delay: 1ms}
  - {do: die, when: [{depth: 1000, is: from}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []mock.Fault{
		mock.Serial(mock.SerialWriting), mock.BodyLimit(4096),
		mock.On(spec.MethodResourcesRead).Backtrack("/params/uri", ",", time.Millisecond), mock.On("").When(mock.DepthFrom(1000)).Die(),
	}
	if len(script.Faults) != len(want) {
		t.Fatalf("%d faults", len(script.Faults))
	}
	for i, f := range script.Faults {
		if f.Op != want[i].Op || f.Text != want[i].Text || f.Count != want[i].Count || f.Delay != want[i].Delay || f.Pointer != want[i].Pointer {
			t.Errorf("fault %d is %+v, want %+v", i, f, want[i])
		}
	}
	if c := script.Faults[3].Conditions; len(c) != 1 || c[0] != mock.DepthFrom(1000) {
		t.Errorf("conditions %+v", c)
	}
	if _, err := read("faults: [{do: serial, while: sleeping}]"); err == nil {
		t.Error("a server that sleeps for one client at a time")
	}
}
