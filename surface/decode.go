// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// FileError is a fault in a contract file, with its place.
type FileError struct {
	Path      string
	Line, Col int // 1-based; zero when the fault has no one place
	Err       error
	Try       string // what to do about it, may be empty
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Col, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// fileError places err, met while reading the value at offset base of data.
func fileError(path string, data []byte, base int64, err error) *FileError {
	off := base
	if syn, ok := errors.AsType[*jsonx.SyntaxError](err); ok {
		off += syn.Offset
		err = syn
	}
	line, col := jsonx.Position(data, off)
	return &FileError{Path: path, Line: line, Col: col, Err: err}
}

// Decode reads a contract file. path only names it in errors, which are
// *FileErrors. A file of a newer format is refused.
func Decode(path string, data []byte) (*Surface, error) {
	ms, err := jsonx.Members(data, jsonx.Strict)
	if err != nil {
		return nil, fileError(path, data, 0, err)
	}
	r := fileReader{path: path, data: data, members: map[string]jsonx.Member{}}
	for _, m := range ms {
		r.members[m.Name] = m
	}
	format, hasFormat := r.members["format"]
	_, hasFacets := r.members["facets"]
	if !hasFormat || !hasFacets {
		return nil, &FileError{Path: path, Line: 1, Col: 1, Err: errors.New("not an mcprove contract: it has no format and facets"),
			Try: "record one with: mcprove contract snapshot -- COMMAND"}
	}
	var number int
	if err := jsonx.Unmarshal(format.Value, &number); err != nil || number < 1 {
		return nil, r.fail(format, fmt.Errorf("format must be a whole number from 1, is %s", brief(format.Value)))
	}
	if number > Format {
		e := r.fail(format, fmt.Errorf("contract format %d is newer than this mcprove, which reads up to format %d", number, Format))
		e.Try = "upgrade mcprove"
		return nil, e
	}
	return r.surface()
}

type fileReader struct {
	path    string
	data    []byte
	members map[string]jsonx.Member
}

func (r *fileReader) fail(m jsonx.Member, err error) *FileError {
	return fileError(r.path, r.data, m.Offset, err)
}

// value reads a member into v; an absent one leaves v as it is.
func (r *fileReader) value(name string, v any) error {
	m, ok := r.members[name]
	if !ok {
		return nil
	}
	if err := jsonx.Unmarshal(m.Value, v); err != nil {
		return r.fail(m, fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// object reads a member that must be an object, in canonical form.
func (r *fileReader) object(name string) (jsonx.Raw, error) {
	m, ok := r.members[name]
	if !ok {
		return nil, nil
	}
	if k := jsonx.KindOf(m.Value); k != jsonx.Object {
		return nil, r.fail(m, fmt.Errorf("%s must be an object, is %s", name, k.Name()))
	}
	return jsonx.Canonical(m.Value)
}

var knownMembers = []string{
	"cacheScope", "capabilities", "digests", "facets", "format", "instructions", "prompts",
	"resourceTemplates", "resources", "revisions", "server", "tools",
}

func (r *fileReader) surface() (*Surface, error) {
	s := New()
	for _, name := range sortedKeys(r.members) {
		if !slices.Contains(knownMembers, name) {
			return nil, r.fail(r.members[name], fmt.Errorf("unknown member %q", name))
		}
	}
	var facets []Facet
	var err error
	if err = r.value("facets", &facets); err != nil {
		return nil, err
	}
	s.Facets.add(facets...)
	if err = cmp.Or(
		r.value("revisions", &s.Revisions),
		r.value("instructions", &s.Instructions),
		r.value("cacheScope", &s.CacheScopes),
	); err != nil {
		return nil, err
	}
	if s.CacheScopes == nil {
		s.CacheScopes = map[string]string{}
	}
	if s.Server, err = r.object("server"); err != nil {
		return nil, err
	}
	if s.Capabilities, err = r.object("capabilities"); err != nil {
		return nil, err
	}
	for _, k := range Kinds {
		m, ok := r.members[string(k)]
		if !ok {
			continue
		}
		if !s.Facets.HasKind(k) {
			return nil, r.fail(m, fmt.Errorf("%s are listed, but facets does not name them", k))
		}
		if kind := jsonx.KindOf(m.Value); kind != jsonx.Array {
			return nil, r.fail(m, fmt.Errorf("%s must be an array, is %s", k, kind.Name()))
		}
		es, err := jsonx.Elements(m.Value, jsonx.Strict)
		if err != nil {
			return nil, r.fail(m, err)
		}
		for i, e := range es {
			if err := s.add(k, e, i); err != nil {
				ie := err.(*ItemError)
				_, off, _ := jsonx.Locate(m.Value, fmt.Sprintf("/%d%s", i, ie.Pointer))
				at := m
				at.Offset += off
				return nil, r.fail(at, fmt.Errorf("%s %d: %w", k.One(), i+1, ie.Err))
			}
		}
	}
	s.sort()
	return s, r.verify(s)
}

// verify compares the recorded digests with the contents. A difference is a
// note, not an error: whoever merges or edits a contract by hand meant to.
func (r *fileReader) verify(s *Surface) error {
	var recorded digests
	if err := r.value("digests", &recorded); err != nil {
		return err
	}
	if recorded.Surface == "" {
		return nil
	}
	now := digest(s.file())
	if now.Surface == recorded.Surface {
		return nil
	}
	changed := "its contents"
	for _, name := range sortedKeys(now.Facets) {
		if now.Facets[name] != recorded.Facets[name] {
			changed = name
			break
		}
	}
	for _, name := range sortedKeys(now.Tools) {
		if now.Tools[name] != recorded.Tools[name] {
			changed = fmt.Sprintf("tool %q", name)
			break
		}
	}
	s.Notes = append(s.Notes, fmt.Sprintf("%s was edited after it was recorded: %s does not match its digest", r.path, changed))
	return nil
}
