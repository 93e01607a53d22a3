// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/proc"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
	"github.com/spf13/cobra"
)

// targetFlags are the flags of every verb that talks to a server.
type targetFlags struct {
	config   string
	server   string
	era      string
	revision string
	headers  []string
	token    string
	bearer   string // what the token makes of a header, empty without one
	env      []string
	minimal  bool
	cwd      string
	timeout  time.Duration
	start    time.Duration
	maxTime  time.Duration
	verbose  bool

	manyRevisions bool // the verb judges: it has a --revision of its own, and waits less
	several       bool // there are further targets, to which a token may go
}

func (f *targetFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "read servers from `FILE`: mcprove.yaml, .mcp.json, claude_desktop_config.json, .vscode/mcp.json")
	fs.StringVar(&f.server, "server", "", "the server `NAME` in --config")
	fs.StringVar(&f.era, "era", "auto", "protocol era: auto, modern (2026-07-28 on) or legacy (handshake)")
	if !f.manyRevisions {
		fs.StringVar(&f.revision, "revision", "", "ask for this protocol `DATE`, such as 2025-11-25")
	}
	fs.StringArrayVarP(&f.headers, "header", "H", nil, "HTTP header 'Name: value', sent to the target only (repeatable)")
	fs.StringVar(&f.token, flagToken[2:], "", "send the token in `FILE` to the target: Authorization: Bearer TOKEN")
	fs.StringArrayVarP(&f.env, "env", "e", nil, "KEY=VALUE for the command (repeatable)")
	fs.BoolVar(&f.minimal, "minimal-env", false, "give the command only PATH, HOME and the like, and --env")
	fs.StringVar(&f.cwd, "cwd", "", "start the command in `DIR`")
	bound, whole, of := 30*time.Second, 2*time.Minute, "bound of the whole run"
	if f.manyRevisions {
		bound, whole, of = probe.DefaultTimeout, defaultMaxTime, "bound of the whole run; by default of each target"
	}
	fs.DurationVar(&f.timeout, "timeout", bound, "bound of one request")
	fs.DurationVar(&f.start, "start-timeout", 60*time.Second, "bound of the server's start; npx may have to install first")
	fs.DurationVar(&f.maxTime, "max-time", whole, of)
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show every frame, and the server's stderr, on stderr")
}

// given are the flags that make a target answer as it did. Header values are
// secrets, and left out.
func (f *targetFlags) given() []string {
	var out []string
	for _, e := range f.env {
		out = append(out, "--env", e)
	}
	if f.cwd != "" {
		out = append(out, "--cwd", f.cwd)
	}
	if f.minimal {
		out = append(out, "--minimal-env")
	}
	return out
}

// defaults are the flags' values where no command line sets them.
func (f *targetFlags) defaults() { f.add(&cobra.Command{}) }

// words splits the arguments of a verb at --: what stands before it, and the
// command after it. A -- with nothing after it is an error.
func words(cmd *cobra.Command, args []string) (before, command []string, err error) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil, nil
	}
	if at == len(args) {
		return nil, nil, usage(cmd.CommandPath(), "", "there is no command after --")
	}
	return args[:at], args[at:], nil
}

// targetOf resolves the one target that a verb's arguments name.
func (a *app) targetOf(cmd *cobra.Command, f *targetFlags, args []string) (*target, error) {
	before, command, err := words(cmd, args)
	if err != nil {
		return nil, err
	}
	return a.resolve(f, before, command)
}

// target is a resolved target.
type target struct {
	transport.Target
	name     string                 // for reports, without secrets
	words    []string               // that name it on a command line, for calls to copy
	beside   *proc.Command          // to start before the URL is asked, and to end afterwards
	contract string                 // contract file named by the configuration
	settings contractConfig         // of the configuration
	checking checkConfig            // of the configuration
	options  func(*session.Options) // era, revision and timeouts
}

