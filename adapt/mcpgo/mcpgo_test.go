// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
)

// The SDK serves every revision over every door.
func TestRevisionsOfEachDoor(t *testing.T) {
	want := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	for _, d := range doors {
		if got := mcptest.Revisions(t, d.open(newServer())); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", d.name, got, want)
		}
	}
}

func TestListsAndCalls(t *testing.T) {
	each(t, func(t *testing.T, _ door, c *mcptest.Client) {
		c.HasTool("echo")
		c.HasResource("notes://today")
		c.HasTemplate("notes://about/{topic}")
		c.HasPrompt("explain")
		c.ListsTheSame()
		c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
		c.CallTool("add", mcptest.Args{"a": 1, "b": 2}).HasJSON(sum{3}).MatchesOutputSchema()
		c.CallTool("ecco", nil).HasErrorCode(-32602)
		c.CallTool("broken", mcptest.Args{"how": "by a tool error"}).IsToolError().HasText("sorry")
		c.CallTool("broken", nil).HasErrorCode(-32603).HasErrorMessage(errDatabase.Error())
		c.ReadResource("notes://today").HasText("about today")
		c.ReadResource("notes://about/moon").HasText("about about/moon")
		c.GetPrompt("explain", map[string]string{"topic": "tides"}).HasText("Explain tides.")
		c.Complete("explain", "topic", "ti", nil).HasAt("/completion/values", []string{"tides", "timber"})
	})
}

// In virtual time each notification is sent before the next step.
func TestProgressAndLogs(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return d.open(newServer()) }), func(t *testing.T, c *mcptest.Client) {
				c.CallTool("work", nil, mcptest.WithProgress()).HasText("done").Reports(3).LogsAt("info")
			}, mcptest.LogLevel("debug"), mcptest.VirtualTime)
		})
	}
}

func TestParallelCallsGetTheirOwnAnswers(t *testing.T) {
	each(t, func(t *testing.T, _ door, c *mcptest.Client) {
		c.Stampede(20, "echo", func(i int) any { return mcptest.Args{"text": fmt.Sprint(i)} },
			func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint(i)) })
	})
}
