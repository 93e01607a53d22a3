// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"cmp"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
)

// Surface is what a server shows. JSON values are in canonical form.
type Surface struct {
	Facets       Facets
	Revisions    []string  // protocol revisions the server offered, oldest first
	Server       jsonx.Raw // Implementation object: name, version, ...; nil when unknown
	Instructions string
	Capabilities jsonx.Raw         // ServerCapabilities object; nil when unknown
	CacheScopes  map[string]string // list method -> cacheScope of its pages
	NotServed    []Kind            // listings answered with -32601
	Notes        []string          // for the user; never recorded

	items      map[Kind][]Item
	projection projection
}

// Item is one tool, resource, template or prompt.
type Item struct {
	Kind  Kind
	Name  string // name, uri or uriTemplate
	Raw   jsonx.Raw
	Index int // place in the server's list

	members []jsonx.Member
}

// New returns an empty surface that captured nothing.
func New() *Surface {
	return &Surface{Facets: Facets{}, items: map[Kind][]Item{}, CacheScopes: map[string]string{}}
}

// Items returns the items of a kind in order of their names; items of one name
// stay in the server's order.
func (s *Surface) Items(k Kind) []Item { return s.items[k] }

// ItemError says which item of a listing cannot be recorded, and why.
type ItemError struct {
	Kind    Kind
	Index   int
	Name    string
	Pointer string // RFC 6901, into the item
	Err     error
}

func (e *ItemError) Error() string {
	at := fmt.Sprintf("%s item %d", e.Kind.Method(), e.Index)
	if e.Name != "" {
		at += fmt.Sprintf(" (%s %q)", e.Kind.One(), e.Name)
	}
	if e.Pointer != "" {
		at += " at " + e.Pointer
	}
	return at + ": " + e.Err.Error()
}

func (e *ItemError) Unwrap() error { return e.Err }

// add takes one item as listed. It fails with an *ItemError when the item is
// not an object, has no name, or is not clean JSON.
func (s *Surface) add(k Kind, raw []byte, index int) error {
	it, err := newItem(k, raw, index)
	if err != nil {
		return err
	}
	s.items[k] = append(s.items[k], it)
	return nil
}

func newItem(k Kind, raw []byte, index int) (Item, error) {
	fail := func(name string, err error) (Item, error) {
		e := &ItemError{Kind: k, Index: index, Name: name, Err: err}
		if syn, ok := err.(*jsonx.SyntaxError); ok {
			e.Pointer, e.Err = clipPointer(syn.Pointer), syn.Err
		}
		return Item{}, e
	}
	if kind := jsonx.KindOf(raw); kind != jsonx.Object {
		return fail("", fmt.Errorf("must be an object, is %s", kind.Name()))
	}
	canonical, err := jsonx.Canonical(raw)
	if err != nil {
		// The faults of an unclean item are told with its name, where it has one.
		ms, _ := jsonx.Members(raw, jsonx.Lenient)
		name, _ := nameOf(k, ms)
		return fail(name, err)
	}
	it := Item{Kind: k, Raw: canonical, Index: index, members: jsonx.Skim(canonical)}
	if it.Name, err = nameOf(k, it.members); err != nil {
		return fail("", err)
	}
	it.settle()
	return it, nil
}

// nameOf finds the name of an item among its members.
func nameOf(k Kind, ms []jsonx.Member) (string, error) {
	for _, m := range ms {
		if m.Name == k.Key() {
			if n, ok := jsonx.Text(m.Value); ok && n != "" {
				return n, nil
			}
			return "", fmt.Errorf("%s must be a non-empty string, is %s", k.Key(), brief(m.Value))
		}
	}
	return "", fmt.Errorf("has no %s", k.Key())
}

func brief(v jsonx.Raw) string {
	const most = 60
	if len(v) > most {
		return string(v[:most]) + "..."
	}
	return string(v)
}

// clipPointer keeps a pointer into a very deep value readable.
func clipPointer(p string) string {
	const most = 200
	if len(p) > most {
		return p[:most] + "..."
	}
	return p
}

// sort puts the items in the order that the contract file has.
func (s *Surface) sort() {
	for _, items := range s.items {
		order.Stable(items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
		})
	}
}

// Member returns a member of the item, nil when it has none of that name.
func (it *Item) Member(name string) jsonx.Raw {
	for _, m := range it.Members() {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Members returns all members of the item, sorted by name.
func (it *Item) Members() []jsonx.Member {
	if it.members == nil {
		it.members = jsonx.Skim(it.Raw)
	}
	return it.members
}

// Text returns a string member, empty when it is absent or not a string.
func (it *Item) Text(name string) string {
	t, _ := jsonx.Text(it.Member(name))
	return t
}
