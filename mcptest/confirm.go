// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"reflect"
	"slices"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/spec"
)

// AsksBefore asserts that a tool asks its user before it does something: that it
// asks at all, that the effect is not there yet when it does, and that it is not
// there either after the user declined. effect looks at the world and gives what
// would change: the rows of a table, the content of a file.
//
//	c.AsksBefore("delete_note", mcptest.Args{"id": 7}, func() any { return store.Count() })
//
// It opens a client of its own, whose user declines everything.
func (c *Client) AsksBefore(tool string, args any, effect func() any) {
	c.t.Helper()
	before := effect()
	other := Open(c.t, c.target, func(o *options) {
		*o = *c.o
		o.answers = script{}
		OnElicit(Always(Decline()))(o)
		OnSample(Always(Refuse(-1, "the user said no")))(o)
	}, c.same())
	asked := 0
	early := false
	other.mu.Lock()
	other.gate = func(*Question) {
		asked++
		early = early || !reflect.DeepEqual(before, effect())
	}
	other.mu.Unlock()
	r := other.CallTool(tool, args)
	r.Ignore()
	after := effect()
	switch {
	case asked == 0:
		c.t.Errorf("%s asked nobody: %s", tool, r.outcome())
	case early:
		c.t.Errorf("%s had done it before it asked: the effect was %v, and is %v", tool, before, effect())
		return
	}
	if !reflect.DeepEqual(before, after) {
		c.t.Errorf("%s did it though the user declined: the effect was %v, and is %v", tool, before, after)
	}
}

// same opens in the revision of this client.
func (c *Client) same() Option { return Revision(c.agreed.Revision.String()) }

// backChannel are rules for which every tool that may be called is called by a
// client that can be asked.
var backChannel = []string{"elicitation.*", "tools.*"}

// OnlyLegacy asserts which tools of a server of both eras work in the legacy era
// alone, because they ask their client by requests of their own, which no modern
// client answers: exactly these, none for no names. Each tool that may be called
// is called in both eras; options allow more ([Calls]).
func (c *Client) OnlyLegacy(tools []string, opts ...CheckOption) {
	c.t.Helper()
	ck := newChecking(c.t, opts)
	ck.Options.Only = backChannel
	var results [2]*check.Result
	for i, r := range []spec.Revision{spec.Rev20251125, spec.Latest} {
		to, err := targetOf(c.t, c.target, c.o.header, &told{})
		if err != nil {
			c.t.Fatal(err)
		}
		o := ck.Options
		o.Revision = r
		if results[i], err = check.Run(c.t.Context(), to, o); err != nil {
			c.t.Fatalf("call the tools in %s: %v", r, err)
		}
		if results[i].Unserved != "" {
			c.t.Fatalf("the server is not of both eras: %s is not served: %s", r, shown(results[i].Unserved))
		}
	}
	var found []string
	for _, b := range check.BackChannels(results[0], results[1]) {
		found = append(found, b.Tool)
		if !slices.Contains(tools, b.Tool) {
			c.t.Errorf("the tool %s works in the legacy era alone: it sends %s, which no client of %s answers", shown(b.Tool), b.Asked, spec.Latest)
		}
	}
	for _, name := range tools {
		if !slices.Contains(found, name) {
			c.t.Errorf("the tool %s does not need the legacy era, or was not called (allow it with mcptest.Calls)", name)
		}
	}
}
