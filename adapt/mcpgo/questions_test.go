// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"testing"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/spec"
)

// asks reports whether a question of the server reaches the client.
func asks(d door, c *mcptest.Client, method string) bool {
	r, err := spec.ParseRevision(c.Revision())
	if err != nil {
		return false
	}
	_, has := spec.MethodAt(method, r)
	return c.Modern() || d.asks && has
}

func TestElicitation(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		if asks(d, c, spec.MethodElicit) {
			c.CallTool("ask", nil).HasText("hello, Ada")
		}
	}, mcptest.OnElicit(mcptest.Always(mcptest.Accept(mcptest.Args{"name": "Ada"}))))
}

// Over HTTP this SDK asks for these on the standing stream alone.
func TestSamplingAndRoots(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		if !asks(d, c, spec.MethodRootsList) {
			return
		}
		c.CallTool("sample", nil).HasText("roses are red")
		c.CallTool("roots", nil).HasText("file:///home")
	}, mcptest.OnSample(mcptest.Always(mcptest.Completion("roses are red"))), mcptest.Roots("file:///home"), mcptest.Listen, mcptest.Timeout(10*time.Second))
}

func TestSteps(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		if !asks(d, c, spec.MethodElicit) {
			return
		}
		s := c.Step("ask", nil).Asks("name")
		s.Answer(mcptest.Accept(mcptest.Args{"name": "Grace"})).Reply().HasText("hello, Grace")
		c.Step("ask", nil).Answer(mcptest.Decline()).Reply().HasText("nobody: decline")
		c.Step("ask", nil).Answer(mcptest.Cancel()).Reply().HasText("nobody: cancel")
	}, mcptest.Capabilities(`{"elicitation":{}}`))
}

// A tool that asks through the session has a way to its user in the handshake
// revisions alone.
func TestImperativeQuestions(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		if !c.Modern() && !asks(d, c, spec.MethodElicit) {
			return
		}
		r := c.CallTool("imperative", nil)
		if c.Modern() {
			r.IsToolError()
			return
		}
		r.HasText("accept")
	}, mcptest.OnElicit(mcptest.Always(mcptest.Accept(nil))))
}
