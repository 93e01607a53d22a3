// SPDX-License-Identifier: Apache-2.0

package gosdk_test

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

// A call that was given up ends where the SDK is told: by a notification on a
// connection or in a session, or by the end of the exchange in the stateless
// form. What goes on ends with its client.
func TestCancelledCallsEnd(t *testing.T) {
	for _, d := range doors {
		if d.name == "handler alone" {
			continue // a call of a handshake revision goes on for its half hour, and the kit says so
		}
		t.Run(d.name, func(t *testing.T) {
			mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return d.open(newServer()) }), func(t *testing.T, c *mcptest.Client) {
				begin := time.Now()
				cancelled.Delete(t.Name())
				p := c.Start("echo", mcptest.Args{"text": t.Name(), "minutes": 30})
				synctest.Wait()
				p.Cancel()
				synctest.Wait()
				want := d.legacyCancels
				if c.Modern() {
					want = d.modernCancels
				}
				if _, got := cancelled.Load(t.Name()); got != want {
					t.Errorf("the context of the tool is done: %t, want %t", got, want)
				}
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			}, mcptest.VirtualTime)
		})
	}
}
