// SPDX-License-Identifier: Apache-2.0

package contract

// Kinds of change in objects, composition and references.

// Arguments: presence and requiredness.
var (
	kindArgumentRemovedClosed = define("argument-removed-closed", Breaking, "argument removed, and unknown ones are refused",
		"calls that pass it are rejected", "keep accepting the argument, and ignore it")
	kindArgumentRemovedOpen = define("argument-removed-open", Breaking, "argument removed",
		"calls that pass it are still accepted, and it is silently ignored: a filter no longer applies, a write goes elsewhere",
		"keep the argument, or reject calls that pass it")
	kindArgumentRemovedCovered = define("argument-removed-covered-by-pattern", Additive, "argument is no longer declared, and still accepted",
		"every call that was accepted still is", nothing)
	kindRequiredAdded = define("required-argument-added", Breaking, "new required argument",
		"every call made until now omits it, and fails", "make it optional, and choose a default on the server")
	kindRequiredAddedDefault = define("required-argument-added-with-default", Breaking, "new required argument with a default",
		"a default is advice: validators do not fill it in, so calls that omit it fail", "leave it out of required; the default then holds")
	kindArgumentAdded = define("argument-added", Additive, "new optional argument",
		"no call made until now is concerned", nothing)
	kindArgumentAddedNarrows = define("argument-added-narrows-open-object", Additive, "new optional argument claims a name that was free",
		"only a call that already sent this undeclared name with another kind of value is refused: a theoretical loss", nothing)
	kindOptionalParentAdded = define("optional-parent-with-required-child-added", Additive, "new optional object with required members",
		"no call made until now supplies the object, so its members cannot be missed", nothing)
	kindRequiredChildAdded = define("required-child-added-under-existing-optional-parent", Breaking, "new required member of an optional object",
		"calls that supply the object omit the member, and fail", "make the member optional")
	kindNowRequired = define("argument-now-required", Breaking, "argument became required",
		"calls that omit it fail", "keep it optional, and choose a default on the server")
	kindNowRequiredDefault = define("argument-now-required-with-default", Breaking, "argument with a default became required",
		"a default is advice: validators do not fill it in, so calls that omit it fail", "leave it out of required; the default then holds")
	kindNowOptional = define("argument-now-optional", Additive, "argument became optional",
		"every call that was accepted still is", nothing)
	kindRequiredUndeclared = define("required-name-without-property-added", Breaking, "a name that no property declares became required",
		"validators enforce it all the same: every call that omits it fails", "declare the property, or take the name out of required")
	kindPropertyMoved = define("property-moved-into-group", Breaking, "argument moved to another place",
		"callers set it at the old place", "accept it at the old place too")
	kindPropertyCase = define("property-name-case-changed", Breaking, "argument's name changed its case",
		"names are case-sensitive: the old spelling is refused or ignored", "accept the old spelling too")
)

// Objects and maps.
var (
	kindAdditionalClosed = define("additional-properties-closed", Breaking, "unknown arguments are refused now",
		"calls with an extra, often outdated or invented, argument are rejected", "ignore unknown arguments on the server instead")
	kindAdditionalOpened = define("additional-properties-opened", Additive, "unknown arguments are accepted now",
		"every call that was accepted still is", nothing)
	kindMapClosed = define("additional-properties-schema-to-false", Breaking, "a map accepts no keys any more",
		"calls with keys of their own are rejected", "keep the map")
	kindAdditionalChanged = directed("additional-properties-changed", "what undeclared members may hold changed",
		"members that were accepted are refused", "accept the old values too")
	kindOutputOpened = define("output-object-opened", Breaking, "output may have unknown members now",
		"strict decoders fail on members that they do not know", "declare the members, and keep the object closed")
	kindOutputClosed = define("output-object-closed", Additive, "output has no unknown members any more",
		"readers handled more than can still arrive", nothing)
	kindPatternProperties = directed("pattern-properties-changed", "what members with a matching name may hold changed",
		"members that were accepted are refused", "accept the old members too")
	kindPropertyNames = directed("property-names-changed", "what names members may have changed",
		"members with other names are refused", "accept the old names too")
	kindDependentAdded = directed("dependent-required-added", "an argument now needs another one",
		"calls with the one and without the other fail", "keep the other one optional")
	kindDependentRemoved = directed("dependent-required-removed", "a member no longer brings another with it",
		"readers that found one member and took the other for granted fail", "keep sending both")
	kindDependentSchemas = directed("dependent-schemas-changed", "what follows from a member's presence changed",
		"calls with the member must satisfy more than before", "accept what was accepted before")
	kindUnevaluatedClosed = directed("unevaluated-properties-closed", "members that no part of the schema knows are refused now (or accepted again)",
		"calls with an extra member are rejected", "ignore unknown members on the server instead")
)

