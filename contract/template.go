// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/surface"
)

var (
	kindTemplateRemoved = define("template-removed", Breaking, "resource template removed",
		"callers that fill it in find nothing", "keep the template")
	kindTemplateAdded = define("template-added", Additive, "resource template added",
		"no caller fills it in yet", nothing)
	kindTemplateVariableRemoved = define("template-variable-removed", Breaking, "a template variable was removed",
		"completion and saved bindings by its name fail", "keep the variable")
	kindTemplateRequired = define("template-required-variable-added", Breaking, "a template got a variable that must be filled in",
		"bindings made until now lead elsewhere", "add it as a query variable, {?name}")
	kindTemplateOptional = define("template-optional-variable-added", Additive, "a template got an optional query variable",
		"left undefined, it expands to nothing", nothing)
	kindTemplateRenamed = define("template-variable-renamed-only", Breaking, "a template's variables were renamed",
		"completion and saved bindings use the names", "keep the names")
	kindTemplateOperator = define("template-operator-changed", Breaking, "a template variable is expanded differently",
		"reserved characters are encoded in another way, so the same value leads elsewhere", "keep the operator")
	kindTemplateReordered = define("template-variables-reordered", Cosmetic, "query variables of a template changed their order",
		"the query holds the same values", nothing)
	kindTemplateMime = define("template-mime-changed", Breaking, "template's MIME type changed",
		"readers parse by it", "serve the new type under a new template")
	kindTemplateMimeAdded = define("template-mime-added", Additive, "template's MIME type is stated now",
		"readers that guessed know it now", nothing)
	kindTemplateText = define("template-text-changed", Routing, "template's name, title or description changed",
		"people and models choose by it", nothing)
)

// expression is one {...} of a URI template (RFC 6570).
type expression struct {
	operator byte     // 0 for simple expansion
	names    []string // with modifiers (:3, *)
}

// optional reports whether leaving its variables undefined leaves the URI as
// it was without them.
func (e expression) optional() bool {
	return e.operator == '?' || e.operator == '&' || e.operator == '#'
}

// uriTemplate is a parsed URI template: literals around expressions.
type uriTemplate struct {
	literals    []string // one more than expressions
	expressions []expression
}

func parseTemplate(s string) (uriTemplate, error) {
	var t uriTemplate
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			if strings.IndexByte(s, '}') >= 0 {
				return t, errors.New("} without {")
			}
			t.literals = append(t.literals, s)
			return t, nil
		}
		j := strings.IndexByte(s[i:], '}')
		if j < 2 {
			return t, errors.New("{ without a name and }")
		}
		body := s[i+1 : i+j]
		var e expression
		if strings.IndexByte("+#./;?&", body[0]) >= 0 {
			e.operator, body = body[0], body[1:]
		}
		e.names = strings.Split(body, ",")
		t.literals = append(t.literals, s[:i])
		t.expressions = append(t.expressions, e)
		s = s[i+j+1:]
	}
}

// matches reports whether the template can expand to the URI.
func (t uriTemplate) matches(uri string) bool {
	var b strings.Builder
	b.WriteByte('^')
	for i, l := range t.literals {
		b.WriteString(regexp.QuoteMeta(l))
		if i == len(t.expressions) {
			break
		}
		switch t.expressions[i].operator {
		case 0:
			b.WriteString(`[^/?#]+`)
		case '+':
			b.WriteString(`.+`)
		case '#':
			b.WriteString(`(#.*)?`)
		case '.':
			b.WriteString(`(\.[^/?#]*)?`)
		case '/':
			b.WriteString(`(/[^?#]*)?`)
		case ';':
			b.WriteString(`(;[^/?#]*)?`)
		case '?':
			b.WriteString(`(\?[^#]*)?`)
		case '&':
			b.WriteString(`(&[^#]*)?`)
		}
	}
	b.WriteByte('$')
	re, err := regexp.Compile(b.String())
	return err == nil && re.MatchString(uri)
}

func bare(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimSuffix(name, "*")
}

