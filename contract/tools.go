// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/surface"
)

var (
	kindToolRemoved = define("tool-removed", Breaking, "tool removed",
		"every call by that name fails, and plans that name it stall", "keep the tool, or leave it in as an alias for a release")
	kindToolRemovedDeprecated = define("tool-removed-after-deprecation", Additive, "deprecated tool removed",
		"callers were told, and the deprecation policy lets it go", nothing)
	kindToolAdded = define("tool-added", Additive, "tool added",
		"no caller names it yet; it costs context in every conversation", nothing)
	kindToolRenamed = define("tool-renamed-candidate", Breaking, "tool gone; one like it came under another name",
		"every call by the old name fails: for callers a rename is a removal", "keep the old name as an alias")
	kindToolCase = define("tool-name-case-changed", Breaking, "tool's name changed its case",
		"names are case-sensitive: every call by the old spelling fails", "keep the old spelling as an alias")
	kindToolDuplicate = define("tool-name-duplicate-introduced", Breaking, "two tools have one name",
		"clients keep the first or the last: which schema applies is undefined", "give each tool a name of its own")
	kindToolCollides = define("tool-name-collides-after-normalisation", Breaking, "two tools have one name after clients clean it",
		"clients that rewrite names ([^A-Za-z0-9_-] to _, at most 64 characters) make two tools one, and one cannot be reached",
		"choose names that differ in letters, digits, _ and -")
	kindToolOrder = define("tool-order-changed", Cosmetic, "tools are listed in another order",
		"no call changes; a stable order keeps prompt caches warm", "list tools in a fixed order")
	kindToolCount = define("tool-count-over-client-limit", Routing, "the number of tools passed a client's limit",
		"the request is refused, or the last tools are silently cut", "split the server, or let users choose tool sets")
	kindToolBytes = define("tool-payload-bytes-over-budget", Routing, "the tool listing passed its size budget",
		"it is paid for in every conversation before any question is asked", "shorten descriptions and schemas, or raise the budget")

	kindDescription = define("tool-description-changed", Routing, "description changed",
		"models choose the tool by this text; it is also where instructions are smuggled in", "read the new words as a model would")
	kindDescriptionAdded = define("tool-description-added", Routing, "description added",
		"it is the first text a model ever sees of the tool", "read the new words as a model would")
	kindDescriptionRemoved = define("tool-description-removed", Routing, "description removed",
		"models cannot choose the tool by meaning any more", "describe what the tool does, and when to use it")
	kindDescriptionSpace = define("tool-description-whitespace-only", Cosmetic, "description was re-wrapped",
		"the words are the same", nothing)
	kindDescriptionInvisible = define("tool-description-invisible-change", Routing, "description changed only in characters that cannot be seen",
		"a reviewer sees no difference, a model reads one: this is how instructions are hidden", "remove the invisible characters, or ask who put them there")
	kindTitle = define("tool-title-changed", Routing, "displayed title changed",
		"people approve, and some agents pick, by it", nothing)
	kindTitleRestated = define("tool-title-restated", Cosmetic, "title is stated elsewhere, and shows the same",
		"what people see did not change", nothing)
	kindTitleAnnotation = define("annotations-title-changed", Routing, "displayed title changed (annotations.title)",
		"people approve, and some agents pick, by it", nothing)

	kindIcons = define("tool-icons-changed", Cosmetic, "icons changed",
		"only what people see", nothing)
	kindIconOrigin = define("icon-origin-changed", Cosmetic, "an icon comes from another origin",
		"hosts fetch it: check that the origin is yours, and that it is no SVG with a script", "serve icons from the server's own origin")
	kindMeta = define("tool-meta-changed", Cosmetic, "_meta changed",
		"its keys mean something only to those who agreed on them", nothing)
	kindUI = define("tool-ui-resource-changed", Breaking, "the tool's user interface was removed or points elsewhere",
		"hosts that render it show another one, or none", "keep the resource, or serve the new one under the same URI")
	kindToolMember = define("tool-member-changed", Cosmetic, "an unknown member of the tool changed",
		"the protocol does not know it: only those who agreed on it can tell", nothing)
)

