// SPDX-License-Identifier: Apache-2.0

//go:build real

package mcptest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/spec"
)

// realSDKs are the servers of testdata/servers, which all have the same surface, with
// the number of revisions that each speaks over stdio.
var realSDKs = []struct {
	name      string
	start     []string
	revisions int
}{
	{"go-sdk", []string{"{D}/server"}, 5},
	{"java-sdk", []string{"java", "-cp", "{D}/target/classes:{D}/target/dependency/*", "Server"}, 4},
	{"python-fastmcp", []string{"{D}/.venv/bin/python", "{D}/server.py"}, 5},
	{"python-mcp", []string{"{D}/.venv/bin/python", "{D}/server.py"}, 5},
	{"python-mcp1", []string{"{D}/.venv/bin/python", "{D}/server.py"}, 4},
	{"rust-rmcp", []string{"{D}/target/debug/rust-rmcp"}, 5},
	{"typescript-1", []string{"node", "{D}/server.mjs"}, 4},
	{"typescript-2", []string{"node", "{D}/server.mjs"}, 5},
}

func TestRealServers(t *testing.T) {
	dir := os.Getenv("MCPROVE_REAL")
	if dir == "" {
		dir = filepath.Join("..", ".real")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range realSDKs {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(dir, "sdk", s.name)
			if _, err := os.Stat(filepath.Join(folder, ".installed")); err != nil {
				t.Fatalf("%s is not built: run .ci/sdk-servers", s.name)
			}
			var argv []string
			for _, w := range s.start {
				argv = append(argv, strings.ReplaceAll(w, "{D}", folder))
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			n := 0
			mcptest.EachEra(t, cmd, func(t *testing.T, c *mcptest.Client) {
				n++
				useOfAll(t, c)
			})
			if n != s.revisions {
				t.Errorf("it ran in %d revisions, not in %d", n, s.revisions)
			}
		})
	}
}

// useOfAll is what every one of these servers must do.
func useOfAll(t *testing.T, c *mcptest.Client) {
	c.HasTools("echo", "add", "slow", "broken")
	c.HasResource("notes://today")
	c.HasTemplate("notes://about/{topic}")
	c.HasPrompt("explain")
	c.ListsTheSame()
	c.ListsWithin(64 << 10)
	c.CallTool("echo", mcptest.Args{"text": "hello"}).Contains("hello").HasNoSecrets()
	c.CallTool("add", mcptest.Args{"a": 2, "b": 3}).Contains("5")
	c.CallTool("broken", nil).IsToolError()
	c.ReadResource("notes://today").IsOK()
	c.GetPrompt("explain", map[string]string{"topic": "tides"}).Contains("tides")
	c.Stampede(10, "echo", func(i int) any { return mcptest.Args{"text": "call " + string(rune('a'+i))} },
		func(i int, r *mcptest.Reply) error {
			if !strings.Contains(r.Text(), "call "+string(rune('a'+i))) {
				return mcptest.Is(r.Text(), "call "+string(rune('a'+i)))
			}
			return nil
		})
	p := c.Start("slow", nil, mcptest.WithProgress())
	p.Sees(spec.NotificationProgress, 10*time.Second)
	p.Wait().IsOK().Within(20 * time.Second)
	if got := c.Recording().Unanswered(); len(got) > 0 {
		t.Errorf("unanswered: %+v", got)
	}
	if got := c.Recording().Counts(); got["unknown"] > 0 || !slices.Contains([]int{2, 4}, got[spec.MethodResourcesRead]) {
		t.Errorf("the counts are %v", got)
	}
}
