// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Banner writes a line to stdout before anything is read. It has no place.
func Banner(noise string) Fault { return Fault{Op: OpBanner, Text: noise} }

// Half sends the first half of the answer and closes the connection.
func (p Place) Half() Fault { return Fault{Place: p, Op: OpHalf} }

// HangUp closes the connection instead of answering.
func (p Place) HangUp() Fault { return Fault{Place: p, Op: OpHangUp} }

// Die ends the server instead of answering. Over HTTP no later request is
// answered either; over stdio a new connection finds a new server.
func (p Place) Die() Fault { return Fault{Place: p, Op: OpDie} }

// Status answers with another HTTP status.
func (p Place) Status(code int) Fault { return Fault{Place: p, Op: OpStatus, Code: code} }

// Header sets a header of the HTTP response; an empty value removes it.
func (p Place) Header(name, value string) Fault {
	return Fault{Place: p, Op: OpHeader, Header: []wire.HeaderField{{Name: name, Value: value}}}
}

// HTTP answers with a response of any kind: a page, a redirect, a refusal. It
// does nothing over stdio.
func (p Place) HTTP(status int, contentType, body string, header ...wire.HeaderField) Fault {
	return Fault{
		Place: p, Op: OpBody, Code: status, Text: body,
		Header: append([]wire.HeaderField{{Name: "Content-Type", Value: contentType}}, header...),
	}
}

// RepeatCursor makes nextCursor lead to the page it stands on, for ever. Where
// the list has but one page it is given a cursor.
func (p Place) RepeatCursor() Fault { return Fault{Place: p, Op: OpRepeatCursor} }

// EndlessCursors makes every page name a further one, empty past the end.
func (p Place) EndlessCursors() Fault { return Fault{Place: p, Op: OpEndlessCursors} }

// EmptyCursor makes the cursor to the page behind this one the empty string.
// Without a page it is that behind the first.
func (p Place) EmptyCursor() Fault {
	p.Page = max(p.Page, 1)
	return Fault{Place: p, Op: OpEmptyCursor}
}

// Dribble sends the answer n bytes at a time, with a pause after each part.
func (p Place) Dribble(n int, pause time.Duration) Fault {
	return Fault{Place: p, Op: OpDribble, Count: n, Delay: pause}
}

// JSON answers with a JSON body where an event stream would be, and loses what
// would come before the answer. A subscription is answered by its end.
func (p Place) JSON() Fault { return Fault{Place: p, Op: OpJSON} }

// SSE answers with an event stream where a JSON body would do.
func (p Place) SSE() Fault { return Fault{Place: p, Op: OpSSE} }

// Event sends the events of the stream in another form: a text in which
// {{data}} is the message, such as "id: 7\r\ndata: {{data}}\r\n\r\n", and {{id}}
// the event's id in a resumable session. It does not make the answer a stream.
func (p Place) Event(format string) Fault { return Fault{Place: p, Op: OpEvent, Text: format} }

// Linger keeps the event stream open for a while after the answer.
func (p Place) Linger(d time.Duration) Fault { return Fault{Place: p, Op: OpLinger, Delay: d} }

// Stderr writes a text to the script's Stderr n times when the place is
// reached.
func (p Place) Stderr(text string, n int) Fault {
	return Fault{Place: p, Op: OpStderr, Text: text, Count: n}
}

// StderrAtStart writes a text to the script's Stderr n times before anything is
// read over stdio. It has no place.
func StderrAtStart(text string, n int) Fault {
	return Fault{Op: OpStderr, Text: text, Count: n, Place: Place{Method: atStart}}
}

// atStart is the method of what happens before there is a request.
const atStart = "(start)"

// Farewell writes a line to stdout after the end of the input. It has no place.
func Farewell(noise string) Fault { return Fault{Op: OpFarewell, Text: noise} }

// Chatter writes a line to stdout each time so long has passed. It has no
// place.
func Chatter(noise string, every time.Duration) Fault {
	return Fault{Op: OpChatter, Text: noise, Delay: every}
}

// IgnoreEOF keeps a server over stdio running when its input has ended. It has
// no place.
func IgnoreEOF() Fault { return Fault{Op: OpIgnoreEOF} }

// IgnoreTerm keeps a process running when it is told to terminate: whoever runs
// the server asks [Server.IgnoresTerm]. It has no place.
func IgnoreTerm() Fault { return Fault{Op: OpIgnoreTerm} }

// LineEnd ends the lines of stdio with a text in place of the line feed.
func (p Place) LineEnd(text string) Fault { return Fault{Place: p, Op: OpLineEnd, Text: text} }
