// SPDX-License-Identifier: Apache-2.0

package mock

// Shutdown ends what would stay open for ever: subscriptions get their answer,
// as the specification asks of a server that ends them on purpose
// (2026-07-28/basic/patterns/subscriptions), and the standing streams of legacy
// sessions end. Whatever is opened later ends at once. Requests that are being
// answered are not touched.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for st := range s.streams {
		delete(s.streams, st)
		close(st.closed)
	}
}
