// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Behaviour is what a tool, a resource, a template or a prompt answers. A value
// is one ([Content], [Message], [Contents], [Messages], [ToolError], [Result]),
// an error of the protocol ([Error]), a function ([Func], [With], [Typed]), a
// scripted [Answer], and a [Sequence] of any of them.
type Behaviour interface {
	// does is what it does for an item, which it may refuse.
	does(it *item) does
}

// does is a result that never changes, or a function.
type does struct {
	fixed json.RawMessage
	play  Func
}

func (f Func) does(*item) does { return does{play: f} }

func (e *Error) does(*item) does {
	return does{play: func(context.Context, *Call) (json.RawMessage, error) { return nil, e }}
}

func (a Answer) does(*item) does {
	return does{play: func(ctx context.Context, c *Call) (json.RawMessage, error) { return c.Server.play(ctx, c, &a) }}
}

// ProtocolError is a JSON-RPC error: as a behaviour the answer of every call, as
// an error the answer of the call whose function returns it, wrapped or not. Any
// other error of a tool's function is a result with isError. Data, where there
// is any, is a Go value or a json.RawMessage.
func ProtocolError(code int, message string, data ...any) *Error {
	e := &Error{Code: code, Message: message}
	if len(data) > 0 {
		it := &item{kind: &kind{name: "error"}, name: strconv.Itoa(code)}
		e.Data = it.jsonOf("data", textAsValue(data[0]))
	}
	return e
}

// textAsValue makes a string a JSON string, where jsonOf takes it for a text.
func textAsValue(v any) any {
	if s, ok := v.(string); ok {
		return json.RawMessage(quote(s))
	}
	return v
}

// ToolError is the result of a tool with isError and a text: the other verb.
func ToolError(text string) Behaviour { return toolError(text) }

type toolError string

func (e toolError) does(it *item) does { return does{fixed: e.render(it, it.name)} }

func (e toolError) render(it *item, _ string) json.RawMessage {
	if it.kind != kindTool {
		it.refuse("a "+it.kind.name+" has no result with isError", "answer with mock.ProtocolError")
	}
	Text(string(e)).check(it)
	return textResult(string(e), true)
}

// Result is a whole result as JSON, which is sent as it is: that of tools/call,
// resources/read or prompts/get.
func Result(result json.RawMessage) Behaviour { return whole(result) }

type whole json.RawMessage

func (w whole) does(it *item) does { return does{fixed: w.render(it, it.name)} }

func (w whole) render(it *item, _ string) json.RawMessage {
	result := it.jsonOf("the result", json.RawMessage(w))
	vs, err := spec.ValidateDefinition(spec.Latest, it.kind.result, it.server.seal(result, it.kind.cacheable))
	if err == nil && len(vs) > 0 {
		it.refuse("the value is no "+it.kind.result+": "+vs[0].String(), "correct it, or put a wrong one into Script, which sends what it is given")
	}
	return result
}

// value is a behaviour that is the same for every call, and that functions may
// return.
type value interface {
	Behaviour
	// render writes it as the result of a tool, the contents of what has the
	// URI, or the messages of a prompt.
	render(it *item, uri string) json.RawMessage
}

// With is a function that gets the arguments as a map, in which numbers are
// float64. What it returns is a text for a string, contents for a [Content],
// [Contents] and the like, and JSON for any other value. [CallOf] has the call.
func With(f func(ctx context.Context, args map[string]any) (any, error)) Behaviour { return withMap(f) }

type withMap func(context.Context, map[string]any) (any, error)

func (f withMap) does(it *item) does {
	return does{play: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		args := map[string]any{}
		if err := jsonx.Unmarshal(c.Arguments, &args); err != nil {
			return nil, badArguments(c.Revision, "arguments cannot be read")
		}
		v, err := f(calling(ctx, c), args)
		return it.returned(c, v, err)
	}}
}

type callKey struct{}

func calling(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns the call that a function of [With] or [Typed] answers, by its
// context: to report progress, to log, to ask the client. It is nil elsewhere.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// returned writes what a function returned. What cannot be written is a mistake
// in the test, and panics: the client gets an internal error.
func (it *item) returned(c *Call, v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	if e, ok := v.(error); ok {
		if own, ok := errors.AsType[*Error](e); ok {
			return nil, own
		}
		it.refuse("its function returned an error as a value", "return it as the error")
	}
	uri := c.Name
	var out json.RawMessage
	switch v := v.(type) {
	case value:
		out = v.render(it, uri)
	case Behaviour:
		it.refuse("its function returned a behaviour that is no value", "return what that behaviour would answer")
	case nil:
		out = several{}.render(it, uri)
	case string:
		out = it.text(v).render(it, uri)
	case []byte:
		out = Blob(v, "application/octet-stream").render(it, uri)
	default:
		out = JSON(v).render(it, uri)
	}
	if it.output != nil {
		it.holdToOutput(out)
	}
	return out, nil
}

// text is a string as what the item holds: a message in a prompt.
func (it *item) text(s string) value {
	if it.kind == kindPrompt {
		return UserMessage(s)
	}
	return Text(s)
}

// Sequence answers the first call with the first behaviour, the second with the
// second, and later ones with the last.
func Sequence(steps ...Behaviour) Behaviour { return ordered{steps, false} }

// Cycle is Sequence that begins again after the last.
func Cycle(steps ...Behaviour) Behaviour { return ordered{steps, true} }

type ordered struct {
	steps []Behaviour
	cycle bool
}

func (o ordered) does(it *item) does {
	if len(o.steps) == 0 {
		it.refuse("a sequence of nothing", "give it behaviours")
	}
	steps := make([]does, len(o.steps))
	for i, b := range o.steps {
		if _, nested := b.(ordered); nested {
			it.refuse("a sequence in a sequence", "write its steps out")
		}
		steps[i] = it.does(b)
	}
	for _, step := range steps { // a later one may have brought the outputSchema
		if it.output != nil && step.fixed != nil {
			it.holdToOutput(step.fixed)
		}
	}
	// A registration counts from its first call, also one of a name that was
	// there before.
	id := "sequence " + strconv.Itoa(it.server.count("sequences"))
	return does{play: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		if c.number == 0 { // a retry of a call that asked keeps its number
			c.number = c.Server.count(id)
		}
		n := min(c.number, len(steps)) - 1
		if o.cycle {
			n = (c.number - 1) % len(steps)
		}
		switch step := steps[n]; {
		case step.play != nil:
			return step.play(ctx, c)
		case it.kind == kindTool:
			return step.fixed, nil
		default:
			return c.fill(step.fixed, nil), nil
		}
	}}
}
