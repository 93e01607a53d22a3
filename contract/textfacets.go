// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
)

var (
	kindArgDescription = define("argument-description-changed", Routing, "argument's description changed",
		"models fill the argument in by it", "read the new words as a model would")
	kindArgDescriptionAdded = define("argument-description-added", Routing, "argument's description added",
		"models fill the argument in by it; it is also where instructions are smuggled in", "read the new words as a model would")
	kindArgTitle = define("argument-title-changed", Routing, "argument's title changed",
		"models and people fill the argument in by it", nothing)
	kindTitleDerived = define("argument-title-rederived", Cosmetic, "a title derived from the name changed",
		"SDKs write it by themselves", nothing)
	kindOutDescription = define("output-description-changed", Routing, "a description in the output changed",
		"models read results by it", "read the new words as a model would")
	kindOutTitle = define("output-title-changed", Routing, "a title in the output changed",
		"models read results by it", nothing)
	kindRootDescription = define("schema-root-description-changed", Routing, "the schema's own title or description changed",
		"models read it with the tool's description", "read the new words as a model would")
	kindDefsDescription = define("defs-description-changed", Routing, "the description of a shared definition changed",
		"models read it wherever the definition is used", "read the new words as a model would")
	kindComment = define("schema-comment-changed", Cosmetic, "a $comment changed",
		"it is for those who maintain the schema", nothing)
	kindDefaultChanged = register("default-changed", Routing, "breaking where a boolean flips, else routing", "a default changed",
		"calls that omit the argument do something else now", "keep the default, or make callers choose")
	kindDefaultAdded = define("default-added", Routing, "a default was added",
		"models stop sending the argument", nothing)
	kindDefaultRemoved = register("default-removed", Routing, "breaking for booleans, else routing", "a default was removed",
		"what an omitted argument means is not documented any more", "state the default again")
	kindDefaultInvalid = define("default-invalid", Breaking, "a default is not allowed by its own schema",
		"clients that fill in defaults send calls that are refused", "correct the default, or the schema")
	kindExamples = define("examples-changed", Routing, "examples changed",
		"models imitate examples", nothing)
	kindDeprecated = define("deprecated-added", Routing, "a member is deprecated (or no longer)",
		"it announces a removal: move callers away", nothing)
	kindReadWrite = register("read-write-only-changed", Breaking, "breaking where it takes a member from callers, else cosmetic", "readOnly or writeOnly changed",
		"a member that could be sent (or was received) cannot any more", "drop the keyword")
	kindValueTitle = define("enum-value-title-changed", Routing, "the label of a value changed",
		"models read labels", nothing)
	kindFormatIdle = define("format-without-effect", Cosmetic, "a format was stated (or dropped) for values that it is not about",
		"a format is about strings, or about numbers: other values pass it", nothing)
	kindVendor = define("unknown-keyword-changed", Cosmetic, "a keyword that JSON Schema does not know changed",
		"it means something only to those who agreed on it", nothing)
	kindDiscriminatorKeyword = define("discriminator-keyword-only", Cosmetic, "OpenAPI's discriminator keyword changed",
		"JSON Schema ignores it: the same values are accepted", nothing)
	kindDialect = define("schema-dialect-changed", Cosmetic, "$schema changed, and no keyword in use means something else by it",
		"the same values are accepted", nothing)
	kindIdentity = define("dollar-id-changed", Cosmetic, "$id or $anchor changed",
		"references resolve as before", nothing)
	kindEnumOrder = define("enum-reordered", Cosmetic, "values changed their order",
		"the set is the same", nothing)
	kindRequiredOrder = define("required-list-reordered", Cosmetic, "required changed its order",
		"the set is the same", nothing)
	kindRequiredTwice = define("required-duplicates", Cosmetic, "required names a member twice (or no longer)",
		"the set is the same, but JSON Schema forbids duplicates there", "name each member once")
	kindTypeOrder = define("type-array-order-changed", Cosmetic, "types changed their order",
		"the set is the same", nothing)
	kindPropertyInstruction = define("property-name-as-instruction", Routing, "a new name or value in the schema reads like an instruction",
		"every string of a schema reaches the model: this is a way to smuggle instructions in", "ask who put it there")
)

