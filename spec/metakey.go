// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// metaGrammar is where key names have a grammar at all.
var metaGrammar = since(Rev20250618)

// ErrMetaKey is wrapped by every error of CheckMetaKey.
var ErrMetaKey = errors.New("bad _meta key")

// CheckMetaKey judges a _meta key by the grammar of the revision
// (2026-07-28/basic#_meta): an optional prefix of dot-separated labels and a
// slash, then a name that may be empty. Before 2025-06-18 every key is good.
// It does not judge whether the prefix is reserved.
func CheckMetaKey(key string, r Revision) error {
	if !metaGrammar.Contains(r) {
		return nil
	}
	prefix, name, found := splitMetaKey(key)
	if found {
		for label := range strings.SplitSeq(prefix, ".") {
			if !metaLabel(label) {
				return fmt.Errorf("%w: label %q must start with a letter, end with a letter or digit, and hold only those and hyphens", ErrMetaKey, clip(label))
			}
		}
	}
	if !metaName(name) {
		return fmt.Errorf("%w: name %q must start and end with a letter or digit, and hold only those, hyphens, underscores and dots", ErrMetaKey, clip(name))
	}
	return nil
}

// MetaPrefix returns what stands before the first slash of a key, without it.
func MetaPrefix(key string) (prefix string, ok bool) {
	prefix, _, ok = splitMetaKey(key)
	return prefix, ok
}

func splitMetaKey(key string) (prefix, name string, found bool) {
	prefix, name, found = strings.Cut(key, "/")
	if !found {
		return "", key, false
	}
	return prefix, name, true
}

// ReservedMetaKey reports whether the prefix of a key belongs to the protocol.
// The rule turned round once: 2025-06-18 reserves prefixes where mcp or
// modelcontextprotocol stands before the last label (mcp.dev/); later revisions
// reserve those where it is the second label (io.modelcontextprotocol/).
func ReservedMetaKey(key string, r Revision) bool {
	prefix, ok := MetaPrefix(key)
	if !ok || !metaGrammar.Contains(r) {
		return false
	}
	labels := strings.Split(prefix, ".")
	if len(labels) < 2 {
		return false
	}
	label := labels[1]
	if r == Rev20250618 {
		label = labels[len(labels)-2]
	}
	return label == "mcp" || label == "modelcontextprotocol"
}

// KnownMetaKey reports whether the revision gives the key a meaning anywhere.
// A reserved key that is not known was made up by somebody.
func KnownMetaKey(key string, r Revision) bool {
	return slices.ContainsFunc(metaTable, func(k MetaKey) bool { return k.Key == key && k.Range.Contains(r) })
}

func metaLabel(s string) bool {
	if s == "" || !letter(s[0]) || !alnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !alnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func metaName(s string) bool {
	if s == "" {
		return true
	}
	if !alnum(s[0]) || !alnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !alnum(s[i]) && strings.IndexByte("-_.", s[i]) < 0 {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func alnum(c byte) bool  { return letter(c) || '0' <= c && c <= '9' }
