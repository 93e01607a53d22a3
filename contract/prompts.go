// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/surface"
)

var (
	kindPromptRemoved = define("prompt-removed", Breaking, "prompt removed",
		"prompts/get by that name fails", "keep the prompt, or leave it in as an alias for a release")
	kindPromptAdded = define("prompt-added", Additive, "prompt added",
		"no caller names it yet", nothing)
	kindPromptArgRemoved = define("prompt-argument-removed", Breaking, "prompt argument removed",
		"callers that pass it are refused, or silently ignored", "keep the argument")
	kindPromptArgRequired = define("prompt-required-argument-added", Breaking, "new required prompt argument",
		"every call made until now omits it, and fails", "make it optional")
	kindPromptArgAdded = define("prompt-argument-added", Additive, "new optional prompt argument",
		"no call made until now is concerned", nothing)
	kindPromptArgNowRequired = define("prompt-argument-now-required", Breaking, "prompt argument became required",
		"calls that omit it fail", "keep it optional")
	kindPromptArgNowOptional = define("prompt-argument-now-optional", Additive, "prompt argument became optional",
		"every call that was accepted still is", nothing)
	kindPromptArgOrder = define("prompt-argument-reordered", Routing, "prompt arguments changed their order",
		"hosts that offer prompts as commands bind words to arguments by their order", "keep the order")
	kindPromptDescription = define("prompt-description-changed", Routing, "prompt's description changed",
		"people and models choose the prompt by it", nothing)
	kindPromptTitle = define("prompt-title-changed", Routing, "prompt's title changed",
		"it is the label in the menu", nothing)
	kindPromptArgDescription = define("prompt-argument-description-changed", Routing, "prompt argument's description changed",
		"people and models fill it in by this text", nothing)
	kindPromptArgTitle = define("prompt-argument-title-changed", Routing, "prompt argument's title changed",
		"it is the label of the field", nothing)
	kindPromptDuplicate = define("prompt-name-duplicate", Breaking, "two prompts have one name",
		"which of them answers is undefined", "give each prompt a name of its own")
	kindPromptArgDuplicate = define("prompt-argument-name-duplicate", Breaking, "two arguments of a prompt have one name",
		"which of them a value is for is undefined", "give each argument a name of its own")
	kindPromptMeta = define("prompt-icons-meta-changed", Cosmetic, "prompt's icons, _meta or unknown members changed",
		"only what people see, or what some agreed on", nothing)
)

// prompts compares the prompt listings.
func (c *comparer) prompts() {
	if !c.both(surface.Facet(surface.Prompts)) {
		c.notCompared(surface.Prompts)
		return
	}
	for _, m := range matched(c.old.Items(surface.Prompts), c.new.Items(surface.Prompts)) {
		a := at{"prompt", Place{Name: m.name}}
		if m.newN > 1 && m.newN > m.oldN {
			c.add(kindPromptDuplicate, a, values(number(m.oldN), number(m.newN)))
		}
		switch {
		case m.old == nil:
			c.add(kindPromptAdded, a, values(nil, m.new.Raw))
		case m.new == nil:
			c.add(kindPromptRemoved, a, values(m.old.Raw, nil))
		default:
			c.result.Compared["prompt"]++
			c.prompt(a, m.old, m.new)
		}
	}
}

func (c *comparer) prompt(a at, old, new *surface.Item) {
	if string(old.Raw) == string(new.Raw) {
		return
	}
	has := func(member string) bool { return c.both(surface.Prompts.Of(member)) }
	texts := []struct {
		member string
		k      *kind
	}{{"title", kindPromptTitle}, {"description", kindPromptDescription}}
	for _, t := range texts {
		if has(t.member) {
			c.text(wording{changed: t.k}, a.member(t.member), old.Member(t.member), new.Member(t.member))
		}
	}
	if has("arguments") {
		c.promptArguments(a, old, new, c.both(surface.PromptArgumentText))
	}
	for _, m := range []string{"icons", "_meta"} {
		if b, n := old.Member(m), new.Member(m); has(m) && string(b) != string(n) {
			c.add(kindPromptMeta, a.member(m), values(b, n))
		}
	}
	if has("") {
		c.otherMembers(kindPromptMeta, surface.Prompts, a, old, new)
	}
}

// argument is one argument of a prompt.
type argument struct {
	name     string
	raw      jsonx.Raw
	index    int
	required bool
}

func argumentsOf(it *surface.Item) (list []argument, byName map[string]argument) {
	byName = map[string]argument{}
	es, _ := jsonx.Elements(it.Member("arguments"), jsonx.Strict)
	for i, e := range es {
		arg := argument{raw: e, index: i}
		ms, _ := jsonx.Members(e, jsonx.Strict)
		for _, m := range ms {
			switch m.Name {
			case "name":
				arg.name, _ = jsonx.Text(m.Value)
			case "required":
				arg.required = string(m.Value) == "true"
			}
		}
		list = append(list, arg)
		byName[arg.name] = arg
	}
	return list, byName
}

func (a argument) member(name string) jsonx.Raw {
	ms, _ := jsonx.Members(a.raw, jsonx.Strict)
	for _, m := range ms {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func (c *comparer) promptArguments(a at, old, new *surface.Item, texts bool) {
	was, wasBy := argumentsOf(old)
	is, isBy := argumentsOf(new)
	place := func(arg argument) at {
		p := a
		p.Pointer, p.Path = fmt.Sprintf("%s/arguments/%d", a.Pointer, arg.index), arg.name
		return p
	}
	for _, arg := range was {
		if _, ok := isBy[arg.name]; !ok {
			c.add(kindPromptArgRemoved, place(arg), values(arg.raw, nil))
		}
	}
	seen := map[string]bool{}
	for _, arg := range is {
		if seen[arg.name] && len(is) > len(isBy) && len(was) == len(wasBy) {
			c.add(kindPromptArgDuplicate, place(arg), values(nil, arg.raw))
			continue
		}
		seen[arg.name] = true
		before, ok := wasBy[arg.name]
		switch {
		case !ok && arg.required:
			c.add(kindPromptArgRequired, place(arg), values(nil, arg.raw))
		case !ok:
			c.add(kindPromptArgAdded, place(arg), values(nil, arg.raw))
		case !before.required && arg.required:
			c.add(kindPromptArgNowRequired, place(arg).member("required"), values(before.member("required"), arg.member("required")))
		case before.required && !arg.required:
			c.add(kindPromptArgNowOptional, place(arg).member("required"), values(before.member("required"), arg.member("required")))
		}
		if ok && texts {
			c.text(wording{changed: kindPromptArgDescription}, place(arg).member("description"), before.member("description"), arg.member("description"))
			c.text(wording{changed: kindPromptArgTitle}, place(arg).member("title"), before.member("title"), arg.member("title"))
		}
	}
	if b, n := sharedOrder(was, isBy), sharedOrder(is, wasBy); b != n && texts {
		c.add(kindPromptArgOrder, a.member("arguments"), values(str(b), str(n)))
	}
}

// sharedOrder lists the arguments that the other side has too, in order.
func sharedOrder(mine []argument, other map[string]argument) string {
	var names []string
	for _, arg := range mine {
		if _, ok := other[arg.name]; ok && !slices.Contains(names, arg.name) {
			names = append(names, arg.name)
		}
	}
	return strings.Join(names, ", ")
}
