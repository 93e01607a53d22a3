// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the guide says of the verbs that ask holds with public servers.
func TestRealCalls(t *testing.T) {
	node := func(name string, args ...string) []string {
		return append([]string{"--", "node", filepath.Join(realDir(t), "npm", name, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\n\x1b[1mtwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	everything, files, memory := node("everything"), node("filesystem", dir), node("memory")
	for _, c := range []struct {
		args           []string
		target         []string
		exit           int
		stdout, stderr string // parts
	}{
		{[]string{"ls", "tools"}, everything, 0, "  get-sum(a: number, b: number)\n", ""},
		{[]string{"call", "get-sum", "a=17", "b=25"}, everything, 0, "The sum of 17 and 25 is 42.", ""},
		{[]string{"call", "get-sum", "a=17", "b=x"}, everything, 2, "", `argument b must be number; given "x"`},
		{[]string{"call", "get-sum", "a=17", "b=x", "--no-check"}, everything, 5, "Invalid", "tool-error"},
		{[]string{"call", "get-tiny-image"}, everything, 0, "[image image/png, 4033 bytes;", ""},
		{[]string{"call", "trigger-long-running-operation", "duration=0.2", "steps=2"}, everything, 0, "completed", "progress 2 of 2"},
		{[]string{"call", "trigger-elicitation-request"}, everything, 6, "", "--answer name=VALUE"},
		{[]string{"call", "trigger-elicitation-request", "--answer", "name=Ada"}, everything, 0, "Name: Ada", ""},
		{[]string{"call", "trigger-elicitation-request", "--answer", "elicit=decline"}, everything, 0, "declined", ""},
		{[]string{"call", "trigger-sampling-request", "prompt=x", "--answer", "sample=said"}, everything, 0, `"text": "said"`, ""},
		{[]string{"read", "demo://resource/static/document/features.md"}, everything, 0, "# Everything Server", ""},
		{[]string{"read", "demo://nope"}, everything, 5, "not found", "rpc-error"},
		{[]string{"get", "args-prompt", "city=Ulm"}, everything, 0, "What's weather in Ulm?", ""},
		{[]string{"complete", "completable-prompt", "department=E"}, everything, 0, "Engineering\n", ""},
		{[]string{"call", "read_text_file", "path=" + file}, files, 0, "one\n\\u{1B}[1mtwo\n", ""},
		{[]string{"call", "read_text_file", "path=/etc/passwd"}, files, 5, "Access denied", "tool-error"},
		{[]string{"call", "read_multiple_files", `paths=["` + file + `"]`}, files, 0, "one", ""},
		{[]string{"call", "create_entities", `entities=[{"name":"a","entityType":"t","observations":["x"]}]`, "--env", "MEMORY_FILE_PATH=" + filepath.Join(dir, "m.json")}, memory, 0, `"entityType": "t"`, ""},
		{[]string{"call", "read_graph", "--env", "MEMORY_FILE_PATH=" + filepath.Join(dir, "m.json")}, memory, 0, `"name": "a"`, ""},
	} {
		code, stdout, stderr := runReal(t, os.Environ(), append(append([]string{}, c.args...), c.target...)...)
		if code != c.exit || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d; want %d, %q, %q\n%s\n%s", strings.Join(c.args, " "), code, c.exit, c.stdout, c.stderr, stdout, stderr)
		}
	}
}
