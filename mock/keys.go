// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/wire"
)

// envelope are the names of the members of a request.
var envelope = []string{"jsonrpc", "id", "method", "params"}

// read reads a message as the server does: names of members count as they
// stand, unless a leniency says otherwise.
func (s *Server) read(raw []byte) *wire.Message {
	m := wire.Read(raw)
	fold := s.overlooks(CheckKeyFold) && m.Has(wire.FaultFoldedKey)
	cut := s.overlooks(CheckKeyNUL) && m.Has(wire.FaultNULKey)
	if !fold && !cut {
		return m
	}
	ms, err := jsonx.Members(raw, jsonx.Lenient)
	if err != nil {
		return m
	}
	var out []member
	for _, f := range ms {
		name := f.Name
		if cut {
			name, _, _ = strings.Cut(name, "\x00")
		}
		if i := slices.IndexFunc(envelope, func(e string) bool { return strings.EqualFold(e, name) }); fold && i >= 0 {
			name = envelope[i]
		}
		out = slices.DeleteFunc(out, func(o member) bool { return o.name == name }) // the last one counts
		out = append(out, member{name, []byte(f.Value)})
	}
	return wire.Read(object(out...))
}

// overlooks reports whether a check is skipped everywhere.
func (s *Server) overlooks(check string) bool {
	return slices.ContainsFunc(s.script.Faults, func(f Fault) bool { return f.Op == OpLenient && f.Text == check })
}
