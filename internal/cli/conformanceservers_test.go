// SPDX-License-Identifier: Apache-2.0

//go:build peers && real

package cli

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/spec"
)

// unreachedBySuite are servers that the suite cannot be held against.
var unreachedBySuite = map[string]string{
	"code-runner": "over HTTP it serves its first request, and answers every other by HTTP 500; `base.answers` says so",
	"notion":      "it serves nothing without a bearer token, and the suite cannot send one",
}

// conformanceServers are the real servers over Streamable HTTP: those of the
// pinned list, those of the SDKs, and the conformance server of go-sdk with
// sessions too, without which it cannot ask its client for anything.
func conformanceServers(t *testing.T) []candidate {
	t.Helper()
	var out []candidate
	for _, c := range slices.Concat(candidates(t), sdkServers(t)) {
		if c.transport != "stdio" && unreachedBySuite[c.server] == "" && !slices.ContainsFunc(out, func(o candidate) bool {
			return o.server == c.server && o.transport == c.transport
		}) {
			out = append(out, c)
		}
	}
	i := slices.IndexFunc(out, func(c candidate) bool { return c.server == goConformance })
	with := out[i]
	with.transport, with.target = "http, with sessions", append(slices.Clone(with.target), "-stateless=false")
	return slices.Insert(out, i+1, with)
}

// startServer starts the command of a candidate that is reached over HTTP, and
// returns its URL and what ends it.
func startServer(t *testing.T, c *candidate) (at string, end func()) {
	t.Helper()
	at = c.target[0]
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(c.target[2], c.target[3:]...)
	cmd.Env = slices.Clone(c.env)
	for i, f := range c.flags {
		if f == "--env" {
			cmd.Env = append(cmd.Env, c.flags[i+1])
		}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &said, &said, t.TempDir()
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", u.Host, time.Second)
		if err == nil {
			conn.Close()
			return at, end
		}
		if time.Now().After(deadline) {
			end()
			t.Fatalf("it does not listen: %v\n%s", err, said.String())
		}
	}
}

// suiteRow is what the suite and check say of one server.
type suiteRow struct {
	server, transport string
	applied           map[string]string // scenario to its cell
	absent            int               // scenarios whose fixture it lacks
	notes             []string          // lines of the table of failures
}

// Every failure of the suite on a real server is a finding of check, or there is
// a reason. A scenario that asks for what the server does not have says nothing
// of it, and is left out by rule (conformanceneeds_test.go).
func TestConformanceRealServers(t *testing.T) {
	s := installedSuite(t)
	scored, unscored := s.required(t, spec.Rev20251125)
	used := make([]bool, len(excuses))
	servers := conformanceServers(t)
	var rows []suiteRow
	for _, c := range servers {
		t.Run(c.server+"/"+strings.ReplaceAll(c.transport, ", ", "-"), func(t *testing.T) {
			rows = append(rows, compareWithSuite(t, s, &c, slices.Concat(scored, unscored), used))
		})
	}
	if t.Failed() || len(rows) < len(servers) {
		return // some of them say nothing of the whole
	}
	for i, e := range excuses {
		if !used[i] {
			t.Errorf("the reason for %s %v is not needed any more", e.check, e.says)
		}
	}
	compareServers(t, rows)
}

// complaint is a check of the suite that came out badly.
type complaint struct{ scenario, status, id, says string }

func compareWithSuite(t *testing.T, s suite, c *candidate, scenarios []string, used []bool) suiteRow {
	at, end := startServer(t, c)
	shows := showAt(t, at, spec.Rev20251125)
	verdicts := s.run(t, at, "--requirements", spec.Rev20251125.String())
	end()
	r := suiteRow{server: c.server, transport: c.transport, applied: map[string]string{}}
	var open []complaint
	for _, scenario := range scenarios {
		_, ok := shows.applies(scenario)
		v, ran := verdicts[scenario]
		switch {
		case !ok && fixtureOf[scenario].name != "":
			r.absent++
		case !ok:
			r.applied[scenario] = "not declared"
		case !ran:
			t.Errorf("%s was not run", scenario)
		case v.broken != "" && v.worst == nil:
			t.Errorf("%s: %s", scenario, v.broken)
		case v.broken != "":
			r.applied[scenario] = "nothing to test"
		default:
			r.applied[scenario] = "pass"
		}
		for _, b := range v.bad {
			status, rest, _ := strings.Cut(b, " ")
			id, says, _ := strings.Cut(rest, ": ")
			if ok || slices.Contains(withoutFixture, id) {
				open = append(open, complaint{scenario, status, id, strings.TrimSpace(says)})
			}
		}
	}
	r.settle(t, c, open, used)
	return r
}

