// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// ParamHeader is one argument of a tool that an Mcp-Param header mirrors
// (2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters).
type ParamHeader struct {
	Name    string   // value of x-mcp-header: what follows Mcp-Param-
	Path    []string // member names from the arguments object to the value
	Type    string   // string, integer or boolean
	Pointer string   // of the property's schema in the inputSchema
}

// HeaderName returns the name of the HTTP header.
func (p ParamHeader) HeaderName() string { return HeaderParamPrefix + p.Name }

// ParamHeaderFault is an x-mcp-header annotation that breaks a rule. A client
// over HTTP must not offer a tool that has one.
type ParamHeaderFault struct {
	Pointer string // of the annotation's value in the inputSchema
	Value   string // the annotation as JSON text, shortened
	Reason  ParamHeaderReason
	Detail  string // one line
}

// ParamHeaderReason says which rule an annotation breaks.
type ParamHeaderReason uint8

const (
	// NotString annotations have a value that is no string.
	NotString ParamHeaderReason = iota + 1
	// EmptyName annotations are the empty string.
	EmptyName
	// NotToken annotations are no field name token (RFC 9110 section 5.6.2).
	NotToken
	// DuplicateName annotations repeat an earlier one, case ignored.
	DuplicateName
	// NotPrimitive annotations stand on a property that is not string, integer
	// or boolean.
	NotPrimitive
	// NotReachable annotations stand where properties keywords alone do not lead.
	NotReachable
)

// ParamHeaders is what an inputSchema says about headers.
type ParamHeaders struct {
	Valid  []ParamHeader
	Faults []ParamHeaderFault
}

const annotationKey = "x-mcp-header"

// Keywords of JSON Schema 2020-12 and draft-07 that hold schemas. What stands
// under other keywords is data, such as a default or an example.
var (
	oneSchema  = []string{"items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"}
	manySchema = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	mapSchema  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

// ParseParamHeaders reads the x-mcp-header annotations of an inputSchema. The
// error is for a text that is not a JSON object; annotations that break a rule
// are Faults.
//
// A property of type ["string", "null"] counts as a string: the rules name
// primitive types only, and say what a null value means.
func ParseParamHeaders(inputSchema []byte) (ParamHeaders, error) {
	w, err := newWalker(inputSchema)
	if err != nil {
		return ParamHeaders{}, fmt.Errorf("read inputSchema: %w", err)
	}
	defer w.release()
	if w.tape[0].kind != kObject {
		return ParamHeaders{}, errors.New("read inputSchema: expected object, found " + w.describe(0))
	}
	s := &headerScan{walker: w, seen: make(map[string]bool)}
	s.schema(0, "", nil, false, true)
	return s.found, nil
}

type headerScan struct {
	*walker
	found ParamHeaders
	seen  map[string]bool // names in lower case
}

// schema visits one schema. property says that it describes a property, and
// direct that only properties keywords led to it.
func (s *headerScan) schema(at int32, pointer string, path []string, property, direct bool) {
	if s.tape[at].kind != kObject || len(path) > maxParamDepth || strings.Count(pointer, "/") > 4*maxParamDepth {
		return
	}
	for i := at + 1; i < s.tape[at].next; i = s.tape[i+1].next {
		key, value := string(s.string(i)), i+1
		here := jsonx.Push(pointer, key)
		kind := s.tape[value].kind
		switch {
		case key == annotationKey:
			s.annotation(at, value, here, path, property && direct)
		case slices.Contains(mapSchema, key) && kind == kObject:
			for j := value + 1; j < s.tape[value].next; j = s.tape[j+1].next {
				name := string(s.string(j))
				isProperty := key == "properties"
				next := path
				if isProperty {
					next = append(slices.Clone(path), name)
				}
				s.schema(j+1, jsonx.Push(here, name), next, isProperty, direct && isProperty)
			}
		case slices.Contains(manySchema, key) && kind == kArray:
			n := 0
			for j := value + 1; j < s.tape[value].next; j = s.tape[j].next {
				s.schema(j, here+"/"+strconv.Itoa(n), path, false, false)
				n++
			}
		case slices.Contains(oneSchema, key):
			s.schema(value, here, path, false, false)
		}
	}
}

// maxParamDepth bounds how deep annotations are looked for.
const maxParamDepth = 64

func (s *headerScan) annotation(schema, value int32, pointer string, path []string, reachable bool) {
	fault := func(reason ParamHeaderReason, detail string) {
		s.found.Faults = append(s.found.Faults, ParamHeaderFault{Pointer: pointer, Value: clip(string(s.raw(value))), Reason: reason, Detail: detail})
	}
	if s.tape[value].kind != kString {
		fault(NotString, "the annotation must be a string, found "+s.describe(value))
		return
	}
	name := string(s.string(value))
	fold := strings.ToLower(name)
	typ, primitive := s.primitive(schema)
	switch {
	case !reachable:
		fault(NotReachable, "only properties keywords may lead to an annotated property")
	case name == "":
		fault(EmptyName, "the annotation must not be empty")
	case !fieldToken(name):
		fault(NotToken, strconv.Quote(clip(name))+" is no HTTP field name token")
	case !primitive:
		fault(NotPrimitive, "an annotated property must have type string, integer or boolean, found "+typ)
	case s.seen[fold]:
		fault(DuplicateName, strconv.Quote(name)+" is used twice, case ignored")
	default:
		s.found.Valid = append(s.found.Valid, ParamHeader{Name: name, Path: path, Type: typ, Pointer: strings.TrimSuffix(pointer, "/"+annotationKey)})
	}
	s.seen[fold] = true
}

// primitive returns the type of a property, null beside it left out.
func (s *headerScan) primitive(schema int32) (typ string, ok bool) {
	at := s.member(schema, "type")
	if at < 0 {
		return "none", false
	}
	var types []string
	switch s.tape[at].kind {
	case kString:
		types = []string{string(s.string(at))}
	case kArray:
		for i := at + 1; i < s.tape[at].next; i = s.tape[i].next {
			if s.tape[i].kind == kString && string(s.string(i)) != "null" {
				types = append(types, string(s.string(i)))
			}
		}
	}
	if len(types) != 1 {
		return clip(string(s.raw(at))), false
	}
	return types[0], slices.Contains([]string{"string", "integer", "boolean"}, types[0])
}

// fieldToken reports whether s is one or more tchar of RFC 9110 section 5.6.2.
func fieldToken(s string) bool {
	for i := range len(s) {
		if !alnum(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}
