// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Call is one call of a tool, a resource or a prompt, as its Func sees it.
type Call struct {
	Revision spec.Revision
	Method   string
	// Name is that of the tool or prompt, or the URI of the resource.
	Name string
	// Arguments is the object that was sent, {} when there was none; of a
	// template what its expressions matched.
	Arguments json.RawMessage
	// Params is the whole params object, with _meta and what a retry of a
	// multi round-trip request carries.
	Params json.RawMessage
	// Server is the one that was called.
	Server *Server

	q        *request
	asker    asker
	task     *task                      // nil for a plain call
	prelude  bool                       // only what comes before the task
	inputs   map[string]json.RawMessage // that were answered before the task
	number   int                        // of the call in the sequence of its answers, zero before it has one
	reported bool
	progress float64 // the last one reported
}

// asker is the way in which a call asks the client.
type asker interface {
	ask(ctx context.Context, asks []Ask) (map[string]json.RawMessage, error)
	// postpone ends the first rounds of the call with a requestState alone.
	postpone(rounds int) error
}

// newCall is the call that a request makes.
func (s *Server) newCall(q *request, name string, arguments []byte) *Call {
	if arguments == nil {
		arguments = []byte("{}")
	}
	return &Call{
		Revision: q.revision, Method: q.Method, Name: name, Arguments: arguments, Params: q.Params,
		Server: s, q: q,
	}
}

// Notify sends a notification on the stream of the call, before its answer.
// Params is an object, or nil.
func (c *Call) Notify(method string, params json.RawMessage) {
	if c.q == nil {
		return
	}
	if c.task != nil {
		c.task.notify(c, method, params)
		return
	}
	c.q.emit(c.Server, method, notification(method, line(params)))
}

// Report sends a report of progress if the client gave a token for it. One that
// is not beyond the last is left out (2026-07-28/basic/patterns/progress).
func (c *Call) Report(p Progress) {
	token := c.q.meta(spec.MetaProgressToken)
	if k := jsonx.KindOf(token); k != jsonx.String && k != jsonx.Number || c.reported && p.Progress <= c.progress {
		return
	}
	c.reported, c.progress = true, p.Progress
	params := []member{{"progressToken", token}, {"progress", decimal(p.Progress)}}
	if p.Total != 0 {
		params = append(params, member{"total", decimal(p.Total)})
	}
	if p.Message != "" && c.Revision >= spec.Rev20250326 {
		params = append(params, member{"message", quote(p.Message)})
	}
	c.Notify(spec.NotificationProgress, object(params...))
}

func decimal(f float64) []byte { return strconv.AppendFloat(nil, f, 'f', -1, 64) }

// Log sends a log message if the client wants such of its level, and the server
// declares that it logs.
func (c *Call) Log(l Log) {
	if !c.Server.declares("logging") || !c.wantsLog(l.Level) {
		return
	}
	params := []member{{"level", quote(l.Level)}}
	if l.Logger != "" {
		params = append(params, member{"logger", quote(l.Logger)})
	}
	data := line(l.Data)
	if data == nil {
		data = []byte("null")
	}
	c.Notify(spec.NotificationMessage, object(append(params, member{"data", data})...))
}

// wantsLog: in the modern era a request asks for messages from a level on, in
// the legacy one a client may, and gets all before it did
// (2026-07-28/server/utilities/logging#log-levels).
func (c *Call) wantsLog(level string) bool {
	var from string
	if c.q.modern() {
		asked := c.q.meta(spec.MetaLogLevel)
		if asked == nil {
			return c.q.lenient(CheckLogOptIn)
		}
		from, _ = jsonx.Text(asked)
	} else if c.q.peer != nil {
		from = c.q.peer.logLevel()
	}
	least, known := spec.LogSeverity(from)
	n, _ := spec.LogSeverity(level)
	return !known || n >= least || c.q.lenient(CheckLogThreshold)
}

// Ask asks the client and returns what it answered, by key, once everything is
// answered. In the modern era the call ends here with the error that makes it an
// input_required result, and begins anew with the retry: Func must return the
// error. In the legacy era Ask waits.
func (c *Call) Ask(ctx context.Context, asks ...Ask) (map[string]json.RawMessage, error) {
	keyed := make([]Ask, len(asks))
	for i, a := range asks {
		if a.Key == "" {
			a.Key = "input" + strconv.Itoa(i+1)
		}
		a.Params = line(a.Params)
		keyed[i] = a
	}
	if c.asker == nil {
		return nil, &Error{Code: spec.CodeInternalError, Message: "the client cannot be asked here"}
	}
	return c.asker.ask(ctx, keyed)
}
