// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// say sends lines to a server and returns its lines once the input has ended.
func say(t *testing.T, s *mock.Server, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(within(t), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out); err != nil {
		t.Fatalf("serve: %v", err)
	}
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
}

func TestStdioBeforeTheHandshake(t *testing.T) {
	legacy := []spec.Revision{spec.Rev20250618}
	for _, tc := range []struct {
		name, line string
		revisions  []spec.Revision
		code       int
	}{
		{"a list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy, spec.CodeInvalidRequest},
		{"a list, dual", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, spec.CodeInvalidRequest},
		{"a list, modern", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []spec.Revision{spec.Rev20260728}, spec.CodeInvalidParams},
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, legacy, 0},
		{"discover to a legacy server", modern(spec.MethodDiscover, ""), legacy, spec.CodeMethodNotFound},
		{"discover without _meta, dual", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, nil, spec.CodeInvalidParams},
		{"discover, dual", modern(spec.MethodDiscover, ""), nil, 0},
		{"discover of a version to come", strings.Replace(modern(spec.MethodDiscover, ""), "2026-07-28", "2031-01-01", 1), nil, spec.CodeUnsupportedVersion},
		{"initialize, modern", initialize("2025-06-18"), []spec.Revision{spec.Rev20260728}, spec.CodeUnsupportedVersion},
		{"initialize", initialize("2025-06-18"), legacy, 0},
		{"not JSON", `hello`, legacy, spec.CodeParseError},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, legacy, spec.CodeInvalidRequest},
	} {
		got := say(t, mock.New(mock.Script{Revisions: tc.revisions, Tools: mock.Library().Tools}), tc.line)
		if len(got) != 1 || code(t, []byte(got[0])) != tc.code {
			t.Errorf("%s: %q, want code %d", tc.name, got, tc.code)
		}
	}
}

func TestStdioBothErasOnOneConnection(t *testing.T) {
	s := mock.New(mock.Library())
	got := say(t, s,
		modern(spec.MethodDiscover, ""),
		"",
		strings.Replace(initialize("2025-03-26"), `"id":1`, `"id":2`, 1),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		strings.Replace(modern(spec.MethodPromptsList, ""), `"id":1`, `"id":"five"`, 1)+"\r",
	)
	ids := map[string]bool{}
	for _, l := range got {
		m := wire.Read([]byte(l))
		if m.Kind != wire.Response {
			t.Errorf("%s", l)
		}
		ids[string(m.ID)] = true
	}
	for _, id := range []string{"1", "2", "3", "4", `"five"`} {
		if !ids[id] {
			t.Errorf("no answer to %s: %q", id, got)
		}
	}
}

// waiting is a script with a tool that waits for its end, and tells of it.
func waiting() (script mock.Script, began, ended chan struct{}) {
	began, ended = make(chan struct{}, 8), make(chan struct{}, 8)
	return mock.Script{Tools: []mock.Tool{{
		Definition: raw(`{"name":"wait","inputSchema":{"type":"object"}}`),
		Func: func(ctx context.Context, _ *mock.Call) (json.RawMessage, error) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return raw(`{"content":[]}`), nil
		},
	}}}, began, ended
}

func TestStdioCancelledRequestGetsNothing(t *testing.T) {
	script, began, ended := waiting()
	in, toServer := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- mock.New(script).ServeStdio(context.Background(), in, &out) }()
	write := func(s string) {
		if _, err := io.WriteString(toServer, s+"\n"); err != nil {
			t.Error(err)
		}
	}
	write(modern(spec.MethodToolsCall, `"name":"wait"`))
	<-began
	write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`) // another id
	write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-ended
	_ = toServer.Close()
	if err := <-done; err != nil || out.Len() > 0 {
		t.Errorf("%v, wrote %s", err, out.String())
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	script, began, ended := waiting()
	in, toServer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mock.New(script).ServeStdio(ctx, in, io.Discard) }()
	if _, err := io.WriteString(toServer, modern(spec.MethodToolsCall, `"name":"wait"`)+"\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	cancel()
	<-ended
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestStdioEndsWhenNobodyReads(t *testing.T) {
	in, toServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- mock.New(mock.Script{}).ServeStdio(context.Background(), in, brokenWriter{}) }()
	_, _ = io.WriteString(toServer, initialize("2025-06-18")+"\n")
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "nobody reads") {
			t.Errorf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}
