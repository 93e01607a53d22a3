// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const toolsPage = "2026-07-28/server/tools"

// toolChangedRules are those of notifications that the list of tools changed.
var toolChangedRules = []Rule{
	listChangedRule("tools", spec.MethodToolsList, spec.NotificationToolsListChanged, toolsPage),
	{
		Info: rule.Info{
			ID: "tools.list-changed-needs-capability", Level: rule.ShouldNot, Basis: rule.Derived, Section: toolsPage + "#capabilities",
			Title: "a server without tools.listChanged tells of no changes of its tools",
			Why:   "clients that go by the capability do not listen, and go on with the old list",
			Fix:   `declare "listChanged": true in the tools capability`,
		},
		In: every, Watch: toolsChangedDeclared, Stir: stirChanged, Starts: true, Needs: "--tool",
		Under: []string{"tools.capability-declared"},
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(elicitingClient).Set("/result/capabilities/tools/listChanged", "false"),
		}, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/roots")).Set("/result/capabilities/tools/listChanged", "false")}, In: handshakeEra}},
	},
}

// stirChanged calls what may change the list while a subscription is open, and
// sees what is declared.
func stirChanged(c *probe.Case) {
	if c.Facts().Declares("tools.listChanged") {
		witnessed(c, "tools.listChanged")
	}
	stirDeclarations(c)
}

func toolsChangedDeclared(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Notifications(spec.NotificationToolsListChanged) {
		silent := undeclared(t, "tools.listChanged", r.Conn)
		switch {
		case silent != nil:
			c.Fail(r.Exchange, "a change of the tools is told, and the server does not declare tools.listChanged").In(r.Frame, "").And(silent)
			return
		case t.Facts.Capabilities == nil:
			c.SkipFor(ruleGreeting(t.Revision), "what the server declares is not known")
			return
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen("no change of the tools was told")
}
