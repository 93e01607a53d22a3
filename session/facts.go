// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sync"

	"github.com/mcprove/mcprove/wire"
)

// facts is what a session has noticed, over all of its connections.
type facts struct {
	mu            sync.Mutex
	anomalies     []*Anomaly
	notifications []*wire.Frame
	size          int // of the notifications in bytes
}

const (
	// maxNotifications bounds the bytes of the notifications that are kept: a
	// server that sends without end must not fill the memory.
	maxNotifications = 64 << 20
	// maxAnomalies bounds the number of different causes.
	maxAnomalies = 1000
)

// note records an anomaly. Those of one kind and note are one entry.
func (x *facts) note(kind AnomalyKind, note string, f *wire.Frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.anomalies {
		if a.Kind == kind && a.Note == note {
			a.Count++
			return
		}
	}
	if len(x.anomalies) < maxAnomalies {
		x.anomalies = append(x.anomalies, &Anomaly{Kind: kind, Note: note, Frame: f, Count: 1})
	}
}

func (x *facts) keep(f *wire.Frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.size > maxNotifications {
		return
	}
	x.size += len(f.Raw) + frameOverhead
	x.notifications = append(x.notifications, f)
}

// Notifications returns every notification so far, in the order of arrival;
// of a flood the first 64 MiB.
func (s *Session) Notifications() []*wire.Frame {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	return slices.Clone(s.facts.notifications)
}

// Anomalies returns what was out of order so far, one entry for each kind and
// cause, in the order of first appearance. What is to be told once for a kind,
// such as noise, has one entry: its frame is the first, its count the sum.
func (s *Session) Anomalies() []Anomaly {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	out := make([]Anomaly, len(s.facts.anomalies))
	for i, a := range s.facts.anomalies {
		out[i] = *a
	}
	return out
}
