// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mcptest"
)

func TestHalfAnHourTakesNoTime(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return d.open(newServer()) }), func(t *testing.T, c *mcptest.Client) {
				begin := time.Now()
				c.CallTool("echo", mcptest.Args{"text": "late", "minutes": 30}).HasText("late").Within(30*time.Minute + time.Second)
				if took := time.Since(begin); took < 30*time.Minute {
					t.Errorf("it took %s", took)
				}
			}, mcptest.VirtualTime)
		})
	}
}

// A call that was given up ends.
func TestCancelledCallsEnd(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return d.open(newServer()) }), func(t *testing.T, c *mcptest.Client) {
				cancelled.Delete(t.Name())
				p := c.Start("echo", mcptest.Args{"text": t.Name(), "minutes": 30})
				synctest.Wait()
				p.Cancel()
				synctest.Wait()
				if _, done := cancelled.Load(t.Name()); !done {
					t.Error("the context of the tool is not done")
				}
			}, mcptest.VirtualTime)
		})
	}
}
