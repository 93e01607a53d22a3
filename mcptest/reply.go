// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Reply is what came for one request. Its accessors give what was there, and end
// the test where there is nothing to give; its assertions fail the test and let
// it go on.
type Reply struct {
	c        *Client
	method   string
	of       string // what of the method: the name of a tool, a URI
	sent     []byte // by Raw
	result   *session.Result
	exchange *wire.Exchange
	err      error
	looked   atomic.Bool
	tolerant bool // of a tool error, which the test has asserted
}

// name is what messages call the request.
func (r *Reply) name() string {
	switch {
	case r.method == "":
		return "the text " + shown(string(r.sent))
	case r.of != "":
		return r.method + " " + shown(strconv.Quote(r.of))
	}
	return r.method
}

// failure says how the request failed.
func (r *Reply) failure() string {
	if e := r.rpc(); e != nil && e.Code == spec.CodeMissingClientCapability {
		return shown(r.err.Error()) + "\n  answer its questions with mcptest.OnElicit, OnSample or Roots"
	}
	if r.err != nil {
		return shown(r.err.Error())
	}
	return "the tool error " + shown(strings.Join(r.texts(), " "))
}

// Err is how the request failed, nil for a result: a *session.RPCError for a
// JSON-RPC error, a *session.TimeoutError, a *transport.Error, a *NoAnswerError
// for a question that the test has no answer to. A tool's own error is a result.
//
// A tool's own error counts as not looked at: ask for that with IsToolError.
func (r *Reply) Err() error {
	if r.err != nil {
		r.looked.Store(true)
	}
	return r.err
}

// Ignore says that it does not matter how the request ended.
func (r *Reply) Ignore() { r.looked.Store(true) }

// Result is the result as it crossed.
func (r *Reply) Result() json.RawMessage {
	r.c.t.Helper()
	r.need()
	return r.result.Raw
}

// need ends the test where there is no result.
func (r *Reply) need() {
	r.c.t.Helper()
	r.looked.Store(true)
	if r.err != nil {
		r.c.t.Fatalf("%s gave no result: %s", r.name(), r.failure())
	}
	if r.result == nil || r.result.Raw == nil {
		r.c.t.Fatalf("%s gave no result", r.name())
	}
}

// needGood is need, and no tool error but one that the test expects.
func (r *Reply) needGood() {
	r.c.t.Helper()
	r.need()
	if r.isToolError() && !r.tolerant {
		r.c.t.Fatalf("%s gave a tool error: %s", r.name(), shown(strings.Join(r.texts(), " ")))
	}
}

func (r *Reply) isToolError() bool {
	return r.result != nil && r.method == spec.MethodToolsCall && jsonx.KindOf(r.member("isError")) == jsonx.True
}

// member is one of the result, nil where there is none.
func (r *Reply) member(name string) json.RawMessage {
	switch {
	case r.result == nil:
		return nil
	case r.sent != nil: // what answers a text of the test's own was not read as a result
		return r.at("/" + name)
	}
	return r.result.Member(name)
}

// at is a value of the result, nil where there is none.
func (r *Reply) at(pointer string) json.RawMessage {
	if r.result == nil || r.result.Raw == nil {
		return nil
	}
	v, err := jsonx.Lookup(r.result.Raw, pointer)
	if err != nil {
		return nil
	}
	return json.RawMessage(v)
}

// Text is the text of the answer: of a tool the text content, of a resource the
// text of its contents, of a prompt that of its messages, joined by line feeds.
func (r *Reply) Text() string {
	r.c.t.Helper()
	r.needGood()
	return strings.Join(r.texts(), "\n")
}

// texts is every text of the answer.
func (r *Reply) texts() []string {
	var out []string
	for _, c := range r.contents() {
		if t, ok := jsonx.Text(within(c, "text")); ok {
			out = append(out, t)
		} else if t, ok := jsonx.Text(within(within(c, "resource"), "text")); ok {
			out = append(out, t)
		}
	}
	return out
}

// contents is the list of content of the answer, whatever it is called there.
func (r *Reply) contents() []json.RawMessage {
	for _, name := range []string{"content", "contents"} {
		if list := r.member(name); jsonx.KindOf(list) == jsonx.Array {
			return elements(list)
		}
	}
	var out []json.RawMessage
	for _, m := range elements(r.member("messages")) {
		if c := lookup(m, "/content"); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// elements are those of an array that is part of a result, and so was read before.
func elements(array json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range jsonx.Skim(array) {
		out = append(out, json.RawMessage(e.Value))
	}
	return out
}

// within is a member of an object that is part of a result.
func within(object json.RawMessage, name string) json.RawMessage {
	return json.RawMessage(jsonx.SkimMember(object, name))
}

func raws(list []jsonx.Raw) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		out[i] = json.RawMessage(v)
	}
	return out
}

func lookup(raw json.RawMessage, pointer string) json.RawMessage {
	v, err := jsonx.Lookup(raw, pointer)
	if err != nil {
		return nil
	}
	return json.RawMessage(v)
}

// Structured is structuredContent as it crossed, nil for none.
func (r *Reply) Structured() json.RawMessage {
	r.c.t.Helper()
	r.needGood()
	return r.at("/structuredContent")
}

// Decode reads the answer into v: structuredContent of a tool, or its only text
// where that is JSON; of everything else the result.
func (r *Reply) Decode(v any) {
	r.c.t.Helper()
	raw := r.value()
	if err := jsonx.UnmarshalGo(raw, v); err != nil {
		r.c.t.Fatalf("%s: the answer %s is no %s: %v", r.name(), shownJSON(raw), strings.TrimPrefix(fmt.Sprintf("%T", v), "*"), err)
	}
}

