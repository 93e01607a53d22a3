// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const refSecurity = "2026-07-28/basic#ref-resolution"

// schemaRefRules are about references to elsewhere in what a server is given.
var schemaRefRules = []Rule{
	{
		Info: rule.Info{
			ID: "schema.no-network-ref", Level: rule.MustNot, Basis: rule.Keyword, Section: refSecurity,
			Title: "a $ref to a network address is not fetched",
			Why:   "whoever sends such a reference makes the server ask any host that it can reach",
			Fix:   "resolve references inside the document alone, and refuse others",
		},
		In: modern, Check: noNetworkRef, Needs: "--tool",
		Break: Break{Change: addFetcher, Also: []string{"schema.ref-fetch-opt-in"}},
	},
	{
		Info: rule.Info{
			ID: "schema.ref-fetch-opt-in", Level: rule.Must, Basis: rule.Keyword, Section: refSecurity,
			Title: "fetching remote references is off unless somebody turned it on",
			Why:   "a server as it comes out of the box asks any host that it can reach",
			Fix:   "put fetching behind a setting that is off, with a list of allowed hosts",
		},
		In: modern, Check: noNetworkRef, Under: []string{"schema.no-network-ref"}, Needs: "--tool",
		Break: Break{Change: addFetcher, Also: []string{"schema.no-network-ref"}},
	},
}

// noNetworkRef gives references to a listener of ours wherever a client gives a
// value: as arguments of a tool that nobody has, of tools that take any member,
// and as what a user enters.
func noNetworkRef(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	if !c.Probe().Mine() {
		c.Skip("the target is not on this machine, and could not reach a listener on it")
		return
	}
	lure, err := c.Probe().Lure()
	if err != nil {
		c.Skip("no listener could be opened: %v", err)
		return
	}
	defer lure.Close()
	given := `{"$schema":"` + lure.URL + `","$ref":"` + lure.URL + `"}`
	last := c.Send(c.Request(spec.MethodToolsCall, `{"name":"`+noName+`","arguments":`+given+`}`))
	for _, tool := range c.Probe().Callable() {
		if args, ok := withRef(tool, lure.URL); ok {
			last = c.Send(c.Probe().CallRequest(tool.Item, args))
			break
		}
	}
	for _, x := range c.Asks() {
		all := replies(x)
		for _, a := range inputsOf(x) {
			if a.form() && all != nil {
				all[a.key] = json.RawMessage(`{"action":"accept","content":` + given + `}`)
				last = c.Send(retry(x, all).Planting("content with a reference to elsewhere"))
			}
		}
		if all != nil {
			break
		}
	}
	switch {
	case c.Lured(lure, c.Probe().Quiet()):
		c.Fail(last, "the server asked the host of a $ref that it was given")
	case c.Context().Err() == nil:
		c.Pass(last)
	}
}

// withRef are the arguments of a tool with a reference beside them, where its
// schema takes them.
func withRef(t probe.Tool, url string) (json.RawMessage, bool) {
	s, _ := schemaset.Parse(t.Get("inputSchema"), schemaset.ParseOptions{})
	if s == nil {
		return nil, false
	}
	b := []byte(`{"$ref":` + string(jsonx.Quote(url)))
	for _, m := range probe.Members(t.Arguments) {
		b = append(append(append(append(b, ','), jsonx.Quote(m.Name)...), ':'), m.Value...)
	}
	b = append(b, '}')
	return b, schemaset.Eval(b, s) == schemaset.Yes
}

// addFetcher adds a tool that reads its arguments as a schema, and asks for
// whatever they refer to.
func addFetcher(s *mock.Script) {
	s.Tools = append([]mock.Tool{{
		Definition: []byte(`{"name":"check_schema","title":"Check a schema","description":"Says whether a schema can be read.","inputSchema":{"type":"object","properties":{}},"annotations":{"title":"Check a schema","readOnlyHint":true}}`),
		Func: func(ctx context.Context, call *mock.Call) (json.RawMessage, error) {
			if url := probe.Text(probe.Lookup(call.Arguments, "/$ref")); url != "" {
				if r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err == nil {
					if a, err := http.DefaultTransport.RoundTrip(r); err == nil {
						_ = a.Body.Close()
					}
				}
			}
			return json.RawMessage(`{"content":[{"type":"text","text":"It can be read."}],"resultType":"complete"}`), nil
		},
	}}, s.Tools...)
}