// tools compares the tool listings.
func (c *comparer) tools() {
	if !c.both(surface.Facet(surface.Tools)) {
		c.notCompared(surface.Tools)
		return
	}
	ms := matched(c.old.Items(surface.Tools), c.new.Items(surface.Tools))
	renames := c.renames(ms)
	for _, m := range ms {
		a := at{"tool", Place{Name: m.name}}
		if m.newN > 1 && m.newN > m.oldN {
			c.add(kindToolDuplicate, a, values(number(m.oldN), number(m.newN)),
				message(fmt.Sprintf("%d tools have this name, at %s of the list", m.newN, c.places(m.name))))
		}
		switch {
		case m.old == nil:
			from := renames.from[m.name]
			c.add(kindToolAdded, a, values(nil, m.new.Raw), func(ch *Change) {
				if from != "" {
					ch.Message = fmt.Sprintf("tool added; looks renamed from %s", text.Line(from))
				}
			})
		case m.new == nil:
			c.toolGone(a, m.old, renames)
		default:
			c.result.Compared["tool"]++
			c.tool(a, m.old, m.new)
		}
	}
	c.collisions()
	c.order()
	c.sizes()
}

func number(n int) jsonx.Raw { return jsonx.Raw(fmt.Sprint(n)) }

func (c *comparer) places(name string) string {
	var at []string
	for _, it := range c.new.Items(surface.Tools) {
		if it.Name == name {
			at = append(at, fmt.Sprint(it.Index))
		}
	}
	return "indexes " + strings.Join(at, ", ")
}

// toolGone reports a tool that is not listed any more, and what changed in its
// likely successor.
func (c *comparer) toolGone(a at, old *surface.Item, renames renames) {
	witness := func(ch *Change) {
		ch.Before = old.Raw
		if v := c.sampleCall(old); v != nil {
			ch.Certainty, ch.Witness = Proven, &Witness{Value: v, ValidBefore: true}
		}
	}
	to, renamed := renames.to[a.Name]
	switch {
	case renamed && strings.EqualFold(to.Name, a.Name):
		c.add(kindToolCase, a, witness, func(ch *Change) { ch.After = str(to.Name) },
			message(fmt.Sprintf("tool's name changed its case; it is %s now", text.Line(to.Name))))
	case renamed:
		c.add(kindToolRenamed, a, witness, func(ch *Change) { ch.After = str(to.Name) },
			message(fmt.Sprintf("tool gone; looks renamed to %s", text.Line(to.Name))))
	case c.opt.DeprecationPolicy && deprecated(old):
		c.add(kindToolRemovedDeprecated, a, values(old.Raw, nil))
	default:
		c.add(kindToolRemoved, a, witness)
	}
	if renamed {
		c.tool(at{"tool", Place{Name: to.Name}}, old, to)
	}
}

// sampleCall returns arguments that the tool accepted, for a call that shows
// that it is gone.
func (c *comparer) sampleCall(it *surface.Item) jsonx.Raw {
	raw := it.Member("inputSchema")
	if raw == nil {
		return jsonx.Raw("{}")
	}
	s, problems := ss.Parse(raw, ss.ParseOptions{})
	if len(problems) > 0 {
		return nil
	}
	r := ss.Generate(s, c.opt.Budget)
	if r.Verdict != ss.Outside || jsonx.KindOf(r.Value) != jsonx.Object {
		return nil
	}
	if ok, err := newValidator(raw).valid(r.Value); err != nil || !ok {
		return nil
	}
	return r.Value
}

func deprecated(it *surface.Item) bool {
	if v, err := jsonx.Lookup(it.Raw, "/_meta/deprecated"); err == nil && string(v) == "true" {
		return true
	}
	d := strings.ToLower(it.Text("description"))
	return strings.HasPrefix(strings.TrimLeft(d, " [(*_"), "deprecated") || strings.Contains(d, "@deprecated")
}

