// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/spec"
)

// headerKeyword annotates an argument that clients mirror into a header
// (2026-07-28, Streamable HTTP).
const headerKeyword = "x-mcp-header"

var (
	kindHeaderAdded = define("header-param-added", Breaking, "an argument must be mirrored into a header now",
		"clients with a cached listing omit the header, and are refused with -32020 until they list again", "add a new argument for the header")
	kindHeaderRemoved = define("header-param-removed", Additive, "an argument is no longer mirrored into a header",
		"an unknown header is ignored; gateways that route by it lose it", nothing)
	kindHeaderRenamed = define("header-param-renamed", Breaking, "an argument is mirrored into another header",
		"clients with a cached listing send the old header, and are refused with -32020 until they list again", "keep the header's name")
	kindHeaderCase = define("header-param-case-only", Cosmetic, "a mirrored header changed only its case",
		"header names do not tell cases apart", nothing)
	kindHeaderInvalid = define("header-param-invalid", Breaking, "an x-mcp-header annotation is not valid",
		"HTTP clients must drop the tool", "follow the rules of the annotation: a token, unique, on a string, integer or boolean reached through properties only")
	kindHeaderDropsTool = define("tool-excluded-by-invalid-header", Breaking, "HTTP clients drop the tool for an invalid x-mcp-header",
		"over Streamable HTTP the tool is gone, while stdio callers see no difference", "correct the annotation")
	kindHeaderSensitive = define("header-param-on-sensitive", Routing, "a secret is mirrored into a header",
		"gateways and logs along the way see it", "do not annotate secrets")
	kindHeaderInteger = define("header-param-unsafe-integer", Routing, "a mirrored integer may pass the safe range",
		"values beyond 2^53-1 are not exact, and compared numbers differ", "bound it with minimum and maximum")
)

// headers compares the x-mcp-header annotations of a tool's arguments.
func (c *comparer) headers(a at, old, new jsonx.Raw) {
	if word := []byte(headerKeyword); !bytes.Contains(old, word) && !bytes.Contains(new, word) {
		return
	}
	was, err := spec.ParseParamHeaders(old)
	is, err2 := spec.ParseParamHeaders(new)
	if err != nil || err2 != nil {
		return // not an object: reported as such
	}
	c.headerFaults(a, was.Faults, is.Faults)
	before, after := map[string]spec.ParamHeader{}, map[string]bool{}
	for _, p := range was.Valid {
		before[p.Pointer] = p
	}
	place := func(p spec.ParamHeader) at {
		x := a
		x.Pointer += jsonx.Push(p.Pointer, headerKeyword)
		x.Path = strings.Join(p.Path, ".")
		return x
	}
	for _, p := range is.Valid {
		after[p.Pointer] = true
		o, existed := before[p.Pointer]
		if !existed {
			c.headerAdded(place(p), p, lookup(old, p.Pointer) != nil, lookup(new, p.Pointer))
			continue
		}
		set := values(str(o.Name), str(p.Name))
		switch {
		case o.Name == p.Name:
		case strings.EqualFold(o.Name, p.Name):
			c.add(kindHeaderCase, place(p), set)
		default:
			c.add(kindHeaderRenamed, place(p), set)
		}
	}
	for _, p := range was.Valid {
		if !after[p.Pointer] && lookup(new, p.Pointer) != nil {
			c.add(kindHeaderRemoved, place(p), values(str(p.Name), nil))
		}
	}
}

// headerAdded reports a new annotation, and what is risky about it. On an
// argument that is new itself, it hurts nobody.
func (c *comparer) headerAdded(a at, p spec.ParamHeader, argument bool, schema jsonx.Raw) {
	set := values(nil, str(p.Name))
	if argument {
		c.add(kindHeaderAdded, a, set)
	}
	if text.SecretName(p.Name) || text.SecretName(a.Path) {
		c.add(kindHeaderSensitive, a, set)
	}
	bounded := lookup(schema, "/enum") != nil || lookup(schema, "/const") != nil ||
		(lookup(schema, "/maximum") != nil || lookup(schema, "/exclusiveMaximum") != nil) &&
			(lookup(schema, "/minimum") != nil || lookup(schema, "/exclusiveMinimum") != nil)
	if p.Type == "integer" && !bounded {
		c.add(kindHeaderInteger, a, set)
	}
}

// headerFaults reports annotations that became invalid.
func (c *comparer) headerFaults(a at, old, new []spec.ParamHeaderFault) {
	had := map[string]bool{}
	for _, f := range old {
		had[f.Pointer] = true
	}
	k := kindHeaderInvalid
	if len(old) == 0 {
		k = kindHeaderDropsTool // the first fault is what drops the tool
	}
	for _, f := range new {
		if had[f.Pointer] {
			continue
		}
		place := a
		place.Pointer += f.Pointer
		place.Path = pathOf(a.Path, f.Pointer)
		c.add(k, place, values(nil, jsonx.Raw(jsonx.Quote(f.Value))), message(k.Title+": "+text.Line(f.Detail)))
		k = kindHeaderInvalid
	}
}