// resolve finds the target that words, command and flags name. Nothing is
// guessed: a word that is no target is an error.
func (a *app) resolve(f *targetFlags, before, command []string) (*target, error) {
	for _, b := range []struct {
		flag string
		d    time.Duration
	}{{"--timeout", f.timeout}, {"--start-timeout", f.start}, {"--max-time", f.maxTime}} {
		if b.d <= 0 {
			return nil, usage(b.flag, "write it like 30s or 2m", "a bound must be longer than nothing, is %s", b.d)
		}
	}
	t := &target{}
	var sc *serverConfig
	switch {
	case f.config != "" || f.server != "":
		c, s, err := a.fromConfig(f)
		if err != nil {
			return nil, err
		}
		if len(before) > 0 || len(command) > 0 {
			return nil, usage("--server", "leave out one of the two", "the target is named twice: by --server and by %s", strings.Join(append(before, command...), " "))
		}
		sc, t.settings, t.checking, t.contract = s, c.contract, c.checking, s.contract
		if t.contract != "" && !filepath.IsAbs(t.contract) {
			t.contract = filepath.Join(filepath.Dir(c.path), t.contract)
		}
		t.words = []string{"--config", f.config, "--server", f.server}
	case len(before) == 0 && len(command) == 0:
		return nil, usage("", "a target is a URL, demo:, or a command after --", "no target is named")
	case len(before) > 1:
		return nil, usage("", "put the command behind --: mcprove VERB -- "+strings.Join(before, " "), "one target is expected before --, found %d words: %s", len(before), strings.Join(before, " "))
	default:
		sc = &serverConfig{command: command}
		if len(before) == 1 {
			sc.url = before[0]
		}
		t.words = before
		if len(before) == 0 {
			t.words = append([]string{"--"}, command...)
		}
	}
	if err := a.override(f, sc, t); err != nil {
		return nil, err
	}
	return t, a.connect(sc, t)
}

func (a *app) fromConfig(f *targetFlags) (*config, *serverConfig, error) {
	if f.config == "" {
		return nil, nil, usage("--server", "add --config FILE; nothing is run out of a file that you did not name", "--server needs --config")
	}
	c, err := loadConfig(f.config)
	if err != nil {
		return nil, nil, err
	}
	names := slices.Sorted(maps.Keys(c.servers))
	if f.server == "" {
		return nil, nil, usage(f.config, "add --server NAME", "which server? it has: %s", strings.Join(names, ", "))
	}
	s := c.servers[f.server]
	switch {
	case s == nil && len(names) == 0:
		return nil, nil, usage(f.config, "", "there is no server in it")
	case s == nil:
		return nil, nil, usage(f.config, "it has: "+strings.Join(names, ", "), "there is no server %q in it", f.server)
	case s.disabled:
		return nil, nil, usage(s.place, "", "server %q is disabled in the file", f.server)
	}
	x := &expander{app: a, workspace: workspaceOf(f.config)}
	s, err = x.server(f.server, s)
	if err != nil {
		return nil, nil, err
	}
	if s.cwd != "" && !filepath.IsAbs(s.cwd) {
		s.cwd = filepath.Join(filepath.Dir(f.config), s.cwd)
	}
	return c, s, nil
}