// Composition, conditions, references.
var (
	kindAnyOfAdded = define("any-of-branch-added", Additive, "argument accepts one more form",
		"every value that was accepted still is", nothing)
	kindAnyOfRemoved = define("any-of-branch-removed", Breaking, "argument accepts one form less",
		"calls in the removed form are refused", "keep accepting the old form")
	kindOutputAnyOfAdded = define("output-any-of-branch-added", Breaking, "output has one more form",
		"readers meet a form that they do not know", "add the new form under a new field")
	kindOutputAnyOfRemoved = define("output-any-of-branch-removed", Additive, "output has one form less",
		"readers know everything that can still arrive", nothing)
	kindOneOfAdded = directed("one-of-branch-added", "one more form, exactly one of which must match",
		"a value that matches the new form and an old one is refused", "use anyOf, or make the forms disjoint")
	kindOneOfToAnyOf = directed("one-of-to-any-of", "oneOf became anyOf",
		"values that match several forms may arrive now", "keep the forms disjoint")
	kindAnyOfToOneOf = directed("any-of-to-one-of", "anyOf became oneOf",
		"values that match several forms are refused now", "use anyOf, or make the forms disjoint")
	kindAllOfAdded = directed("all-of-branch-added", "a further condition must hold",
		"values that do not satisfy it are refused", "accept what was accepted before")
	kindAllOfRemoved = directed("all-of-branch-removed", "a condition was dropped",
		"readers may meet values that do not satisfy it", "keep the condition")
	kindNotAdded = directed("not-added", "a form is excluded now",
		"values of that form are refused", "accept what was accepted before")
	kindNotRemoved = directed("not-removed", "a form is no longer excluded",
		"readers may meet values of that form", "keep the exclusion")
	kindConditional = directed("if-then-else-changed", "a condition between members changed",
		"values that were accepted are refused", "accept what was accepted before")
	kindExternalRef = define("external-ref-introduced", Breaking, "a reference leads out of the document",
		"clients must not fetch it: the schema cannot be used, and the tool is rejected", "copy the schema into $defs")
	kindDanglingRef = define("ref-dangling-introduced", Breaking, "a reference leads nowhere",
		"validators fail when the tool is listed or called", "add the definition, or correct the reference")
	kindDialectUnknown = define("schema-dialect-unknown", Breaking, "$schema names a dialect that nobody knows",
		"implementations must refuse it", "use https://json-schema.org/draft/2020-12/schema, or leave $schema out")
	kindRequiredShape = define("required-null-or-boolean", Breaking, "required is not a list of names",
		"some hosts drop the whole server for it", "write required as an array of strings, or leave it out")
	kindSchemaBroken = define("schema-became-invalid", Breaking, "the schema is not a valid JSON Schema any more",
		"validators refuse it, and clients drop the tool", "correct the keyword at this place")
	kindRootComposition = define("root-input-composition", Breaking, "oneOf, anyOf, allOf, not or if at the root of the arguments",
		"some model APIs refuse the whole request for it, and some hosts drop the tool", "move the condition into a property, or into the description")
	kindRootNotObject = define("root-input-type-not-object", Breaking, "the arguments' root type is not \"object\" any more",
		"the protocol requires it: clients fail to read the list, of all tools", "state type: object at the root")
	kindSetNarrowed = directed("set-narrowed", "fewer values are accepted, for a reason that no single keyword explains",
		"the witness is refused now", "compare both schemas with the witness in hand")
	kindSetWidened = directed("set-widened", "more values are possible, for a reason that no single keyword explains",
		"the witness can arrive now", "compare both schemas with the witness in hand")
	kindUndecided = define("undecided", Breaking, "whether old values are still accepted could not be decided",
		"a caller may be hurt: nobody can tell from the schemas alone", "try a call that matters to you, and accept the change if it holds")
)

// Output as a whole.
var (
	kindOutputSchemaAdded = define("output-schema-added", Additive, "the tool promises structured output now",
		"no reader knew of it; the server must return it from now on", nothing)
	kindOutputSchemaRemoved = define("output-schema-removed", Breaking, "the tool no longer promises structured output",
		"readers of structuredContent find nothing they can rely on", "keep the outputSchema")
	kindOutputRequiredRemoved = define("output-required-field-removed", Breaking, "a guaranteed field is gone",
		"every reader of the field fails", "keep sending the field")
	kindOutputOptionalRemoved = define("output-optional-field-removed", Breaking, "an optional field is gone",
		"readers relied on it in practice, though it was never guaranteed", "keep declaring the field")
	kindOutputFieldOpen = define("output-field-added-open", Additive, "output has a new field",
		"readers of an open object ignore what they do not know", nothing)
	kindOutputFieldClosed = define("output-field-added-closed", Breaking, "output of a closed object has a new field",
		"clients check results against the schema that they cached: an unknown field throws", "open the object one release before")
	kindOutputNowOptional = define("output-now-optional", Breaking, "a guaranteed field became optional",
		"readers that take it for granted fail", "keep sending the field")
	kindOutputGuaranteed = define("output-now-guaranteed", Additive, "an optional field became guaranteed",
		"readers already handled its presence", nothing)
	kindOutputWrapped = define("output-wrapped", Breaking, "the result was wrapped into (or taken out of) {\"result\": ...}",
		"readers look for the value one level away; an SDK upgrade often does this", "keep the form of the result")
	kindOutputDefault = define("output-default-changed", Cosmetic, "a default in the output changed",
		"it is an annotation: no result changes", nothing)
)