// valueLabels are keywords of vendors that label the values of an enum.
var valueLabels = map[string]bool{
	"x-enum-descriptions": true, "x-enumDescriptions": true, "x-enum-varnames": true, "x-enumNames": true,
	"enumNames": true, "enumDescriptions": true, "markdownEnumDescriptions": true,
}

// textKind judges a delta that leaves the set of values alone.
func (j *judge) textKind(d *ss.Delta) (*kind, Class) {
	k := j.textKindOnly(d)
	if k == nil {
		return nil, 0
	}
	cl := k.class
	switch k {
	case kindDefaultChanged, kindDefaultRemoved:
		if isBoolean(d.Before) && (k == kindDefaultRemoved || isBoolean(d.After)) {
			cl = Breaking
		}
	case kindVendor:
		if strings.HasPrefix(d.Name, "x-google-") || strings.HasPrefix(d.Name, "openai/") {
			cl = Routing
		}
	case kindReadWrite:
		came := string(d.After) == "true" && string(d.Before) != "true"
		if !came || (d.Facet == ss.FacetReadOnly) != (j.dir == ss.Input) {
			cl = Cosmetic
		}
	}
	return k, cl
}

func isBoolean(v jsonx.Raw) bool { return string(v) == "true" || string(v) == "false" }

func (j *judge) textKindOnly(d *ss.Delta) *kind {
	switch d.Facet {
	case ss.FacetDescription:
		return j.wordsKind(d, j.descriptionKind(d))
	case ss.FacetTitle:
		return j.wordsKind(d, j.titleKind(d))
	case ss.FacetComment:
		return kindComment
	case ss.FacetDefault:
		return j.defaultKind(d)
	case ss.FacetExamples:
		return kindExamples
	case ss.FacetDeprecated:
		return kindDeprecated
	case ss.FacetReadOnly, ss.FacetWriteOnly:
		return kindReadWrite
	case ss.FacetValueText:
		return kindValueTitle
	case ss.FacetFormat:
		return j.formatKind(d)
	case ss.FacetContentEncoding, ss.FacetContentMediaType, ss.FacetContentSchema:
		return kindContentEncoding
	case ss.FacetVendor:
		switch d.Name {
		case headerKeyword:
			return nil // judged with the whole schema, see headers
		case "discriminator":
			return kindDiscriminatorKeyword
		}
		if valueLabels[d.Name] {
			return kindValueTitle
		}
		return kindVendor
	case ss.FacetDialect:
		return kindDialect
	case ss.FacetIdentity:
		return kindIdentity
	case ss.FacetOrder:
		switch d.Name {
		case "enum":
			return kindEnumOrder
		case "required":
			if n := elementCount(d.Before); n != elementCount(d.After) {
				return kindRequiredTwice
			}
			return kindRequiredOrder
		case "type":
			return kindTypeOrder
		}
	}
	return nil // order of properties, unused definitions: nobody can observe them
}

func elementCount(raw jsonx.Raw) int {
	es, _ := jsonx.Elements(raw, jsonx.Strict)
	return len(es)
}

// annotationWords are the keywords that say something and assert nothing.
var annotationWords = []string{"title", "description", "$comment", "deprecated", "readOnly", "writeOnly", "default", "examples"}

// textBranch reports whether a text is that of an allOf branch that holds
// nothing else, and that came or went with it.
func (j *judge) textBranch(d *ss.Delta) bool {
	raw, pointer := j.new, d.NewPtr
	if d.HasOld {
		raw, pointer = j.old, d.OldPtr
	}
	branch := parent(pointer)
	if d.HasOld == d.HasNew || !strings.Contains(branch, "/allOf/") {
		return false
	}
	return !slices.ContainsFunc(raw.at(branch).members(), func(n string) bool { return !slices.Contains(annotationWords, n) })
}

func (j *judge) descriptionKind(d *ss.Delta) *kind {
	before, _ := jsonx.Text(d.Before)
	switch {
	case j.textBranch(d):
		return kindAllOfText
	case len(d.Path) == 0:
		return kindRootDescription
	case j.dir == ss.Output:
		return kindOutDescription
	case strings.HasPrefix(d.NewPtr, "/$defs/") || strings.HasPrefix(d.NewPtr, "/definitions/"):
		return kindDefsDescription
	case before == "":
		return kindArgDescriptionAdded
	}
	return kindArgDescription
}