// tool compares one tool with itself.
func (c *comparer) tool(a at, old, new *surface.Item) {
	if string(old.Raw) == string(new.Raw) {
		return
	}
	has := func(member string) bool { return c.both(surface.Tools.Of(member)) }
	if has("description") {
		c.text(wording{kindDescriptionAdded, kindDescriptionRemoved, kindDescription, kindDescriptionInvisible, kindDescriptionSpace},
			a.member("description"), old.Member("description"), new.Member("description"))
	}
	if has("title") && has("annotations") {
		c.title(a, old, new)
	}
	if has("annotations") {
		c.hints(a, old, new)
	}
	if has("execution") {
		c.taskSupport(a, old, new)
	}
	if has("icons") {
		c.icons(kindIcons, a, old, new)
	}
	if has("_meta") {
		c.meta(a, old, new)
	}
	if has("inputSchema") {
		c.inputSchema(a, old, new)
	}
	if has("outputSchema") {
		c.outputSchema(a, old, new)
	}
	if has("") {
		c.otherMembers(kindToolMember, surface.Tools, a, old, new)
	}
}

// otherMembers reports members that the protocol does not know.
func (c *comparer) otherMembers(k *kind, list surface.Kind, a at, old, new *surface.Item) {
	seen := map[string]bool{list.Key(): true}
	for _, m := range append(old.Members(), new.Members()...) {
		if seen[m.Name] || list.Of(m.Name) != list.Of("") {
			continue
		}
		seen[m.Name] = true
		if b, n := old.Member(m.Name), new.Member(m.Name); string(b) != string(n) {
			c.add(k, a.member(m.Name), values(b, n))
		}
	}
}

// title compares the name that is displayed: title, else annotations.title,
// else the name.
func (c *comparer) title(a at, old, new *surface.Item) {
	shown := func(it *surface.Item) (title, where string) {
		if t := it.Text("title"); t != "" {
			return t, "title"
		}
		if v, err := jsonx.Lookup(it.Raw, "/annotations/title"); err == nil {
			if t, _ := jsonx.Text(v); t != "" {
				return t, "annotations"
			}
		}
		return it.Name, ""
	}
	was, wasIn := shown(old)
	is, isIn := shown(new)
	member := a.member("title")
	k := kindTitle
	if isIn == "annotations" || isIn == "" && wasIn == "annotations" {
		member, k = a.member("annotations").member("title"), kindTitleAnnotation
	}
	before, after := old.Member("title"), new.Member("title")
	switch {
	case was == is && (wasIn != isIn || string(before) != string(after)):
		c.add(kindTitleRestated, a.member("title"), values(before, after))
	case was != is && old.Name != new.Name && wasIn == "" && isIn == "":
		// A rename changes the name that is shown: it was reported as such.
	case was != is:
		c.text(wording{changed: k}, member, str(was), str(is))
	}
}

// icons compares the icons of an item.
func (c *comparer) icons(k *kind, a at, old, new *surface.Item) {
	b, n := old.Member("icons"), new.Member("icons")
	if string(b) == string(n) {
		return
	}
	a = a.member("icons")
	was := origins(b)
	for origin := range origins(n) {
		if len(was) > 0 && !was[origin] {
			c.add(kindIconOrigin, a, values(b, n), message("an icon comes from another origin: "+text.Line(origin)))
			return
		}
	}
	c.add(k, a, values(b, n))
}

