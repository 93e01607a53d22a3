// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/spec"
)

// Tool is a tool that may be called: it says of itself that it only reads, or
// the user named it.
type Tool struct {
	Item
	// Arguments fit its inputSchema, or are the user's.
	Arguments json.RawMessage
	// Named by the user.
	Named bool
}

// AsTask reports whether the tool says that it runs as a task, which it may or
// must (2025-11-25/basic/utilities/tasks#tool-level-negotiation).
func (t Tool) AsTask() bool { return t.taskSupport() == "optional" || t.taskOnly() }

func (t Tool) taskOnly() bool { return t.taskSupport() == "required" }

func (t Tool) taskSupport() string { return Text(Lookup(t.Raw, "/execution/taskSupport")) }

// mostTools bounds how many tools are called because they only read: a server
// with a thousand is not called a thousand times.
const mostTools = 24

// Callable are the tools that may be called, those that the user named first,
// but for those that run as tasks alone.
func (p *Probe) Callable() []Tool {
	return slices.DeleteFunc(slices.Clone(p.allowed()), func(t Tool) bool {
		return t.taskOnly() && p.o.Revision == spec.Rev20251125 && p.facts.Declares("tasks.requests.tools.call")
	})
}

// TaskTools are the tools that may be called and run as tasks of 2025-11-25.
func (p *Probe) TaskTools() []Tool {
	if !p.facts.Declares("tasks.requests.tools.call") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.allowed()), func(t Tool) bool { return !t.AsTask() })
}

// allowed are the tools that may be called, made once.
func (p *Probe) allowed() []Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.callable != nil {
		return *p.callable
	}
	var named, reading []Tool
	for _, item := range p.facts.Tools() {
		args, isNamed := p.o.Tools[item.Name]
		readOnly := jsonx.KindOf(Lookup(item.Raw, "/annotations/readOnlyHint")) == jsonx.True
		if !isNamed && (!readOnly || len(reading) == mostTools) {
			continue
		}
		if args == nil {
			if args = argumentsFor(item.Get("inputSchema")); args == nil {
				continue
			}
		}
		t := Tool{Item: item, Arguments: args, Named: isNamed}
		if isNamed {
			named = append(named, t)
		} else {
			reading = append(reading, t)
		}
	}
	all := slices.Concat(named, reading)
	p.callable = &all
	return all
}

// argumentsFor is a value that a schema accepts, nil when none was found.
func argumentsFor(schema json.RawMessage) json.RawMessage {
	s, _ := schemaset.Parse(schema, schemaset.ParseOptions{})
	if s == nil {
		return nil
	}
	if schemaset.Eval([]byte(`{}`), s) == schemaset.Yes {
		return json.RawMessage(`{}`)
	}
	r := schemaset.Generate(s, schemaset.Budget{})
	if jsonx.KindOf(r.Value) != jsonx.Object {
		return nil
	}
	return json.RawMessage(r.Value)
}

// CallRequest is a call of a tool, with the headers that mirror its arguments
// over HTTP.
func (p *Probe) CallRequest(t Item, arguments json.RawMessage) *Request {
	r := p.Request(spec.MethodToolsCall, "").Param("name", string(jsonx.Quote(t.Name)))
	if arguments != nil {
		r = r.Param("arguments", string(arguments))
	}
	if !p.HTTP() || p.o.Revision.Era() != spec.Modern {
		return r
	}
	hs, err := spec.ParseParamHeaders(t.Get("inputSchema"))
	if err != nil {
		return r
	}
	fields, err := hs.Fields(arguments)
	if err != nil {
		return r
	}
	for _, f := range fields {
		r = r.Header(f.Name, f.Value)
	}
	return r
}

// NoTool is why there is no tool to call.
const NoTool = "it needs a tool that may be called: one with readOnlyHint true, or named with --tool 'NAME={...}'"

// Calls are one call of each callable tool without any client capability, made
// once for all checks, in the order of [Probe.Callable]; see [Case.Onces].
func (c *Case) Calls() []*Exchange { return c.calls(`{}`) }

