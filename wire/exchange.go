// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"time"
)

// Exchange is one client request and what belongs to it. Package session
// fills it; it is the unit of evidence, recording, assertion and timing.
type Exchange struct {
	Method string
	// ID is the id of the first request as it was sent.
	ID json.RawMessage

	// Frames holds everything that belongs to the request in the order it
	// crossed, the request first: progress, requests of the server and the
	// answers to them, further rounds of a multi round-trip request, the
	// response.
	Frames []*Frame
	// Dropped counts frames that were left out because a flood of them would
	// have filled the memory.
	Dropped int
	// Heads holds the HTTP heads, in order, those of responses without a
	// frame included (202, 404 with an HTML page).
	Heads []*Head
	// Body is what an HTTP response carried when it was no JSON-RPC text,
	// at most the first 64 KiB.
	Body []byte

	// Response is the frame that answered the last request of the exchange,
	// nil when none did.
	Response *Frame

	Start time.Time // the first request was handed to the carrier
	End   time.Time // the response was read, or waiting ended
}

// Request returns the first frame, nil when nothing was sent.
func (x *Exchange) Request() *Frame {
	if len(x.Frames) == 0 {
		return nil
	}
	return x.Frames[0]
}

// Duration is the time from sending to the response or to the end of waiting.
func (x *Exchange) Duration() time.Duration { return x.End.Sub(x.Start) }
