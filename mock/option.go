// SPDX-License-Identifier: Apache-2.0

package mock

import "encoding/json"

// Option says something of what is being registered: a member of its
// definition, mostly. One that does not belong to the kind is refused.
type Option struct {
	name  string
	kinds []*kind
	apply func(*item)
}

var (
	anyKind      = []*kind{kindTool, kindResource, kindTemplate, kindPrompt}
	toolKind     = []*kind{kindTool}
	promptKind   = []*kind{kindPrompt}
	resourceKind = []*kind{kindResource, kindTemplate}
)

// Describe gives the description.
func Describe(text string) Option { return Member("description", text) }

// Titled gives the title, for people.
func Titled(text string) Option { return Member("title", text) }

// Member gives the definition any other member: its value is a Go value, or a
// json.RawMessage.
func Member(name string, value any) Option {
	return Option{"mock.Member(" + name + ")", anyKind, func(it *item) {
		if text, ok := value.(string); ok {
			value = json.RawMessage(quote(text))
		}
		it.set(name, it.jsonOf(name, value))
	}}
}

// Input gives a tool its inputSchema: a JSON text, or a value that has one.
// Arguments are held to it before the tool sees them.
func Input(schema any) Option {
	return Option{"mock.Input", toolKind, func(it *item) { it.input = it.jsonOf("the inputSchema", schema) }}
}

// Output gives a tool its outputSchema, to which its own results are held.
func Output(schema any) Option {
	return Option{"mock.Output", toolKind, func(it *item) { it.promise(it.jsonOf("the outputSchema", schema)) }}
}

func (it *item) promise(schema json.RawMessage) {
	it.output, it.shape = schema, shapeOf(schema, maxDepth)
}

// Annotate gives the annotations of a tool, a resource or a template, such as
// map[string]any{"readOnlyHint": true}.
func Annotate(annotations any) Option {
	return Option{"mock.Annotate", []*kind{kindTool, kindResource, kindTemplate}, func(it *item) {
		it.set("annotations", it.jsonOf("annotations", annotations))
	}}
}

// MIME gives the type of the contents of a resource or a template, in place of
// that of its value.
func MIME(mime string) Option {
	return Option{"mock.MIME", resourceKind, func(it *item) { it.mime, it.shown = mime, mime }}
}

// Argument gives a prompt an argument that it needs.
func Argument(name, description string) Option {
	return argumentOption("mock.Argument", name, description, true)
}

// OptionalArgument gives a prompt an argument that may be left out.
func OptionalArgument(name, description string) Option {
	return argumentOption("mock.OptionalArgument", name, description, false)
}

func argumentOption(option, name, description string, required bool) Option {
	return Option{option, promptKind, func(it *item) {
		a := []member{{"name", quote(name)}}
		if description != "" {
			a = append(a, member{"description", quote(description)})
		}
		it.arguments = append(it.arguments, object(append(a, member{"required", boolean(required)})...))
	}}
}

// Completes says what completion/complete offers for an argument of a prompt, or
// for an expression of a template.
func Completes(argument string, values ...string) Option {
	return Option{"mock.Completes", []*kind{kindPrompt, kindTemplate}, func(it *item) {
		if it.complete == nil {
			it.complete = map[string][]string{}
		}
		it.complete[argument] = values
	}}
}
