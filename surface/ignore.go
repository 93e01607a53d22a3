// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Pattern names listed items that are left out of a contract, because they
// come and go by themselves: `resources[uri=~^log://\d+]` by regular
// expression (RE2), `tools[name=tmp_*]` by wildcard, where * also crosses /.
type Pattern struct {
	Kind  Kind
	Text  string // as the user wrote it
	match *regexp.Regexp
}

var patternForm = regexp.MustCompile(`^(\w+)\[(\w+)(=~|=)(.+)\]$`)

var patternKinds = map[string]Kind{
	"tools": Tools, "resources": Resources, "prompts": Prompts,
	"resourceTemplates": Templates, "templates": Templates,
}

// ParsePattern reads a pattern. The error says what is wrong with it.
func ParsePattern(s string) (Pattern, error) {
	m := patternForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Pattern{}, fmt.Errorf("ignore pattern %q must look like resources[uri=~^log://] or tools[name=tmp_*]", s)
	}
	k, ok := patternKinds[m[1]]
	if !ok {
		return Pattern{}, fmt.Errorf("ignore pattern %q: %q is none of tools, resources, resourceTemplates, prompts", s, m[1])
	}
	if m[2] != k.Key() {
		return Pattern{}, fmt.Errorf("ignore pattern %q: %s are known by their %s, not by %s", s, k, k.Key(), m[2])
	}
	expr := m[4]
	if m[3] == "=" {
		if _, err := path.Match(expr, ""); err != nil {
			return Pattern{}, fmt.Errorf("ignore pattern %q: %w", s, err)
		}
		expr = "^" + strings.ReplaceAll(regexp.QuoteMeta(expr), `\*`, `.*`) + "$"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Pattern{}, fmt.Errorf("ignore pattern %q: %w", s, err)
	}
	return Pattern{Kind: k, Text: s, match: re}, nil
}

// Matches reports whether the pattern covers the item.
func (p Pattern) Matches(it *Item) bool { return p.Kind == it.Kind && p.match.MatchString(it.Name) }

// Without returns s without the items that a pattern covers.
func (s *Surface) Without(patterns []Pattern) *Surface {
	if len(patterns) == 0 {
		return s
	}
	out := *s
	out.items = map[Kind][]Item{}
	for k, items := range s.items {
		out.items[k] = slices.DeleteFunc(slices.Clone(items), func(it Item) bool {
			return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(&it) })
		})
	}
	return &out
}
