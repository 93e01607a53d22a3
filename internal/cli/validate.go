// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/spf13/cobra"
)

// validateFamily is the family of what validate finds.
const validateFamily = "message"

// The findings of validate that package spec does not have.
const (
	messageHoldsID  = "message.holds"
	messageSchemaID = "message.schema"
)

// validateInfos are the rules of validate.
func validateInfos() []rule.Info {
	infos := []rule.Info{
		{
			ID: messageHoldsID, Family: validateFamily, Level: rule.Must, Basis: rule.Schema, Title: "the message is right",
			Why: "whoever reads it reads what was meant", Fix: "nothing to do",
		},
		{
			ID: messageSchemaID, Family: validateFamily, Level: rule.Must, Basis: rule.Schema, Title: "the schemas of a tool are JSON Schemas",
			Why: "a client that compiles the schema refuses the tool, or the whole list", Fix: "write a schema of the dialect that it names",
		},
	}
	for _, r := range spec.ProblemRules() {
		infos = append(infos, rule.Info{
			ID: r.ID, Family: validateFamily, Level: rule.Must, Basis: rule.Schema, Title: r.Title,
			Why: "a peer that keeps to the specification refuses the message, or reads another one",
			Fix: "send what the section says",
		})
	}
	return infos
}

type validateFlags struct {
	revision, from, method string
	jsonrpc                bool
}

