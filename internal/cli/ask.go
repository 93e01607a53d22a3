// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
	"github.com/spf13/cobra"
)

// askFlags are the flags of the verbs that ask a server for something and
// print what it answers.
type askFlags struct {
	targetFlags
	format    string
	logLevel  string
	save      string
	force     bool // save over a file that is there
	unchecked bool
	answers   []string
	step      bool
	state     string
	named     string      // the tool or prompt, by a flag
	asked     bool        // the server may ask something meanwhile
	unbounded func() bool // nil for verbs that end by themselves
}

// addTo defines the flags that every such verb has; formats are those of its
// output, the first by default.
func (f *askFlags) addTo(cmd *cobra.Command, formats ...string) {
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&f.format, "format", "o", formats[0], strings.Join(formats, " or "))
	fs.StringVar(&f.logLevel, "log-level", "", "ask the server for log messages of this `LEVEL` and above, shown on stderr")
	fs.Lookup("timeout").Usage = "bound of one request; each sign of progress begins it anew"
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(spec.LogLevels(), cobra.ShellCompDirectiveNoFileComp))
}

// addInput defines the flags of the requests that a server may answer by a
// question.
func (f *askFlags) addInput(cmd *cobra.Command) {
	f.asked = true
	fs := cmd.Flags()
	fs.StringArrayVar(&f.answers, "answer", nil, "answer what the server asks: `NAME=VALUE` or NAME=decline (repeatable)")
	fs.BoolVar(&f.step, "step", false, "answer nothing: print what the server asks, and stop with exit 6")
	fs.StringVar(&f.state, "state", "", "go on from `@FILE`, which --step --save FILE wrote (2026-07-28)")
}

// lasting takes the bound of the whole run away, unless it is given: for verbs
// that last as long as their input.
func (f *askFlags) lasting(cmd *cobra.Command) {
	cmd.Flags().Lookup("max-time").DefValue = "0s"
	f.unbounded = func() bool { return !cmd.Flags().Changed("max-time") }
}

// addSave defines the flag of the verbs whose answers hold contents.
func (f *askFlags) addSave(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.save, "save", "", "write the contents to `PATH`, as they are: a file, or a folder for several")
	cmd.Flags().BoolVar(&f.force, "force", false, "--save writes over a file that is there")
}

// addName defines the flag for a name that a command line would read as
// something else: a flag, a target or a number.
func (f *askFlags) addName(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.named, what, "", "the "+what+"'s `NAME`, where it looks like a flag or a target: --"+what+"=--help")
}

// named is parted for a verb whose first word is the name of a tool or a
// prompt.
func (a *app) named(cmd *cobra.Command, f *askFlags, args []string, what string) (name string, rest []string, t *target, err error) {
	byFlag := cmd.Flags().Changed(what)
	own, t, err := a.parted(cmd, &f.targetFlags, args, b2i(byFlag))
	if err != nil {
		return "", nil, nil, err
	}
	switch {
	case byFlag:
		return f.named, own, t, nil
	case len(own) == 0, isTarget(own[0]) && t.words[0] == "--":
		return "", nil, nil, usage("", "mcprove ls "+what+"s lists them: "+cmd.CommandPath()+" "+strings.ToUpper(what)+" ... TARGET", "no %s is named", what)
	case isTarget(own[0]) && f.server == "":
		return "", nil, nil, twoTargets(t, own[0], "; --"+what+" NAME is for a "+what+" that is called so")
	}
	return own[0], own[1:], t, nil
}

// twoTargets is the error of a second word that can only be a target.
func twoTargets(t *target, second, try string) error {
	return usage("", "leave out one of the two"+try, "two targets are named: %s and %s", strings.Join(t.words, " "), second)
}

// isTarget reports whether a word can only be meant as a target. Braces are of
// resource templates.
func isTarget(word string) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if strings.HasPrefix(strings.ToLower(word), scheme) {
			return !strings.ContainsAny(word, "{}")
		}
	}
	name, ok := strings.CutPrefix(word, "demo:")
	return ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// parted splits the arguments of a verb into its own words and the target: what
