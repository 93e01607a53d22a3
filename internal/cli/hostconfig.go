// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/rule"
)

// parseHostConfig reads the configuration of an MCP host: .mcp.json and
// claude_desktop_config.json (mcpServers), .vscode/mcp.json (servers). Comments
// and trailing commas are allowed, as those hosts allow them.
func parseHostConfig(path string, data []byte) (*config, error) {
	clean := plainJSON(data)
	fail := func(offset int64, message, try string) error {
		line, col := jsonx.Position(data, offset)
		return &rule.FileError{Path: path, Line: line, Col: col, Message: message, Try: try}
	}
	syntax := func(base int64, err error) error {
		if syn, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
			return fail(base+syn.Offset, syn.Error(), "")
		}
		return fail(base, err.Error(), "")
	}
	ms, err := jsonx.Members(clean, jsonx.Strict)
	if err != nil {
		return nil, syntax(0, err)
	}
	c := &config{path: path, servers: map[string]*serverConfig{}}
	found := false
	for _, m := range ms {
		if !slices.Contains([]string{"mcpServers", "servers", "mcp"}, m.Name) {
			continue // hosts keep their other settings in the same file
		}
		base := m.Offset
		body := m.Value
		if m.Name == "mcp" { // VS Code's settings.json
			v, off, err := jsonx.Locate(m.Value, "/servers")
			if err != nil {
				continue
			}
			body, base = v, base+off
		}
		found = true
		servers, err := jsonx.Members(body, jsonx.Strict)
		if err != nil {
			return nil, syntax(base, err)
		}
		for _, s := range servers {
			at := base + s.Offset
			line, col := jsonx.Position(data, at)
			var raw struct {
				Command  string            `json:"command"`
				Args     []string          `json:"args"`
				Env      map[string]any    `json:"env"`
				Cwd      string            `json:"cwd"`
				URL      string            `json:"url"`
				HTTPURL  string            `json:"httpUrl"`
				Server   string            `json:"serverUrl"`
				Headers  map[string]string `json:"headers"`
				Disabled bool              `json:"disabled"`
			}
			if err := jsonx.Unmarshal(s.Value, &raw); err != nil {
				return nil, syntax(at, err)
			}
			sc := &serverConfig{
				place: place(path, line, col), url: firstOf(raw.URL, raw.HTTPURL, raw.Server),
				header: raw.Headers, cwd: raw.Cwd, disabled: raw.Disabled, env: map[string]string{},
			}
			for k, v := range raw.Env {
				switch v := v.(type) {
				case string:
					sc.env[k] = v
				default:
					b, _ := jsonx.Marshal(v)
					sc.env[k] = string(b)
				}
			}
			if raw.Command == "" && sc.url == "" && !raw.Disabled {
				return nil, fail(at, fmt.Sprintf("server %q has neither a command nor a url", s.Name), "")
			}
			if raw.Command != "" {
				sc.command = append([]string{raw.Command}, raw.Args...)
			}
			c.servers[s.Name] = sc
		}
	}
	if !found {
		return nil, fail(0, "no mcpServers (or servers) in it", "name the file in which the host lists its servers")
	}
	return c, nil
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// workspaceOf is what ${workspaceFolder} means in a file: the folder that
// holds .vscode, or the file.
func workspaceOf(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == ".vscode" {
		dir = filepath.Dir(dir)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// plainJSON replaces comments and trailing commas by spaces, so that every
// offset stays what it was.
func plainJSON(data []byte) []byte {
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	if strings.HasPrefix(string(out), "\ufeff") {
		blank(0, 3)
	}
	comma := -1 // a comma with nothing after it so far
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end - 1
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := len(out)
			if j := strings.Index(string(out[i+2:]), "*/"); j >= 0 {
				end = i + 2 + j + 2
			}
			blank(i, end)
			i = end - 1
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		default:
			comma = -1
		}
	}
	return out
}
