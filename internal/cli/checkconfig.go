// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"go.yaml.in/yaml/v4"
)

// checkConfig is the settings of check in mcprove.yaml.
type checkConfig struct {
	tools      map[string]json.RawMessage
	mine       bool
	stateTTL   time.Duration
	only, skip []string
	failOn     string
	baseline   string
	revisions  []spec.Revision
}

func (c *checkConfig) read(r *yamlReader, n *yaml.Node) {
	r.members(n, "check", map[string]func(*yaml.Node){
		"tools": func(n *yaml.Node) { c.readTools(r, n) },
		"target-is-mine": func(n *yaml.Node) {
			if n.Value != "true" && n.Value != "false" {
				r.fail(n, "", "target-is-mine is true or false")
			}
			c.mine = n.Value == "true"
		},
		"state-ttl": r.duration(&c.stateTTL),
		"only":      c.rules(r, &c.only), "skip": c.rules(r, &c.skip),
		"fail-on": func(n *yaml.Node) {
			if n.Value != "fail" && n.Value != "warn" {
				r.fail(n, "", "fail-on is fail or warn; not %q", n.Value)
			}
			c.failOn = n.Value
		},
		"baseline": r.text(&c.baseline),
		"revisions": func(n *yaml.Node) {
			var names []string
			r.texts(&names)(n)
			for i, s := range names {
				rev, err := spec.ParseRevision(s)
				if err != nil {
					r.fail(n.Content[i], "", "%v", err)
					return
				}
				c.revisions = append(c.revisions, rev)
			}
		},
	})
}

// rules reads a list of patterns of rules.
func (c *checkConfig) rules(r *yamlReader, into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.texts(into)(n)
		for i, p := range *into {
			if err, _ := knownRules("", p).(*Error); err != nil && i < len(n.Content) {
				r.fail(n.Content[i], err.Try, "%s", err.Message)
			}
		}
	}
}

// readTools reads the tools that may be called: a name with its arguments, or
// with nothing for arguments made from its schema.
func (c *checkConfig) readTools(r *yamlReader, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "write it as tools: {search: {query: go}}", "tools must be a mapping of names to arguments")
		return
	}
	c.tools = map[string]json.RawMessage{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, body := n.Content[i], n.Content[i+1]
		var args map[string]any
		if err := body.Load(&args); err != nil {
			r.fail(body, "write it as "+name.Value+": {argument: value}", "the arguments of tool %s must be a mapping", name.Value)
			return
		}
		if args == nil {
			c.tools[name.Value] = nil
			continue
		}
		raw, err := jsonx.Marshal(args)
		if err != nil {
			r.fail(body, "", "the arguments of tool %s cannot be written as JSON: %v", name.Value, err)
			return
		}
		c.tools[name.Value] = raw
	}
}
