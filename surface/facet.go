// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"maps"
	"slices"

	"github.com/mcprove/mcprove/spec"
)

// Facet names one thing that can be recorded of a server: a listing ("tools"),
// a member of its items ("tools.outputSchema") or a part of its description
// ("instructions").
type Facet string

// The facets of the server's description.
const (
	ServerName    Facet = "server.name"
	ServerVersion Facet = "server.version"
	ServerOther   Facet = "server.other" // title, websiteUrl, description, icons
	Revisions     Facet = "revisions"
	Instructions  Facet = "instructions"
	Capabilities  Facet = "capabilities"
	CacheScope    Facet = "cacheScope"

	// PromptArgumentText is the texts and the order of prompt arguments.
	PromptArgumentText Facet = "prompts.arguments.text"
)

// Kind names one of the four listings; it is also the facet of its presence.
type Kind string

// The listings, in the order they are asked for and written.
const (
	Tools     Kind = "tools"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
	Prompts   Kind = "prompts"
)

// Kinds lists all listings in order.
var Kinds = []Kind{Tools, Resources, Templates, Prompts}

// listing is what differs between the four kinds.
type listing struct {
	method   string   // that lists them
	key      string   // member of the item that names it
	one      string   // for people and for reports
	members  []string // that carry a facet of their own; others share "other"
	volatile []Facet  // shown live, but never recorded: they change by themselves
}

var listings = map[Kind]listing{
	Tools: {
		method: spec.MethodToolsList, key: "name", one: "tool",
		members: []string{"title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"},
	},
	Resources: {
		method: spec.MethodResourcesList, key: "uri", one: "resource",
		members:  []string{"name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"},
		volatile: []Facet{"resources.size", LastModified(Resources)},
	},
	Templates: {
		method: spec.MethodResourceTemplatesList, key: "uriTemplate", one: "template",
		members:  []string{"name", "title", "description", "mimeType", "annotations", "icons", "_meta"},
		volatile: []Facet{LastModified(Templates)},
	},
	Prompts: {
		method: spec.MethodPromptsList, key: "name", one: "prompt",
		members: []string{"title", "description", "arguments", "icons", "_meta"},
	},
}

// One is the word for an item of the kind: "tool".
func (k Kind) One() string { return listings[k].one }

// Method is the protocol method that lists the kind.
func (k Kind) Method() string { return listings[k].method }

// Key is the member that names an item of the kind.
func (k Kind) Key() string { return listings[k].key }

// Of returns the facet of a member of the kind's items. Members without one of
// their own share the facet "other".
func (k Kind) Of(member string) Facet {
	if !slices.Contains(listings[k].members, member) {
		member = "other"
	}
	return Facet(string(k) + "." + member)
}

// Order is the facet of the order in which the server lists the kind.
func (k Kind) Order() Facet { return Facet(string(k) + ".order") }

// LastModified is the facet of annotations.lastModified, which is never recorded.
func LastModified(k Kind) Facet { return Facet(string(k) + ".annotations.lastModified") }

// Facets is a set of captured facets.
type Facets map[Facet]bool

// Has reports whether the facet was captured.
func (f Facets) Has(x Facet) bool { return f[x] }

// HasKind reports whether the kind's listing was captured.
func (f Facets) HasKind(k Kind) bool { return f[Facet(k)] }

// Sorted lists the facets in order.
func (f Facets) Sorted() []Facet { return slices.Sorted(maps.Keys(f)) }

// add captures facets.
func (f Facets) add(xs ...Facet) {
	for _, x := range xs {
		f[x] = true
	}
}

// addKind captures a listing with every member of its items.
func (f Facets) addKind(k Kind) {
	f.add(Facet(k), k.Of(""))
	for _, m := range listings[k].members {
		f.add(k.Of(m))
	}
	f.add(listings[k].volatile...)
	if k == Prompts {
		f.add(PromptArgumentText)
	}
}

// recorded is the set without what a contract file never holds.
func (f Facets) recorded() Facets {
	out := maps.Clone(f)
	for _, k := range Kinds {
		delete(out, k.Order())
		for _, x := range listings[k].volatile {
			delete(out, x)
		}
	}
	return out
}
