// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
)

var (
	kindCapabilityRemoved = define("capability-removed", Breaking, "a capability is no longer offered",
		"callers that use it are refused", "keep serving it")
	kindCapabilityAdded = define("capability-added", Additive, "a capability is offered now",
		"no caller uses it yet", nothing)
	kindCapabilityChanged = define("capability-changed", Routing, "a capability's settings changed",
		"clients adapt to what is declared", nothing)
	kindListChangedWithdrawn = define("list-changed-withdrawn", Breaking, "changes of a list are no longer announced",
		"clients that cache the list stop listening, and never refresh", "keep sending list_changed")
	kindListChangedGranted = define("list-changed-granted", Additive, "changes of a list are announced now",
		"clients may listen", nothing)
	kindSubscribeWithdrawn = define("resource-subscribe-withdrawn", Breaking, "resources can no longer be subscribed to",
		"clients that wait for updates get none", "keep serving subscriptions")
	kindCompletionsWithdrawn = define("completions-withdrawn", Breaking, "arguments are no longer completed",
		"completion of prompt and template arguments fails", "keep serving completion/complete")
	kindExtensionRemoved = define("extension-removed", Breaking, "an extension is no longer offered",
		"callers that agreed on it are refused", "keep serving the extension")
	kindExtensionChanged = define("extension-settings-changed", Routing, "an extension's settings changed",
		"callers that agreed on it may behave differently", nothing)
	kindExperimental = define("experimental-changed", Cosmetic, "experimental capabilities changed",
		"they are promised to nobody", nothing)
	kindTaskCapability = define("task-capability-withdrawn", Breaking, "tools can no longer run as tasks",
		"taskSupport means nothing without it: callers that run tools as tasks are refused", "keep serving tasks")
	kindTasksMoved = define("tasks-moved-to-extension", Breaking, "tasks moved from the core to the extension",
		"a blocking tasks/result became polling with tasks/get: callers of the old form fail", "serve both while clients move")
	kindDeprecatedFeature = define("deprecated-feature-advertised", Cosmetic, "a deprecated feature is advertised now",
		"logging is deprecated from 2026-07-28 on", nothing)
)

const tasksExtension = "io.modelcontextprotocol/tasks"

// capabilityRule says what a path in the capabilities means; the first that
// matches decides. A "*" stands for any one name.
type capabilityRule struct {
	path           []string
	removed, added *kind
	changed        *kind
}

var capabilityRules = []capabilityRule{
	{[]string{"experimental"}, kindExperimental, kindExperimental, kindExperimental},
	{[]string{"extensions"}, nil, nil, nil},
	{[]string{"extensions", "*"}, kindExtensionRemoved, kindCapabilityAdded, kindExtensionChanged},
	{[]string{"completions"}, kindCompletionsWithdrawn, kindCapabilityAdded, kindCapabilityChanged},
	{[]string{"tasks"}, kindTaskCapability, kindCapabilityAdded, kindCapabilityChanged},
	{[]string{"*", "listChanged"}, kindListChangedWithdrawn, kindListChangedGranted, kindCapabilityChanged},
	{[]string{"resources", "subscribe"}, kindSubscribeWithdrawn, kindCapabilityAdded, kindCapabilityChanged},
	{[]string{"*"}, kindCapabilityRemoved, kindCapabilityAdded, kindCapabilityChanged},
	{[]string{"*", "*"}, kindCapabilityRemoved, kindCapabilityAdded, kindCapabilityChanged},
}

func (r capabilityRule) matches(path []string) bool {
	return slices.EqualFunc(r.path, path, func(want, got string) bool { return want == "*" || want == got })
}

// named adds the name of a capability to the message, where the kind is not of
// one capability only.
func (r capabilityRule) named(k *kind, name string) func(*Change) {
	return func(ch *Change) {
		if k == kindCapabilityAdded || r.path[len(r.path)-1] == "*" {
			ch.Message = fmt.Sprintf("%s: %s", k.Title, text.Line(name))
		}
	}
}

