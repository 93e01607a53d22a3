// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// judgeable is one text of a file that validate judges.
type judgeable struct {
	where    string // "line 3", "echo"; empty for the only message
	line     int    // from 1; zero where lines mean nothing
	text     []byte
	tool     bool // a definition, not a message
	context  spec.MessageContext
	revision spec.Revision
}

// validating is what is known while the texts of one file are read in order.
type validating struct {
	revision spec.Revision // that the user named, or zero
	from     spec.Side
	method   string // of responses that answer nothing in the file

	learned spec.Revision // what the messages say
	asked   map[wire.IDKey]string
	out     []judgeable
}

// readJudgeables sorts out what a file holds: a recording, a listing, one message,
// an array or lines of messages.
func readJudgeables(path string, data []byte, v *validating) ([]judgeable, error) {
	v.asked = map[wire.IDKey]string{}
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return nil, usage(path, "", "there is nothing in it")
	case isRecording(trimmed):
		return v.recording(path, data)
	}
	switch jsonx.KindOf(trimmed) {
	case jsonx.Object:
		if jsonx.Check(trimmed, jsonx.Lenient) == nil {
			v.one(trimmed)
			return v.out, nil
		}
	case jsonx.Array:
		if list, err := jsonx.Elements(trimmed, jsonx.Lenient); err == nil {
			v.list(list)
			if len(v.out) == 0 {
				return nil, usage(path, "", "it is an empty array")
			}
			return v.out, nil
		}
	}
	v.lines(data)
	return v.out, nil
}

func isRecording(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	kind, err := jsonx.Lookup(first, "/type")
	if err != nil {
		return false
	}
	s, _ := jsonx.Text(kind)
	return s == "mcprove recording"
}

// one takes in a whole text that is an object.
func (v *validating) one(text []byte) {
	m := wire.Read(text)
	if tools, err := jsonx.Lookup(text, "/tools"); err == nil && m.Kind == wire.Invalid && jsonx.KindOf(tools) == jsonx.Array {
		list, _ := jsonx.Elements(tools, jsonx.Lenient)
		v.tools(list)
		return
	}
	if isTool(text) {
		v.tools([]jsonx.Raw{text})
		return
	}
	v.message("", 0, text, 0, "")
}

// list takes in an array: of tools where the first is one, of messages otherwise.
func (v *validating) list(list []jsonx.Raw) {
	if len(list) > 0 && isTool(list[0]) {
		v.tools(list)
		return
	}
	for i, text := range list {
		v.message(fmt.Sprintf("number %d", i+1), 0, text, 0, "")
	}
}

// isTool reports whether an object looks like a definition in a list and like no
// message.
func isTool(text []byte) bool {
	_, named := lookupOK(text, "/name")
	_, schema := lookupOK(text, "/inputSchema")
	_, version := lookupOK(text, "/jsonrpc")
	return !version && (named || schema) && wire.Read(text).Kind == wire.Invalid
}

func lookupOK(text []byte, pointer string) (jsonx.Raw, bool) {
	raw, err := jsonx.Lookup(text, pointer)
	return raw, err == nil
}

func (v *validating) tools(list []jsonx.Raw) {
	for i, text := range list {
		where := fmt.Sprintf("number %d", i+1)
		if raw, ok := lookupOK(text, "/name"); ok {
			if name, ok := jsonx.Text(raw); ok && name != "" {
				where = name
			}
		}
		v.out = append(v.out, judgeable{where: where, text: text, tool: true, revision: v.spoken(nil)})
	}
}

// lines takes in a message on each line; blank lines are none.
func (v *validating) lines(data []byte) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if text := bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(text)) > 0 {
			v.message(fmt.Sprintf("line %d", n), n, text, 0, "")
		}
	}
}

// recording takes in a recording, whose directions and requests are known. Each
// connection has a revision of its own.
func (v *validating) recording(path string, data []byte) ([]judgeable, error) {
	r, err := record.Read(path, data)
	if err != nil {
		return nil, err
	}
	learned := map[int]spec.Revision{}
	for _, one := range r.Records() {
		if one.Frame == nil || one.Part > 0 {
			continue
		}
		from := spec.Client
		if one.Dir == wire.ToClient {
			from = spec.Server
		}
		method := ""
		if one.IsAnswer() {
			method = one.Method
		}
		v.learned = learned[one.Conn]
		v.message(fmt.Sprintf("record %d", one.Seq), 0, one.Frame.Raw, from, method)
		learned[one.Conn] = v.learned
	}
	if len(v.out) == 0 {
		return nil, usage(path, "", "no message is in the recording")
	}
	return v.out, nil
}

// message takes in one message. from and method are zero where nothing tells.
func (v *validating) message(where string, line int, text []byte, from spec.Side, method string) {
	m := wire.Read(text)
	c := spec.MessageContext{From: v.from, Method: method}
	if from != 0 {
		c.From = from
	}
	key, keyed := m.Key()
	switch {
	case m.Kind == wire.Request && keyed && from == 0:
		v.asked[key] = m.Method
	case m.IsResponse() && c.Method == "":
		if c.Method = v.method; keyed && v.asked[key] != "" {
			c.Method = v.asked[key]
		}
	}
	v.out = append(v.out, judgeable{where: where, line: line, text: text, context: c, revision: v.spoken(m)})
	if m.Kind == wire.Response && c.Method == spec.MethodInitialize {
		v.learn(m.Result, "/protocolVersion")
	}
}

// spoken is the revision to judge a message by: the one that the user named, the one
// that the message itself says, the one that was agreed on before, or the latest.
func (v *validating) spoken(m *wire.Message) spec.Revision {
	if v.revision.Valid() {
		return v.revision
	}
	if m != nil {
		v.learn(m.Params, "/_meta/"+pointerToken(spec.MetaProtocolVersion))
		if m.Method == spec.MethodInitialize {
			v.learn(m.Params, "/protocolVersion")
		}
		if m.Kind == wire.Response && !v.learned.Valid() {
			v.learn(m.Result, "/protocolVersion") // initialize, whose request is not here
		}
	}
	if v.learned.Valid() {
		return v.learned
	}
	return spec.Latest
}

func pointerToken(name string) string { return jsonx.Push("", name)[1:] }

func (v *validating) learn(object json.RawMessage, pointer string) {
	raw, ok := lookupOK(object, pointer)
	if !ok {
		return
	}
	s, _ := jsonx.Text(raw)
	if r, err := spec.ParseRevision(s); err == nil {
		v.learned = r
	}
}
