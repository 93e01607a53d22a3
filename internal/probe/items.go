// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Items are the entries of the lists of a method that crossed, in the order in
// which they were seen: each content once, however often it was listed.
func (t *Traffic) Items(method string) []Item {
	return Known(t, "items of "+method, func() []Item { return t.itemsOf(method) })
}

func (t *Traffic) itemsOf(method string) []Item {
	i := slices.IndexFunc(families, func(f family) bool { return f.method == method })
	if i < 0 {
		return nil
	}
	fam := families[i]
	var out []Item
	pages, seen := map[string]bool{}, map[string]bool{}
	for _, x := range t.Results(method) {
		list := x.Member(fam.member)
		if pages[string(list)] {
			continue
		}
		pages[string(list)] = true
		for i, e := range Elements(list) {
			if seen[string(e)] {
				continue
			}
			seen[string(e)] = true
			out = append(out, Item{
				Name: Text(value(e, fam.name)), Raw: e, Page: x, Pointer: pointerTo("/result", fam.member, i),
			})
		}
	}
	return out
}

// Known is what several rules want to know of some traffic, found out once. The
// name is that of one such thing. Find may ask for others.
func Known[T any](t *Traffic, name string, find func() T) T {
	t.mu.Lock()
	v, ok := t.known[name].(T)
	t.mu.Unlock()
	if ok {
		return v
	}
	v = find()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]any{}
	}
	t.known[name] = v
	return v
}

// ReadList reads a list anew, all of its pages up to a bound, on a connection
// of the case's own; nil is the shared one.
func (c *Case) ReadList(conn *Conn, method string) *List {
	return c.probe.readList(method, func(r *Request) *Exchange { return c.SendOn(conn, r) })
}

// ReadLists reads a list n times at once, each time as ReadList does.
func (c *Case) ReadLists(conn *Conn, method string, n int) []*List {
	out := make([]*List, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { out[i] = c.ReadList(conn, method) })
	}
	wait.Wait()
	return out
}

// Same reports whether two readings show the same entries, whatever their order.
func (l *List) Same(o *List) bool { return slices.Equal(l.contents(), o.contents()) }

// Order is the names in the order of the list.
func (l *List) Order() []string {
	out := make([]string, len(l.Items))
	for i, it := range l.Items {
		out[i] = it.Name
	}
	return out
}

// OK reports whether every page was answered by a result.
func (l *List) OK() bool {
	return len(l.Pages) > 0 && !slices.ContainsFunc(l.Pages, func(x *Exchange) bool { return !x.OK() })
}

func (l *List) contents() []string {
	out := make([]string, len(l.Items))
	for i, it := range l.Items {
		c, err := jsonx.Canonical(it.Raw)
		if err != nil {
			c = jsonx.Raw(it.Raw)
		}
		out[i] = string(c)
	}
	slices.Sort(out)
	return out
}