// stands behind --, what --server names, or the first word that is a URL or
// demo:. The verb needs the given number of words of its own, so that a
// resource whose URI is a URL is not taken for the target of a command.
func (a *app) parted(cmd *cobra.Command, f *targetFlags, args []string, need int) (own []string, t *target, err error) {
	before, command, err := words(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	named := len(command) > 0 || f.config != "" || f.server != ""
	own = before
	var at []string
	for i, w := range before {
		if isTarget(w) && (!named || len(before) > need) {
			at = []string{w}
			own = append(append([]string{}, before[:i]...), before[i+1:]...)
			break
		}
	}
	if len(at) == 0 && !named {
		try := "a target is a URL, demo:, or a command after --"
		if len(before) > need && !strings.ContainsAny(before[need], "=") {
			try = "put the server's command behind --: " + cmd.CommandPath() + " " + strings.Join(append(append([]string{}, before[:need]...), "--"), " ") + " " + strings.Join(before[need:], " ")
		}
		return nil, nil, usage("", try, "no target is named")
	}
	t, err = a.resolve(f, at, command)
	return own, t, err
}

// talk is a verb's conversation with a server.
type talk struct {
	a      *app
	f      *askFlags
	verb   string
	name   string // of the target, for reports
	s      *session.Session
	status *status
	asks   *inputs

	tools   map[string]jsonx.Raw // definitions, once they were listed
	order   []string             // their names, in the server's order
	unknown string               // why the tools cannot be known, empty when they are

	tokens int // progress tokens given out
	said   int // lines that notifications made

	came atomic.Int64 // notifications and questions of the server
}

// maxSaid bounds the lines that the notifications of one run make.
const maxSaid = 1_000

// talk opens a session, lets a verb use it, and ends it. More options are set
// by more, which may be nil.
func (a *app) talk(ctx context.Context, verb string, f *askFlags, t *target, more func(*session.Options), do func(context.Context, *talk) error) error {
	if f.format == "json" {
		a.judging, a.asking = verb, true
	}
	if f.logLevel != "" {
		if _, ok := spec.LogSeverity(f.logLevel); !ok {
			return usage("--log-level", strings.Join(spec.LogLevels(), ", "), "unknown level %q", f.logLevel)
		}
	}
	a.stderr = &lockedWriter{w: a.stderr}
	ctx, cancel := ctx, context.CancelFunc(func() {})
	if f.unbounded == nil || !f.unbounded() {
		ctx, cancel = context.WithTimeout(ctx, f.maxTime)
	}
	defer cancel()
	k := &talk{a: a, f: f, verb: verb, name: t.name, status: a.status()}
	defer k.status.done()
	var err error
	if k.asks, err = readAnswers(f); err != nil {
		return err
	}
	if err := f.mayBeSaved(); err != nil {
		return err
	}
	k.asks.came = func() { k.came.Add(1) }
	base := t.options
	t.options = func(o *session.Options) {
		base(o)
		o.LogLevel = f.logLevel
		o.OnNotification = k.notified
		o.Listen = f.asked // legacy servers over HTTP ask on the standing stream
		k.asks.declare(o)
		if more != nil {
			more(o)
		}
	}
	s, stop, err := a.open(ctx, &f.targetFlags, t, k.status)
	if err != nil {
		return maxTime(ctx, err)
	}
	defer stop()
	a.opened, k.s = true, s
	k.status.done()
	if f.logLevel != "" && s.Negotiated().Era == spec.Legacy {
		if _, err := s.Call(ctx, spec.MethodSetLevel, object("level", jsonx.Quote(f.logLevel))); err != nil {
			a.say("mcprove: the server sends no log messages: %s", a.clean(err.Error()))
		}
	}
	return maxTime(ctx, do(ctx, k))
}

// object is a JSON object of names and values in turn.
func object(pairs ...any) json.RawMessage {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonx.Quote(pairs[i].(string))...), ':')
		switch v := pairs[i+1].(type) {
		case jsonx.Raw:
			b = append(b, v...)
		case json.RawMessage:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

// request makes one request, in as many rounds as the server asks for input.
// Its timeout begins anew with each sign of progress.
func (k *talk) request(ctx context.Context, r session.Request) (*session.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k.asks.during(r.Method, cancel)
	defer k.asks.during("", nil)
	first := r.Params
	r.KeepRounds, r.Patient = true, true
	state := k.asks.resumed // the result of an earlier run to go on from, once
	k.asks.resumed = nil
	for round := 1; ; round++ {
		if state != nil {
			params, err := k.asks.next(ctx, first, round-1, state)
			if err != nil {
				return nil, err
			}
			r.Params = params
		}
		k.tokens++
		r.ProgressToken = json.RawMessage(fmt.Sprintf(`"progress-%d"`, k.tokens))
		before := k.came.Load()
		res, err := k.s.Do(ctx, r)
		// The answer to what was given up may be quicker than the end of the wait.
		if cause := context.Cause(ctx); cause != nil && ctx.Err() == context.Canceled && !errors.Is(cause, context.Canceled) {
			return res, cause // given up for want of an answer
		}
		if isTimeout(err) && k.came.Load() == before {
			err = fmt.Errorf("%w, and nothing else came meanwhile", err)
		}
		if err != nil || res.ResultType != spec.ResultInputRequired {
			return res, err
		}
		if round > session.DefaultRounds {
			return res, &session.RoundsError{Method: r.Method, Rounds: round}
		}
		state = jsonx.Raw(res.Raw)
	}
}

// notified shows on stderr what the server tells meanwhile.
func (k *talk) notified(f *wire.Frame) {
	k.came.Add(1)
	m := f.Message()
	look := func(p string) jsonx.Raw {
		v, err := jsonx.Lookup(m.Params, p)
		if err != nil {
			return nil
		}
		return v
	}
	words := func(p string) string {
		v := look(p)
		if s, ok := jsonx.Text(v); ok {
			return s
		}
		return string(v)
	}
	line := ""
	switch m.Method {
	case spec.NotificationProgress:
		line = "progress " + words("/progress")
		if t := words("/total"); t != "" {
			line += " of " + t
		}
		if s := words("/message"); s != "" {
			line += ": " + s
		}
	case spec.NotificationMessage:
		line = "log " + words("/level")
		if l := words("/logger"); l != "" {
			line += " " + l
		}
		line += ": " + words("/data")
	default:
		return
	}
	if k.said++; k.said > maxSaid {
		if k.said == maxSaid+1 {
			k.a.say("mcprove: further progress and log messages are not shown")
		}
		return
	}
	line = text.Clip(text.LogLine(k.a.redactor.String(line)), 500)
	if m.Method == spec.NotificationProgress && k.a.env.StderrTTY && !k.f.verbose {
		k.status.set(line)
		return
	}
	k.status.done()
	k.a.say("%s", line)
}

// notes are what was out of order on the way, for people and reports.
func (k *talk) notes() []string {
	notes := []string{}
	if k.s == nil {
		return notes
	}
	for _, x := range k.s.Anomalies() {
		notes = append(notes, surface.NoteOf(x))
	}
	return append(notes, k.asks.unused()...)
}

// answered tells how a request ended. Contents are printed for people by show.
// It gives the run's error: nil when the server did what was asked.
func (k *talk) answered(where string, res *session.Result, err error, show func(jsonx.Raw) error) error {
	k.status.done()
	if stepped, ok := errors.AsType[*steppedError](err); ok {
		return k.stepped(stepped)
	}
	own, failed, err := k.outcome(where, res, err)
	if err != nil {
		k.tell(k.notes())
		return err
	}
	run := &report.Run{Verb: k.verb, Target: k.name, Outcome: report.Passed, Exit: exitOK, Notes: k.notes()}
	if failed != nil {
		run.Outcome, run.Exit = outcomeOf(failed.Exit), failed.Exit
		if failed.Exit == exitAnswered && k.s.Negotiated().Era == spec.Modern && len(k.asks.unused()) > 0 {
			failed.Try = firstOf(failed.Try, "--era legacy, where tools can ask by requests of the server")
		}
	}
	said, err := []string(nil), error(nil)
	if k.f.save != "" && own.Key == "result" && (failed == nil || failed.Code != badAnswer) {
		said, err = k.saved(jsonx.Raw(res.Raw))
		if e, ok := errors.AsType[*Error](err); ok {
			failed, run.Outcome, run.Exit = e, outcomeOf(e.Exit), e.Exit
		}
	}
	if k.f.format == "json" {
		k.a.judging = ""
		if err := k.a.object(run, own); err != nil {
			return err
		}
	} else {
		k.tell(run.Notes)
		if failed != nil && failed.Code == "tool-error" {
			failed.Message = toolFailed // its words are printed already
		}
		if own.Key == "rpcError" || failed != nil && failed.Code == badAnswer {
			show = k.a.printJSON
		}
		if err := show(own.Value.(jsonx.Raw)); err != nil {
			return err
		}
	}
	for _, line := range said {
		k.a.say("%s", line)
	}
	if failed != nil {
		return failed
	}
	return nil
}

// outcome is what a request came to: what the server answered, and why that is
// a failure; or the error of a request that it did not answer.
func (k *talk) outcome(where string, res *session.Result, err error) (answer report.Own, failed *Error, _ error) {
	if err == nil {
		if failed = toolError(where, res); failed == nil {
			failed = k.unusable(where, res)
		}
		return report.Own{Key: "result", Value: jsonx.Raw(res.Raw)}, failed, nil
	}
	rpc, ok := errors.AsType[*session.RPCError](err)
	if _, barred := errors.AsType[*transport.Error](err); !ok || barred { // a refusal at the door may have words
		return answer, nil, err
	}
	failed = &Error{Exit: exitAnswered, Code: "rpc-error", Where: where, Message: fmt.Sprintf("the server answered with error %d: %s", rpc.Code, text.Clip(rpc.Message, 500))}
	if rpc.Code == spec.CodeMissingClientCapability {
		failed.Try = "--answer says what to answer when it asks; roots are offered with --answer roots=file:///path"
	}
	return report.Own{Key: "rpcError", Value: errorMember(res, rpc)}, failed, nil
}

// tell prints notes for people.
func (k *talk) tell(notes []string) {
	for _, n := range notes {
		k.a.say("note: %s", text.LogLine(k.a.redactor.String(n)))
	}
}

const toolFailed = "the tool answered with an error"

// toolError is the error of a result that says that it is one, nil for others.
func toolError(where string, res *session.Result) *Error {
	if string(res.Member("isError")) != "true" {
		return nil
	}
	message := toolFailed
	if blocks, err := jsonx.Elements(res.Member("content"), jsonx.Lenient); err == nil && len(blocks) > 0 {
		if t := member(blocks[0], "text"); t != "" {
			message += ": " + text.Clip(t, 200)
		}
	}
	return &Error{Exit: exitAnswered, Code: "tool-error", Where: where, Message: message}
}

// errorMember is the error of a response as it crossed.
func errorMember(res *session.Result, rpc *session.RPCError) jsonx.Raw {
	if res != nil && res.Exchange != nil && res.Exchange.Response != nil {
		if e := res.Exchange.Response.Message().Error; e != nil && len(e.Raw) > 0 {
			return jsonx.Raw(e.Raw)
		}
	}
	raw, _ := jsonx.Marshal(map[string]any{"code": rpc.Code, "message": rpc.Message})
	return raw
}
