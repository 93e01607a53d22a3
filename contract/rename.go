// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/surface"
)

// renames pairs tools that are gone with tools that came and look the same.
type renames struct {
	to   map[string]*surface.Item // gone name -> what came
	from map[string]string        // came name -> what is gone
}

// enough is the likeness from which a tool counts as renamed.
const enough = 0.75

// renames looks for tools that only changed their name. Each is used once, the
// likest pairs first.
func (c *comparer) renames(ms []match) renames {
	out := renames{map[string]*surface.Item{}, map[string]string{}}
	var gone, came []*surface.Item
	for _, m := range ms {
		switch {
		case m.new == nil:
			gone = append(gone, m.old)
		case m.old == nil:
			came = append(came, m.new)
		}
	}
	const most = 250_000 // pairs; beyond, only equal names are paired
	type candidate struct {
		old, new *surface.Item
		score    float64
	}
	var cs []candidate
	byKey := map[string][]*surface.Item{}
	for _, n := range came {
		k := nameKey(n.Name)
		byKey[k] = append(byKey[k], n)
	}
	likes := map[*surface.Item]likeness{}
	for _, o := range gone {
		partners := came
		if len(gone)*len(came) > most {
			partners = byKey[nameKey(o.Name)]
		}
		for _, n := range partners {
			for _, it := range []*surface.Item{o, n} {
				if _, ok := likes[it]; !ok {
					likes[it] = likenessOf(it)
				}
			}
			if s := likes[o].score(likes[n]); s >= enough {
				cs = append(cs, candidate{o, n, s})
			}
		}
	}
	order.Stable(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.old.Name, b.old.Name), cmp.Compare(a.new.Name, b.new.Name))
	})
	for _, k := range cs {
		if out.to[k.old.Name] != nil || out.from[k.new.Name] != "" {
			continue
		}
		out.to[k.old.Name], out.from[k.new.Name] = k.new, k.old.Name
	}
	return out
}

// nameKey is a name without case and separators: getUser, get_user and
// get-user are one word.
func nameKey(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. /", r) {
			return -1
		}
		return r
	}, name))
}

// likeness is what two tools are compared by.
type likeness struct {
	key         string
	schema      string          // canonical input schema
	properties  map[string]bool // top-level arguments
	description map[string]bool // words
}

func likenessOf(it *surface.Item) likeness {
	l := likeness{key: nameKey(it.Name), schema: string(it.Member("inputSchema")), properties: map[string]bool{}, description: map[string]bool{}}
	if p, err := jsonx.Lookup(orNull(it.Member("inputSchema")), "/properties"); err == nil {
		ms, _ := jsonx.Members(p, jsonx.Strict)
		for _, m := range ms {
			l.properties[m.Name] = true
		}
	}
	for _, w := range strings.Fields(strings.ToLower(it.Text("description"))) {
		l.description[w] = true
	}
	return l
}

// score is between 0 and 1. Equal names but for case and separators are
// enough; otherwise arguments and words must agree together. A tool without
// arguments needs words, since its schema is like that of any other.
func (l likeness) score(o likeness) float64 {
	if l.key == o.key {
		return 1
	}
	words := overlap(l.description, o.description)
	if len(l.properties) == 0 && len(o.properties) == 0 {
		return words
	}
	args := overlap(l.properties, o.properties)
	if l.schema == o.schema && len(l.properties) > 0 {
		if words == 1 || len(l.properties) > 2 {
			return 0.99
		}
		args = 1
	}
	return 0.5*args + 0.5*words
}

// overlap is the share of common members; two empty sets share nothing.
func overlap(a, b map[string]bool) float64 {
	common := 0
	for x := range a {
		if b[x] {
			common++
		}
	}
	if all := len(a) + len(b) - common; all > 0 {
		return float64(common) / float64(all)
	}
	return 0
}
