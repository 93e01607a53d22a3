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
	failing    map[string]json.RawMessage
	mine       bool
	stateTTL   time.Duration
	only, skip []string
	failOn     string
	baseline   string
	revisions  []spec.Revision
}

func (c *checkConfig) read(r *yamlReader, n *yaml.Node) {
	r.members(n, "check", map[string]func(*yaml.Node){
		"tools": func(n *yaml.Node) {
			c.tools = readObjects(r, n, "tools", "the arguments of tool", "{search: {query: go}}")
		},
		"failing": func(n *yaml.Node) {
			c.failing = readObjects(r, n, "failing", "the params of", "{resources/read: {uri: x://y}}")
		},
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

// readObjects reads names with an object each: tools that may be called with
// their arguments, or with nothing for arguments made from the schema; requests
// that fail with their params.
func readObjects(r *yamlReader, n *yaml.Node, member, what, example string) map[string]json.RawMessage {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "write it as "+member+": "+example, "%s must be a mapping of names to objects", member)
		return nil
	}
	out := map[string]json.RawMessage{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, body := n.Content[i], n.Content[i+1]
		var object map[string]any
		if err := body.Load(&object); err != nil {
			r.fail(body, "write it as "+name.Value+": {member: value}", "%s %s must be a mapping", what, name.Value)
			return nil
		}
		if object == nil {
			out[name.Value] = nil
			continue
		}
		raw, err := jsonx.Marshal(object)
		if err != nil {
			r.fail(body, "", "%s %s cannot be written as JSON: %v", what, name.Value, err)
			return nil
		}
		out[name.Value] = raw
	}
	return out
}
