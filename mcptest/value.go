// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/theory/jsonpath"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
)

// JSON is a JSON text where a value is wanted: mcptest.JSON(`{"a":1}`). A Go
// string is the value of a JSON string instead.
type JSON = json.RawMessage

// encodeWant is encode for what a test wants, which must be proper JSON.
func encodeWant(v any) (json.RawMessage, error) {
	raw, err := encode(v)
	if err == nil {
		err = jsonx.Check(raw, jsonx.Strict)
	}
	return raw, err
}

// query finds a value by a JSON Pointer or a JSONPath; nothing is the whole.
func query(raw json.RawMessage, path string) (json.RawMessage, error) {
	switch {
	case path == "":
		return raw, nil
	case strings.HasPrefix(path, "/"):
		v, err := jsonx.Lookup(raw, path)
		if err != nil {
			return nil, fmt.Errorf("there is nothing at %s", path)
		}
		return json.RawMessage(v), nil
	case strings.HasPrefix(path, "$"):
		return queryPath(raw, path)
	}
	return nil, fmt.Errorf("%q is neither a JSON Pointer (/a/0) nor a JSONPath ($.a[0])", path)
}

func queryPath(raw json.RawMessage, path string) (json.RawMessage, error) {
	p, err := jsonpath.Parse(path)
	if err != nil {
		return nil, err
	}
	var v any
	if err := jsonx.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	var found []string
	for _, n := range p.SelectLocated(v) {
		// The text is taken, not the value, in which a long number is rounded.
		at, err := jsonx.Lookup(raw, n.Path.Pointer())
		if err != nil {
			return nil, err
		}
		found = append(found, string(at))
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is nothing at %s", path)
	case 1:
		return json.RawMessage(found[0]), nil
	}
	return json.RawMessage("[" + strings.Join(found, ",") + "]"), nil
}

// sameJSON compares two values, and shows the difference line by line.
func sameJSON(got, want json.RawMessage) (same bool, diff string) {
	if probe.Same(got, want) {
		return true, ""
	}
	a, b := lines(want), lines(got)
	if a == b { // they differ in what indenting levels, such as 1 and 1e400
		return false, fmt.Sprintf("  got  %s\n  want %s", shownJSON(got), shownJSON(want))
	}
	return false, text.Clip(text.Block(udiff.Unified("want", "got", a, b)), 4000)
}

// lines is a value in canonical order, a member on each line.
func lines(raw json.RawMessage) string {
	if c, err := jsonx.Canonical(raw); err == nil {
		raw = json.RawMessage(c)
	}
	out, err := jsonx.Indent(raw)
	if err != nil {
		return string(raw) + "\n"
	}
	return string(out) + "\n"
}

// leaks names what a text shows that nobody outside should see. What JSON escapes
// in it is looked at as it is meant.
func leaks(raw []byte, values []string) []string {
	var found []string
	s := string(raw)
	meant := unescaped(raw)
	for i, v := range values {
		if v != "" && (strings.Contains(s, v) || strings.Contains(meant, v)) {
			found = append(found, fmt.Sprintf("the secret value number %d", i+1))
		}
	}
	for _, look := range []func(string) string{check.CredentialIn, func(s string) string { return check.InsideIn(s, "") }} {
		what := look(s)
		if what == "" {
			what = look(meant)
		}
		if what != "" {
			found = append(found, what)
		}
	}
	return found
}

// unescaped is every string of a JSON text as it is meant, a line each; empty for
// what is no JSON.
func unescaped(raw []byte) string {
	var b strings.Builder
	_ = jsonx.Walk(raw, func(t jsonx.Token) error { // up to what cannot be read
		if t.Kind == jsonx.String {
			meant, _ := jsonx.Text(t.Raw)
			b.WriteString(meant)
			b.WriteByte('\n')
		}
		return nil
	})
	return b.String()
}

func splitPath(path string) iter.Seq[string] { return strings.SplitSeq(path, ".") }
