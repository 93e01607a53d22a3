// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/spf13/cobra"
)

func (a *app) callCommand() *cobra.Command {
	var (
		f     askFlags
		whole string
	)
	cmd := &cobra.Command{
		Use:   "call TOOL [NAME=VALUE | NAME:=JSON | -]... [flags] TARGET",
		Short: "Call a tool",
		Long: `Call a tool and print what it gives. NAME=VALUE is read by the tool's schema: where
that takes texts alone VALUE is the text as it stands, where it takes none VALUE is
JSON (5, true, null, ["a"]), and where it takes both it is JSON if it can be.
NAME:=JSON is JSON in any case, NAME:=@FILE out of a file, a.b=VALUE a member of an
object, and - or --json the whole object. Arguments that the schema refuses are not
sent, unless --no-check says so.

Exit 0: the tool did it. 5: it answered with an error. 2: the arguments are wrong, and
nothing was called. 6: the server asked for something that no --answer says, or gave a
result that breaks its shape or the tool's outputSchema.

--answer NAME=VALUE answers what the server asks meanwhile, in every revision. NAME is
the key of the request (2026-07-28), its method (elicit, sample, roots for short), or
a member of the form that it asks to fill in.`,
		Example: `  mcprove call search_books query=harbour limit=5 demo:
  mcprove call http://localhost:3000/mcp get_book book_id=b-1024
  mcprove call place_hold book_id=b-1 member_id=m-7 pickup.days=3 demo:
  echo '{"a":1,"b":2}' | mcprove call add - -o json -- node server.js
  mcprove call book_table --answer guests=2 --answer name=Ada -- ./my-server
  mcprove call draw --save picture.png -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json"); err != nil {
				return err
			}
			name, rest, t, err := a.named(cmd, &f, args, "tool")
			if err != nil {
				return err
			}
			given, err := a.readArguments(rest, whole)
			if err != nil {
				return err
			}
			return a.talk(cmd.Context(), "call", &f, t, nil, func(ctx context.Context, k *talk) error {
				r, err := k.toolCall(ctx, name, given)
				if err != nil {
					return err
				}
				res, err := k.request(ctx, *r)
				return k.answered("tool "+name, res, err, a.printToolResult)
			})
		},
	}
	f.addTo(cmd, "text", "json")
	f.addInput(cmd)
	f.addSave(cmd)
	f.addName(cmd, "tool")
	takesArguments(cmd)
	cmd.Flags().StringVar(&whole, "json", "", "the arguments as one `OBJECT`, @FILE, or - for stdin")
	cmd.Flags().BoolVar(&f.unchecked, "no-check", false, "send what the schema refuses, and to tools that are not listed")
	return cmd
}

// oneOfFormats checks the format of a verb.
func oneOfFormats(format string, formats ...string) error {
	for _, f := range formats {
		if f == format {
			return nil
		}
	}
	try := strings.Join(formats[:len(formats)-1], ", ") + " or " + formats[len(formats)-1]
	return usage("--format", try, "unknown format %q", format)
}

// toolCall makes the request of a call whose arguments were checked.
func (k *talk) toolCall(ctx context.Context, name string, given givenArguments) (*session.Request, error) {
	definition, err := k.tool(ctx, name)
	if err != nil {
		return nil, err
	}
	schema := look(definition, "/inputSchema")
	arguments, err := k.checked("tool "+name, schema, given, func() string { return signature(definition) })
	if err != nil {
		return nil, err
	}
	return &session.Request{
		Method: spec.MethodToolsCall, Params: object("name", jsonx.Quote(name), "arguments", arguments), ToolSchema: json.RawMessage(schema),
	}, nil
}

// checked makes JSON of arguments by their schema, and holds them to it. what
// and shape tell of whose they are in errors.
func (k *talk) checked(what string, schema jsonx.Raw, given givenArguments, shape func() string) (jsonx.Raw, error) {
	c := newCoercer(schema, "argument", k.f.unchecked)
	arguments, wrong := c.arguments(given)
	if k.f.unchecked {
		return arguments, nil
	}
	unjudged := ""
	if len(wrong) == 0 {
		wrong, unjudged = c.judge(arguments)
	}
	if unjudged != "" {
		k.tell([]string{"the arguments are sent unchecked, since their schema cannot be judged: " + unjudged})
	}
	if len(wrong) > 0 {
		return nil, badArguments(what, text.Clip(text.Line(shape()), 400)+"; --no-check sends it all the same", "%s", strings.Join(wrong, "; "))
	}
	return arguments, nil
}

// tool is the definition of a tool, nil where the server does not say which it
// has. The tools are listed once.
func (k *talk) tool(ctx context.Context, name string) (jsonx.Raw, error) {
	if k.tools == nil {
		if err := k.listTools(ctx); err != nil {
			return nil, err
		}
	}
	definition, ok := k.tools[name]
	switch {
	case ok || k.f.unchecked:
		return definition, nil
	case k.unknown != "":
		return nil, nil
	}
	return nil, unknownItem("tool", name, k.order, "calls it")
}

func (k *talk) listTools(ctx context.Context) error {
	tools := map[string]jsonx.Raw{}
	if look(jsonx.Raw(k.s.Negotiated().Capabilities), "/tools") == nil && k.f.unchecked {
		k.tools = tools
		return nil
	}
	list, err := k.s.List(ctx, spec.MethodToolsList)
	_, barred := errors.AsType[*transport.Error](err)
	if rpc, ok := errors.AsType[*session.RPCError](err); ok && !barred || err != nil && k.f.unchecked && ctx.Err() == nil {
		k.tools, k.unknown = tools, "the tools are not listed"
		if ok {
			k.unknown = fmt.Sprintf("tools/list is answered with error %d", rpc.Code)
		}
		if !k.f.unchecked {
			k.tell([]string{k.unknown + ": the arguments are sent unchecked"})
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	for _, page := range list.Pages {
		for _, d := range itemsOf(page, "tools") {
			name := member(d, "name")
			if _, twice := tools[name]; !twice {
				tools[name] = d
				k.order = append(k.order, name)
			}
		}
	}
	k.tools = tools
	return nil
}

// itemsOf are the items of a page.
func itemsOf(page *session.Result, key string) []jsonx.Raw {
	return elements(jsonx.Raw(page.Member(key)))
}
