// SPDX-License-Identifier: Apache-2.0

//go:build bench

package cli

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcprove/mcprove/spec"
)

// everythingServer starts go-sdk's server for conformance suites, which has
// all that the official one asks for, and returns its URL.
func everythingServer(t *testing.T) (url string) {
	t.Helper()
	binary := filepath.Join(peersDir(t), "bin", "everything-server")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("go-sdk's everything-server is not installed (.ci/conformance does it): %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(binary, "-http", addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	for range 100 {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return "http://" + addr + "/mcp"
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not listen")
	return ""
}

// judgedRules is how many rules check passed or blamed.
func judgedRules(t *testing.T, argv []string) int {
	t.Helper()
	out, err := exec.Command(argv[0], slices.Concat(argv[1:], []string{"--format", "json"})...).Output()
	var report struct{ Summary map[string]int }
	if json.Unmarshal(out, &report) != nil {
		t.Fatalf("%v: %v\n%.500s", argv, err, out)
	}
	s := report.Summary
	return s["pass"] + s["fail"] + s["warn"] + s["info"]
}

// judgedChecks is how many checks of the suite passed or failed, each counted
// once in whatever scenarios and however often it is written: those of the
// scenarios that the revision requires, and all.
func judgedChecks(t *testing.T, out string, required []string) (scored, all int) {
	t.Helper()
	ids, scoredIDs := map[string]bool{}, map[string]bool{}
	for scenario, v := range readVerdicts(t, out) {
		for id, status := range v.worst {
			if status == "SKIPPED" || status == "INFO" {
				continue
			}
			ids[id] = true
			if slices.Contains(required, scenario) {
				scoredIDs[id] = true
			}
		}
	}
	return len(scoredIDs), len(ids)
}

// Plain check, against the server leg of the official suite, on one server.
func TestBenchCheck(t *testing.T) {
	dir := t.TempDir()
	mcprove := build(t, dir, "mcprove", "../../cmd/mcprove")
	url := everythingServer(t)
	s := installedSuite(t)
	out := filepath.Join(dir, "suite")
	suite := s.argv(url, out, "--requirements", spec.Rev20260728.String())
	check := []string{mcprove, "check", url}

	var floors, ours, quick []sample
	for range 5 {
		floors = append(floors, measure(t, dir, suite, exitFailed))
		ours = append(ours, measure(t, dir, check, exitFailed))
		quick = append(quick, measure(t, dir, []string{mcprove, "check", "--quick", url}, exitFailed))
	}
	f, o, q := median(floors), median(ours), median(quick)
	t.Logf("check --quick of everything-server: %.3f times the wall time of the official suite, %.0f ms and %.0f ms (goal: a tenth)",
		float64(q.wall)/float64(f.wall), ms(q.wall), ms(f.wall))
	if 10*q.wall >= f.wall {
		t.Error("the quick check takes a tenth of the suite's time or more")
	}
	t.Logf("check of everything-server: %.2f times the wall time of the official suite, %.0f ms and %.0f ms (goal: a third)",
		float64(o.wall)/float64(f.wall), ms(o.wall), ms(f.wall))
	t.Logf("check of everything-server: %.2f times its CPU, %.0f ms and %.0f ms (goal: a third)",
		float64(o.cpu)/float64(f.cpu), ms(o.cpu), ms(f.cpu))
	t.Logf("check of everything-server: peak %.1f MB, the suite's %.1f MB (goal: under 40)", float64(o.rss)/1024, float64(f.rss)/1024)
	if o.rss > 40<<10 {
		t.Error("it takes too much memory")
	}
	rules := judgedRules(t, check)
	required, _ := s.required(t, spec.Rev20260728)
	scored, all := judgedChecks(t, out, required)
	t.Logf("check of everything-server: %d rules are judged, and %d checks of the suite, %d with the scenarios that are not scored (goal: twice as many)",
		rules, scored, all)
	if rules < 2*scored {
		t.Error("it judges less than twice as much")
	}
}
