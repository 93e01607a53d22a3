// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/spf13/cobra"
)

func (a *app) readCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "read URI [flags] TARGET",
		Short: "Read a resource",
		Long: `Read a resource and print its contents: a text as it is, with what a terminal must
not see escaped; of other contents a line with their type and size, which --save
writes to a file. Where the URI is a URL as well, the target stands first.

Exit 0: it was read. 5: the server answered with an error.`,
		Example: `  mcprove read library://hours demo:
  mcprove read --save cover.png library://books/b-1/cover -- ./my-server
  mcprove read http://localhost:3000/mcp https://example.com/page`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json"); err != nil {
				return err
			}
			own, t, err := a.parted(cmd, &f.targetFlags, args, 1)
			if err != nil {
				return err
			}
			if len(own) != 1 {
				return usage("", "mcprove read URI TARGET; mcprove ls resources lists them", "one URI is expected, found %d words", len(own))
			}
			return a.talk(cmd.Context(), "read", &f, t, nil, func(ctx context.Context, k *talk) error {
				res, err := k.request(ctx, session.Request{Method: spec.MethodResourcesRead, Params: object("uri", jsonx.Quote(own[0]))})
				return k.answered("resource "+own[0], res, err, a.printResource)
			})
		},
	}
	f.addTo(cmd, "text", "json")
	f.addInput(cmd)
	f.addSave(cmd)
	return cmd
}

func (a *app) getCommand() *cobra.Command {
	var (
		f     askFlags
		whole string
	)
	cmd := &cobra.Command{
		Use:   "get PROMPT [NAME=VALUE | -]... [flags] TARGET",
		Short: "Get a prompt",
		Long: `Get a prompt and print its messages. Arguments of prompts are texts: NAME=VALUE is
sent as it stands. Those that the prompt does not name, and prompts that lack one it
requires, are not asked for unless --no-check says so.

Exit 0: the messages came. 5: the server answered with an error.`,
		Example: `  mcprove get plan_reading topic=sailing books=4 demo:
  mcprove get review -o json -- node server.js`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json"); err != nil {
				return err
			}
			name, rest, t, err := a.named(cmd, &f, args, "prompt")
			if err != nil {
				return err
			}
			given, err := a.readArguments(rest, whole)
			if err != nil {
				return err
			}
			return a.talk(cmd.Context(), "get", &f, t, nil, func(ctx context.Context, k *talk) error {
				arguments, err := k.promptArguments(ctx, name, given)
				if err != nil {
					return err
				}
				params := object("name", jsonx.Quote(name), "arguments", arguments)
				if string(arguments) == "{}" {
					params = object("name", jsonx.Quote(name))
				}
				res, err := k.request(ctx, session.Request{Method: spec.MethodPromptsGet, Params: params})
				return k.answered("prompt "+name, res, err, a.printPrompt)
			})
		},
	}
	f.addTo(cmd, "text", "json")
	f.addInput(cmd)
	f.addSave(cmd)
	f.addName(cmd, "prompt")
	takesArguments(cmd)
	cmd.Flags().StringVar(&whole, "json", "", "the arguments as one `OBJECT`, @FILE, or - for stdin")
	cmd.Flags().BoolVar(&f.unchecked, "no-check", false, "send other arguments, and ask for prompts that are not listed")
	return cmd
}

// promptArguments makes the arguments of a prompt, and holds them to what the
// server lists.
func (k *talk) promptArguments(ctx context.Context, name string, given givenArguments) (jsonx.Raw, error) {
	// A prompt's arguments are a schema that says less than one.
	definition, err := k.prompt(ctx, name)
	if err != nil {
		return nil, err
	}
	schema := jsonx.Raw(`{"additionalProperties":{"type":"string"}}`)
	if definition != nil {
		properties, required := jsonx.Raw("{}"), []string{}
		es, _ := jsonx.Elements(look(definition, "/arguments"), jsonx.Strict)
		for _, e := range es {
			properties = put(properties, []string{member(e, "name")}, jsonx.Raw(`{"type":"string"}`))
			if string(look(e, "/required")) == "true" {
				required = append(required, member(e, "name"))
			}
		}
		list, _ := jsonx.Marshal(required)
		schema = jsonx.Raw(object("properties", properties, "required", jsonx.Raw(list), "additionalProperties", jsonx.Raw("false")))
	}
	return k.checked("prompt "+name, schema, given, func() string { return firstOf(promptSignature(definition), name) })
}

