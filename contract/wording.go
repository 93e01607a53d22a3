// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"golang.org/x/text/unicode/norm"
)

var (
	kindWhitespace = define("text-whitespace-only", Cosmetic, "a text was re-wrapped",
		"the words are the same", nothing)
	kindInvisible = define("text-invisible-change", Routing, "a text changed only in characters that cannot be seen",
		"a reviewer sees no difference, a model reads one: this is how instructions are hidden", "remove the invisible characters, or ask who put them there")
)

// wording is the kinds of change of one text.
type wording struct {
	added, removed, changed *kind
	invisible, whitespace   *kind
}

// textOf is how a text is read for comparison: in normal form C, lines ended
// by LF.
func textOf(s string) string {
	return norm.NFC.String(strings.ReplaceAll(s, "\r\n", "\n"))
}

func squash(s string) string { return strings.Join(strings.Fields(s), " ") }

// text reports how one text changed; raw values that are not strings count as
// absent, as they do for a reader.
func (c *comparer) text(w wording, a at, before, after jsonx.Raw) {
	x, _ := jsonx.Text(before)
	y, _ := jsonx.Text(after)
	x, y = textOf(x), textOf(y)
	if x == y {
		return
	}
	k := w.changed
	switch {
	case x == "" && w.added != nil:
		k = w.added
	case y == "" && w.removed != nil:
		k = w.removed
	case x == "" || y == "":
	case text.Visible(x) == text.Visible(y):
		if k = w.invisible; k == nil {
			k = kindInvisible
		}
	case squash(x) == squash(y):
		if k = w.whitespace; k == nil {
			k = kindWhitespace
		}
	}
	c.add(k, a, values(before, after), func(ch *Change) { ch.Words = text.WordDiff(x, y) })
}
