// SPDX-License-Identifier: Apache-2.0

package contract

// Kinds of change in what values a schema accepts: types, value sets, strings,
// arrays. Bounds are in bounds.go, objects and composition in shapekinds.go.

const nothing = "nothing to do"

// Types.
var (
	kindInputTypeWidened = define("input-type-widened", Additive, "argument accepts more types",
		"every value that was accepted still is", nothing)
	kindInputTypeNarrowed = define("input-type-narrowed", Breaking, "argument accepts fewer types",
		"calls with a value of the lost type are refused", "accept the old types too")
	kindInputTypeChanged = define("input-type-changed", Breaking, "argument's type changed",
		"calls with a value of the old type are refused", "accept the old type too, or add a new argument beside it")
	kindInputIntegerToNumber = define("input-integer-to-number", Additive, "argument: integer became number",
		"every integer is a number", nothing)
	kindInputNumberToInteger = define("input-number-to-integer", Breaking, "argument: number became integer",
		"calls with a fraction such as 2.5 are refused", "keep number, and round on the server")
	kindInputTypeAdded = define("input-type-added-to-untyped", Breaking, "argument that took anything got a type",
		"calls with a value of any other type are refused", "leave it untyped, or accept what callers send today")
	kindInputTypeDropped = define("input-type-dropped", Additive, "argument's type was dropped",
		"it takes anything now, so also what it took before", nothing)
	kindInputNullable = define("input-became-nullable", Additive, "argument may be null now",
		"every value that was accepted still is", nothing)
	kindInputNotNullable = define("input-became-not-nullable", Breaking, "argument may not be null any more",
		"agents often send an explicit null for what is unset; those calls are refused", "accept null as not given")
	kindOutputTypeWidened = define("output-type-widened", Breaking, "output has more types",
		"readers may meet a type that they never handled", "keep the old type, and put the new one into a new field")
	kindOutputTypeNarrowed = define("output-type-narrowed", Additive, "output has fewer types",
		"readers handle everything that can still arrive", nothing)
	kindOutputTypeChanged = define("output-type-changed", Breaking, "output's type changed",
		"readers of the old type fail", "keep the old field, and add a new one")
	kindOutputIntegerToNumber = define("output-integer-to-number", Breaking, "output: integer became number",
		"readers may now receive 2.5", "keep integers, or add a new field")
	kindOutputNumberToInteger = define("output-number-to-integer", Additive, "output: number became integer",
		"every integer is a number", nothing)
	kindOutputTypeDropped = define("output-type-dropped", Breaking, "output's type was dropped",
		"anything may arrive now", "state the type again")
	kindOutputNullable = define("output-became-nullable", Breaking, "output may be null now",
		"readers that never checked for null fail", "leave the field out, or keep a value")
	kindOutputNotNullable = define("output-became-not-nullable", Additive, "output is never null any more",
		"readers handle everything that can still arrive", nothing)
	kindOutputRootType = define("output-root-type-changed", Breaking, "output's root is no longer an object (or became one)",
		"clients of 2025-11-25 and before expect an object at the root and drop the tool, or the server",
		"keep an object at the root")
	kindArrayWrapped = define("array-wrapped", Breaking, "a single value became a list (or a list a single value)",
		"the old form is refused by, or unknown to, the other side", "accept both forms: anyOf of the value and a list of it")
	kindUnionWithArray = define("union-with-array-added", Additive, "argument also accepts a list now",
		"the single value is still accepted", nothing)
	kindFalse = directed("boolean-schema-false", "nothing is accepted at this place any more (or something is again)",
		"a value that could stand here cannot any more", "remove the member instead of forbidding it")
)

// Sets of values.
var (
	kindInputEnumRemoved = define("input-enum-value-removed", Breaking, "allowed values were removed",
		"calls with a removed value are refused", "keep accepting the value, and map it to a new one")
	kindInputEnumAdded = define("input-enum-value-added", Additive, "more values are allowed",
		"every value that was accepted still is", nothing)
	kindInputEnumIntroduced = define("input-enum-introduced", Breaking, "free value became a fixed set",
		"calls with any other value are refused", "accept other values too, or state the set in the description only")
	kindInputEnumDropped = define("input-enum-dropped", Additive, "fixed set became a free value",
		"every value that was accepted still is", nothing)
	kindOutputEnumAdded = define("output-enum-value-added", Breaking, "output has more values",
		"readers that switch over the values meet one they do not know", "add the value under a new field, or announce it first")
	kindOutputEnumRemoved = define("output-enum-value-removed", Additive, "output has fewer values",
		"readers know everything that can still arrive", nothing)
	kindOutputEnumIntroduced = define("output-enum-introduced", Additive, "output became a fixed set",
		"readers handled more than can still arrive", nothing)
	kindOutputEnumDropped = define("output-enum-dropped", Breaking, "output's fixed set became a free value",
		"anything of that type may arrive now", "state the set again")
	kindEnumCoerced = define("enum-type-coerced", Breaking, "values kept their spelling and changed their JSON type",
		"1 and \"1\" are different values: the old ones are refused, or unknown to readers", "keep the JSON type of the values")
	kindEnumEmpty = directed("enum-empty", "the set of allowed values is empty",
		"no call can be valid", "name at least one value")
	kindConstChanged = define("const-changed", Breaking, "a fixed value changed",
		"callers that send (or look for) the old value fail", "accept both values")
	kindConstAdded = directed("const-added", "a value became fixed",
		"every other value is refused", "accept other values too")
	kindConstRemoved = directed("const-removed", "a fixed value became free",
		"readers that look for the fixed value may meet another", "keep sending the fixed value")
	kindDiscriminator = define("discriminator-property-changed", Breaking, "the tag that tells the forms of a union apart changed",
		"callers that send (or look for) the old tag fail", "accept the old tag too")
)

