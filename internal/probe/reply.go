// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// ReplyTo is what a client gives to what a server asks of it: what a user would
// enter, a short text of a model, one folder. It is nil for any other method,
// and where nothing fits the schema of a form.
func ReplyTo(method string, params json.RawMessage) json.RawMessage {
	mode := Text(Lookup(params, "/mode"))
	switch {
	case method == spec.MethodRootsList:
		return json.RawMessage(`{"roots":[{"uri":"file:///mcprove","name":"mcprove"}]}`)
	case method == spec.MethodCreateMessage:
		return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"mcprove"},"model":"mcprove","stopReason":"endTurn"}`)
	case method != spec.MethodElicit:
		return nil
	case mode == "url":
		return json.RawMessage(`{"action":"accept"}`)
	case mode != "" && mode != "form":
		return nil
	}
	s, _ := schemaset.Parse(Lookup(params, "/requestedSchema"), schemaset.ParseOptions{})
	if s == nil {
		return nil
	}
	v := schemaset.Generate(s, schemaset.Budget{}).Value
	if jsonx.KindOf(v) != jsonx.Object {
		return nil
	}
	return json.RawMessage(`{"action":"accept","content":` + string(v) + `}`)
}

// asked are the capabilities by which a client says that it may be asked.
var asked = map[string]string{
	spec.MethodRootsList: "roots", spec.MethodCreateMessage: "sampling", spec.MethodElicit: "elicitation",
}

// Reply answers a request of the server on a connection of the handshake era; an
// empty text answers nothing.
type Reply func(*wire.Message) (text string)

// ReplyAs is what a client with these capabilities answers.
func ReplyAs(capabilities string) Reply {
	return func(m *wire.Message) string {
		result := json.RawMessage(nil)
		if name := asked[m.Method]; name != "" && dotted(raw(capabilities), name) != nil {
			result = ReplyTo(m.Method, m.Params)
		}
		if m.Method == spec.MethodPing {
			result = json.RawMessage(`{}`)
		}
		if result == nil {
			return ErrorText(m, spec.CodeMethodNotFound, "mcprove does not serve "+m.Method)
		}
		return ResultText(m, string(result))
	}
}

// ResultText is the text that answers a request by a result, a JSON text.
func ResultText(m *wire.Message, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
}

// ErrorText is the text that answers a request by an error.
func ErrorText(m *wire.Message, code int, message string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":` + strconv.Itoa(code) + `,"message":` + string(jsonx.Quote(message)) + `}}`
}

// answer gives the reply to a request of the server. The lock is held; what is
// sent has an owner, the pump.
func (c *Conn) answer(f *wire.Frame) {
	m := f.Message()
	if c.reply == nil || m.Kind != wire.Request || len(c.replied) == maxReplies {
		return
	}
	if _, ok := m.Key(); !ok {
		return // nothing can be answered under no id
	}
	text := c.reply(m)
	c.replied = append(c.replied, f)
	if text == "" {
		return
	}
	c.pump.Go(func() {
		r := &Request{Method: m.Method, Revision: c.probe.o.Revision, noID: true, text: []byte(text)}
		c.exchange(c.life, r)
	})
}

// maxReplies bounds what is answered on one connection: a server that asks
// without end must not keep us busy.
const maxReplies = 500
