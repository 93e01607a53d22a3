// SPDX-License-Identifier: Apache-2.0

//go:build bench

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// The whole-process benchmarks. Each prints its ratio to a floor measured in
// the same run, alternating, so that a noisy machine hurts both alike. They fail
// on sizes, and on ratios that are far from their floor; a time in seconds is a
// figure to read.

// sample is one run of a process, its children that it waited for included.
type sample struct {
	wall, cpu time.Duration
	rss       int64 // KiB, of the largest process
}

func measure(t *testing.T, dir string, argv []string, codes ...int) sample {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(began)
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(append(codes, 0), code) {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return sample{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss}
}

// pairs runs two commands in turn and returns the medians of both.
func pairs(t *testing.T, n int, dir string, floor, ours []string) (f, o sample) {
	t.Helper()
	var fs, os []sample
	for range n {
		fs = append(fs, measure(t, dir, floor))
		os = append(os, measure(t, dir, ours))
	}
	return median(fs), median(os)
}

func median(ss []sample) sample {
	pick := func(f func(sample) int64) int64 {
		var xs []int64
		for _, s := range ss {
			xs = append(xs, f(s))
		}
		slices.Sort(xs)
		return xs[len(xs)/2]
	}
	return sample{
		time.Duration(pick(func(s sample) int64 { return int64(s.wall) })),
		time.Duration(pick(func(s sample) int64 { return int64(s.cpu) })),
		pick(func(s sample) int64 { return s.rss }),
	}
}

// notInlined are the packages that the Makefile and .goreleaser.yaml build without
// inlining.
var notInlined = []string{
	"github.com/mcprove/mcprove/contract", "github.com/mcprove/mcprove/internal/check",
	"github.com/mcprove/mcprove/internal/cli",
	"github.com/mcprove/mcprove/internal/probe",
	"github.com/mcprove/mcprove/mock",
	"github.com/mcprove/mcprove/report",
	"github.com/mcprove/mcprove/session",
	"github.com/mcprove/mcprove/surface",
	"github.com/mcprove/mcprove/transport",
	"github.com/santhosh-tekuri/jsonschema/...",
	"go.yaml.in/yaml/v4/...",
}

// build builds a program as a release is built.
func build(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}
	for _, p := range notInlined {
		args = append(args, "-gcflags="+p+"=-l")
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, b)
	}
	return out
}

func TestBenchProcesses(t *testing.T) {
	dir := t.TempDir()
	mcprove := build(t, dir, "mcprove", "../../cmd/mcprove")
	probe := build(t, dir, "probe", "./testdata/probe")
	canned := build(t, dir, "canned", "./testdata/canned")
	src := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := build(t, dir, "empty", src)

	st, err := os.Stat(mcprove)
	if err != nil {
		t.Fatal(err)
	}
	const most = 17_000_000 // 17 MB
	t.Logf("binary: %.2f MB stripped (goal: under 17)", float64(st.Size())/1e6)
	if st.Size() > most {
		t.Error("the binary is too large")
	}

	f, o := pairs(t, 101, dir, []string{empty}, []string{mcprove, "version"})
	t.Logf("mcprove version: %.2f times an empty program by wall, %.2f by CPU (goal: 3)",
		float64(o.wall)/float64(f.wall), float64(o.cpu)/float64(f.cpu))

	memory, everything := realServer(t, "memory"), realServer(t, "everything", "stdio")
	contract := func(name string, argv []string) string {
		file := filepath.Join(dir, name+".json")
		measure(t, dir, slices.Concat([]string{mcprove, "contract", "snapshot", "-f", file, "--"}, argv))
		return file
	}
	memoryFile, everythingFile := contract("memory", memory), contract("everything", everything)

	check := func(file string, argv []string) []string {
		return slices.Concat([]string{mcprove, "contract", "check", "-f", file, "--"}, argv)
	}
	f, o = pairs(t, 15, dir, append([]string{probe}, memory...), check(memoryFile, memory))
	t.Logf("contract check of server-memory: %.2f times the CPU of the server with a minimal probe (goal: 1.3)", float64(o.cpu)/float64(f.cpu))

	f, o = pairs(t, 31, dir, []string{probe, canned, memoryFile}, check(memoryFile, []string{canned, memoryFile}))
	t.Logf("contract check of its surface from a canned server: %.1f ms of CPU in all, %.1f ms more than a minimal probe (goal: at most 15 of our own)",
		ms(o.cpu), ms(o.cpu-f.cpu))

	_, o = pairs(t, 15, dir, []string{empty}, check(everythingFile, []string{canned, everythingFile}))
	t.Logf("contract check of server-everything's surface: peak %.1f MB (goal: under 40)", float64(o.rss)/1024)
	if o.rss > 40<<10 {
		t.Error("it takes too much memory")
	}
}

// realServer is the command of an installed server.
func realServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	real := os.Getenv("MCPROVE_REAL")
	if real == "" {
		real = filepath.Join("..", "..", ".real")
	}
	real, err := filepath.Abs(real)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"node", filepath.Join(real, "npm", name, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
