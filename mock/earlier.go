// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Earlier holds for requests on a connection over which a method was asked for
// before: what a server keeps in mind from one request to the next.
func Earlier(method string) Condition {
	return Condition{Of: OfEarlier, Name: "/method", Is: IsEqual, Value: string(quote(method))}
}

// EarlierHas holds for requests on a connection over which a message with
// something at a pointer came before.
func EarlierHas(pointer string) Condition {
	return Condition{Of: OfEarlier, Name: pointer, Is: IsPresent}
}

// maxEarlier bounds what is remembered of connections.
const maxEarlier = 1 << 16

// earlierKey names a condition on one connection.
func (c *Condition) earlierKey(q *request) string {
	return strconv.Itoa(q.connection) + " " + c.Name + " " + string(c.Is) + " " + c.Value
}

// remember notes what conditions on later requests will ask about this one.
// The lock is held.
func (s *Server) remember(q *request) {
	for i := range s.script.Faults {
		for j := range s.script.Faults[i].Conditions {
			c := &s.script.Faults[i].Conditions[j]
			if c.Of != OfEarlier {
				continue
			}
			if v, _ := jsonx.Lookup(q.Raw, c.Name); !c.json(v) {
				continue
			}
			if len(s.earlier) >= maxEarlier {
				clear(s.earlier)
			}
			s.earlier[c.earlierKey(q)] = true
		}
	}
}
