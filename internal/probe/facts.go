// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Facts is what a server says of itself, read once at the start by well-formed
// requests that any client makes.
type Facts struct {
	// Greeting is the answer to the first request of a client: server/discover,
	// or initialize in the handshake era.
	Greeting *Exchange
	// Agreed is the revision that initialize agreed on, in the handshake era.
	Agreed spec.Revision
	// Capabilities is the ServerCapabilities object; nil when the greeting gave
	// none.
	Capabilities json.RawMessage
	// Supported are the versions that server/discover names.
	Supported []string
	// Lists holds the lists of the families that the server declares, by method.
	Lists map[string]*List
}

// List is one list as it was read: all of its pages, up to a bound.
type List struct {
	Method string
	Pages  []*Exchange
	Items  []Item
	// Whole: the last page was reached.
	Whole bool
}

// Item is one entry of a list.
type Item struct {
	Name    string // name, or uri of a resource, or uriTemplate of a template
	Raw     json.RawMessage
	Page    *Exchange
	Pointer string // into the message of the page: /result/tools/3
}

// Get returns a member of the item.
func (i Item) Get(name string) json.RawMessage { return value(i.Raw, name) }

// Text returns a member of the item that is a string.
func (i Item) Text(name string) string { return Text(value(i.Raw, name)) }

// family says how a list method is read.
type family struct {
	method, capability, member, name string
}

// families are the lists of a server, with the capability that declares each.
var families = []family{
	{spec.MethodToolsList, "tools", "tools", "name"},
	{spec.MethodPromptsList, "prompts", "prompts", "name"},
	{spec.MethodResourcesList, "resources", "resources", "uri"},
	{spec.MethodResourceTemplatesList, "resources", "resourceTemplates", "uriTemplate"},
}

// Facts are what the server says of itself.
func (p *Probe) Facts() *Facts { return &p.facts }

// Declares reports whether the server declares a capability, by its dotted
// path: objects count by being there, flags by being true. Of a server whose
// discover gave nothing, a family counts as declared when its list was answered.
func (f *Facts) Declares(path string) bool {
	if f.Capabilities == nil {
		return slices.ContainsFunc(families, func(fam family) bool {
			l := f.Lists[fam.method]
			return fam.capability == path && l != nil && len(l.Pages) > 0 && l.Pages[0].OK()
		})
	}
	v := dotted(f.Capabilities, path)
	return v != nil && (jsonx.KindOf(v) == jsonx.Object || jsonx.KindOf(v) == jsonx.True)
}

// Answers reports whether the server answered any well-formed request of this
// revision properly.
func (f *Facts) Answers() bool {
	if f.Greeting != nil && f.Greeting.OK() {
		return true
	}
	for _, l := range f.Lists {
		if len(l.Pages) > 0 && l.Pages[0].OK() {
			return true
		}
	}
	return false
}

// Legacy reports whether the server names a revision of the handshake era.
func (f *Facts) Legacy() bool {
	return slices.ContainsFunc(f.Supported, func(v string) bool {
		r, err := spec.ParseRevision(v)
		return err == nil && r.Era() == spec.Legacy
	})
}

// Exchanges are those by which the facts were read, discover first.
func (f *Facts) Exchanges() []*Exchange {
	var out []*Exchange
	if f.Greeting != nil {
		out = append(out, f.Greeting)
	}
	for _, fam := range families {
		out = append(out, f.List(fam.method).Pages...)
	}
	return out
}

// List returns a list, empty when it was not read.
func (f *Facts) List(method string) *List {
	if l := f.Lists[method]; l != nil {
		return l
	}
	return &List{Method: method}
}

// Knows reports whether it is known what the server lists by a method: all of it was
// answered, as far as it was read, or there is nothing of the kind.
func (f *Facts) Knows(method string) bool {
	if pages := f.List(method).Pages; len(pages) > 0 {
		return pages[len(pages)-1].OK() || pages[0].Is(spec.CodeMethodNotFound)
	}
	return f.Capabilities != nil && !slices.ContainsFunc(families, func(fam family) bool {
		return fam.method == method && f.Declares(fam.capability)
	})
}