// meta compares _meta; a pointer to a user interface in it is a promise.
func (c *comparer) meta(a at, old, new *surface.Item) {
	b, n := old.Member("_meta"), new.Member("_meta")
	if string(b) == string(n) {
		return
	}
	for _, p := range []string{"/ui/resourceUri", "/ui~1resourceUri", "/openai~1outputTemplate"} {
		was, _ := jsonx.Lookup(b, p)
		is, _ := jsonx.Lookup(n, p)
		if b == nil {
			was = nil
		}
		if n == nil {
			is = nil
		}
		if string(was) == string(is) {
			continue
		}
		where := a
		where.Pointer, where.Path = a.Pointer+"/_meta"+p, "_meta"+p
		if was == nil {
			c.add(kindUI, where, values(was, is), class(Additive), message("the tool got a user interface"))
		} else {
			c.add(kindUI, where, values(was, is))
		}
		return
	}
	c.add(kindMeta, a.member("_meta"), values(b, n))
}

// order reports tools that both sides list in another order.
func (c *comparer) order() {
	if !c.both(surface.Tools.Order()) {
		return
	}
	common := func(mine, other []surface.Item) []string {
		in := map[string]bool{}
		for _, it := range other {
			in[it.Name] = true
		}
		byIndex := make(map[int]string, len(mine))
		most := -1
		for _, it := range mine {
			if in[it.Name] {
				byIndex[it.Index] = it.Name
				most = max(most, it.Index)
			}
		}
		var names []string
		for i := 0; i <= most; i++ {
			if n, ok := byIndex[i]; ok {
				names = append(names, n)
			}
		}
		return names
	}
	old, new := c.old.Items(surface.Tools), c.new.Items(surface.Tools)
	b, n := common(old, new), common(new, old)
	if strings.Join(b, "\x00") != strings.Join(n, "\x00") {
		before, _ := jsonx.Marshal(b)
		after, _ := jsonx.Marshal(n)
		c.add(kindToolOrder, at{"server", Place{Pointer: "/tools", Path: "tools"}}, values(before, after))
	}
}

// clientLimits are how many tools some clients take.
var clientLimits = []struct {
	tools  int
	client string
}{{40, "Cursor"}, {80, "Cursor's later releases"}, {128, "VS Code and the OpenAI API"}}

// sizes reports limits that the listing passed.
func (c *comparer) sizes() {
	old, new := c.old.Items(surface.Tools), c.new.Items(surface.Tools)
	a := at{"server", Place{Pointer: "/tools", Path: "tools"}}
	for _, l := range clientLimits {
		if len(old) <= l.tools && len(new) > l.tools {
			c.add(kindToolCount, a, values(number(len(old)), number(len(new))),
				message(fmt.Sprintf("%d tools are more than the %d that %s takes", len(new), l.tools, l.client)))
		}
	}
	bytes := func(items []surface.Item) (n int) {
		for i := range items {
			n += len(items[i].Raw)
		}
		return n
	}
	if b, n := bytes(old), bytes(new); c.opt.MaxListBytes > 0 && b <= c.opt.MaxListBytes && n > c.opt.MaxListBytes {
		c.add(kindToolBytes, a, values(number(b), number(n)),
			message(fmt.Sprintf("the tools take %d bytes, the budget is %d", n, c.opt.MaxListBytes)))
	}
}

// collisions reports names that clients make equal.
func (c *comparer) collisions() {
	clashes := func(items []surface.Item) map[string][]string {
		by := map[string][]string{}
		for _, it := range items {
			k := clientName(it.Name)
			if n := by[k]; len(n) == 0 || n[len(n)-1] != it.Name {
				by[k] = append(n, it.Name)
			}
		}
		return by
	}
	old := clashes(c.old.Items(surface.Tools))
	for key, names := range clashes(c.new.Items(surface.Tools)) {
		if len(names) > 1 && len(old[key]) < len(names) {
			before, _ := jsonx.Marshal(old[key])
			after, _ := jsonx.Marshal(names)
			c.add(kindToolCollides, at{"tool", Place{Name: names[0]}}, values(before, after),
				message("clients make one name of "+text.Line(strings.Join(names, " and "))))
		}
	}
}

// clientName is a name as strict clients rewrite it.
func clientName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return name[:min(64, len(name))]
}
