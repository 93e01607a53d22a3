// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"slices"

	"github.com/mcprove/mcprove/wire"
)

// HeaderSpelled holds for requests with an HTTP header whose name is spelled
// exactly so, the case of its letters included: what a server sees that looks
// headers up by their bytes. Over a socket net/http has respelled the names,
// and it never holds.
func HeaderSpelled(name string) Condition {
	return Condition{Of: OfSpelling, Name: name, Is: IsPresent}
}

func (q *request) spelled(name string) bool {
	return slices.ContainsFunc(q.sent, func(f wire.HeaderField) bool { return f.Name == name })
}
