// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// CallOption changes one request.
type CallOption func(*session.Request)

// WithProgress asks for progress notifications of the request.
func WithProgress() CallOption {
	return func(r *session.Request) {
		tokens.Lock()
		defer tokens.Unlock()
		tokens.last++
		r.ProgressToken = json.RawMessage(strconv.Itoa(tokens.last))
	}
}

// tokens of progress are unique in the process, and so in every connection.
var tokens struct {
	sync.Mutex
	last int
}

// WithHeader adds a header to the HTTP request, or replaces one of that name.
func WithHeader(name, value string) CallOption {
	return func(r *session.Request) { r.Header = append(r.Header, wire.HeaderField{Name: name, Value: value}) }
}

// WithMeta sets a member of _meta.
func WithMeta(key string, value any) CallOption {
	return func(r *session.Request) {
		raw, err := encode(value)
		if err == nil {
			r.Params, err = setMeta(r.Params, key, raw)
		}
		if err != nil {
			panic(fmt.Sprintf("mcptest.WithMeta(%q): %v", key, err))
		}
	}
}

// WithTimeout bounds this request.
func WithTimeout(d time.Duration) CallOption {
	return func(r *session.Request) { r.Timeout = d }
}

// CallTool calls a tool. args is a struct, a map, JSON, or nil for none. Before
// the first call the tools are listed, as a client does: the headers that mirror
// arguments and the schema of the answer are in their definitions.
func (c *Client) CallTool(name string, args any, opts ...CallOption) *Reply {
	r, err := c.callTool(c.ctx, name, args, opts)
	if err != nil {
		c.t.Helper()
		c.t.Fatalf("the arguments of %s: %v", name, err)
	}
	if c.faulty.Load() {
		c.t.Helper()
		c.tell()
	}
	return r
}

// callTool is CallTool without telling the test.
func (c *Client) callTool(ctx context.Context, name string, args any, opts []CallOption) (*Reply, error) {
	r, err := c.toolRequest(ctx, name, args, opts)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, r, name), nil
}

func (c *Client) toolRequest(ctx context.Context, name string, args any, opts []CallOption) (session.Request, error) {
	r := session.Request{Method: spec.MethodToolsCall, ToolSchema: c.toolOf(ctx, name).InputSchema}
	params := append([]byte(`{"name":`), jsonx.Quote(name)...)
	if args != nil {
		raw, err := encode(args)
		if err != nil {
			return r, err
		}
		params = append(append(params, `,"arguments":`...), raw...)
	}
	r.Params = append(params, '}')
	for _, set := range opts {
		set(&r)
	}
	return r, nil
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string, opts ...CallOption) *Reply {
	c.t.Helper()
	return c.request(spec.MethodResourcesRead, uri, map[string]any{"uri": uri}, opts)
}

// GetPrompt gets a prompt. Its arguments are strings.
func (c *Client) GetPrompt(name string, args map[string]string, opts ...CallOption) *Reply {
	c.t.Helper()
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	return c.request(spec.MethodPromptsGet, name, params, opts)
}

// Complete asks for completions of an argument of a prompt, or of a resource
// template when ref is a URI template. context are the arguments that are known
// already, nil for none.
func (c *Client) Complete(ref, argument, value string, context map[string]string, opts ...CallOption) *Reply {
	c.t.Helper()
	params := map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": ref},
		"argument": map[string]any{"name": argument, "value": value},
	}
	if isTemplate(ref) {
		params["ref"] = map[string]any{"type": "ref/resource", "uri": ref}
	}
	if context != nil {
		params["context"] = map[string]any{"arguments": context}
	}
	return c.request(spec.MethodComplete, ref, params, opts)
}

// Ping sends a ping, which the modern era does not have.
func (c *Client) Ping() *Reply {
	c.t.Helper()
	return c.request(spec.MethodPing, "", nil, nil)
}

