// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: flags and files in, library calls, reports
// out. It alone prints, reads the environment and exits.
package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcprove/mcprove/internal/cli/version"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Env is the world around one run; tests make their own.
type Env struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // KEY=VALUE
	Now     func() time.Time
	// StdoutTTY and StderrTTY tell that a person reads it.
	StdoutTTY, StderrTTY bool
	Width                int // of the terminal; 0 when unknown
}

// app is one run.
type app struct {
	env      Env
	stdout   io.Writer
	stderr   io.Writer
	redactor *text.Redactor
	secrets  []string          // values that must appear nowhere
	tokens   map[string]string // read out of files, by path
	opened   bool              // the server answered
	serving  bool              // the run serves until it is told to end: that is no interruption
	judging  string            // verb that owes its reader a JSON object, whatever happens
	asking   bool              // that verb asks, and judges nothing
	began    time.Time
	exit     int // decided by the verb when it returns no error
}

// Main runs mcprove in this process's world and returns the exit code.
func Main() int {
	collectLate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	finished := make(chan struct{})
	defer close(finished) // before stop, which ends the context too
	go func() {
		select {
		case <-finished:
			return
		case <-ctx.Done():
		}
		// Whatever is being computed, an interrupted run is over within a second.
		select {
		case <-finished:
		case <-time.After(lastMoment):
			os.Exit(exitInterrupted)
		}
	}()
	width := 0
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		width = w
	}
	return Run(ctx, Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Now: time.Now, Width: width,
		StdoutTTY: term.IsTerminal(int(os.Stdout.Fd())), StderrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	})
}

// collectLate puts the first garbage collection off: most runs end before they
// have used 16 MB. From then on memory is collected as usual.
func collectLate() {
	usual := debug.SetGCPercent(400)
	first := new([16]byte)
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// lastMoment is how long an interrupted run may take to end what it started.
const lastMoment = 900 * time.Millisecond

// Run is Main in a given world. The context ends when the user interrupts.
func Run(ctx context.Context, env Env) (code int) {
	out := &outWriter{w: env.Stdout}
	a := &app{env: env, stdout: out, stderr: env.Stderr, redactor: &text.Redactor{}, began: env.Now()}
	a.learnSecrets(env.Environ)
	defer func() {
		if r := recover(); r != nil {
			a.report(&Error{Exit: exitInternal, Code: "internal", Message: fmt.Sprintf("internal fault: %v", r),
				Try: "please report it, with the command and this stack:\n" + string(debug.Stack())})
			code = exitInternal
		}
	}()
	root := a.root()
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) && !a.serving:
		a.report(interrupted())
		return exitInterrupted
	case out.err != nil:
		e := &Error{Exit: exitInternal, Code: "output-failed", Message: fmt.Sprintf("standard output cannot be written: %v", cause(out.err)), Try: "what was asked for may have been done; look at where stdout goes"}
		a.report(e)
		return e.Exit
	case err == nil:
		return a.exit
	}
	e := explain(err, a.opened)
	a.incomplete(e)
	a.report(e)
	return e.Exit
}

// outWriter remembers that standard output could not be written: that is no
// fault of the command line, and no printer has to report it.
type outWriter struct {
	w   io.Writer
	err error
}

func (o *outWriter) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// learnSecrets teaches the redactor the values of inherited variables that by
// their names hold secrets, and look like it: a word such as "staging" must
// not vanish from what a server shows.
func (a *app) learnSecrets(environ []string) {
	for _, kv := range environ {
		k, v, ok := strings.Cut(kv, "=")
		if ok && text.SecretName(k) && len(v) >= 12 && strings.ContainsAny(v, "0123456789") {
			a.secret(v)
		}
	}
}

// learn takes secrets out of what the user passes on by name: variables that
// are called or look like secrets.
func (a *app) learn(named map[string]string) {
	for k, v := range named {
		if text.SecretName(k) || a.redactor.String(v) != v {
			a.secret(v)
		}
	}
}

