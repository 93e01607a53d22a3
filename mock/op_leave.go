// SPDX-License-Identifier: Apache-2.0

package mock

// Stray sends the answer to a request, whose stream the client has closed over
// HTTP, on the streams of its other subscriptions.
func (p Place) Stray() Fault { return Fault{Place: p, Op: OpStray} }

// left sends an answer astray, if a fault says so, when the client has closed
// the stream of its request.
func (s *Server) left(q *request, r *reply) {
	if q.find(OpStray) == nil || r.text == nil {
		return
	}
	for _, st := range s.beside(q) {
		select {
		case st.messages <- r.text:
		case <-st.closed:
		}
	}
}

// beside are the open subscriptions of the client that made a request: those on
// its connection, and all where it has a connection for each request.
func (s *Server) beside(q *request) []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own, all []*stream
	for st := range s.streams {
		if st.q == q || st.filter == nil {
			continue
		}
		all = append(all, st)
		if st.q.connection == q.connection {
			own = append(own, st)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}