// override lets the flags decide over the configuration.
func (a *app) override(f *targetFlags, sc *serverConfig, t *target) error {
	if sc.env == nil {
		sc.env = map[string]string{}
	}
	if sc.header == nil {
		sc.header = map[string]string{}
	}
	for _, kv := range f.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return usage("--env", "write it as KEY=VALUE", "%q has no =", kv)
		}
		sc.env[k] = v
	}
	for _, h := range f.headers {
		k, v, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(k) == "" {
			return usage("--header", "write it as 'Name: value'", "a header has no colon")
		}
		sc.header[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	if err := a.bearer(f, sc); err != nil {
		return err
	}
	a.learn(sc.env)
	a.learnHeaders(sc.header)
	if f.cwd != "" {
		sc.cwd = f.cwd
	}
	sc.command = slices.Clone(sc.command)
	era, rev, err := parseEra(firstOf(ifSet(f.era, "auto"), sc.era, "auto"), firstOf(f.revision, sc.revision))
	if err != nil {
		return err
	}
	timeout := f.timeout
	if sc.timeout > 0 && timeout == 30*time.Second {
		timeout = sc.timeout
	}
	t.options = func(o *session.Options) {
		o.Era, o.Revision = era, rev
		o.Timeouts.Request, o.Timeouts.Start = timeout, f.start
	}
	if !f.minimal {
		sc.env = merged(a.env.Environ, sc.env)
	} else {
		sc.env = merged(proc.Minimal(a.env.Environ), sc.env)
	}
	return nil
}

func ifSet(v, standard string) string {
	if v == standard {
		return ""
	}
	return v
}

func parseEra(era, revision string) (spec.Era, spec.Revision, error) {
	var e spec.Era
	switch era {
	case "auto":
	case "modern":
		e = spec.Modern
	case "legacy":
		e = spec.Legacy
	default:
		return 0, 0, usage("--era", "auto, modern or legacy", "unknown era %q", era)
	}
	if revision == "" {
		return e, 0, nil
	}
	r, err := spec.ParseRevision(revision)
	if err != nil {
		var known []string
		for _, k := range spec.All() {
			known = append(known, k.String())
		}
		return 0, 0, usage("--revision", "known: "+strings.Join(known, ", "), "unknown revision %q", revision)
	}
	if e != 0 && r.Era() != e {
		return 0, 0, usage("--revision", "leave out --era", "revision %s is not of the %s era", revision, era)
	}
	return e, r, nil
}

func merged(environ []string, over map[string]string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	maps.Copy(out, over)
	return out
}

func environ(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return out
}

// connect makes the transport of a resolved server.
func (a *app) connect(sc *serverConfig, t *target) error {
	command := transport.Command{Argv: sc.command, Dir: sc.cwd, Env: environ(sc.env)}
	switch {
	case sc.url == "":
		t.Target = &command
		t.name = a.redactor.String(strings.Join(sc.command, " "))
		return nil
	case strings.HasPrefix(sc.url, "demo:"):
		if len(sc.command) > 0 {
			return usage(sc.url, "", "%s needs no command after --", sc.url)
		}
		demo, err := mock.Demo(sc.url)
		if err != nil {
			return usage(sc.url, "demo: and demo:drift are the embedded servers", "%v", err)
		}
		t.Target, t.name = demo, sc.url
		return nil
	}
	u, err := url.Parse(sc.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usage("", "a target is a URL (http:// or https://), demo:, or a command after --", "%q is no target", sc.url)
	}
	fields := make([]wire.HeaderField, 0, len(sc.header))
	for _, k := range slices.Sorted(maps.Keys(sc.header)) {
		fields = append(fields, wire.HeaderField{Name: k, Value: sc.header[k]})
	}
	h := &transport.HTTP{URL: sc.url, Header: fields, Proxy: a.proxyFor(u)}
	if len(sc.command) == 0 {
		t.Target, t.name = h, h.String()
		return nil
	}
	t.Target, t.name = h, h.String()
	t.beside = &proc.Command{Argv: sc.command, Dir: sc.cwd, Env: environ(sc.env)}
	t.words = append([]string{sc.url, "--"}, sc.command...)
	return nil
}

// proxyFor is the proxy that the environment names for a URL; loopback never
// has one.
func (a *app) proxyFor(u *url.URL) *url.URL {
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := a.getenv(n); ok && v != "" {
				return v
			}
		}
		return ""
	}
	for _, no := range strings.Split(get("NO_PROXY", "no_proxy"), ",") {
		no = strings.TrimPrefix(strings.TrimSpace(no), ".")
		if no == "*" || no != "" && (host == no || strings.HasSuffix(host, "."+no)) {
			return nil
		}
	}
	raw := get("HTTPS_PROXY", "https_proxy")
	if u.Scheme == "http" {
		raw = get("HTTP_PROXY", "http_proxy")
	}
	if raw == "" {
		return nil
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	p, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	return p
}