// prompt is the definition of a prompt, nil where the server does not say which
// it has.
func (k *talk) prompt(ctx context.Context, name string) (jsonx.Raw, error) {
	list, err := k.s.List(ctx, spec.MethodPromptsList)
	if err != nil {
		_, barred := errors.AsType[*transport.Error](err)
		if rpc, ok := errors.AsType[*session.RPCError](err); ok && !barred {
			if !k.f.unchecked {
				k.tell([]string{fmt.Sprintf("prompts/list is answered with error %d: the arguments are sent unchecked", rpc.Code)})
			}
			return nil, nil
		}
		return nil, fmt.Errorf("prompts/list: %w", err)
	}
	var names []string
	for _, page := range list.Pages {
		for _, d := range itemsOf(page, "prompts") {
			if names = append(names, member(d, "name")); member(d, "name") == name {
				return d, nil
			}
		}
	}
	if k.f.unchecked {
		return nil, nil
	}
	return nil, unknownItem("prompt", name, names, "asks for it")
}

// unknownItem is the error of a name that the server does not list.
func unknownItem(what, name string, names []string, does string) *Error {
	try := "mcprove ls " + what + "s lists them;"
	if near := rule.Nearest(name, names); len(near) > 0 {
		try = "did you mean " + text.Line(strings.Join(near, ", ")) + "?"
	} else if len(names) == 0 {
		try = "it shows no " + what + "s;"
	}
	e := usage("", text.Clip(try, 300)+" --no-check "+does+" all the same", "the server has no %s %q", what, name)
	e.Code = "unknown-" + what
	return e
}

func (a *app) completeCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "complete PROMPT|TEMPLATE ARGUMENT=VALUE [NAME=VALUE]... [flags] TARGET",
		Short: "Ask what an argument's value could be completed to",
		Long: `Ask the server for values of an argument that begin as VALUE does, and print them, one
on a line. The argument is one of a prompt, or of a resource template: a word with
braces or :// is a template. Further NAME=VALUE are arguments that are known already.

Exit 0: the server answered, perhaps with no value. 5: it answered with an error.`,
		Example: `  mcprove complete plan_reading topic=s demo:
  mcprove complete 'library://books/{book_id}/cover' book_id=b-1 demo:
  mcprove complete travel city=Ul country=de -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json"); err != nil {
				return err
			}
			own, t, err := a.parted(cmd, &f.targetFlags, args, 2)
			if err != nil {
				return err
			}
			if len(own) < 2 {
				return usage("", "mcprove complete PROMPT ARGUMENT=VALUE TARGET", "a prompt or template and an argument are expected, found %d words", len(own))
			}
			given, err := a.readArguments(own[1:], "")
			if err != nil {
				return err
			}
			params, err := completion(own[0], given.set)
			if err != nil {
				return err
			}
			return a.talk(cmd.Context(), "complete", &f, t, nil, func(ctx context.Context, k *talk) error {
				res, err := k.request(ctx, session.Request{Method: spec.MethodComplete, Params: []byte(params)})
				return k.answered(own[0], res, err, a.printCompletion)
			})
		},
	}
	f.addTo(cmd, "text", "json")
	return cmd
}

// completion is the params object of completion/complete.
func completion(ref string, set []argument) (jsonx.Raw, error) {
	if len(set) == 0 {
		return nil, badArguments("", "", "no argument is named")
	}
	of := object("type", jsonx.Quote("ref/prompt"), "name", jsonx.Quote(ref))
	if strings.ContainsAny(ref, "{}") || strings.Contains(ref, "://") {
		of = object("type", jsonx.Quote("ref/resource"), "uri", jsonx.Quote(ref))
	}
	if i := slices.IndexFunc(set, func(g argument) bool { return g.raw }); i >= 0 {
		return nil, badArguments("", "write "+set[i].name+"=VALUE", "arguments of prompts and templates are texts")
	}
	params := jsonx.Raw(object("ref", of, "argument", object("name", jsonx.Quote(set[0].name), "value", jsonx.Quote(set[0].value))))
	for _, g := range set[1:] {
		params = put(params, []string{"context", "arguments", g.name}, jsonx.Quote(g.value))
	}
	return params, nil
}

// printCompletion prints the values, and how many more there are.
func (a *app) printCompletion(result jsonx.Raw) error {
	values := elements(look(result, "/completion/values"))
	for _, v := range values {
		t, ok := jsonx.Text(v)
		if !ok {
			t = string(v)
		}
		if err := a.printf("%s\n", a.clean(t)); err != nil {
			return err
		}
	}
	switch total := look(result, "/completion/total"); {
	case total != nil && string(total) != fmt.Sprint(len(values)):
		a.say("mcprove: %d of %s values", len(values), a.clean(string(total)))
	case string(look(result, "/completion/hasMore")) == "true":
		a.say("mcprove: %d values, and there are more", len(values))
	case len(values) == 0:
		a.say("mcprove: no value")
	}
	return nil
}
