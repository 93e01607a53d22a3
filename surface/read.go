// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"errors"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Read reads a surface from a file of any format that is known: a contract
// file, a raw tools/list result, a bare array of tools, a listing with one
// member per list, or what another contract tool wrote. Only what the format
// can express is captured. path only names the file in errors, which are
// *FileErrors.
func Read(path string, data []byte) (*Surface, error) {
	if jsonx.KindOf(data) == jsonx.Array {
		return readList(path, data)
	}
	ms, err := jsonx.Members(data, jsonx.Strict)
	if err != nil {
		return nil, fileError(path, data, 0, err)
	}
	r := fileReader{path: path, data: data, members: map[string]jsonx.Member{}}
	for _, m := range ms {
		r.members[m.Name] = m
	}
	if result, ok := r.members["result"]; ok && jsonx.KindOf(result.Value) == jsonx.Object {
		return r.inner("result") // a whole JSON-RPC response
	}
	for _, f := range formats {
		if f.is(r.members) {
			return f.read(&r)
		}
	}
	return nil, &FileError{Path: path, Line: 1, Col: 1,
		Err: errors.New("unknown file format: expected a contract, a tools/list result, or a listing with tools, resources or prompts")}
}

// format is one kind of file that Read knows; the first that recognises the
// members reads it.
type format struct {
	name string
	is   func(map[string]jsonx.Member) bool
	read func(*fileReader) (*Surface, error)
}

func has(names ...string) func(map[string]jsonx.Member) bool {
	return func(ms map[string]jsonx.Member) bool {
		for _, n := range names {
			if _, ok := ms[n]; !ok {
				return false
			}
		}
		return true
	}
}

var formats = []format{
	{"contract", has("format", "facets"), func(r *fileReader) (*Surface, error) { return Decode(r.path, r.data) }},
	{"mcpdiff snapshot", isMCPDiff, readMCPDiff},
	{"mcp-contract file", isMCPContract, readMCPContract},
	{"listing", func(ms map[string]jsonx.Member) bool {
		return has("initialize")(ms) || has("tools")(ms) || has("prompts")(ms) || has("resources")(ms) || has("resourceTemplates")(ms)
	}, readListing},
}

// inner reads the surface in a member.
func (r *fileReader) inner(name string) (*Surface, error) {
	m := r.members[name]
	s, err := Read(r.path, m.Value)
	if fe, ok := errors.AsType[*FileError](err); ok && fe.Line > 0 {
		// The place is relative to the member: report the member's own.
		return nil, r.fail(m, fe.Err)
	}
	return s, err
}

// readList reads a bare array of tools.
func readList(path string, data []byte) (*Surface, error) {
	r := fileReader{path: path, data: data, members: map[string]jsonx.Member{"tools": {Name: "tools", Value: data}}}
	return readListing(&r)
}

// readListing reads raw lists as a server sent them: tools, resources,
// resourceTemplates, prompts, each with NAME_error in its place where the
// listing failed, and initialize for the server's own description. A list
// that is missing was captured as empty only if the server did not declare it.
func readListing(r *fileReader) (*Surface, error) {
	if m, ok := r.members["nextCursor"]; ok && jsonx.KindOf(m.Value) == jsonx.String {
		e := r.fail(m, errors.New("holds only one page of a list: nextCursor is set"))
		e.Try = "join the pages, or let mcprove read them: mcprove contract snapshot"
		return nil, e
	}
	s := New()
	declared := map[string]bool{}
	if m, ok := r.members["initialize"]; ok {
		if err := s.describe(m.Value, declared); err != nil {
			return nil, r.fail(m, err)
		}
	}
	for _, k := range Kinds {
		if err := r.listing(s, k, declared); err != nil {
			return nil, err
		}
	}
	if m, ok := r.members["cacheScope"]; ok {
		if scope, ok := jsonx.Text(m.Value); ok {
			s.Facets.add(CacheScope)
			s.CacheScopes[Tools.Method()] = scope
		}
	}
	s.sort()
	return s, nil
}

