// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
	"github.com/spf13/cobra"
)

// maxBatchLine is the longest line of a batch in bytes.
const maxBatchLine = 16 << 20

func (a *app) batchCommand() *cobra.Command {
	var (
		f    askFlags
		stop bool
	)
	cmd := &cobra.Command{
		Use:   "batch FILE|- [flags] TARGET",
		Short: "Make many requests on one connection, JSON Lines in and out",
		Long: `Make the requests of a file, or of stdin, one after another on one connection. A line
is an object: {"tool","arguments"} calls a tool, {"method","params"} makes any request.
A member "id" comes back in the answer's line. For each line one line is printed, in
order, as soon as it is there:

  {"line","id","outcome","exit","result"}     outcome: passed, failed or incomplete
  {"line","id","outcome","exit","error"}      error: code, message, where, try;
                                              beside it rpcError as the server sent it

A line that cannot be read, or whose arguments the tool's schema refuses, is one with
exit 2, and the batch goes on unless --stop says otherwise. Blank lines are left out.

The line that Ctrl-C comes upon has exit 130, and those after it are not printed.

The run exits with the code of the line that counts most: 130, 2, 4, 3, 6, 5, 0.`,
		Example: `  mcprove batch calls.jsonl demo:
  echo '{"id":"a","tool":"get_book","arguments":{"book_id":"b-1024"}}' | mcprove batch - demo:
  mcprove batch - --stop -- node server.js < calls.jsonl | jq -c .result`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, t, err := a.parted(cmd, &f.targetFlags, args, 1)
			if err != nil {
				return err
			}
			if len(own) == 1 && isTarget(own[0]) {
				return twoTargets(t, own[0], "; mcprove batch - TARGET reads stdin")
			}
			if len(own) != 1 {
				return usage("", "mcprove batch FILE TARGET, or mcprove batch - TARGET for stdin", "one file is expected, found %d words", len(own))
			}
			in := a.env.Stdin
			if own[0] != "-" {
				file, err := os.Open(own[0])
				if err != nil {
					return &Error{Exit: exitUsage, Code: "file-unreadable", Where: own[0], Message: cause(err).Error(), Try: "mcprove batch - reads stdin"}
				}
				defer file.Close()
				in = file
			}
			return a.talk(cmd.Context(), "batch", &f, t, nil, func(ctx context.Context, k *talk) error {
				return k.batch(ctx, in, stop)
			})
		},
	}
	f.addTo(cmd, "ndjson")
	f.addInput(cmd)
	f.lasting(cmd)
	_ = cmd.Flags().MarkHidden("format")
	_ = cmd.Flags().MarkHidden("step")
	_ = cmd.Flags().MarkHidden("state")
	cmd.Flags().BoolVar(&f.unchecked, "no-check", false, "send what schemas refuse, and to tools that are not listed")
	cmd.Flags().BoolVar(&stop, "stop", false, "end at the first line that is not passed")
	return cmd
}

// batch makes the requests of in until it ends.
func (k *talk) batch(ctx context.Context, in io.Reader, stop bool) error {
	worst, n := exitOK, 0
	for line := range linesOf(ctx, in) {
		if line.err != nil {
			return fmt.Errorf("read the batch: %w", line.err)
		}
		n++
		if len(bytes.TrimSpace(line.text)) == 0 && line.fault == "" {
			continue
		}
		exit, err := k.batchLine(ctx, n, line)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if rank(exit) < rank(worst) {
			worst = exit
		}
		if stop && exit != exitOK {
			break
		}
	}
	k.status.done()
	k.tell(k.notes())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if worst != exitOK {
		return &Error{Exit: worst, Code: "batch-failed", Message: "not every line passed; the worst has exit " + fmt.Sprint(worst), Try: "the lines tell what each is about"}
	}
	return nil
}

// precedence is the order in which exit codes count.
var precedence = []int{exitInternal, exitInterrupted, exitUsage, exitUnreachable, exitAuth, exitFailed, exitIncomplete, exitAnswered, exitOK}

func rank(exit int) int { return slices.Index(precedence, exit) }

// outcomeOf is the outcome that goes with an exit code.
func outcomeOf(exit int) string {
	switch exit {
	case exitOK:
		return report.Passed
	case exitFailed, exitUsage, exitAnswered:
		return report.Failed
	}
	return report.Incomplete
}

// batchInput is one line of a batch.
type batchInput struct {
	text  []byte
	fault string
	err   error // reading ended
}

