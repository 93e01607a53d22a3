// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// testServer is a server for scripts: testserver MODE [ARG...]. Most modes
// serve the listing in a file; the others misbehave as programs do.
func testServer(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testserver MODE [ARG...]")
		return 2
	}
	mode, rest := args[0], args[1:]
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot find the database")
		n, _ := strconv.Atoi(rest[0])
		return n
	case "silent":
		select {}
	case "half":
		fmt.Print(`{"jsonrpc":"2.0","id":1,"res`)
		select {}
	case "flood":
		out := os.Stdout
		if rest[0] == "stderr" {
			out = os.Stderr
		}
		line := strings.Repeat("x", 1000) + "\n"
		for {
			if _, err := out.WriteString(line); err != nil {
				return 1
			}
		}
	case "fork": // a child of its own holds the pipes and outlives it
		self, err := os.Executable()
		if err != nil {
			return 1
		}
		c := exec.Command(self, "silent")
		c.Args[0] = "testserver"
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			return 1
		}
		_ = os.WriteFile(rest[0], []byte(strconv.Itoa(c.Process.Pid)), 0o600)
		return 3
	}
	if mode == "says" {
		return says(rest[0])
	}
	script, faults, err := scriptOf(mode, rest)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	script.Faults = faults
	s := mock.New(script)
	if mode == "http" {
		if len(rest) > 2 && rest[2] == "oldest" {
			script.Revisions = []spec.Revision{spec.Rev20241105}
			s, rest = mock.New(script), rest[:2]
		}
		return serveHTTP(s, rest[1], rest[2:])
	}
	if err := s.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil && !errors.Is(err, mock.ErrEnded) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// says is a server that answers by what a file holds: an object of methods,
// "tools/call NAME" for one tool and "*" for all others, with {"result"} or
// {"error"} as each is to be sent.
func says(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(data, &answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		for _, name := range []string{m.Method + " " + m.Params.Name, m.Method, "*"} {
			if a, ok := answers[name]; ok {
				var line bytes.Buffer
				_ = json.Compact(&line, a)
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s`+"\n", m.ID, line.Bytes()[1:])
				break
			}
		}
	}
	return 0
}

// serveHTTP serves on an address. Its conduct is one of html, redirect, auth,
// gateway, limit, or none for a proper server.
func serveHTTP(s *mock.Server, addr string, conduct []string) int {
	var h http.Handler = s
	if len(conduct) > 0 {
		what := conduct[0]
		up := time.Now().Add(time.Second)
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch what {
			case "html":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html><title>Welcome</title></html>")
			case "redirect":
				http.Redirect(w, r, "https://elsewhere.example/mcp", http.StatusMovedPermanently)
			case "auth":
				if r.Header.Get("Authorization") != "Bearer correct-horse-battery" {
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				s.ServeHTTP(w, r)
			case "gateway": // what stands before a server that is still starting
				if time.Now().Before(up) {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				s.ServeHTTP(w, r)
			case "limit": // one that lets nobody begin a session just now
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"initialize"`) {
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				s.ServeHTTP(w, r)
			case "path":
				if r.URL.Path != "/mcp" {
					http.NotFound(w, r)
					return
				}
				s.ServeHTTP(w, r)
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // as slow to start as real ones
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	if err := srv.Serve(l); err != nil {
		return 1
	}
	return 0
}

// scriptOf reads the listing and the faults of a mode.
func scriptOf(mode string, rest []string) (mock.Script, []mock.Fault, error) {
	if len(rest) == 0 {
		return mock.Script{}, nil, fmt.Errorf("mode %s needs a listing", mode)
	}
	data, err := os.ReadFile(rest[0])
	if err != nil {
		return mock.Script{}, nil, err
	}
	var l struct {
		Server       json.RawMessage   `json:"server"`
		Instructions string            `json:"instructions"`
		Capabilities json.RawMessage   `json:"capabilities"`
		CacheScope   string            `json:"cacheScope"`
		PageSize     int               `json:"pageSize"`
		Tools        []json.RawMessage `json:"tools"`
		Resources    []json.RawMessage `json:"resources"`
		Templates    []json.RawMessage `json:"resourceTemplates"`
		Prompts      []json.RawMessage `json:"prompts"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return mock.Script{}, nil, err
	}
	s := mock.Script{ServerInfo: l.Server, Instructions: l.Instructions, Capabilities: l.Capabilities, CacheScope: l.CacheScope, PageSize: l.PageSize}
	for _, d := range l.Tools {
		s.Tools = append(s.Tools, mock.Tool{Definition: d})
	}
	for _, d := range l.Resources {
		s.Resources = append(s.Resources, mock.Resource{Definition: d})
	}
	for _, d := range l.Templates {
		s.Templates = append(s.Templates, mock.Template{Definition: d})
	}
	for _, d := range l.Prompts {
		s.Prompts = append(s.Prompts, mock.Prompt{Definition: d})
	}
	tools := mock.On("tools/list")
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	faults := map[string][]mock.Fault{
		"serve": nil, "http": nil,
		"noise":       {mock.Banner("\x1b[31mMy server is ready\x1b[0m"), tools.Before("DEBUG listing"), tools.After("listed")},
		"page2-fails": {tools.OnPage(2).Error(-32603, "the database is gone")},
		"page2-dies":  {tools.OnPage(2).Die()},
		"cursor":      {tools.RepeatCursor()},
		"endless":     {tools.EndlessCursors()},
		"not-served":  {mock.On("prompts/list").Error(-32601, "Method not found")},
		"no-versions": {mock.On("server/discover").Remove("/result/supportedVersions")},
		"secret":      nil,
		"chatty":      {mock.On("initialize").After(changed), mock.On("server/discover").After(changed)},
	}
	fs, ok := faults[mode]
	if !ok {
		return s, nil, fmt.Errorf("unknown mode %q", mode)
	}
	if mode == "secret" { // a server that shows what it was given
		def, err := json.Marshal(map[string]any{"name": "leak", "description": "uses " + os.Getenv("API_TOKEN"), "inputSchema": map[string]any{"type": "object"}})
		if err != nil {
			return s, nil, err
		}
		s.Tools = append(s.Tools, mock.Tool{Definition: def})
	}
	return s, fs, nil
}
