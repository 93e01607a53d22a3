// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/rule"
	"go.yaml.in/yaml/v4"
)

// ReadOptions is what a script in YAML may reach beyond itself. Without them it
// reaches nothing.
type ReadOptions struct {
	// File reads a file that the script names, relative to the script; nil
	// refuses them.
	File func(name string) ([]byte, error)
	// Fault returns what a fault of an id does to a script; nil knows none. Of
	// an error of type *rule.FileError the message and what to try are kept.
	Fault func(id string) (func(*Script), error)
}

// ReadScript reads a script in YAML; docs/guides/mock.md describes every key.
// Every fault in it is a *rule.FileError with its place in the file called path.
// Nothing in a script runs a command.
func ReadScript(path string, data []byte, o ReadOptions) (Script, error) {
	r := &reader{path: path, options: o, budget: maxNodes}
	var s Script
	if blank(data) {
		return s, nil
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return s, rule.YAMLError(path, err)
	}
	n := &doc
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	r.script(&s, n)
	if r.err != nil {
		return Script{}, r.err
	}
	for _, change := range r.changes {
		change(&s)
	}
	return s, nil
}

// blank reports whether a text holds nothing but comments and white space,
// which the library refuses to load.
func blank(data []byte) bool {
	for l := range bytes.Lines(data) {
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != '#' {
			return false
		}
	}
	return true
}

// maxNodes and maxNesting bound what aliases make of a small file.
const (
	maxNodes   = 200_000
	maxNesting = 200
)

// reader reads a YAML document by hand, so that every fault has its place. The
// first fault ends it; later calls change nothing that is used.
type reader struct {
	path    string
	options ReadOptions
	budget  int
	depth   int
	err     error
	changes []func(*Script) // faults by id, once the script is whole
}

func (r *reader) fail(n *yaml.Node, try, format string, args ...any) {
	if r.err == nil {
		r.err = &rule.FileError{Path: r.path, Line: n.Line, Col: n.Column, Message: fmt.Sprintf(format, args...), Try: try}
	}
}

// failed puts an error from elsewhere at a place.
func (r *reader) failed(n *yaml.Node, what string, err error) {
	if e, ok := errors.AsType[*rule.FileError](err); ok {
		r.fail(n, e.Try, "%s", e.Message)
		return
	}
	r.fail(n, "", "%s: %v", what, err)
}

// real follows aliases to the node that they stand for, and counts it.
func (r *reader) real(n *yaml.Node) *yaml.Node {
	for range maxNesting {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	if r.budget--; r.budget < 0 {
		r.fail(n, "", "the file stands for more than %d values", maxNodes)
	}
	return n
}

// keys are the functions that read the values of a mapping, by key.
type keys map[string]func(*yaml.Node)

// with adds keys; the others win.
func (k keys) with(others keys) keys {
	out := maps.Clone(k)
	maps.Copy(out, others)
	return out
}

// mapping calls the function of each key, and refuses other keys.
func (r *reader) mapping(n *yaml.Node, what string, known keys) {
	n = r.real(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "%s must be a mapping of keys to values", what)
		return
	}
	if r.depth++; r.depth > maxNesting {
		r.fail(n, "", "%s is nested too deep", what)
	}
	defer func() { r.depth-- }()
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		k := r.real(n.Content[i])
		f, ok := known[k.Value]
		switch {
		case !ok:
			names := slices.Sorted(maps.Keys(known))
			try := "known keys: " + strings.Join(names, ", ")
			if near := rule.Nearest(k.Value, names); len(near) > 0 {
				try = fmt.Sprintf("did you mean %s?", near[0])
			}
			r.fail(n.Content[i], try, "unknown key %q in %s", clip(k.Value), what)
			return
		case seen[k.Value]:
			r.fail(n.Content[i], "", "key %q stands twice in %s", k.Value, what)
			return
		}
		seen[k.Value] = true
		f(n.Content[i+1])
	}
}

// list calls a function for each element.
func (r *reader) list(n *yaml.Node, what string, each func(*yaml.Node)) {
	n = r.real(n)
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "", "%s must be a list", what)
		return
	}
	if r.depth++; r.depth > maxNesting {
		r.fail(n, "", "%s is nested too deep", what)
	}
	defer func() { r.depth-- }()
	for _, e := range n.Content {
		if r.err != nil {
			return
		}
		each(e)
	}
}

// has reports whether a mapping has a key.
func has(n *yaml.Node, key string) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

func (r *reader) text(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n = r.real(n); n.Kind != yaml.ScalarNode {
			r.fail(n, "", "expected one text")
			return
		}
		*into = n.Value
	}
}

func (r *reader) texts(what string, into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.list(n, what, func(e *yaml.Node) {
			var s string
			r.text(&s)(e)
			*into = append(*into, s)
		})
	}
}