// linesOf reads lines until the input or the context ends. A read of stdin
// cannot be ended from here: its goroutine ends with the input, or with the
// process.
func linesOf(ctx context.Context, in io.Reader) func(func(batchInput) bool) {
	return func(yield func(batchInput) bool) {
		lines := make(chan batchInput)
		done := make(chan struct{})
		defer close(done)
		go func() {
			defer close(lines)
			r := wire.NewLines(in, maxBatchLine)
			for {
				text, facts, err := r.Next()
				var line batchInput
				switch {
				case errors.Is(err, io.EOF):
					return
				case err != nil:
					line.err = err
				default:
					line.text = text
					for _, fault := range facts.Faults {
						if fault.Code == wire.FaultTooLong {
							line.fault = fmt.Sprintf("the line is longer than %d bytes", maxBatchLine)
						}
					}
				}
				select {
				case lines <- line:
				case <-done:
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for {
			select {
			case line, ok := <-lines:
				if !ok || !yield(line) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// batchLine makes the request of one line and prints its answer. The error is
// that of printing.
func (k *talk) batchLine(ctx context.Context, n int, line batchInput) (exit int, err error) {
	id, r, err := k.batchRequest(ctx, line)
	var res *session.Result
	if err == nil {
		res, err = k.request(ctx, *r)
	}
	out := []any{"line", jsonx.Raw(fmt.Sprint(n))}
	if id != nil {
		out = append(out, "id", id)
	}
	outcome := report.Passed
	answer, failed, err := k.outcome("", res, err)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		failed = interrupted() // what the server made of it nobody knows
	case err != nil:
		failed = explain(err, true)
	}
	if failed != nil {
		exit, outcome = failed.Exit, outcomeOf(failed.Exit)
	}
	out = append(out, "outcome", jsonx.Quote(outcome), "exit", jsonx.Raw(fmt.Sprint(exit)))
	if failed != nil {
		out = append(out, "error", object("code", jsonx.Quote(failed.Code), "message", jsonx.Quote(failed.Message), "where", jsonx.Quote(failed.Where), "try", jsonx.Quote(failed.Try)))
	}
	if answer.Key != "" {
		out = append(out, answer.Key, answer.Value)
	}
	return exit, k.a.line(out...)
}

// batchRequest reads one line.
func (k *talk) batchRequest(ctx context.Context, line batchInput) (id jsonx.Raw, r *session.Request, err error) {
	bad := func(format string, args ...any) *Error {
		e := usage("", `{"tool":"NAME","arguments":{...}} or {"method":"...","params":{...}}`, format, args...)
		e.Code = "bad-line"
		return e
	}
	if line.fault != "" {
		return nil, nil, bad("%s", line.fault)
	}
	ms, err := jsonx.Members(line.text, jsonx.Strict)
	if err != nil {
		return nil, nil, bad("the line is no JSON object: %v", err)
	}
	got := map[string]jsonx.Raw{}
	for _, m := range ms {
		got[m.Name] = m.Value
	}
	id = got["id"]
	for name := range got {
		if !slices.Contains([]string{"id", "tool", "arguments", "method", "params"}, name) {
			return id, nil, bad("there is no member %q in a line", name)
		}
	}
	tool, isTool := jsonx.Text(got["tool"])
	method, isMethod := jsonx.Text(got["method"])
	for _, name := range []string{"arguments", "params"} {
		if v := got[name]; v != nil && jsonx.KindOf(v) != jsonx.Object {
			return id, nil, bad("%s is no object", name)
		}
	}
	switch {
	case isTool == isMethod, isTool && got["params"] != nil, isMethod && got["arguments"] != nil:
		return id, nil, bad("a line has a tool and its arguments, or a method and its params")
	case isTool:
		r, err = k.toolCall(ctx, tool, givenArguments{base: got["arguments"]})
		return id, r, err
	case strings.HasPrefix(method, "notifications/") || method == spec.MethodInitialize || method == spec.MethodListen:
		return id, nil, bad("%s is no request of a batch", method)
	}
	r = &session.Request{Method: method, Params: json.RawMessage(got["params"])}
	if method == spec.MethodToolsCall {
		if name := member(got["params"], "name"); name != "" && k.s.Negotiated().Transport != transport.Stdio {
			if d, err := k.tool(ctx, name); err == nil { // for the headers that its schema wants
				r.ToolSchema = json.RawMessage(look(d, "/inputSchema"))
			}
		}
	}
	return id, r, nil
}
