// SPDX-License-Identifier: Apache-2.0

package mock

// OpTogether ends a subscription with any other one of its connection.
const OpTogether Op = "together"

// Together ends the subscriptions of the place when any other one of the same
// connection ends.
func (p Place) Together() Fault { return Fault{Place: p, Op: OpTogether} }

// endTogether ends what faults tie to a subscription that ended. The lock is
// held.
func (s *Server) endTogether(ended *stream) {
	if ended.filter == nil {
		return
	}
	for st := range s.streams {
		if st.filter != nil && st.q.connection == ended.q.connection && st.q.find(OpTogether) != nil {
			delete(s.streams, st)
			close(st.closed)
		}
	}
}
