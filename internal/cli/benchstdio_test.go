// SPDX-License-Identifier: Apache-2.0

//go:build bench

package cli

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// mostOfARun bounds a run of check, whatever the server does.
const mostOfARun = 45 * time.Second

// A full check over stdio, in every revision of a server whose process takes
// long to start. The floor is as many starts of it one after the other as the
// check made side by side; what is waited for besides is what the report says.
func TestBenchCheckStdio(t *testing.T) {
	dir := t.TempDir()
	mcprove := build(t, dir, "mcprove", "../../cmd/mcprove")
	probe := build(t, dir, "probe", "./testdata/probe")
	server := realServer(t, "everything", "stdio")

	var starts []sample
	start := func() { starts = append(starts, measure(t, dir, append([]string{probe}, server...))) }
	start()
	start()
	argv := slices.Concat([]string{mcprove, "check", "--format", "json", "--"}, server)
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.Output()
	var report struct {
		Summary map[string]int
		Time    checkTime
	}
	if json.Unmarshal(out, &report) != nil {
		t.Fatalf("%v: %v\n%.500s", argv, err, out)
	}
	start()
	one, tm := median(starts), report.Time
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	floor := time.Duration(tm.Processes) * one.wall
	waits := time.Duration(tm.Unanswered+tm.Silence+tm.Ending+tm.Told) * time.Millisecond
	elapsed := time.Duration(tm.Elapsed) * time.Millisecond

	t.Logf("check of server-everything over stdio: %.1f s (goal: 20), of it %.1f s waits; %d starts one after the other: %.1f s",
		elapsed.Seconds(), waits.Seconds(), tm.Processes, floor.Seconds())
	t.Logf("check of server-everything over stdio: %.2f times the wall time of those starts, %.2f without the waits (goal: 1)",
		float64(elapsed)/float64(floor), float64(elapsed-waits)/float64(floor))
	t.Logf("check of server-everything over stdio: %.2f times their CPU, %.1f s", float64(cpu)/float64(one.cpu)/float64(tm.Processes), cpu.Seconds())
	t.Logf("%s; %v", tm.words(), report.Summary)
	if elapsed-waits > floor {
		t.Error("it takes longer than the starts of its processes one after the other, and what it says that it waits for")
	}
	if elapsed > mostOfARun {
		t.Errorf("it takes longer than %s", mostOfARun)
	}
}
