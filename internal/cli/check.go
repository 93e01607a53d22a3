// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/spf13/cobra"
)

// baselineFile is where the accepted findings of check stand.
const baselineFile = "mcprove.baseline.yaml"

// checkFlags are the flags of check beside those of target and output.
type checkFlags struct {
	revisions  []string
	only, skip []string
	tools      []string
	failing    []string
	mine       bool
	stateTTL   time.Duration
	failOn     string
	baseline   string
	update     bool
	quick      bool
	listBytes  int
	intrusive  bool
	tokens     furtherTokens
}

func (f *checkFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.revisions, "revision", nil, "judge by this protocol `DATE` (repeatable; default: all that the server claims)")
	fs.StringArrayVar(&f.only, "only", nil, "judge only these `RULES`: an id, a topic such as http-header, or a prefix ending in * (repeatable)")
	fs.StringArrayVar(&f.skip, "skip", nil, "leave these `RULES` out (repeatable)")
	fs.StringArrayVar(&f.tools, "tool", nil, "allow this tool to be called: 'NAME={\"argument\": 1}', or NAME alone for arguments made from its schema (repeatable)")
	fs.StringArrayVar(&f.failing, "failing", nil, "a request that fails inside the server, so that its error can be judged: 'resources/read={\"uri\": \"x://y\"}' (repeatable)")
	fs.BoolVar(&f.mine, "target-is-mine", false, "send malformed requests to a target that is not on this machine, too")
	fs.DurationVar(&f.stateTTL, "state-ttl", 0, "how long a requestState of the server is valid, so that its expiry can be seen")
	fs.BoolVar(&f.quick, "quick", false, "run the three tests to adopt first, in the newest revision served: a foreign Origin; concurrent requests with unique and with equal ids; the size of tools/list, and whether it changes by calls")
	fs.BoolVar(&f.intrusive, "intrusive", false, "judge the rules that put a load on the server too: long bodies, deep JSON, slow clients, many sessions, texts that keep patterns busy")
	f.tokens.add(fs)
	fs.IntVar(&f.listBytes, "max-list-bytes", 0, "fail a tools/list of more than this many bytes (default: warn above 65536)")
	fs.StringVar(&f.failOn, "fail-on", "", "mildest status that fails: fail or warn (default fail)")
	fs.StringVar(&f.baseline, "baseline", "", "`FILE` of accepted findings (default: "+baselineFile+" where it exists)")
	fs.BoolVar(&f.update, "update-baseline", false, "write what fails now into the baseline, and pass")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"fail", "warn"}, cobra.ShellCompDirectiveNoFileComp))
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		for _, i := range check.Infos() {
			ids = append(ids, i.ID+"\t"+i.Title)
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc("only", complete)
	_ = cmd.RegisterFlagCompletionFunc("skip", complete)
}

