// SPDX-License-Identifier: Apache-2.0

package schemaset

// Facet names what differs in a Delta.
type Facet string

// Facets that restrict the set of values.
const (
	FacetType              Facet = "type"
	FacetEnum              Facet = "enum"  // values differ on both sides
	FacetConst             Facet = "const" // one value on each side that has any
	FacetMinimum           Facet = "minimum"
	FacetExclusiveMinimum  Facet = "exclusiveMinimum"
	FacetMaximum           Facet = "maximum"
	FacetExclusiveMaximum  Facet = "exclusiveMaximum"
	FacetMultipleOf        Facet = "multipleOf"
	FacetMinLength         Facet = "minLength"
	FacetMaxLength         Facet = "maxLength"
	FacetPattern           Facet = "pattern"
	FacetMinItems          Facet = "minItems"
	FacetMaxItems          Facet = "maxItems"
	FacetUniqueItems       Facet = "uniqueItems"
	FacetItems             Facet = "items"      // introduced, removed, or false
	FacetPrefixItem        Facet = "prefixItem" // position added or removed
	FacetContains          Facet = "contains"
	FacetMinContains       Facet = "minContains"
	FacetMaxContains       Facet = "maxContains"
	FacetRequired          Facet = "required"
	FacetProperty          Facet = "property" // added or removed; HasOld, HasNew tell
	FacetAdditional        Facet = "additionalProperties"
	FacetPatternProperties Facet = "patternProperties"
	FacetPropertyNames     Facet = "propertyNames"
	FacetDependentRequired Facet = "dependentRequired"
	FacetDependentSchemas  Facet = "dependentSchemas"
	FacetMinProperties     Facet = "minProperties"
	FacetMaxProperties     Facet = "maxProperties"
	FacetBranch            Facet = "branch" // of anyOf or oneOf: added, removed, or (both sides there) all taken together
	FacetOneOfOverlap      Facet = "oneOfOverlap"
	FacetAllOf             Facet = "allOf"
	FacetNot               Facet = "not"
	FacetConditional       Facet = "ifThenElse"
	FacetUnevaluated       Facet = "unevaluated"
	FacetFalse             Facet = "false"  // the whole place became (or was) impossible
	FacetOpaque            Facet = "opaque" // a part nobody can decide
)

// Facets that leave the set of values alone (Change is Text), except that a
// validator may choose to assert format and content.
const (
	FacetFormat           Facet = "format"
	FacetContentEncoding  Facet = "contentEncoding"
	FacetContentMediaType Facet = "contentMediaType"
	FacetContentSchema    Facet = "contentSchema"
	FacetDescription      Facet = "description"
	FacetTitle            Facet = "title"
	FacetComment          Facet = "$comment"
	FacetDefault          Facet = "default"
	FacetExamples         Facet = "examples"
	FacetDeprecated       Facet = "deprecated"
	FacetReadOnly         Facet = "readOnly"
	FacetWriteOnly        Facet = "writeOnly"
	FacetValueText        Facet = "valueText" // title or description of an enum value
	FacetVendor           Facet = "vendor"    // Name is the keyword
	FacetDialect          Facet = "$schema"
	FacetIdentity         Facet = "$id" // $id or $anchor
	FacetDefs             Facet = "$defs"
	FacetOrder            Facet = "order" // enum, property, required or type order; Name tells which
)

// AffectsSet reports whether the facet can change the set of values.
func (f Facet) AffectsSet() bool {
	switch f {
	case FacetFormat, FacetContentEncoding, FacetContentMediaType, FacetContentSchema,
		FacetDescription, FacetTitle, FacetComment, FacetDefault, FacetExamples,
		FacetDeprecated, FacetReadOnly, FacetWriteOnly, FacetValueText, FacetVendor,
		FacetDialect, FacetIdentity, FacetDefs, FacetOrder:
		return false
	}
	return true
}
