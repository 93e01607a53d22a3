// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// followRepeated asks once more for a page whose cursor came again, so that it
// is seen whether it leads on.
func followRepeated(c *probe.Case) {
	for _, list := range lists(c) {
		last := list.Pages[len(list.Pages)-1]
		next, ok := nextCursor(last)
		if list.Whole || !ok {
			continue
		}
		if slices.ContainsFunc(list.Pages, func(x *probe.Exchange) bool { cursor, ok := cursorOf(x); return ok && cursor == next }) {
			c.Send(c.Request(list.Method, "").Param(spec.FieldCursor, string(jsonx.Quote(next))))
		}
	}
}

// Bounds on what is taken for a list without an end.
const (
	manyPages   = 30 // pages without an end
	barrenPages = 10 // of them at the end, without an item that is new
)

// terminates judges every reading of a list that was seen: whether its cursors
// run in a circle, or on and on without bringing anything.
func terminates(c *probe.Case, t *probe.Traffic) {
	for _, method := range pagedMethods(t.Revision) {
		pages := completes(t, method)
		for i, first := range pages {
			if _, ok := cursorOf(first); ok {
				continue
			}
			if endless(c, method, walk(pages[i:])) {
				break // one finding for a list
			}
		}
	}
	c.Unseen("no list was read to its end")
}

// walk follows the cursors from a first page through the pages that came later.
func walk(pages []*probe.Exchange) []*probe.Exchange {
	out := pages[:1]
	for at := 1; at < len(pages); at++ {
		next, more := nextCursor(out[len(out)-1])
		if !more {
			break
		}
		if cursor, ok := cursorOf(pages[at]); ok && cursor == next {
			out = append(out[:len(out):len(out)], pages[at])
		}
	}
	return out
}

// endless judges one reading, and reports whether it has no end.
func endless(c *probe.Case, method string, pages []*probe.Exchange) bool {
	last := pages[len(pages)-1]
	if _, more := nextCursor(last); !more {
		c.Pass(last)
		return false
	}
	by := map[string]*probe.Exchange{}
	seen := map[string]bool{}
	fruit := 0 // the last page with something new
	for i, x := range pages {
		items := itemsOf(method, x)
		for _, name := range items {
			if !seen[name] {
				seen[name], fruit = true, i
			}
		}
		cursor, ok := cursorOf(x)
		if !ok {
			continue
		}
		if before := by[cursor]; before != nil && slices.Equal(items, itemsOf(method, before)) {
			c.Fail(x, "the cursor %q of %s leads to the same page again, so the list has no end", clipped(cursor), method).And(before)
			return true
		}
		by[cursor] = x
		// It was reached by the cursor that it gives, and shows what came before.
		if next, more := nextCursor(x); more && next == cursor && len(items) > 0 && slices.Equal(items, itemsOf(method, pages[i-1])) {
			c.Fail(x, "the cursor %q of %s leads to the page before it and to itself, so the list has no end", clipped(cursor), method).And(pages[i-1])
			return true
		}
	}
	if len(pages) >= manyPages && len(pages)-1-fruit >= barrenPages {
		c.Fail(last, "%s had not ended after %d pages, the last %d of which brought nothing new", method, len(pages), len(pages)-1-fruit).
			And(pages[0])
		return true
	}
	if len(pages) >= manyPages {
		c.Note(last, "%s had not ended after %d pages with %d items: what follows was not judged", method, len(pages), len(seen))
		return true
	}
	return false
}