func (j *judge) titleKind(d *ss.Delta) *kind {
	before, _ := jsonx.Text(d.Before)
	after, _ := jsonx.Text(d.After)
	switch {
	case len(d.Path) == 0:
		return kindRootDescription
	}
	if last := d.Path[len(d.Path)-1]; last.Kind == ss.StepProperty {
		fromName := func(title string) bool { return title == "" || isDerivedFrom(title, last.Name) }
		if fromName(before) && fromName(after) {
			return kindTitleDerived
		}
	}
	if j.dir == ss.Output {
		return kindOutTitle
	}
	return kindArgTitle
}

// isDerivedFrom reports whether a title is the form that SDKs derive from a
// name: "page_size" as "Page Size".
func isDerivedFrom(title, name string) bool {
	fold := func(s string) string {
		return strings.ToLower(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, s))
	}
	return title != "" && fold(title) == fold(name)
}

// wordsKind replaces a text's kind where only white space or only invisible
// characters changed; nil where the texts are equal as read.
func (j *judge) wordsKind(d *ss.Delta, k *kind) *kind {
	before, _ := jsonx.Text(d.Before)
	after, _ := jsonx.Text(d.After)
	x, y := textOf(before), textOf(after)
	switch {
	case x == y:
		return nil
	case x == "" || y == "":
		return k
	case text.Visible(x) == text.Visible(y):
		return kindInvisible
	case squash(x) == squash(y):
		return kindWhitespace
	}
	return k
}

func (j *judge) defaultKind(d *ss.Delta) *kind {
	switch {
	case j.dir == ss.Output:
		return kindOutputDefault
	case d.DefaultInvalid:
		return kindDefaultInvalid
	case !d.HasOld:
		return kindDefaultAdded
	case !d.HasNew:
		return kindDefaultRemoved
	}
	return kindDefaultChanged
}

// formatWider maps a format to those that hold all its values.
var formatWider = map[string][]string{
	"int32":         {"int64"},
	"float":         {"double"},
	"hostname":      {"idn-hostname"},
	"email":         {"idn-email"},
	"uri":           {"uri-reference", "iri", "iri-reference"},
	"uri-reference": {"iri-reference"},
	"iri":           {"iri-reference"},
}

// numberFormats are those of OpenAPI for numbers; all others are of strings.
var numberFormats = []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "decimal"}

// formatIdle reports whether a format says nothing at a place, because no
// value of the kinds it is about can stand there.
func formatIdle(format string, kinds []string) bool {
	about := []string{"string"}
	if slices.Contains(numberFormats, format) {
		about = []string{"integer", "number"}
	}
	return format == "" || len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(about, k) })
}

// typesAt are the types that the schema at a pointer states for itself.
func typesAt(doc *document, pointer string) []string {
	raw := doc.at(jsonx.Push(pointer, "type")).value()
	if t, ok := jsonx.Text(raw); ok {
		return []string{t}
	}
	var out []string
	es, _ := jsonx.Elements(raw, jsonx.Strict)
	for _, e := range es {
		t, _ := jsonx.Text(e)
		out = append(out, t)
	}
	return out
}

func (j *judge) formatKind(d *ss.Delta) *kind {
	before, _ := jsonx.Text(d.Before)
	after, _ := jsonx.Text(d.After)
	if formatIdle(before, typesAt(j.old, schemaPointer(d.OldPtr, "format"))) && formatIdle(after, typesAt(j.new, schemaPointer(d.NewPtr, "format"))) {
		return kindFormatIdle
	}
	wider := slices.Contains(formatWider[before], after)
	narrower := slices.Contains(formatWider[after], before)
	switch {
	case j.dir == ss.Input && after == "":
		return kindInputFormatRemoved
	case j.dir == ss.Input && wider:
		return kindInputFormatRelaxed
	case j.dir == ss.Input:
		return kindInputFormat
	case before == "" || narrower:
		return kindOutputFormatNarrowed
	}
	return kindOutputFormat
}