// capabilities compares what the server declares that it can do.
func (c *comparer) capabilities(a at) {
	b, n := capabilityTree(c.old.Capabilities), capabilityTree(c.new.Capabilities)
	tasksGone := b["tasks"] != nil && n["tasks"] == nil
	tasksCame := child(n, "extensions")[tasksExtension] != nil && child(b, "extensions")[tasksExtension] == nil
	if tasksGone && tasksCame {
		c.add(kindTasksMoved, a, values(b["tasks"].raw, child(n, "extensions")[tasksExtension].raw))
		delete(b, "tasks")
		delete(child(n, "extensions"), tasksExtension)
	}
	c.taskCalls(a, b, n)
	c.capabilityLevel(a, nil, b, n)
	if b["logging"] == nil && n["logging"] != nil && slices.Contains(c.new.Revisions, firstModern) {
		c.add(kindDeprecatedFeature, a.member("logging"), values(nil, n["logging"].raw))
	}
}

// taskCalls reports that tools cannot run as tasks any more, whichever way that
// was declared, and takes the declaration out of the comparison.
func (c *comparer) taskCalls(a at, b, n map[string]*capability) {
	core := child(child(child(b, "tasks"), "requests"), "tools")["call"]
	if core != nil && n["tasks"] != nil && child(child(child(n, "tasks"), "requests"), "tools")["call"] == nil {
		c.add(kindTaskCapability, a.member("tasks").member("requests").member("tools").member("call"), values(core.raw, nil))
		delete(child(b, "tasks"), "requests")
		delete(child(n, "tasks"), "requests")
	}
	if ext := child(b, "extensions")[tasksExtension]; ext != nil && child(n, "extensions")[tasksExtension] == nil && n["tasks"] == nil {
		c.add(kindTaskCapability, a.member("extensions").member(tasksExtension), values(ext.raw, nil))
		delete(child(b, "extensions"), tasksExtension)
	}
}

func child(tree map[string]*capability, name string) map[string]*capability {
	if n := tree[name]; n != nil {
		return n.children
	}
	return nil
}

// capability is one declared capability. A switch that is false is the same as
// one that is absent.
type capability struct {
	raw      jsonx.Raw
	children map[string]*capability
}

func capabilityTree(raw jsonx.Raw) map[string]*capability {
	out := map[string]*capability{}
	ms, _ := jsonx.Members(raw, jsonx.Strict)
	for _, m := range ms {
		if v := string(m.Value); v == "false" || v == "null" {
			continue
		}
		n := &capability{raw: m.Value}
		if jsonx.KindOf(m.Value) == jsonx.Object {
			n.children = capabilityTree(m.Value)
		}
		out[m.Name] = n
	}
	return out
}

func (c *comparer) capabilityLevel(a at, path []string, old, new map[string]*capability) {
	names := map[string]bool{}
	for n := range old {
		names[n] = true
	}
	for n := range new {
		names[n] = true
	}
	for _, name := range sortedKeys(names) {
		b, n := old[name], new[name]
		here := append(slices.Clone(path), name)
		p := a.member(name)
		i := slices.IndexFunc(capabilityRules, func(r capabilityRule) bool { return r.matches(here) })
		r := capabilityRules[max(i, 0)]
		switch {
		case i < 0 || r.removed == nil: // no rule of its own: its members decide
			c.capabilityLevel(p, here, childrenOf(b), childrenOf(n))
		case b == nil:
			c.add(r.added, p, values(nil, n.raw), r.named(r.added, name))
		case n == nil:
			c.add(r.removed, p, values(b.raw, nil), r.named(r.removed, name))
		case string(b.raw) == string(n.raw):
		case deeper(here) && b.children != nil && n.children != nil:
			c.capabilityLevel(p, here, b.children, n.children)
		case !sameTree(b, n):
			c.add(r.changed, p, values(b.raw, n.raw))
		}
	}
}

func childrenOf(n *capability) map[string]*capability {
	if n == nil {
		return nil
	}
	return n.children
}

// deeper reports whether the members of a capability are judged one by one.
func deeper(path []string) bool {
	return len(path) == 1 && path[0] != "experimental"
}

func sameTree(a, b *capability) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.children == nil && b.children == nil {
		return string(a.raw) == string(b.raw)
	}
	return maps.EqualFunc(a.children, b.children, sameTree)
}
