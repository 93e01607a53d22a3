// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/wire"
)

const (
	// minFound is the least length of a value that was found to be a secret:
	// one that was not named must not blank out a word.
	minFound = 8
	// maxFound bounds them: each is looked for in everything. Where they stood
	// they are cut out all the same.
	maxFound = 1000
)

// finder finds the secrets that were sent: they are secrets wherever they are
// echoed.
type finder struct {
	r     *redactor
	seen  map[*wire.Head]bool
	found map[string]bool
	list  []string
}

func (r *redactor) learn(entries []entry) {
	f := finder{r: r, seen: map[*wire.Head]bool{}, found: map[string]bool{}}
	for i := range entries {
		n := &entries[i]
		f.head(n.head)
		f.frame(n.frame)
		if n.unsent != nil {
			f.head(n.unsent.Head)
			f.frame(n.unsent.Frame)
		}
	}
	r.add(minFound, f.list...)
}

func (f *finder) add(value string) {
	if len(value) >= minFound && !f.found[value] && len(f.list) < maxFound {
		f.found[value] = true
		f.list = append(f.list, value)
	}
}

func (f *finder) head(h *wire.Head) {
	if h == nil || f.seen[h] {
		return
	}
	f.seen[h] = true
	for _, field := range h.Header {
		if f.r.hidden(field.Name) {
			f.field(field)
		}
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.User == nil && u.RawQuery == "" {
		return
	}
	if password, ok := u.User.Password(); ok {
		f.add(password)
	}
	for name, values := range u.Query() {
		if f.r.key(name) != open {
			for _, v := range values {
				f.add(v)
			}
		}
	}
}

func (f *finder) field(field wire.HeaderField) {
	switch strings.ToLower(field.Name) {
	case "cookie":
		for part := range strings.SplitSeq(field.Value, ";") {
			_, v, _ := strings.Cut(part, "=")
			f.add(strings.TrimSpace(v))
		}
		return
	case "set-cookie": // what follows the first are attributes
		first, _, _ := strings.Cut(field.Value, ";")
		_, v, _ := strings.Cut(first, "=")
		f.add(strings.TrimSpace(v))
		return
	}
	f.add(field.Value)
	_, credentials, _ := strings.Cut(field.Value, " ")
	f.add(credentials)
	if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		if _, password, ok := strings.Cut(string(pair), ":"); ok {
			f.add(string(pair))
			f.add(password)
		}
	}
}

// frame finds the values of the names that the user gave.
func (f *finder) frame(t *wire.Frame) {
	if t == nil {
		return
	}
	f.head(t.HTTP)
	if len(f.r.keys) == 0 {
		return
	}
	named := false
	_ = jsonx.Walk(t.Raw, func(t jsonx.Token) error { // what cannot be read has no names
		s := ""
		if t.Kind == jsonx.String {
			s, _ = jsonx.Text(t.Raw)
		}
		if named && !t.Name {
			f.add(s)
		}
		named = t.Name && f.r.key(s) == whole
		return nil
	})
}
