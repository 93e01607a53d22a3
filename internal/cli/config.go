// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/surface"
	"go.yaml.in/yaml/v4"
)

// config is a configuration file: mcprove.yaml, or the file of an MCP host.
// Nothing in it runs unless the user names the file and the server.
type config struct {
	path     string
	servers  map[string]*serverConfig
	contract contractConfig
	checking checkConfig
	forms    bool // the servers are forms of one: a file of ours, not a host's
}

// serverConfig is one server of a file, variables not yet filled in.
type serverConfig struct {
	place    string // file:line:col, for errors
	command  []string
	url      string
	env      map[string]string
	header   map[string]string
	cwd      string
	era      string
	revision string
	timeout  time.Duration
	contract string // contract file of this server
	disabled bool
}

// contractConfig is the settings of the contract verbs.
type contractConfig struct {
	file, accept      string
	failOn            contract.Class // zero: not set
	ignore            []surface.Pattern
	deprecationPolicy bool
	maxListBytes      int
}

// loadConfig reads a configuration file by its name's ending: YAML is ours,
// JSON a host's.
func loadConfig(path string) (*config, error) {
	data, err := readFile(path)
	if _, ok := errors.AsType[*Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Exit: exitUsage, Code: "config-unreadable", Where: path, Message: err.Error(), Try: "check the path after --config"}
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		return parseYAMLConfig(path, data)
	}
	return parseHostConfig(path, data)
}

// yamlReader reads a YAML document by hand, so that every fault has its place.
type yamlReader struct {
	path string
	err  error
}

func (r *yamlReader) fail(n *yaml.Node, try, format string, args ...any) {
	if r.err == nil {
		r.err = &rule.FileError{Path: r.path, Line: n.Line, Col: n.Column, Message: fmt.Sprintf(format, args...), Try: try}
	}
}

// members calls the function of each key of a mapping, and refuses others.
func (r *yamlReader) members(n *yaml.Node, what string, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "%s must be a mapping of keys to values", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		f, ok := known[k.Value]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			try := "known keys: " + strings.Join(names, ", ")
			if near := rule.Nearest(k.Value, names); len(near) > 0 {
				try = fmt.Sprintf("did you mean %s?", near[0])
			}
			r.fail(k, try, "unknown key %q in %s", k.Value, what)
			return
		}
		if seen[k.Value] {
			r.fail(k, "", "key %q stands twice in %s", k.Value, what)
			return
		}
		seen[k.Value] = true
		f(v)
	}
}

func (r *yamlReader) text(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			r.fail(n, "", "expected one text")
			return
		}
		*into = n.Value
	}
}

func (r *yamlReader) texts(into *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			r.fail(n, "write it as a list: [a, b, c]", "expected a list of texts")
			return
		}
		for _, e := range n.Content {
			var s string
			r.text(&s)(e)
			*into = append(*into, s)
		}
	}
}

func (r *yamlReader) textMap(into *map[string]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.fail(n, "", "expected a mapping of names to texts")
			return
		}
		*into = map[string]string{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			var s string
			r.text(&s)(n.Content[i+1])
			(*into)[n.Content[i].Value] = s
		}
	}
}

func (r *yamlReader) duration(into *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		if err != nil || d <= 0 {
			r.fail(n, "write it like 30s or 2m", "%q is not a length of time", n.Value)
		}
		*into = d
	}
}

func parseYAMLConfig(path string, data []byte) (*config, error) {
	c := &config{path: path, servers: map[string]*serverConfig{}, forms: true}
	if len(bytes.TrimSpace(data)) == 0 {
		return c, nil
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, rule.YAMLError(path, err)
	}
	n := &doc
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	r := &yamlReader{path: path}
	r.members(n, "the configuration", map[string]func(*yaml.Node){
		"targets":  func(n *yaml.Node) { c.readTargets(r, n) },
		"contract": func(n *yaml.Node) { c.contract.read(r, n) },
		"check":    func(n *yaml.Node) { c.checking.read(r, n) },
	})
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

func (c *config) readTargets(r *yamlReader, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "targets must be a mapping of names to targets")
		return
	}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		name, body := n.Content[i], n.Content[i+1]
		s := &serverConfig{place: place(r.path, name.Line, name.Column)}
		if c.servers[name.Value] != nil {
			r.fail(name, "", "target %q stands twice", name.Value)
			return
		}
		r.members(body, "target "+name.Value, map[string]func(*yaml.Node){
			"command": r.texts(&s.command), "url": r.text(&s.url), "env": r.textMap(&s.env), "header": r.textMap(&s.header),
			"cwd": r.text(&s.cwd), "era": r.text(&s.era), "revision": r.text(&s.revision), "timeout": r.duration(&s.timeout),
			"contract": r.text(&s.contract),
		})
		if r.err == nil && (len(s.command) == 0) == (s.url == "") {
			r.fail(name, "", "target %q needs a command or a url, and not both", name.Value)
		}
		c.servers[name.Value] = s
	}
}

func (c *contractConfig) read(r *yamlReader, n *yaml.Node) {
	r.members(n, "contract", map[string]func(*yaml.Node){
		"file": r.text(&c.file), "accept": r.text(&c.accept),
		"fail-on": func(n *yaml.Node) {
			cl, err := contract.ParseClass(n.Value)
			if err != nil || cl == contract.Cosmetic {
				r.fail(n, "", "fail-on is one of breaking, routing, additive; not %q", n.Value)
			}
			c.failOn = cl
		},
		"ignore": func(n *yaml.Node) {
			var ps []string
			r.texts(&ps)(n)
			for i, s := range ps {
				p, err := surface.ParsePattern(s)
				if err != nil {
					r.fail(n.Content[i], "", "%v", err)
					return
				}
				c.ignore = append(c.ignore, p)
			}
		},
		"deprecation-policy": func(n *yaml.Node) {
			if n.Value != "true" && n.Value != "false" {
				r.fail(n, "", "deprecation-policy is true or false")
			}
			c.deprecationPolicy = n.Value == "true"
		},
		"max-list-bytes": func(n *yaml.Node) {
			if _, err := fmt.Sscanf(n.Value, "%d", &c.maxListBytes); err != nil || c.maxListBytes <= 0 {
				r.fail(n, "", "max-list-bytes is a number of bytes above 0; not %q", n.Value)
			}
		},
	})
}
