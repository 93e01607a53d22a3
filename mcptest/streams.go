// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"net/http"
	"sync"

	"github.com/mcprove/mcprove/transport"
)

// streams are the responses to POST that have not ended: a server may still say
// something on them after the answer.
type streams struct {
	mu   sync.Mutex
	open map[stream]bool
	none chan struct{} // closed when there are none any more; nil while nobody waits
}

type stream struct {
	conn    uint64
	channel transport.Channel
}

// see takes in what a tap sees.
func (x *streams) see(e transport.TapEvent) {
	begins := e.Kind == transport.EventHead && e.Sent && e.Head.Method == http.MethodPost
	ends := e.Kind == transport.EventClosed || e.Kind == transport.EventUnsent
	if !begins && !ends {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at := stream{e.Conn, e.Channel}
	if begins {
		if x.open == nil {
			x.open = map[stream]bool{}
		}
		x.open[at] = true
		return
	}
	delete(x.open, at)
	if len(x.open) == 0 && x.none != nil {
		close(x.none)
		x.none = nil
	}
}

// ended is closed once none is open.
func (x *streams) ended() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	none := make(chan struct{})
	if len(x.open) == 0 {
		close(none)
	} else {
		x.none = none
	}
	return none
}
