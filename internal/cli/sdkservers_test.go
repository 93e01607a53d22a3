// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sdkStarts is how each server of testdata/servers is started, from the folder
// in which .ci/sdk-servers built it.
var sdkStarts = []struct {
	name  string
	start []string
	// modes are the words before the port that make it serve HTTP, each a
	// candidate of its own.
	modes []string
}{
	{"go-sdk", []string{"{D}/server"}, []string{"http", "http-stateless"}},
	{"java-sdk", []string{"java", "-cp", "{D}/target/classes:{D}/target/dependency/*", "Server"}, []string{"http"}},
	{"python-fastmcp", []string{"{D}/.venv/bin/python", "{D}/server.py"}, []string{"http"}},
	{"python-mcp", []string{"{D}/.venv/bin/python", "{D}/server.py"}, []string{"http"}},
	{"python-mcp1", []string{"{D}/.venv/bin/python", "{D}/server.py"}, []string{"http"}},
	{"rust-rmcp", []string{"{D}/target/debug/rust-rmcp"}, []string{"http"}},
	{"typescript-1", []string{"node", "{D}/server.mjs"}, []string{"http"}},
	{"typescript-2", []string{"node", "{D}/server.mjs"}, []string{"http"}},
}

// sdkServers are the small servers that were written for each SDK, over each of
// their transports, in every revision that they serve.
func sdkServers(t *testing.T) []candidate {
	t.Helper()
	var out []candidate
	for _, s := range sdkStarts {
		argv := sdkCommand(t, s.name, s.start)
		environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out = append(out, candidate{s.name, "stdio", append([]string{"--"}, argv...), nil, environ})
		for _, mode := range s.modes {
			out = append(out, candidate{s.name, mode, servedOver(argv, mode, freePort(t)), nil, environ})
		}
	}
	return out
}

// sdkCommand is the command of a server below the folder of the SDKs.
func sdkCommand(t *testing.T, name string, start []string) []string {
	t.Helper()
	folder := filepath.Join(realDir(t), "sdk", filepath.FromSlash(name))
	if !exists(filepath.Join(folder, ".installed")) {
		t.Fatalf("%s is not built: run .ci/sdk-servers", name)
	}
	argv := make([]string, len(start))
	for i, word := range start {
		argv[i] = strings.ReplaceAll(word, "{D}", folder)
	}
	return argv
}

// servedOver is the target that starts a command to serve HTTP.
func servedOver(argv []string, mode string, port int) []string {
	target := append([]string{fmt.Sprintf("http://127.0.0.1:%d/mcp", port), "--"}, argv...)
	return append(target, mode, fmt.Sprint(port))
}