// AllCapabilities declares everything that a server may ask a client for.
const AllCapabilities = `{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

// CapableCalls are one call of each callable tool by a client that has every
// capability.
func (c *Case) CapableCalls() []*Exchange {
	if c.probe.Legacy() {
		return c.capableCalls()
	}
	return c.calls(AllCapabilities)
}

func (c *Case) calls(capabilities string) []*Exchange {
	tools := c.probe.Callable()
	requests := make([]*Request, len(tools))
	for i, t := range tools {
		requests[i] = c.probe.CallRequest(t.Item, t.Arguments)
		if c.probe.o.Revision.Era() == spec.Modern {
			requests[i] = requests[i].Capabilities(capabilities)
		}
	}
	return c.Onces(requests)
}

// Onces is Once for several requests, over HTTP side by side. Over stdio, where
// they go one after the other, there are fewer exchanges than requests when the
// first ones take long.
func (c *Case) Onces(requests []*Request) []*Exchange {
	return c.several(requests, c.probe.once)
}

// several makes requests, each by send.
func (c *Case) several(requests []*Request, send func(context.Context, *Request) *Exchange) []*Exchange {
	out := make([]*Exchange, len(requests))
	var wait sync.WaitGroup
	begin := time.Now()
	for i, r := range requests {
		if !c.HTTP() {
			if i > 0 && time.Since(begin) > onceBudget {
				return out[:i] // tools that wait for something must not cost the run
			}
			out[i] = send(c.ctx, r)
			if i+1 == mostUnheard && !slices.ContainsFunc(out[:i+1], func(x *Exchange) bool { return !x.Silent() }) {
				return out[:i+1]
			}
			continue
		}
		wait.Go(func() { out[i] = send(c.ctx, r) })
	}
	wait.Wait()
	return out
}

// mostUnheard is how many requests one after the other may stay without an
// answer before the rest is not made.
const mostUnheard = 3

// onceBudget bounds the time for requests that are made one after the other.
const onceBudget = 10 * time.Second

// Asks are the exchanges in which a server asks for input: calls, reads and
// prompts, made by a client that has every capability.
func (c *Case) Asks() []*Exchange {
	if c.probe.Legacy() {
		return c.legacyAsks()
	}
	var requests []*Request
	for _, i := range first(c.Facts().Prompts(), mostReads) {
		requests = append(requests, c.probe.PromptRequest(i).Capabilities(AllCapabilities))
	}
	for _, i := range first(c.Facts().Resources(), mostReads) {
		requests = append(requests, c.probe.ReadRequest(i.Name).Capabilities(AllCapabilities))
	}
	return slices.DeleteFunc(append(c.CapableCalls(), c.Onces(requests)...), func(x *Exchange) bool {
		return !x.OK() || x.ResultType() != spec.ResultInputRequired
	})
}

// NoAsk is why there is nothing that asks for input.
const NoAsk = "nothing that may be called asks for input: name such a tool with --tool 'NAME={...}'"

// mostReads bounds how many resources are read and prompts got.
const mostReads = 12

func first[T any](s []T, n int) []T { return s[:min(n, len(s))] }

// ReadRequest reads a resource.
func (p *Probe) ReadRequest(uri string) *Request {
	return p.Request(spec.MethodResourcesRead, "").Param("uri", string(jsonx.Quote(uri)))
}

// PromptRequest gets a prompt, with a short text for each argument it requires.
func (p *Probe) PromptRequest(i Item) *Request {
	var ms []member
	for _, a := range Elements(i.Get("arguments")) {
		if jsonx.KindOf(value(a, "required")) == jsonx.True {
			ms = append(ms, member{Text(value(a, "name")), json.RawMessage(`"a"`)})
		}
	}
	r := p.Request(spec.MethodPromptsGet, "").Param("name", string(jsonx.Quote(i.Name)))
	if len(ms) > 0 {
		r = r.Param("arguments", string(object(ms)))
	}
	return r
}

// Reads are one read of each of the first listed resources, made once for all.
func (c *Case) Reads() []*Exchange {
	var requests []*Request
	for _, i := range first(c.Facts().Resources(), mostReads) {
		requests = append(requests, c.probe.ReadRequest(i.Name))
	}
	return c.Onces(requests)
}

// Gets are one get of each of the first listed prompts, made once for all.
func (c *Case) Gets() []*Exchange {
	var requests []*Request
	for _, i := range first(c.Facts().Prompts(), mostReads) {
		requests = append(requests, c.probe.PromptRequest(i))
	}
	return c.Onces(requests)
}
