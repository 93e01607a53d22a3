// SPDX-License-Identifier: Apache-2.0

package gosdk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
)

// The SDK serves 2026-07-28 over HTTP in the stateless form alone.
func TestRevisionsOfEachDoor(t *testing.T) {
	handshakes := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	for _, d := range doors {
		want := handshakes
		if d.modern {
			want = append(slices.Clone(want), "2026-07-28")
		}
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
		c.CallTool("broken", mcptest.Args{"how": "plainly"}).IsToolError().HasText(errDatabase.Error())
		c.ReadResource("notes://today").HasText("about today")
		c.ReadResource("notes://about/moon").HasText("about about/moon")
		c.GetPrompt("explain", map[string]string{"topic": "tides"}).HasText("Explain tides.")
		c.Complete("explain", "topic", "ti", nil).HasAt("/completion/values", []string{"tides", "timber"})
	})
}

func TestProgressAndLogs(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		r := c.CallTool("work", nil, mcptest.WithProgress()).HasText("done")
		if d.name == "JSON" {
			return // one object is all there is
		}
		r.Reports(3).LogsAt("info")
	}, mcptest.LogLevel("debug"))
}

func TestParallelCallsGetTheirOwnAnswers(t *testing.T) {
	each(t, func(t *testing.T, _ door, c *mcptest.Client) {
		c.Stampede(20, "echo", func(i int) any { return mcptest.Args{"text": fmt.Sprint(i)} },
			func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint(i)) })
	})
}
