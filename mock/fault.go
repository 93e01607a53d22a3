// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Place is where a fault happens: at a method, a page and a turn. The zero
// Place is everywhere. Build it with [On], [Place.OnPage] and [Place.OnTurn].
type Place struct {
	// Method is that of the request or notification received, or GET or DELETE
	// for such an HTTP request; empty is every one.
	Method string
	// Page is the page of a list that is asked for, from 1; zero is every one.
	Page int
	// Turn is the n-th time that method and page are asked for, from 1, over
	// the life of the server; zero is every time.
	Turn int
}

// Op says what a fault does. Its arguments are the fields of [Fault].
type Op string

// The operators.
const (
	opSet            Op = "set"             // Pointer, Text: put JSON there
	opRemove         Op = "remove"          // Pointer
	opReplace        Op = "replace"         // Text, With: in the bytes of the answer
	opText           Op = "text"            // Text: in place of the answer
	opError          Op = "error"           // Code, Text: an error in place of the result
	opDrop           Op = "drop"            // never answer
	opDelay          Op = "delay"           // Delay
	opRepeat         Op = "repeat"          // Count: answer that many times more
	opBefore         Op = "before"          // Text: noise before the answer
	opAfter          Op = "after"           // Text: noise after it
	opBanner         Op = "banner"          // Text: on stdout before anything is read
	opHalf           Op = "half"            // the first half of the answer, then hang up
	opHangUp         Op = "hang-up"         // close the connection instead of answering
	opDie            Op = "die"             // end the server instead of answering
	opStatus         Op = "status"          // Code: HTTP status
	opHeader         Op = "header"          // Header: set, or removed where the value is empty
	opBody           Op = "body"            // Text: HTTP body in place of the message
	opRepeatCursor   Op = "repeat-cursor"   // nextCursor leads to the page it stands on
	opEndlessCursors Op = "endless-cursors" // there is always another page
	opEmptyCursor    Op = "empty-cursor"    // nextCursor is the empty string
)

// Fault is one way to break a rule: what happens at a place. It is data; the
// methods of [Place] make the useful ones. Faults of one place are applied in
// the order of the script.
type Fault struct {
	Place
	Op      Op
	Pointer string // RFC 6901, from the root of the JSON-RPC message
	Text    string
	With    string
	Code    int
	Count   int
	Delay   time.Duration
	Header  []wire.HeaderField
}

// On is the place of a method's requests, on every page and turn.
func On(method string) Place { return Place{Method: method} }

// OnPage is the place narrowed to one page of a list, from 1.
func (p Place) OnPage(page int) Place { p.Page = page; return p }

// OnTurn is the place narrowed to the n-th time it is reached, from 1.
func (p Place) OnTurn(n int) Place { p.Turn = n; return p }

// Set puts a JSON value at a pointer of the answer: "/id", "/result/tools/0",
// "/error/code", or "/-" appended to an array for one more element. Objects on
// the way are made.
func (p Place) Set(pointer, value string) Fault {
	return Fault{Place: p, Op: opSet, Pointer: pointer, Text: value}
}

// Remove takes the value at a pointer out of the answer.
func (p Place) Remove(pointer string) Fault { return Fault{Place: p, Op: opRemove, Pointer: pointer} }

// Replace replaces the first occurrence of old in the bytes of the answer.
func (p Place) Replace(old, with string) Fault {
	return Fault{Place: p, Op: opReplace, Text: old, With: with}
}

// Answer sends any text in place of the answer.
func (p Place) Answer(text string) Fault { return Fault{Place: p, Op: opText, Text: text} }

// Error answers with an error.
func (p Place) Error(code int, message string) Fault {
	return Fault{Place: p, Op: opError, Code: code, Text: message}
}

// Drop never answers.
func (p Place) Drop() Fault { return Fault{Place: p, Op: opDrop} }

// Late answers after a delay.
func (p Place) Late(d time.Duration) Fault { return Fault{Place: p, Op: opDelay, Delay: d} }

// Twice sends the answer two times.
func (p Place) Twice() Fault { return Fault{Place: p, Op: opRepeat, Count: 1} }

// Before sends a text that is no message before the answer: a line over stdio,
// an event in an event stream, bytes before any other body.
func (p Place) Before(noise string) Fault { return Fault{Place: p, Op: opBefore, Text: noise} }

// After is Before behind the answer.
func (p Place) After(noise string) Fault { return Fault{Place: p, Op: opAfter, Text: noise} }

// Banner writes a line to stdout before anything is read. It has no place.
func Banner(noise string) Fault { return Fault{Op: opBanner, Text: noise} }

