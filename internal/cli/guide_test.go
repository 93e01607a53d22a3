// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// states are sealed anew each time.
var states = regexp.MustCompile(`requestState "[^"]*"`)

// Every console block of the guide is a session that runs as it is printed;
// -update-scripts prints it anew.
func TestShellGuide(t *testing.T) {
	path, err := filepath.Abs("../../docs/guides/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Dir(asMcprove(t, t.TempDir()))
	run := func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TERM=dumb"}
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatalf("%s: %v", line, err)
		}
		return states.ReplaceAllString(string(out), `requestState "..."`)
	}
	blocks := strings.Split(string(page), "```console\n")
	commands := 0
	for i, b := range blocks[1:] {
		session, rest, ok := strings.Cut(b, "```\n")
		if !ok {
			t.Fatal("a block has no end")
		}
		printed := ""
		for n, part := range strings.Split("\n"+session, "\n$ ")[1:] {
			line, _, _ := strings.Cut(part, "\n")
			if n > 0 {
				printed += "\n"
			}
			printed += "$ " + line + "\n" + run(line)
			commands++
		}
		if printed != session && !*updateScripts {
			t.Errorf("the guide prints\n%s\nand it is\n%s", session, printed)
		}
		blocks[i+1] = printed + "```\n" + rest
	}
	if commands < 10 {
		t.Errorf("only %d commands were run", commands)
	}
	if *updateScripts {
		if err := os.WriteFile(path, []byte(strings.Join(blocks, "```console\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The calls that show a break can be copied: they work on the server before it,
// and fail after it, at the schema and, when it is not asked, at the server.
func TestCallsToCopyShowWhatTheySay(t *testing.T) {
	demo := start(strings.NewReader(""), "demo")
	<-demo.done
	bin := filepath.Dir(asMcprove(t, t.TempDir()))
	run := func(line string) int {
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin}
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	calls := 0
	for line := range strings.Lines(demo.stdout.String()) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "mcprove call demo:drift ") {
			continue
		}
		calls++
		for _, c := range []struct {
			line string
			want int
		}{{strings.Replace(line, "demo:drift", "demo:", 1), exitOK}, {line, exitUsage}, {line + " --no-check", exitAnswered}} {
			if got := run(c.line); got != c.want {
				t.Errorf("%s: exit %d; want %d", c.line, got, c.want)
			}
		}
	}
	if calls < 4 {
		t.Errorf("%d calls were shown", calls)
	}
}