func (a *app) validateCommand() *cobra.Command {
	var (
		f  validateFlags
		of outputFlags
		v  bool
	)
	cmd := &cobra.Command{
		Use:   "validate [flags] FILE...",
		Short: "Judge messages, listings and recordings in files",
		Long: `Judge texts by the rules of a revision: the text, the envelope, the method, its
params or result. Each FILE, or - for standard input, is

  a message      one JSON-RPC text
  messages       one on each line, or an array of them
  a listing      {"tools":[...]}, an array of tools, or one tool
  a recording    of mcprove, where every answer is judged by its request

The revision is the one that the messages say (_meta, initialize), unless
--revision names another; without either it is the latest. Exit 1 when
something is wrong, 0 when all is right.`,
		Example: `  mcprove validate answer.json --method tools/call
  mcprove validate tools.json --revision 2025-06-18
  curl -s https://example.com/mcp -d @call.json | mcprove validate - --method tools/call
  mcprove validate --jsonrpc message.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.validate(&f, &of, v, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.revision, "revision", "", "judge by this `REVISION`, such as 2025-11-25")
	fs.StringVar(&f.from, "from", "", "who sent the messages: client or server; nothing is said of who may send what without it")
	fs.StringVar(&f.method, "method", "", "the `METHOD` that an answer answers, where its request is not in the file")
	fs.BoolVar(&f.jsonrpc, "jsonrpc", false, "judge by JSON-RPC 2.0 alone, which knows no methods")
	fs.BoolVarP(&v, "verbose", "v", false, "name what is right too")
	of.add(cmd)
	return cmd
}

// start is what is known before a file is read.
func (f *validateFlags) start() (validating, error) {
	v := validating{method: f.method}
	if f.revision != "" {
		r, err := spec.ParseRevision(f.revision)
		if err != nil {
			_, _, err := parseEra("auto", f.revision)
			return v, err
		}
		v.revision = r
	}
	switch f.from {
	case "":
	case "client":
		v.from = spec.Client
	case "server":
		v.from = spec.Server
	default:
		return v, usage("--from", "client or server", "unknown side %q", f.from)
	}
	if f.jsonrpc && f.revision+f.from+f.method != "" {
		return v, usage("--jsonrpc", "leave it out to judge by MCP", "JSON-RPC alone knows no revision, side or method")
	}
	if f.method != "" && len(spec.MethodRange(f.method)) == 0 {
		return v, usage("--method", nearestMethod(f.method), "%q is no method of any revision", f.method)
	}
	return v, nil
}

func nearestMethod(name string) string {
	if near := rule.Nearest(name, spec.MethodNames()); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}

func (a *app) validate(f *validateFlags, of *outputFlags, verbose bool, paths []string) error {
	if of.format == "json" {
		a.judging = "validate"
	}
	var all []judgeable
	places := map[string]textPlace{}
	seen := map[spec.Revision]bool{}
	for _, path := range paths {
		v, err := f.start()
		if err != nil {
			return err
		}
		data, err := a.textsOf(path)
		if err != nil {
			return err
		}
		texts, err := readJudgeables(path, data, &v)
		if err != nil {
			return err
		}
		for _, j := range texts {
			if len(paths) > 1 {
				j.where = strings.TrimSuffix(path+": "+j.where, ": ")
			}
			places[j.where] = textPlace{path, j.line}
			seen[j.revision] = true
			all = append(all, j)
		}
	}
	run := &report.Run{
		Verb: "validate", Target: strings.Join(paths, ", "), Infos: registry().Lookup,
		Place: func(w rule.Where) (string, int) { return places[w.Name].path, places[w.Name].line },
	}
	add, finish, err := a.sinks(of, verbose, run)
	if err != nil {
		return err
	}
	wrong, problems := 0, 0
	for i := range all {
		fs := findingsOf(&all[i], f.jsonrpc, run.Target)
		bad := false
		for _, found := range fs {
			if found.Status >= rule.Fail {
				problems++
				bad = true
			}
			if err := add(found); err != nil {
				return err
			}
		}
		if bad {
			wrong++
		}
	}
	by := "JSON-RPC 2.0"
	if !f.jsonrpc {
		by = revisionsOf(seen)
	}
	run.Subject = plural(len(all), "text") + " judged by " + by
	run.Summary = []report.Tally{{Name: "right", Count: len(all) - wrong}, {Name: "wrong", Count: wrong}, {Name: "problems", Count: problems}}
	run.Outcome, run.Exit = report.Passed, exitOK
	if problems > 0 {
		run.Outcome, run.Exit = report.Failed, exitFailed
	}
	a.exit = run.Exit
	return finish()
}

// textPlace is where in a file a text stands.
type textPlace struct {
	path string
	line int
}

func revisionsOf(seen map[spec.Revision]bool) string {
	var names []string
	for _, r := range spec.All() {
		if seen[r] {
			names = append(names, r.String())
		}
	}
	return strings.Join(names, ", ")
}

// textsOf reads a file, or standard input for -.
func (a *app) textsOf(path string) ([]byte, error) {
	if path != "-" {
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &Error{Exit: exitUsage, Code: "no-such-file", Where: path, Message: "there is no such file", Try: "name a file, or - for standard input"}
		}
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxFile {
		return nil, usage(path, "", "standard input has more than %d bytes", maxFile)
	}
	return data, nil
}

// findingsOf is what is wrong with one text, or that nothing is.
func findingsOf(j *judgeable, plain bool, target string) []rule.Finding {
	var problems []spec.Problem
	switch {
	case plain:
		problems = spec.JSONRPCProblems(j.text)
	case j.tool:
		problems = append(spec.ValidateToolDefinition(j.revision, j.text), schemaProblems(j)...)
	default:
		problems = spec.Problems(j.revision, j.context, j.text)
	}
	kind := "message"
	if j.tool {
		kind = "tool"
	}
	if len(problems) == 0 {
		return []rule.Finding{{ID: messageHoldsID, Status: rule.Pass, Target: target, Count: 1, Where: rule.Where{Kind: kind, Name: j.where}, Message: "nothing is wrong"}}
	}
	var out []rule.Finding
	for _, p := range problems {
		f := rule.Finding{
			ID: p.Rule, Status: rule.Fail, Target: target, Count: 1, Message: p.Message,
			Where:       rule.Where{Kind: kind, Name: j.where, Pointer: p.Pointer},
			Fingerprint: rule.Fingerprint(validateFamily, p.Rule, j.where, p.Pointer, p.Message),
			Evidence: []rule.Evidence{
				{Label: "section", Text: p.Section, Form: rule.Plain},
				{Label: "text", Text: text.Clip(string(j.text), 2000), Form: rule.Plain},
			},
		}
		if p.Disputed {
			f.Status, f.Message = rule.Warn, f.Message+" (the official texts disagree on it)"
		}
		out = append(out, f)
	}
	return out
}

// schemaProblems are the faults of the schemas that a tool declares.
func schemaProblems(j *judgeable) []spec.Problem {
	var out []spec.Problem
	for _, member := range []string{"inputSchema", "outputSchema"} {
		raw, ok := lookupOK(j.text, "/"+member)
		if !ok || jsonx.KindOf(raw) != jsonx.Object {
			continue
		}
		if fault := contract.CheckSchema(raw); fault != nil && fault.Kind != contract.SchemaUnjudged {
			out = append(out, spec.Problem{
				Rule: messageSchemaID, Pointer: "/" + member, Message: fmt.Sprintf("the schema is %s: %s", fault.Kind, fault.Text),
				Section: j.revision.String() + "/server/tools#tool",
			})
		}
	}
	return out
}
