// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// ending says how a connection ends with a reply.
type ending uint8

const (
	goOn ending = iota
	hangUp
	die
)

// reply is an answer, or a notification, on its way to the carrier.
type reply struct {
	text   json.RawMessage // the message, nil for none
	status int             // HTTP
	header []wire.HeaderField
	body   []byte // HTTP: in place of the message when not nil

	notes         [][]byte // messages before it
	before, after [][]byte // noise
	later         [][]byte // messages after it
	more          int      // further times
	delay         time.Duration
	linger        time.Duration
	part          int           // dribble
	pause         time.Duration // of it
	drop          bool
	half          bool
	ending        ending
	lineEnd       *string
}

// apply changes a reply as a fault says.
func (f *Fault) apply(s *Server, q *request, r *reply) {
	switch f.Op {
	case OpText:
		r.text = q.filled(f.Text)
	case OpResult:
		r.text = response(q.ID, line(q.filled(f.Text)))
		r.status = 200
	case OpError:
		e := &Error{Code: f.Code, Message: f.Text}
		if f.With != "" {
			e.Data = line(q.filled(f.With))
		}
		r.text, r.status = e.text(q.ID), e.httpStatus(q.revision)
	case OpDrop:
		r.drop = true
	case OpCross:
		s.cross(f, q, r)
	case OpDelay:
		r.delay += f.Delay
	case OpBacktrack:
		r.delay += f.backtracks(q)
	case OpRepeat:
		r.more += f.Count
	case OpBefore:
		r.before = append(r.before, q.filled(f.Text))
	case OpAfter:
		r.after = append(r.after, q.filled(f.Text))
	case OpNotify, OpRequest:
		if q.Method != spec.MethodListen { // a subscription had it after its acknowledgement
			r.notes = append(r.notes, q.note(f))
		}
	case OpNotifyAfter:
		r.later = append(r.later, q.note(f))
	case OpStderr:
		s.complain(f)
	case OpFetch:
		f.fetch(s.life, q)
	case OpUnanswered:
		r.text = nil
	case OpHalf:
		r.half = true
	case OpHangUp:
		r.ending = hangUp
	case OpDie:
		r.ending = die
	case OpDribble:
		r.part, r.pause = f.Count, f.Delay
	case OpLinger:
		r.linger = f.Delay
	case OpStatus:
		r.status = f.Code
	case OpHeader:
		r.header = append(r.header, f.Header...)
	case OpBody:
		r.status, r.body, r.header = f.Code, q.filled(f.Text), append(r.header, f.Header...)
		if r.body == nil {
			r.body = []byte{}
		}
	case OpLineEnd:
		r.lineEnd = &f.Text
	case OpRepeatCursor:
		if get(r.text, "result") != nil {
			r.text = set(r.text, "/result/nextCursor", quote(cursorOf(q.page)))
		}
	case OpEmptyCursor:
		if get(get(r.text, "result"), "nextCursor") != nil {
			r.text = set(r.text, "/result/nextCursor", []byte(`""`))
		}
	default:
		f.change(q, r)
	}
}

// change does what operators on the bytes of a message do.
func (f *Fault) change(q *request, r *reply) {
	if r.text == nil {
		return
	}
	switch f.Op {
	case OpSet:
		if within(r.text, f.Pointer) {
			r.text = set(r.text, f.Pointer, q.filled(f.Text))
		}
	case OpRemove:
		r.text = remove(r.text, f.Pointer)
	case OpReplace:
		r.text = replaceFirst(r.text, f.Text, f.With)
	case OpCopy:
		if v, err := jsonx.Lookup(r.text, f.Text); err == nil {
			r.text = set(r.text, f.Pointer, v)
		}
	case OpReverse:
		v, err := jsonx.Lookup(r.text, f.Pointer)
		if err != nil {
			return
		}
		if es, err := jsonx.Elements(v, jsonx.Lenient); err == nil {
			turned := make([]json.RawMessage, len(es))
			for i, e := range es {
				turned[len(es)-1-i] = json.RawMessage(e)
			}
			r.text = set(r.text, f.Pointer, array(turned))
		}
	case OpGrow:
		r.text = set(r.text, f.Pointer, quote(strings.Repeat("x", max(f.Count, 0))))
	case OpPretty:
		if p, err := jsonx.Indent(r.text); err == nil {
			r.text = p
		}
	case OpJoin:
		r.text = append(slices.Clone(r.text), q.filled(f.Text)...)
	}
}