// Do makes any request. params is a struct, a map or JSON, nil for none; the
// client adds _meta as the revision demands.
func (c *Client) Do(method string, params any, opts ...CallOption) *Reply {
	c.t.Helper()
	return c.request(method, "", params, opts)
}

func (c *Client) request(method, of string, params any, opts []CallOption) *Reply {
	c.t.Helper()
	r := session.Request{Method: method}
	if params != nil {
		raw, err := encode(params)
		if err != nil {
			c.t.Fatalf("the params of %s: %v", method, err)
		}
		r.Params = raw
	}
	for _, set := range opts {
		set(&r)
	}
	reply := c.do(c.ctx, r, of)
	c.tell()
	return reply
}

// send makes a request. A progress token that it gives is known from then on.
func (s *shared) send(ctx context.Context, r session.Request) (*session.Result, error) {
	if r.ProgressToken != nil {
		s.mu.Lock()
		if s.tokens == nil {
			s.tokens = map[wire.IDKey]bool{}
		}
		key, _ := wire.KeyOf(r.ProgressToken)
		s.tokens[key] = true
		s.mu.Unlock()
	}
	return s.session.Do(ctx, r)
}

// do makes a request, and holds what came for it against the revision.
func (c *Client) do(ctx context.Context, r session.Request, of string) *Reply {
	result, err := c.send(ctx, r)
	return c.reply(r.Method, of, result, err)
}

func (c *Client) reply(method, of string, result *session.Result, err error) *Reply {
	r := &Reply{c: c, method: method, of: of, result: result, err: err}
	if result != nil {
		r.exchange = result.Exchange
	} else {
		r.exchange = &wire.Exchange{Method: method}
	}
	c.settle(r)
	return r
}

// settle keeps and holds a reply, once.
func (c *Client) settle(r *Reply) {
	c.keep(r)
	if !c.o.lax {
		c.hold(r)
		c.holdAnomalies()
	}
}

// keep remembers a reply that somebody must look at.
func (c *Client) keep(r *Reply) {
	if r.err == nil && !r.isToolError() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failing) < 10*most {
		c.failing = append(c.failing, r)
	}
}

// Raw sends any text, well formed or not, as it is, and waits for what answers
// it: the response with its id, the responses to a batch, or over HTTP the end of
// the response. Over HTTP the headers are those given, and none of the protocol.
func (c *Client) Raw(text []byte, header ...wire.HeaderField) *Reply {
	c.t.Helper()
	c.mu.Lock()
	c.raw = true
	c.mu.Unlock()
	x, err := c.session.Raw(c.ctx, session.RawRequest{Text: text, Header: header})
	r := &Reply{c: c, method: x.Method, sent: text, exchange: x, err: err}
	if x.Response != nil {
		m := x.Response.Message()
		if m.Error != nil && err == nil {
			r.err = &session.RPCError{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data, Method: x.Method}
		}
		r.result = &session.Result{Exchange: x, Raw: m.Result}
	}
	c.keep(r)
	if !c.o.lax {
		c.hold(r)
	}
	c.tell()
	return r
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.t.Helper()
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = encode(params); err != nil {
			c.t.Fatalf("the params of %s: %v", method, err)
		}
	}
	if err := c.session.Notify(c.ctx, method, raw); err != nil {
		c.t.Errorf("%s: %v", method, err)
	}
}

func isTemplate(ref string) bool {
	for i := 0; i+2 < len(ref); i++ {
		if ref[i:i+3] == "://" {
			return true
		}
	}
	return false
}

func setMeta(params json.RawMessage, key string, value json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if params != nil {
		if err := jsonx.Unmarshal(params, &all); err != nil {
			return nil, err
		}
	}
	meta := map[string]json.RawMessage{}
	if m := all[spec.FieldMeta]; m != nil {
		if err := jsonx.Unmarshal(m, &meta); err != nil {
			return nil, err
		}
	}
	meta[key] = value
	var err error
	if all[spec.FieldMeta], err = jsonx.Marshal(meta); err != nil {
		return nil, err
	}
	return jsonx.Marshal(all)
}
