// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// placed is a value of a foreign file that knows where it stands.
type placed struct {
	r    *fileReader
	raw  jsonx.Raw
	off  int64
	name string // for messages: "arguments"
}

func (r *fileReader) placed(name string) (placed, bool) {
	m, ok := r.members[name]
	return placed{r, m.Value, m.Offset, name}, ok
}

// fail is a fault at the value.
func (p placed) fail(format string, args ...any) error {
	return fileError(p.r.path, p.r.data, p.off, fmt.Errorf(format, args...))
}

// wrong is the fault of a value that is not what it must be.
func (p placed) wrong(want string) error {
	return p.fail("%s must be %s, is %s", p.name, want, jsonx.KindOf(p.raw).Name())
}

func (p placed) null() bool { return string(p.raw) == "null" }

// object returns the members of an object in order.
func (p placed) object() ([]placed, error) {
	if jsonx.KindOf(p.raw) != jsonx.Object {
		return nil, p.wrong("an object")
	}
	ms, err := jsonx.Members(p.raw, jsonx.Strict)
	if err != nil {
		return nil, p.syntax(err)
	}
	out := make([]placed, len(ms))
	for i, m := range ms {
		out[i] = placed{p.r, m.Value, p.off + m.Offset, m.Name}
	}
	return out, nil
}

// known returns the members of an object that has no others than these: what
// a format is not known to have might change what the rest means.
func (p placed) known(writer string, names ...string) (map[string]placed, error) {
	ms, err := p.object()
	if err != nil {
		return nil, err
	}
	out := map[string]placed{}
	for _, m := range ms {
		if !slices.Contains(names, m.name) {
			return nil, m.fail("unknown member %q: no release of %s that is known writes it there", m.name, writer)
		}
		out[m.name] = m
	}
	return out, nil
}

// list returns the elements of an array.
func (p placed) list() ([]placed, error) {
	if jsonx.KindOf(p.raw) != jsonx.Array {
		return nil, p.wrong("an array")
	}
	es, at, err := jsonx.ElementsAt(p.raw, jsonx.Strict)
	if err != nil {
		return nil, p.syntax(err)
	}
	out := make([]placed, len(es))
	for i, e := range es {
		out[i] = placed{p.r, e, p.off + at[i], fmt.Sprintf("%s[%d]", p.name, i)}
	}
	return out, nil
}

// text returns a string; null and an absent member are empty.
func (p placed) text() (string, error) {
	if p.raw == nil || p.null() {
		return "", nil
	}
	t, ok := jsonx.Text(p.raw)
	if !ok {
		return "", p.wrong("a string")
	}
	return t, nil
}

// named returns a string that names something.
func (p placed) named(what string, in placed) (string, error) {
	if p.raw == nil {
		return "", in.fail("%s has no name", what)
	}
	t, err := p.text()
	if err == nil && t == "" {
		err = p.fail("%s must be a non-empty string, is %s", p.name, brief(p.raw))
	}
	return t, err
}

// truth returns a boolean; null and an absent member are false.
func (p placed) truth() (bool, error) {
	switch string(p.raw) {
	case "true":
		return true, nil
	case "", "null", "false":
		return false, nil
	}
	return false, p.wrong("true or false")
}

// syntax places a fault inside the value.
func (p placed) syntax(err error) error {
	if _, ok := errors.AsType[*jsonx.SyntaxError](err); !ok {
		err = fmt.Errorf("%s: %w", p.name, err)
	}
	return fileError(p.r.path, p.r.data, p.off, err)
}

// add takes an item that was put together from a foreign file.
func (p placed) add(s *Surface, k Kind, name string, index int, object map[string]any) error {
	it, err := (Item{Kind: k, Name: name, Index: index}).with(object)
	if err != nil {
		return p.syntax(err)
	}
	s.items[k] = append(s.items[k], it)
	return nil
}

// promptArguments are the arguments of a prompt with the members of the
// protocol that a foreign format keeps.
func promptArguments(it *Item, keep func(name string, required bool, description string, raw map[string]any) map[string]any) []any {
	list, _ := decoded(it.Member("arguments")).([]any)
	out := []any{}
	for _, e := range list {
		arg, ok := e.(map[string]any)
		if !ok {
			continue
		}
		name, _ := arg["name"].(string)
		description, _ := arg["description"].(string)
		required, _ := laxBool(arg["required"])
		out = append(out, keep(name, required, description, arg))
	}
	return out
}
