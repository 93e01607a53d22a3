// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// hold holds what the server sent for a request against the revision.
// Notifications are held where they arrive.
func (s *shared) hold(r *Reply) {
	method := r.method
	for i, f := range r.exchange.Frames {
		if f.Dir != wire.ToClient {
			continue
		}
		switch m := f.Message(); m.Kind {
		case wire.Response, wire.ErrorResponse:
			if f != r.exchange.Response && !answers(m, r.exchange.Frames[:i]) {
				continue // it is of another request, which the anomalies tell
			}
			s.holdFrame(f, method, r)
			s.holdStatus(f, m, r)
		case wire.Request:
			s.holdFrame(f, "", nil)
		}
	}
	s.holdProgress(r)
	s.holdTool(r)
}

// answers reports whether a response is to one of the requests before it.
func answers(m *wire.Message, before []*wire.Frame) bool {
	key, ok := m.Key()
	if !ok {
		return false
	}
	return slices.ContainsFunc(before, func(f *wire.Frame) bool {
		k, ok := f.Message().Key()
		return ok && k == key && f.Dir == wire.ToServer
	})
}

// holdStatus holds the HTTP status that a result came with: one that says the
// request failed, or was a notification, keeps clients from reading it.
func (s *shared) holdStatus(f *wire.Frame, m *wire.Message, r *Reply) {
	if f.HTTP == nil || m.Kind != wire.Response {
		return
	}
	if status := f.HTTP.Status; status >= http.StatusMultipleChoices || status == spec.StatusNotificationAccepted {
		s.fault("%s: a result came with HTTP status %d, for which clients read none", r.name(), status)
	}
}

// holdProgress holds that progress rises each time (2024-11-05/basic/utilities/progress
// and later: MUST).
func (s *shared) holdProgress(r *Reply) {
	last, seen := 0.0, false
	for _, f := range r.Notifications(spec.NotificationProgress) {
		var p Progress
		if jsonx.Unmarshal(f.Message().Params, &p) != nil {
			continue // it was held where it arrived
		}
		if seen && p.Progress <= last {
			s.fault("%s: progress went from %v to %v, and must rise", r.name(), last, p.Progress)
			return
		}
		last, seen = p.Progress, true
	}
}

func (s *shared) holdHandshake() {
	if x := s.agreed.Handshake; x != nil && x.Response != nil {
		s.holdFrame(x.Response, x.Method, &Reply{method: x.Method})
	}
}

// holdFrame holds one message against the revision. To a text of the test's own,
// which may have no id that can be read, no revision before 2025-11-25 has an
// answer: JSON-RPC wants the id null there, and their schemas a string or number.
func (s *shared) holdFrame(f *wire.Frame, method string, of *Reply) {
	found := spec.Validate(s.agreed.Revision, spec.MessageContext{From: spec.Server, Method: method}, f.Raw)
	m := f.Message()
	if len(found) == 0 && len(m.Faults) == 0 {
		return
	}
	var b strings.Builder
	for _, v := range found {
		if !v.Disputed && (of == nil || of.sent == nil || v.Member != "id" && v.Pointer != "/id") {
			fmt.Fprintf(&b, "\n  %s", shown(v.String()))
		}
	}
	for _, fault := range m.Faults {
		if len(found) == 0 && textFaults[fault.Code] {
			fmt.Fprintf(&b, "\n  %s", shown(fault.String()))
		}
	}
	if b.Len() == 0 {
		return
	}
	what := "an answer"
	switch {
	case m.Kind == wire.Notification, m.Kind == wire.Request:
		what = fmt.Sprintf("the server's %s", shown(m.Method))
	case of != nil:
		what = "the answer to " + of.name()
	}
	s.fault("%s breaks the rules of %s:%s\n  it is %s\n  (mcptest.Lax leaves this out)", what, s.agreed.Revision, b.String(), shownJSON(f.Raw))
}

// textFaults are those of a text that no member shows. Of a name that stands
// twice one reader takes the first and another the last.
var textFaults = map[wire.FaultCode]bool{wire.FaultBOM: true, wire.FaultUTF8: true, wire.FaultDuplicateKey: true}

