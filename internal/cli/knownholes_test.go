// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"os"
	"slices"
	"testing"
)

// knownHole is a weakness of an SDK that was made public, and what finds it.
type knownHole struct {
	name  string
	start []string
	// mode is empty for a server over stdio.
	mode  string
	rules []string // each of them fails in the old release
}

// knownHoles are those of testdata/servers/holes; docs/known-holes.md has the
// exchanges.
var knownHoles = []knownHole{
	{"dns-rebinding", []string{"{D}/.venv/bin/python", "{D}/server.py"}, "http", []string{"transport-http.origin-validated"}},
	{"shared-transport", []string{"node", "{D}/server.mjs"}, "http", []string{"sec.cross-wire-two-sessions", "sec.cross-wire-duplicate"}},
	{"key-folding", []string{"{D}/server"}, "", []string{"sec.key-fold"}},
}

// Each hole is found in the release that has it, and not in the one after.
func TestRealKnownHoles(t *testing.T) {
	for _, h := range knownHoles {
		for _, release := range []string{"old", "fixed"} {
			t.Run(h.name+"/"+release, func(t *testing.T) {
				j := judge(t, h.candidate(t, "holes/"+h.name+"/"+release))
				for _, id := range h.rules {
					if failed := slices.Contains(j.Fail, id); failed != (release == "old") {
						t.Errorf("%s: %s %s%s", id, j.find(id).Status, j.find(id).Message, j.find(id).Reason)
					}
				}
			})
		}
	}
}

// candidate is one release of the hole, asked for its rules alone.
func (h *knownHole) candidate(t *testing.T, folder string) *candidate {
	t.Helper()
	argv := sdkCommand(t, folder, h.start)
	c := &candidate{server: h.name, transport: "stdio", target: append([]string{"--"}, argv...)}
	if h.mode != "" {
		c.transport, c.target = h.mode, servedOver(argv, h.mode, freePort(t))
	}
	for _, id := range h.rules {
		c.flags = append(c.flags, "--only", id)
	}
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	return c
}