// Half sends the first half of the answer and closes the connection.
func (p Place) Half() Fault { return Fault{Place: p, Op: opHalf} }

// HangUp closes the connection instead of answering.
func (p Place) HangUp() Fault { return Fault{Place: p, Op: opHangUp} }

// Die ends the server instead of answering. Over HTTP no later request is
// answered either; over stdio a new connection finds a new server.
func (p Place) Die() Fault { return Fault{Place: p, Op: opDie} }

// Status answers with another HTTP status.
func (p Place) Status(code int) Fault { return Fault{Place: p, Op: opStatus, Code: code} }

// Header sets a header of the HTTP response; an empty value removes it.
func (p Place) Header(name, value string) Fault {
	return Fault{Place: p, Op: opHeader, Header: []wire.HeaderField{{Name: name, Value: value}}}
}

// HTTP answers with a response of any kind: a page, a redirect, a refusal. It
// does nothing over stdio.
func (p Place) HTTP(status int, contentType, body string, header ...wire.HeaderField) Fault {
	return Fault{
		Place: p, Op: opBody, Code: status, Text: body,
		Header: append([]wire.HeaderField{{Name: "Content-Type", Value: contentType}}, header...),
	}
}

// RepeatCursor makes nextCursor lead to the page it stands on, for ever. Where
// the list has but one page it is given a cursor.
func (p Place) RepeatCursor() Fault { return Fault{Place: p, Op: opRepeatCursor} }

// EndlessCursors makes every page name a further one, empty past the end.
func (p Place) EndlessCursors() Fault { return Fault{Place: p, Op: opEndlessCursors} }

// EmptyCursor makes the cursor to the page behind this one the empty string.
// Without a page it is that behind the first.
func (p Place) EmptyCursor() Fault {
	p.Page = max(p.Page, 1)
	return Fault{Place: p, Op: opEmptyCursor}
}

// reached returns the faults that apply to a request, and counts its turn.
func (s *Server) reached(method string, page int) []*Fault {
	if len(s.script.Faults) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var fs []*Fault
	for i := range s.script.Faults {
		f := &s.script.Faults[i]
		if f.Method != "" && f.Method != method || f.Page != 0 && f.Page != page {
			continue
		}
		s.turns[i]++
		if f.Turn == 0 || f.Turn == s.turns[i] {
			fs = append(fs, f)
		}
	}
	return fs
}

// banners are what is written to stdout at the start.
func (s *Server) banners() [][]byte {
	var out [][]byte
	for _, f := range s.script.Faults {
		if f.Op == opBanner {
			out = append(out, []byte(f.Text))
		}
	}
	return out
}

// apply changes a reply as a fault says.
func (f *Fault) apply(q *request, r *reply) {
	switch f.Op {
	case opSet:
		r.text = set(r.text, f.Pointer, []byte(f.Text))
	case opRemove:
		r.text = remove(r.text, f.Pointer)
	case opReplace:
		r.text = replaceFirst(r.text, f.Text, f.With)
	case opText:
		r.text = []byte(f.Text)
	case opError:
		e := &Error{Code: f.Code, Message: f.Text}
		r.text, r.status = e.text(q.ID), e.httpStatus(q.revision)
	case opDrop:
		r.drop = true
	case opDelay:
		r.delay += f.Delay
	case opRepeat:
		r.more += f.Count
	case opBefore:
		r.before = append(r.before, []byte(f.Text))
	case opAfter:
		r.after = append(r.after, []byte(f.Text))
	case opHalf:
		r.half = true
	case opHangUp:
		r.ending = hangUp
	case opDie:
		r.ending = die
	case opStatus:
		r.status = f.Code
	case opHeader:
		r.header = append(r.header, f.Header...)
	case opBody:
		r.status, r.body, r.header = f.Code, []byte(f.Text), append(r.header, f.Header...)
		if r.body == nil {
			r.body = []byte{}
		}
	case opRepeatCursor:
		if get(r.text, "result") != nil {
			r.text = set(r.text, "/result/nextCursor", quote(cursorOf(q.page)))
		}
	case opEmptyCursor:
		if get(get(r.text, "result"), "nextCursor") != nil {
			r.text = set(r.text, "/result/nextCursor", []byte(`""`))
		}
	}
}

// ending says how a connection ends with a reply.
type ending uint8

const (
	goOn ending = iota
	hangUp
	die
)

// reply is an answer on its way to the carrier.
type reply struct {
	text   json.RawMessage // the message, nil for none
	status int             // HTTP
	header []wire.HeaderField
	body   []byte // HTTP: in place of the message when not nil

	before, after [][]byte
	more          int // further times
	delay         time.Duration
	drop          bool
	half          bool
	ending        ending
}
