// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
)

// judgement is what `check` says of one server over one transport.
type judgement struct {
	Server    string   `yaml:"server"`
	Transport string   `yaml:"transport"`
	Fail      []string `yaml:"fail,omitempty"`
	Warn      []string `yaml:"warn,omitempty"`
	// May are rules that the server breaks in some runs, by the order in which
	// its own parts happen to run. They are written by hand.
	May []string `yaml:"may,omitempty"`

	counts   map[string]int
	findings []censused
	notes    []string
}

// censused is one finding of the JSON output.
type censused struct {
	Rule, Status, Message, Reason, Because string
	Revisions                              []string
}

const (
	judgedFile = "testdata/census.yaml"
	judgedDoc  = "../../docs/census.md"
)

// judgedDocs give the reasons: for the newest revision, for those before it, and
// for the servers of the SDKs.
var judgedDocs = []string{judgedDoc, "../../docs/census-handshake.md", "../../docs/census-sdks.md"}

// candidate is a server that is judged, over one transport.
type candidate struct {
	server, transport string
	// target is the URL, where there is one, and the command behind --.
	target []string
	flags  []string
	env    []string
}

// candidates are the servers of the pinned list and the conformance servers of
// two SDKs. That of the TypeScript SDK is in no package: it is judged where
// somebody has built it (docs/census.md says how).
func candidates(t *testing.T) []candidate {
	dir := realDir(t)
	var out []candidate
	for _, s := range realServers(t) {
		scratch := filepath.Join(t.TempDir(), s.Name)
		if err := os.MkdirAll(filepath.Join(scratch, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		var flags []string
		for _, k := range sortedNames(s.Env) {
			flags = append(flags, "--env", k+"="+strings.ReplaceAll(s.Env[k], "{S}", scratch))
		}
		environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch}
		out = append(out, candidate{s.Name, "stdio", append([]string{"--"}, s.argv(dir, s.Start, scratch)...), flags, environ})
		if s.HTTP != nil {
			argv, url, env := s.httpArgs(t, dir, scratch)
			if s.Name == "notion" {
				env = append(env, "--header", "Authorization: Bearer tok")
			}
			out = append(out, candidate{s.Name, "http", append([]string{url, "--"}, argv...), slices.Concat(flags, env), environ})
		}
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	sdk := filepath.Join(dir, "go", goConformance, "bin", "everything-server")
	if _, err := os.Stat(sdk); err != nil {
		t.Fatalf("the conformance server of go-sdk is not installed: %v", err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	out = append(out,
		candidate{goConformance, "stdio", []string{"--", sdk}, nil, environ},
		candidate{goConformance, "http", []string{"http://" + addr + "/", "--", sdk, "-http", addr}, nil, environ},
	)
	if js := filepath.Join(dir, "npm", tsConformance, "server.mjs"); exists(js) {
		port := fmt.Sprint(freePort(t))
		out = append(out, candidate{tsConformance, "http", []string{"http://127.0.0.1:" + port + "/mcp", "--", "node", js},
			[]string{"--env", "PORT=" + port}, environ})
	}
	return out
}

const (
	goConformance = "go-gosdk-conformance"
	tsConformance = "ts-sdk-conformance"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// What is said of real servers is what was read by hand: a finding that is new
// may be a false alarm, and one that is gone a blind eye.
func TestRealServersAreJudged(t *testing.T) {
	known := knownJudgements(t)
	cs := slices.Concat(candidates(t), sdkServers(t))
	got := make([]*judgement, len(cs))
	t.Run("servers", func(t *testing.T) {
		for at, c := range cs {
			t.Run(c.server+"/"+c.transport, func(t *testing.T) {
				t.Parallel()
				j := judge(t, &c)
				got[at] = j
				i := slices.IndexFunc(known, func(k *judgement) bool { return k.Server == j.Server && k.Transport == j.Transport })
				if i < 0 {
					if !*update {
						t.Errorf("%s does not have it", judgedFile)
					}
					return
				}
				j.May = known[i].May
				if *update {
					j.keep(known[i])
				} else {
					j.compare(t, known[i])
				}
				if judged := j.counts["pass"] + j.counts["fail"] + j.counts["warn"]; c.server == goConformance && c.transport == "http" && judged < 150 {
					t.Errorf("only %d rules gave a verdict", judged)
				}
				if c.server == "everything" {
					judged := j.judgedIn("2025-11-25")
					t.Logf("%d rules gave a verdict in 2025-11-25", judged)
					if judged < 80 {
						t.Errorf("only %d rules gave a verdict in 2025-11-25", judged)
					}
				}
			})
		}
	})
	got = slices.DeleteFunc(got, func(j *judgement) bool { return j == nil })
	if *update {
		writeJudgements(t, known, got)
		known = knownJudgements(t)
	}
	knownFaultsFound(t, known, cs)
	explained(t, known)
}

func judge(t *testing.T, c *candidate) *judgement {
	t.Helper()
	code, out, errs := runReal(t, c.env, slices.Concat([]string{"check", "-o", "json"}, c.flags, c.target)...)
	if code != exitFailed && code != exitOK && code != exitIncomplete { // incomplete: it claims older revisions alone
		t.Fatalf("check exits %d:\n%s%s", code, out, errs)
	}
	var doc struct {
		Summary  map[string]int
		Findings []censused
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("MCPROVE_REAL_OUT"); dir != "" && !slices.Contains(c.flags, "--only") { // to be read by hand
		if err := os.WriteFile(filepath.Join(dir, c.server+"-"+c.transport+".json"), []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j := &judgement{Server: c.server, Transport: c.transport, counts: doc.Summary, findings: doc.Findings}
	for _, f := range doc.Findings {
		switch f.Status {
		case "fail":
			j.Fail = append(j.Fail, f.Rule)
		case "warn":
			j.Warn = append(j.Warn, f.Rule)
		case "error":
			t.Errorf("%s came to no verdict: %s", f.Rule, f.Reason)
		}
	}
	slices.Sort(j.Fail)
	slices.Sort(j.Warn)
	j.Fail, j.Warn = slices.Compact(j.Fail), slices.Compact(j.Warn)
	t.Logf("%v", j.counts)
	return j
}

// judgedIn counts the rules that passed or were broken in a revision.
func (j *judgement) judgedIn(revision string) int {
	ids := map[string]bool{}
	for _, f := range j.findings {
		if slices.Contains([]string{"pass", "fail", "warn"}, f.Status) && slices.Contains(f.Revisions, revision) {
			ids[f.Rule] = true
		}
	}
	return len(ids)
}

// compare holds a run against the table. What a run had no time for, or this
// machine no means, is no difference.
func (j *judgement) compare(t *testing.T, want *judgement) {
	t.Helper()
	for _, status := range []struct {
		name      string
		got, want []string
	}{{"fail", j.Fail, want.Fail}, {"warn", j.Warn, want.Warn}} {
		for _, id := range status.got {
			if !slices.Contains(status.want, id) && !slices.Contains(want.May, id) {
				t.Errorf("new: %s %s: %s", status.name, id, j.find(id).Message)
			}
		}
		for _, id := range status.want {
			if f := j.find(id); !slices.Contains(status.got, id) && !j.prevented(id) {
				t.Errorf("gone: %s %s is now %s: %s%s", status.name, id, f.Status, f.Message, f.Reason)
			}
		}
	}
}

// keep takes over what was known and this run had no time for.
func (j *judgement) keep(known *judgement) {
	old := func(now, before []string) []string {
		for _, id := range before {
			if !j.blames(id) && j.prevented(id) {
				now = append(now, id)
			}
		}
		slices.Sort(now)
		return now
	}
	j.Fail, j.Warn = old(j.Fail, known.Fail), old(j.Warn, known.Warn)
}

func (j *judgement) blames(id string) bool {
	return slices.Contains(j.Fail, id) || slices.Contains(j.Warn, id)
}

func (j *judgement) find(id string) censused {
	i := slices.IndexFunc(j.findings, func(f censused) bool { return f.Rule == id })
	if i < 0 {
		return censused{Rule: id, Status: "not judged"}
	}
	return j.findings[i]
}

// prevented reports whether a rule was skipped in some revision for want of
// time, or of what the machine lacks, or has no revision that was got to. A rule
// that looks on sees less in a run that ended early, and nothing is judged of a
// server that had not started by then.
func (j *judgement) prevented(id string) bool {
	rl, ok := check.Find(id)
	reached, short := map[string]bool{}, false
	for _, f := range j.findings {
		for _, r := range f.Revisions {
			reached[r] = true
		}
		if f.Status != "skip" {
			continue
		}
		ended := strings.Contains(f.Reason, "the run ended")
		short = short || ended
		if f.Rule == id && (ended || slices.ContainsFunc([]string{"in time", "further connection", "this machine"}, func(s string) bool {
			return strings.Contains(f.Reason, s)
		})) {
			return true
		}
	}
	switch {
	case !ok:
		return false
	case short && rl.Watch != nil, slices.Contains(j.May, probe.RuleAnswers) && slices.Contains(j.Fail, probe.RuleAnswers):
		return true
	}
	return !slices.ContainsFunc(rl.Revisions, func(r string) bool { return reached[r] })
}

func knownJudgements(t *testing.T) []*judgement {
	t.Helper()
	data, err := os.ReadFile(judgedFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var out []*judgement
	if err := yaml.Load(data, &out, yaml.WithKnownFields()); err != nil && len(data) > 0 {
		t.Fatal(err)
	}
	return out
}

// writeJudgements rewrites the table and the part of the page that is made of
// it. Servers that were not there keep what was known of them.
func writeJudgements(t *testing.T, known, got []*judgement) {
	t.Helper()
	for _, k := range known {
		if !slices.ContainsFunc(got, func(j *judgement) bool { return j.Server == k.Server && j.Transport == k.Transport }) {
			got = append(got, k)
		}
	}
	for _, j := range got {
		may := func(id string) bool { return slices.Contains(j.May, id) }
		j.Fail, j.Warn = slices.DeleteFunc(j.Fail, may), slices.DeleteFunc(j.Warn, may)
	}
	slices.SortStableFunc(got, func(a, b *judgement) int { return cmp.Compare(a.Server, b.Server) })
	var b bytes.Buffer
	b.WriteString("# What `mcprove check` says of real servers; docs/census.md and census-handshake.md have the reasons.\n# Rewritten by go test -tags real -run RealServersAreJudged ./internal/cli -update.\n")
	e := yaml.NewEncoder(&b)
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(judgedFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(judgedDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), tableBegin)
	old, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", judgedDoc, tableBegin, tableEnd)
	}
	rows := head + tableBegin + countsTable(got, old) + tableEnd + tail
	if err := os.WriteFile(judgedDoc, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	tableBegin = "<!-- counts -->\n"
	tableEnd   = "<!-- end of counts -->\n"
)

// countsTable is the table of the page. A server that was not judged now keeps
// its row.
func countsTable(js []*judgement, old string) string {
	var b strings.Builder
	b.WriteString("\n| server | transport | judged | pass | fail | warn | info | skip |\n|---|---|---|---|---|---|---|---|\n")
	for _, j := range js {
		start := fmt.Sprintf("| %s | %s |", j.Server, j.Transport)
		if j.counts == nil {
			for line := range strings.Lines(old) {
				if strings.HasPrefix(line, start) {
					b.WriteString(line)
				}
			}
			continue
		}
		n := j.counts
		fmt.Fprintf(&b, "%s %d | %d | %d | %d | %d | %d |\n", start, n["pass"]+n["fail"]+n["warn"], n["pass"], n["fail"], n["warn"], n["info"], n["skip"])
	}
	b.WriteString("\n")
	return b.String()
}

// explained demands a heading of a page for every rule that is broken.
func explained(t *testing.T, known []*judgement) {
	t.Helper()
	var pages string
	for _, f := range judgedDocs {
		page, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages += string(page)
	}
	for _, j := range known {
		for _, id := range slices.Concat(j.Fail, j.Warn, j.May) {
			if !strings.Contains(pages, "\n### "+id+"\n") {
				t.Errorf("%v say nothing of %s, which %s breaks over %s", judgedDocs, id, j.Server, j.Transport)
			}
		}
	}
}