// within reports whether a pointer into the result or the error leads into one
// that is there: what is set in a result makes none of an error.
func within(text []byte, pointer string) bool {
	tokens, err := jsonx.Tokens(pointer)
	if err != nil || len(tokens) < 2 || tokens[0] != "result" && tokens[0] != "error" {
		return true
	}
	return get(text, tokens[0]) != nil
}

// note is the notification or request that a fault sends.
func (q *request) note(f *Fault) []byte {
	var params, id []byte
	if f.With != "" {
		params = line(q.filled(f.With))
	}
	if f.Op == OpRequest {
		id = q.filled(f.Pointer)
	}
	return object(member{"jsonrpc", []byte(`"2.0"`)}, member{"id", id}, member{"method", quote(f.Text)}, member{"params", params})
}

// filled replaces {{/pointer}} in a fault's text by what stands there in the
// request, null where there is nothing.
func (q *request) filled(text string) []byte {
	if !strings.Contains(text, "{{/") {
		return []byte(text)
	}
	var b bytes.Buffer
	for {
		i := strings.Index(text, "{{/")
		j := -1
		if i >= 0 {
			j = strings.Index(text[i:], "}}")
		}
		if j < 0 {
			b.WriteString(text)
			return b.Bytes()
		}
		b.WriteString(text[:i])
		v, err := jsonx.Lookup(q.Raw, text[i+2:i+j])
		if err != nil {
			v = []byte("null")
		}
		b.Write(v)
		text = text[i+j+2:]
	}
}

// applyAll applies the faults whose conditions on the answer hold.
func (s *Server) applyAll(faults []*Fault, q *request, r *reply) {
	answer := r.text
	for _, f := range faults {
		if f.meetsAnswer(answer) {
			f.apply(s, q, r)
		}
	}
}

// complain writes to the standard error of the script.
func (s *Server) complain(f *Fault) {
	if s.script.Stderr == nil {
		return
	}
	s.stderr.Lock()
	defer s.stderr.Unlock()
	for range max(f.Count, 1) {
		if _, err := s.script.Stderr.Write([]byte(f.Text)); err != nil {
			return // nobody reads it
		}
	}
}

// find returns the first fault of an operator that must be known before there
// is an answer.
func (q *request) find(op Op) *Fault {
	for _, f := range q.faults {
		if f.Op == op {
			return f
		}
	}
	return nil
}

// lenient reports whether a check is skipped for the request.
func (q *request) lenient(check string) bool {
	for _, f := range q.faults {
		if f.Op == OpLenient && f.Text == check {
			return true
		}
	}
	return false
}

// decided reports whether the place of a fault says nothing about the answer.
func (p *Place) decided() bool {
	return !slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Of == OfAnswer })
}

// sent returns what becomes of a notification or request that the server sends,
// by the faults that stand there: the texts in order, nil for nothing, and how
// long to wait before them. The request is that on whose stream it goes.
func (s *Server) sent(q *request, method string, message []byte) (texts [][]byte, delay time.Duration) {
	faults := s.at(q, method, true)
	if len(faults) == 0 {
		return [][]byte{message}, 0
	}
	r := &reply{text: message}
	s.applyAll(faults, q, r)
	if r.drop {
		return nil, r.delay
	}
	texts = append(append(texts, r.notes...), r.before...)
	for range r.more + 1 {
		if r.text != nil {
			texts = append(texts, r.text)
		}
	}
	return append(append(texts, r.after...), r.later...), r.delay
}

// IgnoresTerm reports whether a fault of the script says that the process does
// not end when it is told to terminate.
func (s *Server) IgnoresTerm() bool { return s.has(OpIgnoreTerm) }

// has reports whether an operator without a place is in the script.
func (s *Server) has(op Op) bool {
	return slices.ContainsFunc(s.script.Faults, func(f Fault) bool { return f.Op == op })
}