func (r *reader) flag(into *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n = r.real(n); n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			r.fail(n, "", "expected true or false")
			return
		}
		*into = n.Value == "true"
	}
}

// count reads a whole number that is not below least.
func (r *reader) count(into *int, least int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n = r.real(n)
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || v < least {
			r.fail(n, "", "expected a whole number, %d or more", least)
			return
		}
		*into = v
	}
}

func (r *reader) number(into *float64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n = r.real(n)
		v, err := strconv.ParseFloat(n.Value, 64)
		if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			r.fail(n, "", "expected a number")
			return
		}
		*into = v
	}
}

func (r *reader) duration(into *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n = r.real(n)
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
			r.fail(n, "write it like 200ms, 30s or 2m", "%q is not a length of time", clip(n.Value))
			return
		}
		*into = d
	}
}

// oneOf reads one word of a few.
func (r *reader) oneOf(into *string, words ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var s string
		r.text(&s)(n)
		if r.err == nil && !slices.Contains(words, s) {
			try := "one of " + strings.Join(words, ", ")
			if near := rule.Nearest(s, words); len(near) > 0 {
				try = fmt.Sprintf("did you mean %s?", near[0])
			}
			r.fail(n, try, "unknown word %q", clip(s))
		}
		*into = s
	}
}

// json reads any value as JSON.
func (r *reader) json(into *json.RawMessage) func(*yaml.Node) {
	return func(n *yaml.Node) { *into = r.value(n) }
}

// object reads a mapping as a JSON object.
func (r *reader) object(what string, into *json.RawMessage) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.real(n).Kind != yaml.MappingNode {
			r.fail(n, "", "%s must be a mapping", what)
			return
		}
		*into = r.value(n)
	}
}

// value turns a YAML value into JSON.
func (r *reader) value(n *yaml.Node) json.RawMessage {
	n = r.real(n)
	if r.depth++; r.depth > maxNesting {
		r.fail(n, "", "the value is nested too deep")
	}
	defer func() { r.depth-- }()
	if r.err != nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		var ms []member
		for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
			k := r.real(n.Content[i])
			switch {
			case k.Kind != yaml.ScalarNode:
				r.fail(n.Content[i], "", "a key must be a text")
			case k.Tag == "!!merge":
				r.fail(n.Content[i], "", "keys are not merged; write them out")
			case index(ms, k.Value) >= 0:
				r.fail(n.Content[i], "", "key %q stands twice", clip(k.Value))
			}
			ms = append(ms, member{k.Value, r.value(n.Content[i+1])})
		}
		return object(ms...)
	case yaml.SequenceNode:
		var es []json.RawMessage
		for _, e := range n.Content {
			if r.err != nil {
				break
			}
			es = append(es, r.value(e))
		}
		return array(es)
	case yaml.ScalarNode:
		return r.scalar(n)
	}
	r.fail(n, "", "expected a value")
	return nil
}

// scalar follows the core schema of YAML 1.2: what is not a number, a truth
// value or nothing is a text. A date is a text, too.
func (r *reader) scalar(n *yaml.Node) json.RawMessage {
	switch n.ShortTag() {
	case "!!null":
		return json.RawMessage("null")
	case "!!bool":
		return boolean(strings.EqualFold(n.Value, "true"))
	case "!!int", "!!float":
		if raw := []byte(n.Value); jsonx.KindOf(raw) == jsonx.Number && jsonx.Check(raw, jsonx.Strict) == nil {
			return raw // with every digit that was written
		}
		var v float64
		if err := n.Load(&v); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			r.fail(n, "", "JSON has no number %s", clip(n.Value))
			return nil
		}
		return json.RawMessage(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return quote(n.Value)
}

// bytes reads what is written as {file: NAME}, {base64: TEXT} or {text: TEXT}.
func (r *reader) bytes(n *yaml.Node) (data []byte, name string) {
	sources := 0
	r.mapping(n, "the data", keys{
		"file": func(v *yaml.Node) {
			sources++
			r.text(&name)(v)
			data = r.file(v, name)
		},
		"base64": func(v *yaml.Node) {
			sources++
			var s string
			r.text(&s)(v)
			var err error
			if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), "")); err != nil {
				r.fail(v, "", "it is not base64: %v", err)
			}
		},
		"text": func(v *yaml.Node) {
			sources++
			var s string
			r.text(&s)(v)
			data = []byte(s)
		},
	})
	if r.err == nil && sources != 1 {
		r.fail(n, "", "exactly one of file, base64 and text must be given")
	}
	return data, name
}

// file reads a file that the script names.
func (r *reader) file(n *yaml.Node, name string) []byte {
	if r.err != nil {
		return nil
	}
	if r.options.File == nil {
		r.fail(n, "", "files cannot be read here")
		return nil
	}
	data, err := r.options.File(name)
	if err != nil {
		r.failed(n, "read "+clip(name), err)
	}
	return data
}
