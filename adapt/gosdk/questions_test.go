// SPDX-License-Identifier: Apache-2.0

package gosdk_test

import (
	"testing"

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
		r := c.CallTool("ask", nil)
		if !asks(d, c, spec.MethodElicit) {
			r.HasErrorMessage("client does not support elicitation")
			return
		}
		r.HasText("hello, Ada")
	}, mcptest.OnElicit(mcptest.Always(mcptest.Accept(mcptest.Args{"name": "Ada"}))))
}

func TestSamplingAndRoots(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		if !asks(d, c, spec.MethodRootsList) {
			return
		}
		c.CallTool("sample", nil).HasText("roses are red")
		c.CallTool("roots", nil).HasText("file:///home")
	}, mcptest.OnSample(mcptest.Always(mcptest.Completion("roses are red"))), mcptest.Roots("file:///home"))
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
		r := c.CallTool("imperative", nil)
		if c.Modern() || !asks(d, c, spec.MethodElicit) {
			r.IsToolError()
			return
		}
		r.HasText("accept")
	}, mcptest.OnElicit(mcptest.Always(mcptest.Accept(nil))))
}

func TestQuestionsInVain(t *testing.T) {
	each(t, func(t *testing.T, d door, c *mcptest.Client) {
		r := c.CallTool("ask", nil)
		if !c.Modern() {
			r.Ignore() // the SDK knows that this client cannot be asked, and does not
			return
		}
		r.AsksInVain(spec.MethodElicit)
	})
}