// holdTool holds the structured content of a tool against its outputSchema
// (2025-06-18/server/tools#output-schema: servers MUST provide results that
// conform).
func (s *shared) holdTool(r *Reply) {
	if r.method != spec.MethodToolsCall || r.err != nil || r.isToolError() || s.agreed.Revision < spec.Rev20250618 {
		return // outputSchema came with 2025-06-18
	}
	schema := s.tools.schema(r.of)
	if schema == nil || r.result == nil || r.result.ResultType != spec.ResultComplete {
		return
	}
	content := r.at("/structuredContent")
	if content == nil {
		s.fault("%s: the tool declares an outputSchema, and its result has no structuredContent\n  it is %s", r.name(), shownJSON(r.result.Raw))
		return
	}
	if ok, why, err := schema.Accepts(content); err == nil && !ok {
		s.fault("%s: structuredContent does not match the outputSchema of the tool: %s\n  it is %s", r.name(), shown(why), shownJSON(content))
	}
}

// faulty are the anomalies that no server may cause. Others are races that both
// sides live with, such as an answer that crosses a cancellation.
var faulty = map[session.AnomalyKind]bool{
	session.Noise: true, session.UnknownID: true, session.MissingID: true, session.BadID: true, session.RepeatedResponse: true,
	session.WrongChannel: true, session.ServerRequest: true, session.BatchReceived: true, session.WrongMediaType: true,
	session.UnfinishedMessage: true, session.TooLong: true, session.SessionIDChanged: true, session.RefusedPost: true,
}

// holdAnomalies fails the test for what arrived and belongs to no request. On
// a text of the test's own a server may answer without an id.
func (s *shared) holdAnomalies() {
	if s.o.lax {
		return
	}
	list := s.session.Anomalies()
	s.mu.Lock()
	news := list[min(s.known, len(list)):]
	s.known = len(list)
	raw := s.raw
	s.mu.Unlock()
	for _, a := range news {
		switch {
		case !faulty[a.Kind], raw && (a.Kind == session.MissingID || a.Kind == session.RefusedPost), a.Note == "blank line":
			continue
		}
		it := ""
		if a.Frame != nil {
			it = "\n  it is " + shownJSON(a.Frame.Raw)
		}
		switch {
		case a.Kind == session.Noise && s.agreed.Transport == transport.Stdio:
			s.fault("the server wrote what is no message on standard output, which is for messages alone; log to standard error: %s%s", shown(a.Note), it)
		case a.Kind == session.WrongMediaType:
			s.fault("the server sent %s: its type must be application/json or text/event-stream%s", shown(a.Note), it)
		default:
			s.fault("the server sent what it must not: %s%s", shown(a.Note), it)
		}
	}
}

// maxNotes bounds the bytes of the notifications that are kept.
const maxNotes = 32 << 20

// noteOverhead stands for what a notification costs beside its bytes.
const noteOverhead = 1 << 10

// notified takes in each notification, in the session's goroutine.
func (s *shared) notified(f *wire.Frame) {
	s.mu.Lock()
	if s.noteBytes < maxNotes {
		s.noteBytes += len(f.Raw) + noteOverhead
		s.notes = append(s.notes, f)
	}
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
	agreed := s.ready
	s.mu.Unlock()
	if f.Message().Method == spec.NotificationToolsListChanged {
		s.tools.forget()
	}
	if agreed && !s.o.lax {
		s.holdFrame(f, "", nil)
		s.holdToken(f)
	}
}

// holdToken holds that progress names a token that was given to the server
// (basic/utilities/progress: MUST). A text of the test's own may have given others.
func (s *shared) holdToken(f *wire.Frame) {
	m := f.Message()
	if m.Method != spec.NotificationProgress {
		return
	}
	token := within(m.Params, spec.MetaProgressToken)
	key, _ := wire.KeyOf(token)
	s.mu.Lock()
	given := s.tokens[key] || s.raw
	s.mu.Unlock()
	if !given && token != nil {
		s.fault("the server reported progress for the token %s, which nobody gave it\n  it is %s", shownJSON(token), shownJSON(f.Raw))
	}
}

// agree makes what was negotiated known, and holds what came before it was.
func (s *shared) agree() {
	s.agreed = s.session.Negotiated()
	s.mu.Lock()
	s.ready = true
	early := slices.Clone(s.notes)
	s.mu.Unlock()
	if s.o.lax {
		return
	}
	s.holdHandshake()
	for _, f := range early {
		s.holdFrame(f, "", nil)
	}
}

// textOf is a string of a message.
func textOf(raw []byte, pointer string) string {
	v, err := jsonx.Lookup(raw, pointer)
	if err != nil {
		return ""
	}
	t, _ := jsonx.Text(v)
	return t
}