// value is what assertions on JSON look at.
func (r *Reply) value() json.RawMessage {
	r.c.t.Helper()
	r.needGood()
	if r.method != spec.MethodToolsCall {
		return r.result.Raw
	}
	if s := r.at("/structuredContent"); s != nil {
		return s
	}
	texts := r.texts()
	if len(texts) != 1 || jsonx.Check([]byte(texts[0]), jsonx.Lenient) != nil {
		r.c.t.Fatalf("%s has neither structuredContent nor one text that is JSON, but %s", r.name(), shownJSON(r.at("/content")))
	}
	return json.RawMessage(texts[0])
}

// Image is the first image of the answer, decoded.
func (r *Reply) Image() (mimeType string, data []byte) {
	r.c.t.Helper()
	r.needGood()
	for _, c := range r.contents() {
		if kind, _ := jsonx.Text(lookup(c, "/type")); kind == spec.ContentImage {
			return r.blob(c, "/data")
		}
	}
	r.c.t.Fatalf("%s has no image, but %s", r.name(), shownJSON(r.at("/content")))
	return "", nil
}

// Blob is the first binary content of a resource, decoded.
func (r *Reply) Blob() (mimeType string, data []byte) {
	r.c.t.Helper()
	r.needGood()
	for _, c := range r.contents() {
		if lookup(c, "/blob") != nil {
			return r.blob(c, "/blob")
		}
	}
	r.c.t.Fatalf("%s has no blob, but %s", r.name(), shownJSON(r.result.Raw))
	return "", nil
}

func (r *Reply) blob(content json.RawMessage, at string) (mimeType string, data []byte) {
	r.c.t.Helper()
	mimeType, _ = jsonx.Text(lookup(content, "/mimeType"))
	encoded, _ := jsonx.Text(lookup(content, at))
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		r.c.t.Fatalf("%s: %s is no Base64: %v", r.name(), at, err)
	}
	return mimeType, data
}

// Frames is everything that belongs to the request, byte for byte, the request
// first: progress, questions of the server and the answers to them, further
// rounds, the response.
func (r *Reply) Frames() []*wire.Frame {
	return r.exchange.Frames
}

// Exchange is the request and all that belongs to it.
func (r *Reply) Exchange() *wire.Exchange {
	return r.exchange
}

// head is the last HTTP response head, nil over stdio.
func (r *Reply) head() *wire.Head {
	for i := len(r.exchange.Heads) - 1; i >= 0; i-- {
		if h := r.exchange.Heads[i]; h.Status != 0 {
			return h
		}
	}
	return nil
}

// Status is the HTTP status, zero over stdio and without a response.
func (r *Reply) Status() int {
	if h := r.head(); h != nil {
		return h.Status
	}
	return 0
}

// Header is a header of the HTTP response; names are found in any case.
func (r *Reply) Header(name string) string { return r.head().Get(name) }

// Headers are the headers of the HTTP response, in the order and spelling of the
// wire; those of a handler in the process are sorted.
func (r *Reply) Headers() []wire.HeaderField {
	if h := r.head(); h != nil {
		return h.Header
	}
	return nil
}

// Took is the time from the request to its response.
func (r *Reply) Took() time.Duration { return r.exchange.Duration() }

// Notifications are those that came for the request, in order; of one method, or
// all for none.
func (r *Reply) Notifications(method string) []*wire.Frame {
	var out []*wire.Frame
	for _, f := range r.exchange.Frames {
		if f.Dir != wire.ToClient {
			continue // nobody needs to read what was sent
		}
		if m := f.Message(); m.Kind == wire.Notification && (method == "" || m.Method == method) {
			out = append(out, f)
		}
	}
	return out
}

// Progress is one progress notification.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total"`
	Message  string   `json:"message"`
}

// Progress is what was reported, in order; ask for it with [WithProgress].
func (r *Reply) Progress() []Progress {
	r.c.t.Helper()
	return decodeAll[Progress](r.c, r.Notifications(spec.NotificationProgress))
}

// Log is one log message.
type Log struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger"`
	Data   json.RawMessage `json:"data"`
}

// Logs are the log messages that came for the request.
func (r *Reply) Logs() []Log {
	r.c.t.Helper()
	return decodeAll[Log](r.c, r.Notifications(spec.NotificationMessage))
}

func decodeAll[T any](c *Client, frames []*wire.Frame) []T {
	c.t.Helper()
	out := make([]T, len(frames))
	for i, f := range frames {
		if err := jsonx.Unmarshal(f.Message().Params, &out[i]); err != nil {
			c.t.Errorf("%s cannot be read: %v: %s", f.Message().Method, err, shownJSON(f.Raw))
		}
	}
	return out
}

// rpc is the JSON-RPC error that answered, nil for none.
func (r *Reply) rpc() *session.RPCError {
	var e *session.RPCError
	var none *NoAnswerError
	if errors.As(r.err, &none) || !errors.As(r.err, &e) {
		return nil
	}
	return e
}

// outcome says in a few words what came.
func (r *Reply) outcome() string {
	switch {
	case r.rpc() != nil:
		e := r.rpc()
		return fmt.Sprintf("the JSON-RPC error %d %q", e.Code, shown(e.Message))
	case r.err != nil && transport.ReasonOf(r.err) != "":
		return "no answer: " + shown(r.err.Error())
	case r.err != nil:
		return shown(r.err.Error())
	case r.isToolError():
		return "the tool error " + shownJSON(r.at("/content"))
	case r.result != nil && r.result.Raw != nil:
		return "the result " + shownJSON(r.result.Raw)
	}
	return "nothing"
}
