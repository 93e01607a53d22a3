// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// document is a JSON text that is read only as far as it is asked for, and no
// part of it twice: schemas may be large, and many changes look into one.
type document struct {
	raw    jsonx.Raw
	opened bool
	names  []string // of an object, in order
	byName map[string]*document
	items  []*document // of an array
}

func newDocument(raw jsonx.Raw) *document {
	if raw == nil {
		return nil
	}
	return &document{raw: raw}
}

func (d *document) open() {
	if d.opened {
		return
	}
	d.opened = true
	switch jsonx.KindOf(d.raw) {
	case jsonx.Object:
		ms, _ := jsonx.Members(d.raw, jsonx.Strict)
		d.byName = make(map[string]*document, len(ms))
		for _, m := range ms {
			d.names = append(d.names, m.Name)
			d.byName[m.Name] = newDocument(m.Value)
		}
	case jsonx.Array:
		es, _ := jsonx.Elements(d.raw, jsonx.Strict)
		for _, e := range es {
			d.items = append(d.items, newDocument(e))
		}
	}
}

// get returns a member of an object, nil where there is none.
func (d *document) get(name string) *document {
	if d == nil {
		return nil
	}
	d.open()
	return d.byName[name]
}

// members returns the names of an object, in order.
func (d *document) members() []string {
	if d == nil {
		return nil
	}
	d.open()
	return d.names
}

// elements returns the elements of an array.
func (d *document) elements() []*document {
	if d == nil {
		return nil
	}
	d.open()
	return d.items
}

// at returns the part that an RFC 6901 pointer reaches, nil where it reaches
// nothing.
func (d *document) at(pointer string) *document {
	if pointer == "" || d == nil {
		return d
	}
	ts, err := jsonx.Tokens(pointer)
	if err != nil {
		return nil
	}
	for _, t := range ts {
		if d == nil {
			return nil
		}
		d.open()
		if d.byName != nil {
			d = d.byName[t]
			continue
		}
		i, err := strconv.Atoi(t)
		if err != nil || i < 0 || i >= len(d.items) {
			return nil
		}
		d = d.items[i]
	}
	return d
}

// value is the text of the part, nil for none.
func (d *document) value() jsonx.Raw {
	if d == nil {
		return nil
	}
	return d.raw
}

func (d *document) is(text string) bool { return d != nil && string(d.raw) == text }

// target is what a $ref within the document leads to.
func (d *document) target(ref *document) *document {
	if ref == nil {
		return nil
	}
	t, ok := jsonx.Text(ref.raw)
	if !ok || !strings.HasPrefix(t, "#") || t != "#" && !strings.HasPrefix(t, "#/") {
		return nil
	}
	return d.at(strings.TrimPrefix(t, "#"))
}