func (r *fileReader) listing(s *Surface, k Kind, declared map[string]bool) error {
	if m, ok := r.members[string(k)]; ok {
		if kind := jsonx.KindOf(m.Value); kind != jsonx.Array {
			return r.fail(m, fmt.Errorf("%s must be an array, is %s", k, kind.Name()))
		}
		s.Facets.addKind(k)
		s.Facets.add(k.Order())
		es, err := jsonx.Elements(m.Value, jsonx.Strict)
		if err != nil {
			return r.fail(m, err)
		}
		for i, e := range es {
			if k == Tools {
				e = modernSpelling(e)
			}
			if err := s.add(k, e, i); err != nil {
				return r.fail(m, err)
			}
		}
		return nil
	}
	if m, ok := r.members[string(k)+"_error"]; ok {
		if code, err := jsonx.Lookup(m.Value, "/code"); err == nil && string(code) == fmt.Sprint(spec.CodeMethodNotFound) {
			s.Facets.addKind(k)
			s.NotServed = append(s.NotServed, k)
		}
		return nil
	}
	// Only an initialize result tells that a missing list is an empty one.
	if _, ok := r.members["initialize"]; ok && !declared[capabilityOf(k)] {
		s.Facets.addKind(k)
	}
	return nil
}

// capabilityOf is the capability that a listing is declared by.
func capabilityOf(k Kind) string {
	if k == Templates {
		return string(Resources)
	}
	return string(k)
}

// oldSpellings are member names of an SDK that writes Python's names.
var oldSpellings = map[string]string{
	"input_schema": "inputSchema", "output_schema": "outputSchema", "meta": "_meta",
}

// modernSpelling renames the members of a tool that an SDK spelled its own
// way. A tool that has both spellings keeps the protocol's.
func modernSpelling(raw jsonx.Raw) jsonx.Raw {
	ms, err := jsonx.Members(raw, jsonx.Strict)
	if err != nil {
		return raw
	}
	names := map[string]bool{}
	for _, m := range ms {
		names[m.Name] = true
	}
	out := []byte{'{'}
	changed := false
	for _, m := range ms {
		n := m.Name
		if to, ok := oldSpellings[n]; ok && !names[to] {
			n, changed = to, true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, jsonx.Quote(n)...)
		out = append(out, ':')
		out = append(out, m.Value...)
	}
	if !changed {
		return raw
	}
	return append(out, '}')
}

// describe takes the server's own description from an initialize or
// server/discover result.
func (s *Surface) describe(result jsonx.Raw, declared map[string]bool) error {
	ms, err := jsonx.Members(result, jsonx.Strict)
	if err != nil {
		return err
	}
	s.Facets.add(Instructions)
	for _, m := range ms {
		switch m.Name {
		case "serverInfo":
			if s.Server, err = jsonx.Canonical(m.Value); err != nil {
				return err
			}
			s.Facets.add(ServerName, ServerVersion, ServerOther)
		case "protocolVersion":
			if v, ok := jsonx.Text(m.Value); ok {
				s.Revisions = []string{v}
				s.Facets.add(Revisions)
			}
		case "supportedVersions":
			if err := jsonx.Unmarshal(m.Value, &s.Revisions); err != nil {
				return err
			}
			s.Facets.add(Revisions)
		case "instructions":
			s.Instructions, _ = jsonx.Text(m.Value)
		case "capabilities":
			if s.Capabilities, err = jsonx.Canonical(m.Value); err != nil {
				return err
			}
			s.Facets.add(Capabilities)
			cs, err := jsonx.Members(m.Value, jsonx.Strict)
			if err != nil {
				return fmt.Errorf("capabilities: %w", err)
			}
			for _, c := range cs {
				declared[c.Name] = true
			}
		}
	}
	return nil
}