// Strings and numbers without a bound.
var (
	kindInputMultipleOf = define("input-multiple-of-added-or-coarsened", Breaking, "argument must be a multiple of a new step",
		"values between the steps are refused", "keep the old step, and round on the server")
	kindInputMultipleOfRelaxed = define("input-multiple-of-relaxed", Additive, "argument's step got finer or was removed",
		"every value that was accepted still is", nothing)
	kindOutputMultipleOf = directed("output-multiple-of-changed", "output's step changed",
		"readers may receive values between the steps they knew", "keep the old step")
	kindInputPatternAdded = define("input-pattern-added", Breaking, "argument must match a pattern now",
		"values that do not match are refused", "check the form on the server, and say in the error what is expected")
	kindInputPatternChanged = directed("input-pattern-changed", "argument's pattern changed",
		"values that only the old pattern matches are refused", "accept what the old pattern accepted")
	kindInputPatternRemoved = define("input-pattern-removed", Additive, "argument's pattern was removed",
		"every value that was accepted still is", nothing)
	kindOutputPatternChanged = directed("output-pattern-removed-or-changed", "output's pattern was removed or changed",
		"parsers keyed on the shape may fail", "keep the shape of the value")
	kindOutputPatternAdded = define("output-pattern-added", Additive, "output matches a pattern now",
		"readers handled more than can still arrive", nothing)
	kindInputFormat = define("input-format-added-or-changed", Breaking, "argument's format was added or changed",
		"many validators assert the format, and hosts convert and offer pickers by it", "accept the old format too, or state it in the description only")
	kindInputFormatRelaxed = define("input-format-relaxed", Additive, "argument's format accepts more now",
		"every value of the old format is one of the new", nothing)
	kindInputFormatRemoved = define("input-format-removed", Additive, "argument's format was removed",
		"every value that was accepted still is", nothing)
	kindOutputFormat = define("output-format-changed", Breaking, "output's format was changed or removed",
		"parsers of the old format fail", "keep the old format")
	kindOutputFormatNarrowed = define("output-format-narrowed", Additive, "output's format was added or became narrower",
		"readers handled more than can still arrive", nothing)
	kindContentEncoding = define("content-encoding-changed", Breaking, "contentEncoding, contentMediaType or contentSchema changed",
		"both sides encode and decode by it", "keep the encoding, or add a new member")
	kindSafeInteger = define("safe-integer-bound", Cosmetic, "a bound at the largest safe integer was stated or dropped",
		"2^53-1 is as far as a JSON number is exact: no practical value is concerned", nothing)
)

// Arrays.
var (
	kindInputUniqueAdded = define("input-unique-items-added", Breaking, "list may not repeat an item now",
		"calls with repeated items are refused", "remove duplicates on the server")
	kindInputUniqueRemoved = define("input-unique-items-removed", Additive, "list may repeat items now",
		"every list that was accepted still is", nothing)
	kindOutputUniqueRemoved = define("output-unique-items-removed", Breaking, "output list may repeat items now",
		"readers that build maps or sets lose items", "keep items unique")
	kindOutputUniqueAdded = define("output-unique-items-added", Additive, "output list does not repeat items any more",
		"readers handled more than can still arrive", nothing)
	kindItemsIntroduced = directed("items-introduced", "the items of a list got a schema",
		"lists with other items are refused", "leave the items free, or accept what callers send")
	kindItemsRemoved = directed("items-removed", "the items of a list lost their schema",
		"readers may meet items of any form", "state the schema of the items again")
	kindItemsFalse = directed("items-false-after-tuple", "a tuple may not be longer any more (or may be again)",
		"longer lists are refused", "ignore further items on the server")
	kindPrefixItems = directed("prefix-items-added", "a position of a tuple got (or lost) a schema of its own",
		"lists with another value at the position are refused", "accept what stood at the position before")
	kindContains = directed("contains-changed", "what a list must contain changed",
		"lists without it are refused", "check for it on the server, and say in the error what is missing")
)
