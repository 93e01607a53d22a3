// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/spf13/cobra"
)

// mockFlags are the flags of the verb mock.
type mockFlags struct {
	stdio     bool
	http      string
	remote    bool
	fixture   string
	faults    []string
	revisions []string
	era       string
	verbose   bool
}

// fixtures are the scripts that --fixture knows, besides that of no name.
var fixtures = map[string]func() mock.Script{
	"conformance": mock.Conformance,
}

func (a *app) mockCommand() *cobra.Command {
	var f mockFlags
	cmd := &cobra.Command{
		Use:   "mock [flags] [FILE.yaml]",
		Short: "Serve a scripted MCP server, right or with a fault",
		Long: `Serve an MCP server that keeps every rule of every revision, both eras at once,
to develop and test a client against. FILE.yaml says what it shows and answers;
without one it is a specimen that has every feature. Nothing in a file runs a
command.

Over HTTP the first line of stdout is the URL, printed when the server listens;
with --stdio stdout is the protocol. SIGINT and SIGTERM end it with exit 0.

--fault breaks one rule on purpose and leaves the rest right; --fault list
names them. ID@METHOD moves a carrier fault to another method, ID@* to all.`,
		Example: `  mcprove mock                                    # a server with every feature
  mcprove mock --stdio server.yaml                # as a client starts it
  mcprove mock --http 127.0.0.1:8080 server.yaml
  mcprove mock --fault carrier.cut --era legacy   # what does my client do?
  mcprove mock --fault list
  mcprove mock --fixture conformance              # for the official suite`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(f.faults, "list") {
				return a.listFaults()
			}
			if cmd.Flags().Changed("http") && f.stdio {
				return usage("--stdio", "leave out one of the two", "--stdio and --http are two ways to serve")
			}
			script, name, err := a.mockScript(&f, args)
			if err != nil {
				return err
			}
			if f.stdio {
				return a.mockStdio(cmd.Context(), script, f.verbose)
			}
			if err := checkListen(f.http, f.remote); err != nil {
				return err
			}
			return a.mockHTTP(cmd.Context(), script, name, &f)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.stdio, "stdio", false, "serve one client over stdin and stdout")
	fs.StringVar(&f.http, "http", "127.0.0.1:0", "serve over HTTP at `ADDR`; port 0 is a free one")
	fs.BoolVar(&f.remote, "allow-remote", false, "allow an address that other machines reach")
	fs.StringVar(&f.fixture, "fixture", "", "serve a built-in script: "+strings.Join(fixtureNames(), ", "))
	fs.StringArrayVar(&f.faults, "fault", nil, "break this rule, by its `ID` (repeatable); list names them")
	fs.StringArrayVar(&f.revisions, "revision", nil, "speak this protocol `DATE`, such as 2025-11-25 (repeatable); all otherwise")
	fs.StringVar(&f.era, "era", "auto", "speak one era: modern (2026-07-28 on) or legacy (handshake); auto is both")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show every message on stderr")
	_ = cmd.RegisterFlagCompletionFunc("fixture", cobra.FixedCompletions(fixtureNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fault", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for id, fault := range faultsKnown() {
			out = append(out, id+"\t"+fault.title)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func fixtureNames() []string { return slices.Sorted(maps.Keys(fixtures)) }

// mockScript is the script that flags and words name, and what to call it.
func (a *app) mockScript(f *mockFlags, args []string) (script mock.Script, name string, err error) {
	switch {
	case len(args) == 1 && f.fixture != "":
		return script, "", usage("--fixture", "leave out one of the two", "--fixture and %s are two scripts", args[0])
	case len(args) == 1:
		name = args[0]
		script, err = readScript(name)
	case f.fixture != "":
		known := fixtures[f.fixture]
		if known == nil {
			try := "known: " + strings.Join(fixtureNames(), ", ")
			return script, "", usage("--fixture", try, "there is no fixture %q", f.fixture)
		}
		script, name = known(), "the fixture "+f.fixture
	default:
		script, name = mock.Specimen(), "a specimen"
	}
	if err != nil {
		return script, "", err
	}
	for _, id := range f.faults {
		apply, err := faultOf(id)
		if err != nil {
			return script, "", usage("--fault", err.Try, "%s", err.Message)
		}
		if err := carriedBy(id, f.stdio); err != nil {
			return script, "", err
		}
		apply(&script)
	}
	revisions, err := chosenRevisions(f.era, f.revisions)
	if err != nil {
		return script, "", err
	}
	if revisions != nil {
		script.Revisions = revisions // the flags decide, whatever a fault wants
	}
	return script, name, nil
}

// readScript reads a script and the files that it names. They must be beside it
// or further down.
func readScript(path string) (mock.Script, error) {
	data, err := readFile(path)
	if err != nil {
		if _, ok := err.(*Error); ok {
			return mock.Script{}, err
		}
		return mock.Script{}, &Error{Exit: exitUsage, Code: "script-unreadable", Where: path, Message: err.Error(), Try: "mcprove mock without a file serves a specimen"}
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return mock.Script{}, err
	}
	defer root.Close()
	return mock.ReadScript(path, data, mock.ReadOptions{
		File: func(name string) ([]byte, error) { return readBeside(root, name) },
		Fault: func(id string) (func(*mock.Script), error) {
			apply, err := faultOf(id)
			if err != nil {
				return nil, err // not a nil pointer in an interface
			}
			return apply, nil
		},
	})
}

// readBeside reads an ordinary file of a bounded size under a folder.
func readBeside(root *os.Root, name string) ([]byte, error) {
	st, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, cause(err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("it is not an ordinary file")
	case st.Size() > maxFile:
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", st.Size(), maxFile)
	}
	return root.ReadFile(name)
}

// chosenRevisions are those that the flags leave, nil for all of the script's.
func chosenRevisions(era string, dates []string) ([]spec.Revision, error) {
	only, _, err := parseEra(era, "")
	if err != nil {
		return nil, err
	}
	asked := map[spec.Revision]bool{}
	for _, d := range dates {
		_, r, err := parseEra(era, d)
		if err != nil {
			return nil, err
		}
		asked[r] = true
	}
	if only == 0 && len(asked) == 0 {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(spec.All()), func(r spec.Revision) bool {
		return only != 0 && r.Era() != only || len(asked) > 0 && !asked[r]
	}), nil
}

// checkListen refuses an address that other machines reach, unless they may.
func checkListen(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usage("--http", "write it like 127.0.0.1:8080, or 127.0.0.1:0 for a free port", "%q is not an address", addr)
	}
	ip := net.ParseIP(host)
	if remote || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return usage("--http", "use 127.0.0.1, or add --allow-remote", "other machines can reach %s", addr)
}