func (a *app) checkCommand() *cobra.Command {
	var (
		tf targetFlags
		of outputFlags
		cf checkFlags
	)
	tf.manyRevisions = true
	cmd := &cobra.Command{
		Use:   "check [flags] TARGET",
		Short: "Judge a server by the rules of the protocol, on the wire",
		Long: `Send a server what clients send, and what they must not, and judge every answer
by the rules of the protocol. Each finding shows what crossed, the section of
the specification, who is hurt, and the command that shows it again.

No tool is called unless it says readOnlyHint, or you name it with --tool.
Malformed requests go only to servers on this machine, unless you say
--target-is-mine. Rules that put a load on the server are left out unless you
say --intrusive; each has hard bounds of bytes, connections and seconds, and
they run after all others. Exit 1 when a rule fails, 6 when what you asked for by name
could not be judged.

URL -- COMMAND starts the command, waits until the URL answers MCP, and ends
the whole process tree afterwards. --config mcprove.yaml without --server
judges every target in it and compares what they show.`,
		Example: `  mcprove check -- npx -y @modelcontextprotocol/server-everything
  mcprove check http://127.0.0.1:3000/mcp
  mcprove check http://127.0.0.1:3000/mcp -- node server.js
  mcprove check --quick http://127.0.0.1:3000/mcp
  mcprove check --intrusive http://127.0.0.1:3000/mcp -- node server.js
  mcprove check --token mine.txt --token-other-audience theirs.txt https://example.com/mcp
  mcprove check --tool 'search={"query":"go"}' --only tools -- ./my-server
  mcprove check -o github --report junit=check.xml --config mcprove.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if of.format == "json" {
				a.judging = "check"
			}
			return a.check(cmd, args, &tf, &of, &cf)
		},
	}
	tf.add(cmd)
	of.add(cmd)
	cf.add(cmd)
	return cmd
}

// judged is one target at one revision, and how it came out.
type judged struct {
	target *target
	result *check.Result
}

// check judges every target that is named, and reports.
func (a *app) check(cmd *cobra.Command, args []string, tf *targetFlags, of *outputFlags, cf *checkFlags) error {
	targets, err := a.checkTargets(cmd, tf, args)
	if err != nil {
		return err
	}
	plan, err := cf.plan(targets[0].checking)
	if err != nil {
		return err
	}
	if plan.tokens, err = cf.tokens.read(a, targets); err != nil {
		return err
	}
	plan.overHTTP = cf.tokens.given(tf.token)
	baseline, err := a.readBaseline(plan)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("start-timeout") {
		plan.start = tf.start
	}
	bound := time.Duration(len(targets)) * longestJudging
	plan.whole = cmd.Flags().Changed("max-time")
	if plan.whole {
		bound = tf.maxTime
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), bound)
	defer cancel()
	run := &report.Run{Verb: "check", DetailKey: "findings", Infos: registry().Lookup}
	add, finish, err := a.sinks(of, tf.verbose, run)
	if err != nil {
		return err
	}
	c := &checkRun{app: a, plan: plan, flags: tf, begin: time.Now()}
	for i, t := range targets {
		if err := c.judge(ctx, t, c.share(len(targets)-i)); err != nil {
			return maxTime(ctx, err)
		}
	}
	if err := cmd.Context().Err(); err != nil {
		return err // half a run is no report
	}
	c.compareForms()
	c.compareEras()
	if cf.update {
		return a.updateBaseline(plan.baseline, baseline, c)
	}
	return c.report(run, add, finish, baseline)
}

// checkTargets are the targets named: one, or every one of a configuration.
func (a *app) checkTargets(cmd *cobra.Command, tf *targetFlags, args []string) ([]*target, error) {
	before, command, err := words(cmd, args)
	if err != nil {
		return nil, err
	}
	if tf.config == "" || tf.server != "" || len(before)+len(command) > 0 {
		t, err := a.resolve(tf, before, command)
		if err != nil {
			return nil, err
		}
		return []*target{t}, nil
	}
	c, err := loadConfig(tf.config)
	if err != nil {
		return nil, err
	}
	if !c.forms {
		_, _, err := a.fromConfig(tf) // which says what to add
		return nil, err
	}
	var out []*target
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		one := *tf
		one.server, one.several = name, true
		t, err := a.resolve(&one, nil, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, usage(tf.config, "add one under targets:", "there is no target in it")
	}
	return out, nil
}

const (
	// defaultMaxTime is how long check may take for one target.
	defaultMaxTime = 40 * time.Second
	// closingTime is what is kept of it to end what was started, and to report.
	closingTime = check.ClosingTime + 500*time.Millisecond
	// leastJudging is what a target gets at least, however long its server took to be
	// there, unless the user bounds the run.
	leastJudging = 10 * time.Second
	// longestJudging bounds one target, with the start of its server and intrusive
	// rules, where the user does not.
	longestJudging = 2 * time.Minute
)

// share is how long the next target may take, which --max-time bounds together with
// the others that are left.
func (c *checkRun) share(left int) time.Duration {
	if !c.plan.whole {
		return c.flags.maxTime
	}
	return (c.flags.maxTime - time.Since(c.begin)) / time.Duration(left)
}

// checkPlan is what flags and configuration ask of check.
type checkPlan struct {
	revisions []spec.Revision
	only      []string
	skip      []string
	tools     map[string]json.RawMessage
	failing   map[string]json.RawMessage
	mine      bool
	stateTTL  time.Duration
	failOn    rule.Status
	baseline  string
	must      bool // the user named the baseline
	quick     bool
	listBytes int
	start     time.Duration // zero where the user said nothing of it
	intrusive bool
	whole     bool // the user bounds the run by --max-time
	tokens    probe.Tokens
	// given are the flags that a run needs to come to the same verdict again.
	given []string
	// overHTTP are those of a target over HTTP alone.
	overHTTP []string
}

func (f *checkFlags) plan(s checkConfig) (*checkPlan, error) {
	p := &checkPlan{
		only: slices.Concat(f.only, s.only), skip: slices.Concat(f.skip, s.skip), mine: f.mine || s.mine,
		stateTTL: f.stateTTL, tools: map[string]json.RawMessage{}, failing: map[string]json.RawMessage{}, failOn: rule.Fail,
		baseline: firstOf(f.baseline, s.baseline, baselineFile), must: f.baseline != "" || s.baseline != "",
	}
	if len(f.only) > 0 {
		p.only = f.only
	}
	if f.listBytes < 0 {
		return nil, usage("--max-list-bytes", "a number of bytes, such as 65536", "%d is below zero", f.listBytes)
	}
	if p.quick, p.listBytes = f.quick, f.listBytes; p.quick {
		if len(f.only) > 0 {
			return nil, usage("--quick", "leave one of them out", "--quick and --only both choose rules")
		}
		p.only = check.Quick
	}
	if p.intrusive = f.intrusive; p.intrusive {
		if p.quick {
			return nil, usage("--intrusive", "leave one of them out", "none of the rules of --quick puts a load on a server")
		}
		p.given = append(p.given, "--intrusive")
	}
	if p.listBytes > 0 {
		p.given = append(p.given, "--max-list-bytes", fmt.Sprint(p.listBytes))
	}
	for _, t := range f.tools {
		p.given = append(p.given, "--tool", t)
	}
	for _, t := range f.failing {
		p.given = append(p.given, "--failing", t)
	}
	if f.stateTTL > 0 {
		p.given = append(p.given, "--state-ttl", f.stateTTL.String())
	}
	if f.mine {
		p.given = append(p.given, "--target-is-mine")
	}
	if p.stateTTL == 0 {
		p.stateTTL = s.stateTTL
	}
	for _, d := range f.revisions {
		r, err := spec.ParseRevision(d)
		if err != nil {
			_, _, err := parseEra("auto", d)
			return nil, err
		}
		p.revisions = append(p.revisions, r)
	}
	if len(p.revisions) == 0 {
		p.revisions = s.revisions
	}
	switch firstOf(f.failOn, s.failOn, "fail") {
	case "fail":
	case "warn":
		p.failOn = rule.Warn
	default:
		return nil, usage("--fail-on", "fail or warn", "unknown status %q", f.failOn)
	}
	for flag, patterns := range map[string][]string{"--only": p.only, "--skip": p.skip} {
		for _, pattern := range patterns {
			if err := knownRules(flag, pattern); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range p.only {
		if r, ok := check.Find(id); ok && r.Intrusive && !p.intrusive {
			return nil, usage("--only", "add --intrusive", "%s puts a load on the server, which has to be asked for", id)
		}
	}
	maps.Copy(p.tools, s.tools)
	for _, t := range f.tools {
		name, args, given := strings.Cut(t, "=")
		if given && jsonx.Check([]byte(args), jsonx.Strict) != nil || given && jsonx.KindOf([]byte(args)) != jsonx.Object {
			return nil, usage("--tool", `write it as --tool 'NAME={"argument": 1}'`, "the arguments of %s are no JSON object: %s", name, args)
		}
		if name == "" {
			return nil, usage("--tool", `write it as --tool 'NAME={"argument": 1}'`, "%q names no tool", t)
		}
		p.tools[name] = json.RawMessage(args)
		if !given {
			p.tools[name] = nil
		}
	}
	maps.Copy(p.failing, s.failing)
	for _, t := range f.failing {
		method, params, _ := strings.Cut(t, "=")
		if method == "" || jsonx.Check([]byte(params), jsonx.Strict) != nil || jsonx.KindOf([]byte(params)) != jsonx.Object {
			return nil, usage("--failing", `write it as --failing 'METHOD={"member": 1}'`, "%q is no method with its params, a JSON object", t)
		}
		p.failing[method] = json.RawMessage(params)
	}
	return p, nil
}

// knownRules refuses a pattern that names no rule.
func knownRules(flag, pattern string) error {
	var names []string
	for _, r := range check.Rules() {
		if check.Match(r.ID, pattern) {
			return nil
		}
		topic, _, _ := strings.Cut(r.ID, ".")
		names = append(names, r.ID)
		if !slices.Contains(names, topic) {
			names = append(names, topic)
		}
	}
	try := "mcprove rules --family check lists them"
	if near := rule.Nearest(pattern, names); len(near) > 0 {
		try = "did you mean " + strings.Join(near, ", ") + "?"
	}
	if several := strings.Split(pattern, ","); len(several) > 1 {
		try = "repeat the flag for each: " + flag + " " + strings.Join(several, " "+flag+" ")
	}
	return usage(flag, try, "no rule is named %q", pattern)
}

// checkRun is one call of check over all of its targets.
type checkRun struct {
	app    *app
	plan   *checkPlan
	flags  *targetFlags
	judged []judged
	// missed are things asked for by name that could not be judged.
	missed []string
	notes  []string
	extra  []rule.Finding
	dead   error // a server that died before it answered anything
	begin  time.Time
	clock  probe.Clock
}

// judge runs one target at every revision that is asked for or claimed, for so long.
func (c *checkRun) judge(ctx context.Context, t *target, limit time.Duration) error {
	until := time.Now().Add(max(time.Second, limit-closingTime))
	status := c.app.status()
	defer status.done()
	var so session.Options
	t.options(&so)
	if t.beside != nil {
		if err := free(t); err != nil {
			return err
		}
		so.Progress = func(w session.Waiting) { status.waiting(t.name, w) }
		end := c.clock.Wait()
		stop, s, err := c.app.startBeside(ctx, c.flags, t, so, status)
		end(probe.Starting)
		defer stop()
		switch {
		case err == nil:
			closeSession(ctx, s)
		case ctx.Err() != nil || !answered(err):
			return err
		}
	}
	asked := c.plan.revisions
	if len(asked) == 0 && so.Revision != 0 {
		asked = []spec.Revision{so.Revision}
	}
	if least := time.Now().Add(leastJudging); !c.plan.whole && until.Before(least) {
		until = least
	}
	v := &visit{run: c, target: t, options: so, status: status, until: until}
	if len(asked) > 0 {
		return v.asked(ctx, asked)
	}
	return v.served(ctx)
}

// answered reports whether a failed negotiation shows a server that is there:
// how it answers is for the rules to say.
func answered(err error) bool {
	switch transport.ReasonOf(err) {
	case transport.NotMCP, transport.BadStatus, transport.BadHTTP, transport.NotFound:
		return true
	case "":
		_, negotiated := errors.AsType[*session.NegotiationError](err)
		_, silent := errors.AsType[*session.TimeoutError](err)
		return negotiated || silent
	}
	return false
}

// unknownTools notes tools that were named and are not there: what was to be
// judged by them was not.
func (c *checkRun) unknownTools(t *target, r *check.Result) {
	if len(r.Facts.List(spec.MethodToolsList).Pages) == 0 {
		return
	}
	for name := range c.plan.tools {
		if !slices.ContainsFunc(r.Facts.Tools(), func(i probe.Item) bool { return i.Name == name }) {
			c.missed = append(c.missed, fmt.Sprintf("%s lists no tool %q, which was to be called", t.name, name))
		}
	}
}

// local reports whether a target is on this machine: a process, a handler
// inside this one, or a URL of a loopback address.
func local(t transport.Target) bool {
	h, ok := t.(*transport.HTTP)
	if !ok {
		return true
	}
	u, err := url.Parse(h.URL)
	if err != nil || h.Proxy != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// free refuses a URL that somebody serves already: the verdict would be about
// another server than the one that is started.
func free(t *target) error {
	h, ok := t.Target.(*transport.HTTP)
	if !ok {
		return nil
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), firstOf(port, "80")), time.Second)
	if err != nil {
		return nil
	}
	_ = conn.Close()
	return &Error{
		Exit: exitUsage, Code: "port-taken", Where: t.name, Message: "something listens there already, before the command was started",
		Try: "end it, or leave out -- COMMAND to judge what listens there",
	}
}