// settle finds for each complaint what check says of it, or the reason why it
// says nothing. Only the rules that judge the same are asked.
func (r *suiteRow) settle(t *testing.T, c *candidate, open []complaint, used []bool) {
	t.Helper()
	var asked []string
	judges := map[string][]string{}
	for _, o := range open {
		nth, ok := excused(c.server, o.id, o.says)
		if ok && excuses[nth].skipped == "" {
			continue
		}
		if ok {
			asked = append(asked, excuses[nth].skipped)
		}
		judges[o.id] = judgesOf(t, o.id, spec.Rev20251125)
		asked = append(asked, judges[o.id]...)
	}
	var j *judgement
	if len(asked) > 0 {
		slices.Sort(asked)
		asking := *c
		asking.flags = append(slices.Clone(c.flags), "--revision", spec.Rev20251125.String())
		for _, id := range slices.Compact(asked) {
			asking.flags = append(asking.flags, "--only", id)
		}
		j = judge(t, &asking)
	}
	var told []string
	for _, o := range open {
		by, cell := "", "found"
		nth, ok := excused(c.server, o.id, o.says)
		if ok && excuses[nth].skipped != "" {
			ok = j.find(excuses[nth].skipped).Status == "skip"
		}
		if ok {
			used[nth] = true
			by, cell = fmt.Sprintf("reason %d", nth+1), "reason"
		} else {
			var found []string
			for _, id := range judges[o.id] {
				if slices.Contains(j.Fail, id) || slices.Contains(j.Warn, id) {
					found = append(found, "`"+id+"`")
				}
			}
			by = strings.Join(found, ", ")
		}
		if by == "" {
			t.Errorf("%s %s in %s, and neither a finding of %v nor a reason: %s", o.status, o.id, o.scenario, judges[o.id], o.says)
			continue
		}
		if old, ok := r.applied[o.scenario]; ok && old != "found" {
			r.applied[o.scenario] = cell
		}
		// The same check stands in many scenarios, and many times in one.
		if line := fmt.Sprintf("%s | %s | %s", o.id, o.status, by); !slices.Contains(told, line) {
			told = append(told, line)
			r.notes = append(r.notes, fmt.Sprintf("| %s | %s | %s | %s |\n", r.server, r.transport, o.scenario, line))
		}
	}
}

// compareServers holds the part of the page against this run.
func compareServers(t *testing.T, rows []suiteRow) {
	t.Helper()
	columns := slices.Concat(anyServer, []string{"logging-set-level", "tools-list", "resources-list", "prompts-list"})
	var b strings.Builder
	b.WriteString(serversHeading + `
Generated by ` + "`make peers-real`" + `, which needs what ` + "`.ci/real-servers`, `.ci/sdk-servers`" + ` and
` + "`.ci/conformance`" + ` install. The suite at 2025-11-25, all its scenarios, against real servers over
Streamable HTTP. What it finds, ` + "`mcprove check --revision 2025-11-25`" + ` finds too, or there is a reason.

Most scenarios ask for a tool, resource or prompt by a name that only a server written
for the suite has. They apply where the server lists that name, and are counted in
the last column. A scenario about a feature applies where the server declares it,
since all of them are optional. "Found" is a failure or warning that is a finding of
` + "`check`" + ` as well; "reason" one that has a reason below.

| server | transport |`)
	for _, name := range columns {
		b.WriteString(" " + name + " |")
	}
	b.WriteString(" with a fixture |\n|---|---|" + strings.Repeat("---|", len(columns)+1) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |", r.server, r.transport)
		for _, name := range columns {
			b.WriteString(" " + r.applied[name] + " |")
		}
		passed := 0
		for scenario := range fixtureOf {
			if r.applied[scenario] == "pass" {
				passed++
			}
		}
		fmt.Fprintf(&b, " %d of %d pass |\n", passed, len(fixtureOf)-r.absent)
	}
	b.WriteString("\n| server | transport | scenario | check | says | found by |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		b.WriteString(strings.Join(r.notes, ""))
	}
	b.WriteString("\nReasons:\n\n")
	for i, e := range excuses {
		fmt.Fprintf(&b, "%d. `%s`: %s.\n", i+1, e.check, e.reason)
	}
	b.WriteString("\nNot held against the suite:\n\n")
	for _, name := range sortedNames(unreachedBySuite) {
		fmt.Fprintf(&b, "- %s: %s.\n", name, unreachedBySuite[name])
	}
	page, err := os.ReadFile(filepath.FromSlash(conformanceFile))
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(page), serversHeading)
	if *updateConformance {
		if err := os.WriteFile(conformanceFile, []byte(before+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old := serversHeading + after; old != b.String() {
		t.Errorf("docs/conformance.md is out of date (run with -update-conformance, and read the difference):\n%s", firstLineOff(old, b.String()))
	}
}