// Tools are the tools listed.
func (f *Facts) Tools() []Item { return f.List(spec.MethodToolsList).Items }

// Prompts are the prompts listed.
func (f *Facts) Prompts() []Item { return f.List(spec.MethodPromptsList).Items }

// Resources are the resources listed.
func (f *Facts) Resources() []Item { return f.List(spec.MethodResourcesList).Items }

// Templates are the resource templates listed.
func (f *Facts) Templates() []Item { return f.List(spec.MethodResourceTemplatesList).Items }

// Server is what the server calls itself.
func (f *Facts) Server() (name, version string) {
	if f.Greeting == nil {
		return "", ""
	}
	if info := f.Greeting.Member("serverInfo"); f.Greeting.Method == spec.MethodInitialize {
		return Text(value(info, "name")), Text(value(info, "version"))
	}
	info := f.Greeting.At("/_meta/" + escaped(spec.MetaServerInfo))
	return Text(value(info, "name")), Text(value(info, "version"))
}

// survey reads the greeting and the lists. A server that has no discover is asked
// for its lists all the same; one without a handshake is not.
func (p *Probe) survey(ctx context.Context) {
	f := &p.facts
	f.Lists = map[string]*List{}
	p.o.Progress(GreetingMethod(p.o.Revision))
	if p.Legacy() {
		f.Greeting, f.Agreed = p.shared.Greeting(), p.shared.Agreed()
		if f.Greeting.OK() && f.Agreed != p.o.Revision {
			return // it does not serve the revision
		}
	} else {
		f.Greeting = p.once(ctx, p.Request(spec.MethodDiscover, ""))
	}
	f.greeted()
	known := f.Capabilities != nil
	if !known && (p.Legacy() || !worthMore(f.Greeting)) {
		return
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, fam := range families {
		if known && !f.Declares(fam.capability) {
			continue
		}
		read := func() {
			// Every check that asks for such a page shares it.
			l := p.readList(fam.method, func(r *Request) *Exchange { return p.once(ctx, r) })
			mu.Lock()
			defer mu.Unlock()
			f.Lists[fam.method] = l
		}
		if p.OneStream() {
			read()
			continue
		}
		wait.Go(read)
	}
	wait.Wait()
}

// greeted takes over what the greeting says.
func (f *Facts) greeted() {
	if f.Greeting.OK() {
		f.Capabilities = f.Greeting.Member("capabilities")
		for _, v := range Elements(f.Greeting.Member("supportedVersions")) {
			f.Supported = append(f.Supported, Text(v))
		}
	}
}

// greetAgain asks for the greeting once more where the server took no request for
// it and others since: whose fault that is can be found out now.
func (p *Probe) greetAgain(ctx context.Context) {
	f := &p.facts
	if !p.Legacy() && f.Greeting.Busy() && f.Answers() {
		f.Greeting = p.once(ctx, p.Request(spec.MethodDiscover, ""))
		f.greeted()
	}
}

// worthMore: a server that answered something may answer something else.
func worthMore(x *Exchange) bool { return x.Response != nil || x.Head != nil }

// maxPages bounds the reading of a list.
const maxPages = 40

// readList reads a list page by page, each by ask. A cursor that comes again
// ends it.
func (p *Probe) readList(method string, ask func(*Request) *Exchange) *List {
	fam := families[slices.IndexFunc(families, func(f family) bool { return f.method == method })]
	l := &List{Method: method}
	r := p.Request(method, "")
	seen := map[string]bool{}
	for len(l.Pages) < maxPages {
		x := ask(r)
		l.Pages = append(l.Pages, x)
		if !x.OK() {
			return l
		}
		for i, e := range Elements(x.Member(fam.member)) {
			l.Items = append(l.Items, Item{
				Name: Text(value(e, fam.name)), Raw: e, Page: x, Pointer: pointerTo("/result", fam.member, i),
			})
		}
		next := x.Member("nextCursor")
		if jsonx.KindOf(next) != jsonx.String {
			l.Whole = next == nil
			return l
		}
		if seen[string(next)] {
			return l
		}
		seen[string(next)] = true
		r = p.Request(method, "").Param("cursor", string(next))
	}
	return l
}
