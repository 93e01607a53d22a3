// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/surface"
)

var update = flag.Bool("update", false, "rewrite docs/census-contract.md, testdata/census.yaml and the counts of docs/census.md")

// realServer is one server of the pinned list.
type realServer struct {
	Name, Package, Version string
	Install, Start         string
	Env                    map[string]string
	Eras                   []string
	Faults                 struct{ Must, Should []string }
	HTTP                   *struct {
		Start      string
		Path       string
		Initialize int
	}
}

// census is one row of docs/census-contract.md.
type census struct {
	server, transport, revision string
	tools, bytes                int
	digest                      string
}

// realDir is where the servers are installed; without it the build tag was
// given in vain, which is an error and never a skip.
func realDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MCPROVE_REAL")
	if dir == "" {
		dir = filepath.Join("..", "..", ".real")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the real servers are not installed: %v", err)
	}
	return dir
}

func realServers(t *testing.T) []realServer {
	t.Helper()
	root := os.Getenv("MCPROVE_SHARED")
	if root == "" {
		t.Fatal("MCPROVE_SHARED must name the folder with servers/servers.json")
	}
	data, err := os.ReadFile(filepath.Join(root, "servers", "servers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ss []realServer
	if err := json.Unmarshal(data, &ss); err != nil {
		t.Fatal(err)
	}
	return ss
}

// argv turns a start line of the list into words. go servers are binaries in a
// folder of their own; node scripts need node in front.
func (s *realServer) argv(dir, line, scratch string) []string {
	home := filepath.Join(dir, "npm", s.Name)
	line = strings.NewReplacer("$W/npm/"+s.Name, home, "$SCRATCH", scratch, "{S}", scratch).Replace(line)
	ws := strings.Fields(line)
	switch {
	case strings.HasPrefix(s.Install, "go "):
		ws[0] = filepath.Join(dir, "go", s.Name, "bin", "everything")
	case ws[0] == "node":
		ws[1] = filepath.Join(home, ws[1])
	default:
		ws = append([]string{"node"}, ws...)
	}
	return ws
}

var portInLine = regexp.MustCompile(`(--port |--httpPort |-http 127\.0\.0\.1:)(\d+)`)

// httpArgs gives the server a free port in its own way, and returns the URL.
func (s *realServer) httpArgs(t *testing.T, dir, scratch string) (argv []string, url string, env []string) {
	t.Helper()
	line, port := s.HTTP.Start, freePort(t)
	switch m := portInLine.FindStringSubmatch(line); {
	case m != nil:
		line = strings.Replace(line, m[0], m[1]+strconv.Itoa(port), 1)
	case s.Name == "go-mcpgo-everything":
		port = 8080 // its port cannot be chosen
	default:
		env = append(env, "--env", "PORT="+strconv.Itoa(port))
	}
	return s.argv(dir, line, scratch), fmt.Sprintf("http://127.0.0.1:%d%s", port, s.HTTP.Path), env
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Every real server is recorded twice, byte for byte the same, and passes its
// own contract, over every transport that it has.
func TestRealServersKeepTheirOwnContracts(t *testing.T) {
	dir := realDir(t)
	var rows []census
	var quotes []string // what servers did against the protocol, in their words
	for _, s := range realServers(t) {
		scratch := filepath.Join(t.TempDir(), s.Name)
		if err := os.MkdirAll(filepath.Join(scratch, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch}
		var flags []string
		for _, k := range sortedNames(s.Env) {
			flags = append(flags, "--env", k+"="+strings.ReplaceAll(s.Env[k], "{S}", scratch))
		}
		t.Run(s.Name+"/stdio", func(t *testing.T) {
			target := append([]string{"--"}, s.argv(dir, s.Start, scratch)...)
			row, notes := keepsItsContract(t, s.Name, "stdio", environ, flags, target)
			rows, quotes = append(rows, row), append(quotes, notes...)
		})
		if s.HTTP == nil {
			continue
		}
		if s.HTTP.Initialize != 200 {
			t.Run(s.Name+"/http", func(t *testing.T) {
				argv, url, env := s.httpArgs(t, dir, scratch)
				code, out, errs := runReal(t, environ, slices.Concat([]string{"show"}, flags, env, []string{url, "--"}, argv)...)
				if code != exitUnreachable {
					t.Errorf("its HTTP form is known to fail, and show exits %d:\n%s%s", code, out, errs)
				}
				first, _, _ := strings.Cut(errs, "\n")
				quotes = append(quotes, fmt.Sprintf("%s over http: %s", s.Name, strings.ReplaceAll(strings.TrimPrefix(first, "mcprove: "), url, "URL")))
			})
			continue
		}
		t.Run(s.Name+"/http", func(t *testing.T) {
			argv, url, env := s.httpArgs(t, dir, scratch)
			if s.Name == "notion" {
				env = append(env, "--header", "Authorization: Bearer tok")
			}
			target := append([]string{url, "--"}, argv...)
			row, notes := keepsItsContract(t, s.Name, "http", environ, append(slices.Clone(flags), env...), target)
			rows, quotes = append(rows, row), append(quotes, notes...)
		})
	}
	compareCensus(t, rows, quotes)
}

func sortedNames(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// uncounted leaves out how many lines of noise there were, which is a matter of
// how long the server ran, and how much of the first is shown.
func uncounted(note string) string {
	m := noisy.FindStringSubmatch(note)
	if m == nil {
		return note
	}
	return "lines on stdout are not JSON-RPC, the first begins " + m[1]
}

var noisy = regexp.MustCompile(`^\d+ lines? on stdout (?:is|are) not JSON-RPC[:;](?: the first is:)? (.{0,30})`)

func keepsItsContract(t *testing.T, name, transport string, environ, flags, target []string) (census, []string) {
	t.Helper()
	folder := t.TempDir()
	var files [2][]byte
	var notes []string
	for i := range files {
		path := filepath.Join(folder, fmt.Sprintf("%d.json", i))
		args := slices.Concat([]string{"contract", "snapshot", "-f", path}, flags, target)
		code, out, errs := runReal(t, environ, args...)
		if code != 0 {
			t.Fatalf("snapshot exits %d:\n%s%s", code, out, errs)
		}
		if i == 0 {
			t.Logf("%s%s", out, errs)
			for line := range strings.Lines(errs) {
				if n, ok := strings.CutPrefix(line, "note: "); ok {
					notes = append(notes, fmt.Sprintf("%s over %s: %s", name, transport, uncounted(strings.TrimSpace(n))))
				}
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = data
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("two recordings differ:\n%s", firstDifference(files[0], files[1]))
	}
	code, out, errs := runReal(t, environ, slices.Concat([]string{"contract", "check", "--strict", "-f", filepath.Join(folder, "0.json")}, flags, target)...)
	if code != 0 {
		t.Errorf("it does not pass its own contract (exit %d):\n%s%s", code, out, errs)
	}
	s, err := surface.Decode("0.json", files[0])
	if err != nil {
		t.Fatal(err)
	}
	return census{name, transport, strings.Join(s.Revisions, " "), len(s.Items(surface.Tools)), len(files[0]), s.Digest()}, notes
}

// cut keeps the start of a quote, which is the same on every machine.
func cut(s string) string {
	const most = 110
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n- %s\n+ %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(x), len(y))
}

const censusFile = "../../docs/census-contract.md"

// compareCensus holds the table in the documentation against this run; only
// the date may differ.
func compareCensus(t *testing.T, rows []census, quotes []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Census: contracts of real servers\n\n" +
		"Generated by `make real`. Every server is recorded twice over each of its transports; both\n" +
		"recordings are the same bytes, and the server passes its own contract. The digest names\n" +
		"the whole surface: it is the same on every machine.\n\n" +
		"| server | transport | revisions | tools | bytes | digest | date |\n|---|---|---|---|---|---|---|\n")
	day := time.Now().UTC().Format(time.DateOnly)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | `%s` | %s |\n", r.server, r.transport, r.revision, r.tools, r.bytes, r.digest[:16], day)
	}
	b.WriteString("\n## What servers did against the protocol\n\n")
	for _, q := range quotes {
		b.WriteString("- " + text.Markdown(cut(q)) + "\n")
	}
	if *update {
		if err := os.WriteFile(censusFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(censusFile)
	if err != nil {
		t.Fatal(err)
	}
	dates := regexp.MustCompile(`\d{4}-\d\d-\d\d \|\n`)
	if x, y := dates.ReplaceAllString(string(old), "|\n"), dates.ReplaceAllString(b.String(), "|\n"); x != y {
		t.Errorf("docs/census-contract.md is out of date (run with -update, and read the difference):\n%s", firstDifference([]byte(x), []byte(y)))
	}
}
