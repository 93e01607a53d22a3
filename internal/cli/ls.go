// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
	"github.com/spf13/cobra"
)

// listings are what a server can list, by the words of ls.
var listings = []struct {
	word string
	kind surface.Kind
	key  string // the member of the result
	of   string // the capability
}{
	{"tools", surface.Tools, "tools", "tools"},
	{"resources", surface.Resources, "resources", "resources"},
	{"templates", surface.Templates, "resourceTemplates", "resources"},
	{"prompts", surface.Prompts, "prompts", "prompts"},
}

// bytesPerToken makes a guess at tokens of bytes. Each model counts in its own
// way; four is usual for English and JSON.
const bytesPerToken = 4

func (a *app) lsCommand() *cobra.Command {
	var (
		f    askFlags
		long bool
	)
	cmd := &cobra.Command{
		Use:   "ls [tools|resources|templates|prompts]... [flags] TARGET",
		Short: "List what a server offers, tools as signatures",
		Long: `List tools as signatures, resources, resource templates and prompts, in the server's
order, page by page as they come. Each line begins with the size of the definition in
bytes, which every model that is given it has to read; tokens are an estimate, of four
bytes each. --long adds descriptions and arguments.

Tools that the server offers only to clients which it may ask (elicitation, sampling)
are listed, since mcprove call can answer. mcprove show lists what a client sees that
cannot.`,
		Example: `  mcprove ls demo:
  mcprove ls tools --long -- npx -y @modelcontextprotocol/server-everything
  mcprove ls -o ndjson http://localhost:3000/mcp | jq -r 'select(.bytes > 2000) | .name'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json", "ndjson"); err != nil {
				return err
			}
			own, t, err := a.parted(cmd, &f.targetFlags, args, 0)
			if err != nil {
				return err
			}
			wanted := map[string]bool{}
			for _, w := range own {
				if isTarget(w) {
					return twoTargets(t, w, "")
				}
				known := false
				for _, l := range listings {
					known = known || l.word == w
				}
				if !known {
					return usage("", "tools, resources, templates or prompts; the server's command stands behind --", "there is no listing %q", w)
				}
				wanted[w] = true
			}
			return a.talk(cmd.Context(), "ls", &f, t, nil, func(ctx context.Context, k *talk) error {
				return k.list(ctx, wanted, long)
			})
		},
	}
	f.addTo(cmd, "text", "json", "ndjson")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "descriptions, arguments and hints too")
	return cmd
}

// lister prints items as their pages come.
type lister struct {
	k      *talk
	long   bool
	p      *printer
	counts []report.Tally
	size   int
	all    []jsonx.Raw // of the listing under way, for JSON
	own    []report.Own
}

func (k *talk) list(ctx context.Context, wanted map[string]bool, long bool) error {
	l := &lister{k: k, long: long, p: &printer{w: k.a.stdout, full: long, clean: k.a.clean, margin: 13}}
	for i, what := range listings {
		if len(wanted) > 0 && !wanted[what.word] || len(wanted) == 0 && look(jsonx.Raw(k.s.Negotiated().Capabilities), "/"+what.of) == nil {
			continue
		}
		if err := l.listing(ctx, i); err != nil {
			return err
		}
	}
	k.status.done()
	if k.f.format == "json" {
		k.a.judging = ""
		return k.a.object(&report.Run{Verb: k.verb, Target: k.name, Outcome: report.Passed, Summary: l.counts, Notes: k.notes()}, l.own...)
	}
	k.tell(k.notes())
	if len(l.counts) == 0 && k.f.format == "text" {
		k.a.say("mcprove: the server declares no tools, resources or prompts")
	}
	return l.p.err
}

// listing reads and prints one listing, page by page.
func (l *lister) listing(ctx context.Context, i int) error {
	what, n := listings[i], 0
	l.all, l.size = []jsonx.Raw{}, 0
	_, err := l.k.s.EachPage(ctx, session.Request{Method: what.kind.Method()}, func(page *session.Result) error {
		l.k.status.done()
		for _, item := range itemsOf(page, what.key) {
			if n == 0 && l.k.f.format == "text" {
				l.p.f("%s%s\n", strings.Repeat("\n", b2i(len(l.counts) == 0)), headings[what.kind])
			}
			n++
			l.size += len(item)
			if err := l.item(i, item); err != nil {
				return err
			}
		}
		l.k.status.set(fmt.Sprintf("reading %s: %d so far", what.kind.Method(), n))
		return l.p.err
	})
	l.k.status.done()
	_, barred := errors.AsType[*transport.Error](err)
	if rpc, ok := errors.AsType[*session.RPCError](err); ok && !barred && n == 0 && rpc.Code == spec.CodeMethodNotFound {
		l.k.tell([]string{what.kind.Method() + " is not served (-32601)"})
		err = nil
	}
	if err != nil {
		e := explain(maxTime(ctx, &surface.ListError{Kind: what.kind, Err: err}), true)
		if e.Code == "listing-failed" {
			e.Try = "what is printed is not the whole list; see with -v what it answers"
		}
		return e
	}
	if l.k.f.format == "text" {
		l.p.f("%s  %s, %d bytes, about %d tokens by estimate\n", strings.Repeat("\n", 1-b2i(n > 0 || len(l.counts) == 0)), plural(n, what.kind.One()), l.size, l.size/bytesPerToken)
	}
	l.counts = append(l.counts, report.Tally{Name: what.word, Count: n})
	list, _ := jsonx.Marshal(l.all)
	l.own = append(l.own, report.Own{Key: what.key, Value: jsonx.Raw(list)})
	return l.p.err
}

// item prints one item.
func (l *lister) item(i int, raw jsonx.Raw) error {
	what := listings[i]
	sign := member(raw, what.kind.Key())
	switch what.kind {
	case surface.Tools:
		sign = signature(raw)
	case surface.Prompts:
		sign = promptSignature(raw)
	}
	switch l.k.f.format {
	case "json":
		l.all = append(l.all, raw)
		return nil
	case "ndjson":
		return l.k.a.line("kind", jsonx.Quote(what.kind.One()), "name", jsonx.Quote(member(raw, what.kind.Key())), "signature", jsonx.Quote(sign),
			"bytes", jsonx.Raw(fmt.Sprint(len(raw))), "tokensEstimate", jsonx.Raw(fmt.Sprint(len(raw)/bytesPerToken)), "item", raw)
	}
	l.p.f("%7d  %s\n", len(raw), l.p.clean(sign))
	if !l.long {
		return nil
	}
	const margin = "           "
	for _, name := range []string{"title", "description"} {
		for line := range strings.Lines(member(raw, name)) {
			l.p.f("%s%s\n", margin, l.p.clean(strings.TrimRight(line, "\r\n")))
		}
	}
	if m := member(raw, "mimeType"); m != "" {
		l.p.f("%s%s\n", margin, l.p.clean(m))
	}
	if hints := hintsOf(look(raw, "/annotations")); hints != "" {
		l.p.f("%s%s\n", margin, hints)
	}
	l.p.rows(schemaRows(look(raw, "/inputSchema")))
	return nil
}
