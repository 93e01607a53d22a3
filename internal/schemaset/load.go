// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// loader turns the tree of a document into nodes.
type loader struct {
	doc      *Schema
	byVal    map[*val]*node
	res      resources
	later    []func() // targets of references still to be read
	digest   string
	patterns map[string]*pattern
	states   int // of all patterns
	problems []Problem
	pending  []*schemaReader // with unevaluated keywords, which need the whole document
	full     bool            // the limit of nodes was reported
	deep     bool            // the limit of nesting was reported
}

// scope is what a schema inherits from the resource it is in.
type scope struct {
	base    string
	dialect Dialect
	depth   int
}

const maxProblems = 200

func (l *loader) problem(kind ProblemKind, ptr, keyword, detail string) {
	if len(l.problems) < maxProblems {
		l.problems = append(l.problems, Problem{Kind: kind, Pointer: ptr, Keyword: keyword, Detail: detail})
	}
}

// opaqueNode stands for a schema that cannot be read. Two of them are equal when
// they give the same reason, so the reason must hold all that their sets could
// depend on; see document.
func (l *loader) opaqueNode(ptr string, src *val, reason string) *node {
	n := newNode()
	n.doc, n.ptr, n.src, n.opaque = l.doc, ptr, src, reason
	l.doc.nodes = append(l.doc.nodes, n)
	return n
}

func (l *loader) load() {
	root := l.doc.tree
	sc := scope{dialect: l.doc.dialect}
	unknown := ""
	if v := root.get("$schema"); v != nil {
		switch d := dialectOf(v.str); {
		case v.kind != kString:
			l.problem(ProblemWrongShape, "/$schema", "$schema", "must be a string")
			unknown = "$schema is no string"
		case d == DialectUnknown:
			l.problem(ProblemUnknownDialect, "/$schema", "$schema", v.str)
			unknown = "unknown dialect " + v.str
			l.doc.dialect = DialectUnknown
		default:
			sc.dialect, l.doc.dialect = d, d
		}
	}
	l.res.scan(root, sc)
	l.doc.root = l.schema(root, "", sc)
	for len(l.later) > 0 {
		next := l.later[0]
		l.later = l.later[1:]
		next()
	}
	if unknown != "" {
		l.doc.root.opaque = unknown + l.document()
	}
}

var dialects = map[string]Dialect{
	"json-schema.org/draft-04/schema":      Draft4,
	"json-schema.org/draft-06/schema":      Draft6,
	"json-schema.org/draft-07/schema":      Draft7,
	"json-schema.org/draft/2019-09/schema": Draft2019,
	"json-schema.org/draft/2020-12/schema": Draft2020,
}

func dialectOf(uri string) Dialect {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	if d, ok := dialects[uri]; ok {
		return d
	}
	return DialectUnknown
}

// schema returns the node of the schema in v, loading it the first time.
func (l *loader) schema(v *val, ptr string, sc scope) *node {
	if n := l.byVal[v]; n != nil {
		return n
	}
	if len(l.doc.nodes) >= maxNodes {
		if !l.full {
			l.full = true
			l.problem(ProblemTooLarge, ptr, "", fmt.Sprintf("more than %d schemas", maxNodes))
		}
		return l.opaqueNode(ptr, v, "document too large: "+ptr+l.document())
	}
	if sc.depth++; sc.depth > maxNesting {
		if !l.deep {
			l.deep = true
			l.problem(ProblemTooDeep, ptr, "", fmt.Sprintf("more than %d schemas inside each other", maxNesting))
		}
		return l.opaqueNode(ptr, v, "nested too deep: "+ptr+l.document())
	}
	n := l.reserve(v, ptr)
	l.fill(n, v, sc)
	return n
}

// reserve makes the node of v, empty as yet.
func (l *loader) reserve(v *val, ptr string) *node {
	n := newNode()
	n.doc, n.ptr, n.src = l.doc, ptr, v
	l.byVal[v] = n
	l.doc.nodes = append(l.doc.nodes, n)
	return n
}

// document identifies the whole text. A part that was not read, or that leads
// elsewhere by a reference, is equal to one of another document only if the
// documents are the same.
func (l *loader) document() string {
	if l.digest == "" {
		sum := sha256.Sum256(l.doc.raw)
		l.digest = " of " + hex.EncodeToString(sum[:])
	}
	return l.digest
}

// fill reads the schema in v into its node.
func (l *loader) fill(n *node, v *val, sc scope) {
	ptr := n.ptr
	switch v.kind {
	case kBool:
		if !v.truth {
			n.never, n.mask = true, 0
		}
	case kObject:
		l.object(&schemaReader{l: l, n: n, v: v, sc: l.enter(v, sc)})
	default:
		l.problem(ProblemNotSchema, ptr, "", "a schema is an object or a boolean, found "+jsonx.KindOf(v.raw).Name())
		n.opaque = "not a schema: " + v.key()
	}
}

// enter returns the scope inside v, which may begin a resource of its own.
func (l *loader) enter(v *val, sc scope) scope {
	base, own := resourceBase(v, sc)
	if own {
		sc.base = base
		if s := v.get("$schema"); s != nil && s.kind == kString && v != l.doc.tree {
			if d := dialectOf(s.str); d != DialectUnknown {
				sc.dialect = d
			}
		}
	}
	return sc
}

// object reads the keywords of one schema object.
func (l *loader) object(r *schemaReader) {
	n, d := r.n, r.sc.dialect
	if f := r.v.get("format"); f != nil && f.kind == kString {
		n.format = f.str
	}
	r.samples()
	r.definitions()
	if ref := r.v.get("$ref"); ref != nil {
		if ref.kind != kString {
			r.wrong("$ref", "must be a string")
		} else {
			n.ref = l.resolve(ref.str, r.at("$ref"), "$ref", r)
		}
		if d <= Draft7 {
			return // the neighbours of $ref do not exist in these dialects
		}
	}
	r.dynamic()
	r.general()
	r.numbers()
	r.strings()
	r.arrays()
	r.objects()
	r.applicators()
	if d >= Draft2019 && (r.v.get("unevaluatedProperties") != nil || r.v.get("unevaluatedItems") != nil) {
		l.pending = append(l.pending, r)
	}
}

// resolve follows a reference inside the document.
func (l *loader) resolve(ref, ptr, keyword string, r *schemaReader) *node {
	t, kind := l.res.find(l.doc.tree, r.sc, ref)
	if t.val == nil {
		l.problem(kind, ptr, keyword, ref)
		return l.opaqueNode(r.n.ptr, r.v, string(kind)+" "+absolute(r.sc.base, ref))
	}
	l.doc.refs[t.ptr] = true
	if n := l.byVal[t.val]; n != nil {
		return n
	}
	if len(l.doc.nodes) >= maxNodes {
		return l.schema(t.val, t.ptr, t.scope)
	}
	// Read later: a long chain of references must not nest as deep as it is long.
	n := l.reserve(t.val, t.ptr)
	l.later = append(l.later, func() {
		t.scope.depth = 0
		l.fill(n, t.val, t.scope)
	})
	return n
}
