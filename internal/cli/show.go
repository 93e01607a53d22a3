// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/surface"
	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	var (
		tf     targetFlags
		format string
		color  string
		full   bool
	)
	cmd := &cobra.Command{
		Use:   "show [flags] TARGET",
		Short: "Look at what a server shows, and record nothing",
		Long: `Print everything that a server shows: its description, tools with their
arguments, resources, templates and prompts. TARGET may also be a file that
contract diff reads. No tool is called.`,
		Example: `  mcprove show -- npx -y @modelcontextprotocol/server-memory
  mcprove show demo:
  mcprove show --format json mcprove.contract.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, command, err := words(cmd, args)
			if err != nil {
				return err
			}
			if err := textOrJSON(format); err != nil {
				return err
			}
			colored, err := a.colored(color)
			if err != nil {
				return err
			}
			s, name, err := a.shown(cmd.Context(), &tf, before, command)
			if err != nil {
				return err
			}
			if format == "json" {
				data, err := s.Encode()
				if err != nil {
					return err
				}
				return a.envelope("show", name, tallies(s), s.Notes, "surface", jsonx.Raw(data))
			}
			p := printer{w: a.stdout, color: colored, full: full, clean: func(s string) string { return text.Line(a.redactor.String(s)) }}
			p.surface(name, s)
			return p.err
		},
	}
	tf.add(cmd)
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json: with the contract that snapshot would write")
	cmd.Flags().StringVar(&color, "color", "auto", "auto, always or never")
	cmd.Flags().BoolVar(&full, "full", false, "whole descriptions")
	return cmd
}

// shown is a live server's surface, or that of a file.
func (a *app) shown(ctx context.Context, tf *targetFlags, before, command []string) (*surface.Surface, string, error) {
	isFile := len(before) == 1 && len(command) == 0 && tf.server == "" && !strings.Contains(before[0], "://") && !strings.HasPrefix(before[0], "demo:")
	if isFile {
		s, err := a.source(ctx, tf, before[0])
		return s.surface, s.name, err
	}
	s, err := a.live(ctx, tf, before, command)
	return s.surface, s.name, err
}

// printer prints a surface for people.
type printer struct {
	w      io.Writer
	color  bool
	full   bool
	margin int // of rows; 6 when zero
	clean  func(string) string
	err    error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) bold(s string) string {
	if p.color {
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

func (p *printer) dim(s string) string {
	if p.color && s != "" {
		return "\x1b[2m" + s + "\x1b[0m"
	}
	return s
}

// words shortens a text to its first sentence or line.
func (p *printer) words(s string) string {
	s = strings.TrimSpace(s)
	if p.full {
		return p.clean(s)
	}
	s, _, _ = strings.Cut(s, "\n")
	const most = 100
	return p.clean(text.Clip(s, most))
}

func (p *printer) surface(target string, s *surface.Surface) {
	name := member(s.Server, "name")
	if name == "" {
		name = target
	}
	p.f("%s %s\n", p.bold(p.clean(name)), p.clean(member(s.Server, "version")))
	if len(s.Revisions) > 0 {
		p.f("  revisions     %s\n", p.clean(strings.Join(s.Revisions, ", ")))
	}
	if caps := names(s.Capabilities); caps != "" {
		p.f("  capabilities  %s\n", p.clean(caps))
	}
	if s.Instructions != "" {
		p.f("  instructions  %s\n", p.words(s.Instructions))
	}
	for _, k := range surface.Kinds {
		items := s.Items(k)
		if len(items) == 0 {
			continue
		}
		p.f("\n%s (%d)\n", p.bold(headings[k]), len(items))
		for i := range items {
			p.item(&items[i])
		}
	}
	if len(s.Notes) > 0 {
		p.f("\n")
	}
	for _, n := range s.Notes {
		p.f("note: %s\n", p.clean(n))
	}
}

var headings = map[surface.Kind]string{
	surface.Tools: "tools", surface.Resources: "resources", surface.Templates: "resource templates", surface.Prompts: "prompts",
}

func (p *printer) item(it *surface.Item) {
	flags := ""
	if it.Kind == surface.Tools {
		flags = hintWords(it)
	}
	p.f("  %s%s\n", p.bold(p.clean(it.Name)), p.dim(flags))
	if d := it.Text("description"); d != "" {
		p.f("      %s\n", p.words(d))
	}
	switch it.Kind {
	case surface.Tools:
		p.rows(schemaRows(it.Member("inputSchema")))
		if out := schemaRows(it.Member("outputSchema")); len(out) > 0 {
			p.f("      %s\n", p.dim("returns"))
			p.rows(out)
		}
	case surface.Prompts:
		p.rows(promptRows(it))
	default:
		if m := it.Text("mimeType"); m != "" {
			p.f("      %s\n", p.dim(p.clean(m)))
		}
	}
}

// row is one argument for the eye.
type row struct{ name, typ, need string }

func (p *printer) rows(rows []row) {
	width := 0
	for _, r := range rows {
		width = max(width, len([]rune(p.clean(r.name))))
	}
	width = min(width, 40)
	for _, r := range rows {
		line := fmt.Sprintf("%*s%-*s  %-24s %s", cmp.Or(p.margin, 6), "", width, p.clean(r.name), p.clean(text.Clip(r.typ, 60)), r.need)
		p.f("%s\n", strings.TrimRight(line, " "))
	}
}

func member(raw jsonx.Raw, name string) string {
	ms, _ := jsonx.Members(raw, jsonx.Strict)
	for _, m := range ms {
		if m.Name == name {
			t, _ := jsonx.Text(m.Value)
			return t
		}
	}
	return ""
}

func names(raw jsonx.Raw) string {
	ms, _ := jsonx.Members(raw, jsonx.Strict)
	var out []string
	for _, m := range ms {
		inner, _ := jsonx.Members(m.Value, jsonx.Strict)
		var on []string
		for _, i := range inner {
			if string(i.Value) == "true" {
				on = append(on, i.Name)
			}
		}
		n := m.Name
		if len(on) > 0 {
			n += " (" + strings.Join(on, ", ") + ")"
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// hintWords says what a tool promises about itself, where it says so.
func hintWords(it *surface.Item) string {
	if hints := hintsOf(it.Member("annotations")); hints != "" {
		return "  " + hints
	}
	return ""
}

// hintsOf words the annotations of a tool.
func hintsOf(annotations jsonx.Raw) string {
	ms, _ := jsonx.Members(annotations, jsonx.Strict)
	said := map[string]string{
		"readOnlyHint=true": "read-only", "readOnlyHint=false": "writes", "destructiveHint=true": "destructive", "destructiveHint=false": "not destructive",
		"idempotentHint=true": "idempotent", "openWorldHint=true": "open world", "openWorldHint=false": "closed world",
	}
	var out []string
	for _, m := range ms {
		if w := said[m.Name+"="+string(m.Value)]; w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}