// skeleton is the template without its optional expressions and names.
func (t uriTemplate) skeleton() string {
	var b strings.Builder
	for i, l := range t.literals {
		b.WriteString(l)
		if i < len(t.expressions) && !t.expressions[i].optional() {
			b.WriteString("{}")
		}
	}
	return b.String()
}

// templates compares the template listings.
func (c *comparer) templates() {
	k := surface.Templates
	if !c.both(surface.Facet(k)) {
		c.notCompared(k)
		return
	}
	ms := matched(c.old.Items(k), c.new.Items(k))
	var gone, came []match
	for _, m := range ms {
		switch {
		case m.old == nil:
			came = append(came, m)
		case m.new == nil:
			gone = append(gone, m)
		default:
			c.result.Compared["template"]++
			c.template(at{"template", Place{Name: m.name}}, m.old, m.new)
		}
	}
	for _, g := range gone {
		i := slices.IndexFunc(came, func(m match) bool { return related(g.name, m.name) })
		if i < 0 {
			c.add(kindTemplateRemoved, at{"template", Place{Name: g.name}}, values(g.old.Raw, nil))
			continue
		}
		c.reshaped(g, came[i])
		came = slices.Delete(came, i, i+1)
	}
	for _, m := range came {
		c.add(kindTemplateAdded, at{"template", Place{Name: m.name}}, values(nil, m.new.Raw))
	}
}

// related reports whether two templates are one that was changed: the same
// literals with other variables.
func related(a, b string) bool {
	x, xErr := parseTemplate(a)
	y, yErr := parseTemplate(b)
	if xErr != nil || yErr != nil {
		return false
	}
	if x.skeleton() == y.skeleton() {
		return true
	}
	literals := func(t uriTemplate) string { return strings.Join(t.literals, "") }
	return literals(x) == literals(y) && literals(x) != ""
}

// reshaped judges a template whose variables changed.
func (c *comparer) reshaped(old, new match) {
	x, _ := parseTemplate(old.name)
	y, _ := parseTemplate(new.name)
	a := at{"template", Place{Name: new.name, Pointer: "/uriTemplate", Path: "uriTemplate"}}
	set := values(str(old.name), str(new.name))
	was, is := variables(x), variables(y)
	var removed, added, required, operator []string
	for n, e := range was {
		f, ok := is[n]
		switch {
		case !ok:
			removed = append(removed, n)
		case e.operator != f.operator && !(e.optional() && f.optional()):
			operator = append(operator, n)
		}
	}
	for n, e := range is {
		if _, ok := was[n]; !ok {
			added = append(added, n)
			if !e.optional() {
				required = append(required, n)
			}
		}
	}
	report := func(k *kind, names []string) {
		slices.Sort(names)
		c.add(k, a, set, message(k.Title+": "+text.Line(strings.Join(names, ", "))))
	}
	switch {
	case len(removed) > 0 && len(removed) == len(added) && x.skeleton() == y.skeleton():
		slices.Sort(added)
		slices.Sort(removed)
		report(kindTemplateRenamed, []string{strings.Join(removed, ", ") + " before, " + strings.Join(added, ", ") + " now"})
	case len(removed) > 0:
		report(kindTemplateVariableRemoved, removed)
	case len(required) > 0:
		report(kindTemplateRequired, required)
	case len(operator) > 0:
		report(kindTemplateOperator, operator)
	case len(added) > 0:
		report(kindTemplateOptional, added)
	default:
		c.add(kindTemplateReordered, a, set)
	}
	c.template(at{"template", Place{Name: new.name}}, old.old, new.new)
}

// variables maps each variable to the expression it stands in.
func variables(t uriTemplate) map[string]expression {
	out := map[string]expression{}
	for _, e := range t.expressions {
		for _, n := range e.names {
			out[bare(n)] = e
		}
	}
	return out
}

func (c *comparer) template(a at, old, new *surface.Item) {
	c.described(surface.Templates, a, old, new, resourceKinds{
		kindTemplateMime, kindTemplateMimeAdded, kindTemplateMime, kindResourceMimeParameter,
		kindTemplateText, kindTemplateText, kindTemplateText,
	})
}
