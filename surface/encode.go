// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
)

// Format is the newest contract file format this version reads and writes.
const Format = 1

// contractFile is the contract file. Its members are written in order of their
// names; every map is sorted.
type contractFile struct {
	CacheScope        map[string]string `json:"cacheScope,omitzero"`
	Capabilities      jsonx.Raw         `json:"capabilities,omitzero"`
	Digests           *digests          `json:"digests,omitzero"`
	Facets            []Facet           `json:"facets"`
	Format            int               `json:"format"`
	Instructions      string            `json:"instructions,omitzero"`
	Prompts           []jsonx.Raw       `json:"prompts,omitzero"`
	ResourceTemplates []jsonx.Raw       `json:"resourceTemplates,omitzero"`
	Resources         []jsonx.Raw       `json:"resources,omitzero"`
	Revisions         []string          `json:"revisions,omitzero"`
	Server            jsonx.Raw         `json:"server,omitzero"`
	Tools             []jsonx.Raw       `json:"tools,omitzero"`
}

func (f *contractFile) list(k Kind) *[]jsonx.Raw {
	switch k {
	case Tools:
		return &f.Tools
	case Resources:
		return &f.Resources
	case Templates:
		return &f.ResourceTemplates
	}
	return &f.Prompts
}

// digests pin the parts of a contract: SHA-256 in hexadecimal, each over a
// domain of its own, so that no part can stand in for another.
type digests struct {
	Facets  map[string]string `json:"facets"`
	Surface string            `json:"surface"`
	Tools   map[string]string `json:"tools"`
}

// Encode returns the contract file of s: the same bytes for the same surface
// on every machine. It holds no time, no command, no path and no volatile
// member. Invisible characters are escaped, so that a reviewer sees them.
func (s *Surface) Encode() ([]byte, error) {
	f := s.file()
	f.Digests = digest(f)
	compact, err := jsonx.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode contract: %w", err)
	}
	pretty, err := jsonx.Indent(compact)
	if err != nil {
		return nil, fmt.Errorf("encode contract: %w", err)
	}
	return append(text.JSON(pretty), '\n'), nil
}

func (s *Surface) file() *contractFile {
	recorded := s.Facets.recorded()
	f := &contractFile{
		Format: Format, Facets: recorded.Sorted(),
		Server: s.Server, Instructions: s.Instructions,
		Capabilities: s.Capabilities, CacheScope: s.CacheScopes,
	}
	if recorded.Has(Revisions) {
		f.Revisions = s.Revisions
	}
	for _, k := range Kinds {
		if !recorded.HasKind(k) {
			continue
		}
		list := make([]jsonx.Raw, 0, len(s.items[k]))
		for i := range s.items[k] {
			list = append(list, record(&s.items[k][i]))
		}
		*f.list(k) = list
	}
	return f
}

// Digest names the whole surface: equal digests mean equal contract files.
func (s *Surface) Digest() string { return digest(s.file()).Surface }

// digestDomain starts every preimage; a new format gets a new one.
const digestDomain = "mcprove contract 1\n"

func digest(f *contractFile) *digests {
	d := &digests{Facets: map[string]string{}, Tools: map[string]string{}}
	put := func(name string, values ...[]byte) {
		h := domain(name)
		for _, v := range values {
			writeValue(h, v)
		}
		d.Facets[name] = sum(h)
	}
	if f.Server != nil {
		put("server", f.Server)
	}
	if f.Capabilities != nil {
		put("capabilities", f.Capabilities)
	}
	put("instructions", []byte(f.Instructions))
	revisions := make([][]byte, len(f.Revisions))
	for i, r := range f.Revisions {
		revisions[i] = []byte(r)
	}
	put("revisions", revisions...)
	for _, k := range Kinds {
		list := *f.list(k)
		if list == nil {
			continue
		}
		h := domain(string(k))
		for _, raw := range list {
			item := itemDigest(k, raw)
			h.Write(item)
			if k != Tools {
				continue
			}
			// Duplicate names are kept in the contract, so their digests chain.
			name, _ := nameOf(k, jsonx.Skim(raw))
			if before, twice := d.Tools[name]; twice {
				both := domain("tools, one name")
				both.Write([]byte(before))
				both.Write(item)
				d.Tools[name] = sum(both)
			} else {
				d.Tools[name] = hex.EncodeToString(item)
			}
		}
		d.Facets[string(k)] = sum(h)
	}
	h := domain("surface")
	for _, name := range sortedKeys(d.Facets) {
		writeValue(h, []byte(name))
		writeValue(h, []byte(d.Facets[name]))
	}
	for _, name := range sortedKeys(f.CacheScope) {
		writeValue(h, []byte(name))
		writeValue(h, []byte(f.CacheScope[name]))
	}
	for _, facet := range f.Facets {
		writeValue(h, []byte(facet))
	}
	d.Surface = sum(h)
	return d
}

func itemDigest(k Kind, raw []byte) []byte {
	h := domain(k.One())
	writeValue(h, raw)
	return h.Sum(nil)
}

func domain(name string) hash.Hash {
	h := sha256.New()
	h.Write([]byte(digestDomain))
	writeValue(h, []byte(name))
	return h
}

// writeValue hashes v behind its length, so that neighbours never run together.
func writeValue(h hash.Hash, v []byte) {
	fmt.Fprintf(h, "%d:", len(v))
	h.Write(v)
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