// learnHeaders takes every header value for a secret, but those that say
// nothing of their sender.
func (a *app) learnHeaders(named map[string]string) {
	for k, v := range named {
		if !slices.ContainsFunc([]string{"Accept", "Accept-Language", "Content-Type", "User-Agent", "Origin", "Host"}, func(n string) bool { return strings.EqualFold(n, k) }) {
			a.secret(v)
		}
	}
}

// secret hides a value, in the spellings that a server may give it back in.
func (a *app) secret(v string) {
	spell := func(v string) {
		path := strings.ReplaceAll(url.QueryEscape(v), "+", "%20")
		all := []string{v, url.QueryEscape(v), url.PathEscape(v), path, strings.ReplaceAll(path, "%2F", "/"), base64.StdEncoding.EncodeToString([]byte(v)), base64.URLEncoding.EncodeToString([]byte(v))}
		a.redactor.Add(all...)
		a.secrets = append(a.secrets, all...)
	}
	spell(v)
	// "Bearer abc": the token alone is the secret, too.
	if _, token, ok := strings.Cut(v, " "); ok {
		spell(strings.TrimSpace(token))
	}
}

// getenv reads a variable of the run's environment; the last one counts.
func (a *app) getenv(name string) (string, bool) {
	for i := len(a.env.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(a.env.Environ[i], "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcprove",
		Short: "Prove that an MCP server keeps its promises",
		Long: `mcprove records what an MCP server promises, and says exactly which changes
break the agents that were built on it: with a call that worked before and fails
now. It judges a server by the rules of the protocol, with the exchange that shows
each verdict, calls it from a shell, and mocks one to test clients.

A target is a command after --, a URL, or demo: (a server inside mcprove).`,
		Example: `  mcprove demo                                          # see the whole job
  mcprove contract snapshot -- npx -y my-mcp-server     # record; commit the file
  mcprove contract check -- npx -y my-mcp-server        # hold the server to it
  mcprove check -- npx -y my-mcp-server                 # is it right on the wire?
  mcprove ls -- npx -y my-mcp-server                    # what has it got?
  mcprove call get_weather city=Ulm -- ./my-mcp-server  # use it
  mcprove mock --fault carrier.cut                      # a server that misbehaves
  mcprove show https://example.com/mcp                  # just look`,
		SilenceErrors: true, SilenceUsage: true,
		Version: version.String(),
		Args: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return nil
			}
			var verbs []string
			for _, c := range cmd.Commands() {
				verbs = append(verbs, c.Name())
			}
			try := "mcprove --help"
			if near := rule.Nearest(words[0], verbs); len(near) > 0 {
				try = "mcprove " + near[0]
			}
			if slices.Contains([]string{"list", "tools", "resources", "templates", "prompts"}, words[0]) {
				try = "mcprove ls"
			}
			return usage("", try, "unknown verb %q", words[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetIn(a.env.Stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd.CommandPath(), cmd.CommandPath()+" --help", "%v", err)
	})
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, g := range []struct {
		id, title string
		verbs     []*cobra.Command
	}{
		{"judge", "Hold a server to its word:", []*cobra.Command{a.contractCommand(), a.checkCommand(), a.validateCommand(), a.showCommand(), a.rulesCommand(), a.explainCommand(), a.demoCommand()}},
		{"ask", "Ask a server from the shell:", []*cobra.Command{a.lsCommand(), a.callCommand(), a.readCommand(), a.getCommand(), a.completeCommand(), a.batchCommand(), a.listenCommand(), a.rawCommand()}},
		{"serve", "Be a server:", []*cobra.Command{a.mockCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.verbs {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.versionCommand())
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// wrapArgs makes cobra's own complaints about words usage errors.
func wrapArgs(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(cmd *cobra.Command, words []string) error {
			err := args(cmd, words)
			if _, ok := errors.AsType[*Error](err); err == nil || ok {
				return err
			}
			return usage(cmd.CommandPath(), cmd.CommandPath()+" --help", "%v", err)
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "mcprove %s\n", version.String())
			return err
		},
	}
}
