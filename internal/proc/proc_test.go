// SPDX-License-Identifier: Apache-2.0

package proc_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/internal/proc"
)

// actor makes the test binary play a program.
const actor = "PROC_TEST_ACTOR"

// noSleep keeps a program under the race detector from sleeping at its end.
const noSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if play, ok := actors[os.Getenv(actor)]; ok {
		play()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var actors = map[string]func(){
	"echo": func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"exit": func() { fmt.Fprintln(os.Stderr, "cannot go on"); os.Exit(3) },
	"flood": func() {
		b := bytes.Repeat([]byte("noise\n"), 1000)
		for range 2000 {
			_, _ = os.Stderr.Write(b)
		}
		fmt.Fprintln(os.Stderr, "the end")
		fmt.Println("done")
	},
	"stay": func() { // ignores EOF and the terminate signal
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	"hold": func() { time.Sleep(time.Hour) },
	"fork": func() { // leaves a child behind that holds the pipes
		c := exec.Command(os.Args[0])
		c.Env = []string{actor + "=hold"}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println(c.Process.Pid)
	},
	"daemon": func() { // leaves a child behind that has left the group
		c := exec.Command(os.Args[0])
		c.Env = []string{actor + "=hold"}
		detach(c)
		if len(os.Args) > 1 {
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
		}
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println(c.Process.Pid)
		if len(os.Args) == 1 {
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
	},
	"env": func() { fmt.Print(strings.Join(os.Environ(), "\n")) },
}

func start(t *testing.T, name string) *proc.Process {
	t.Helper()
	p, err := proc.Start(proc.Command{Argv: []string{os.Args[0]}, Env: []string{noSleep, actor + "=" + name}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(proc.Grace{}) })
	return p
}

func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > d {
		t.Errorf("%s took %s, want at most %s", what, took, d)
	}
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return p.Signal(syscall.Signal(0)) == nil
}

func TestEndsByItselfOnEOF(t *testing.T) {
	p := start(t, "echo")
	_, _ = io.WriteString(p.Stdin, "hello\n")
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil || line != "hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	within(t, time.Second, "Stop", func() { p.Stop(proc.Grace{Close: 5 * time.Second}) })
	if s := p.Status(); s != (proc.Status{}) {
		t.Errorf("status %+v", s)
	}
}

func TestIgnoresEverything(t *testing.T) {
	p := start(t, "stay")
	_, _ = bufio.NewReader(p.Stdout).ReadString('\n')
	within(t, time.Second, "Stop", func() { p.Stop(proc.Grace{Close: 50 * time.Millisecond, Term: 50 * time.Millisecond}) })
	if runtime.GOOS != "windows" && p.Status() != (proc.Status{Code: -1, Signal: "SIGKILL"}) {
		t.Errorf("status %+v", p.Status())
	}
}

func TestHurry(t *testing.T) {
	p := start(t, "stay")
	hurry := make(chan struct{})
	close(hurry)
	within(t, time.Second, "Stop", func() { p.Stop(proc.Grace{Close: time.Hour, Term: time.Hour, Hurry: hurry}) })
}

func TestGrandchildHoldsThePipes(t *testing.T) {
	p := start(t, "fork")
	var pid int
	_, err := fmt.Fscan(p.Stdout, &pid)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if !alive(pid) {
		t.Fatal("the child left behind is not there")
	}
	within(t, time.Second, "Stop", func() { p.Stop(proc.Grace{Close: time.Second}) })
	deadline := time.Now().Add(time.Second)
	for alive(pid) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if alive(pid) {
		// A zombie that nobody waits for is dead enough.
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); !bytes.Contains(b, []byte(") Z ")) {
			t.Errorf("process %d is still there: %s", pid, b)
		}
	}
}

func TestExitsAtOnce(t *testing.T) {
	p := start(t, "exit")
	<-p.Exited()
	p.DrainStderr(time.Second)
	if p.Status().Code != 3 || p.Tail() != "cannot go on\n" {
		t.Errorf("%+v, %q", p.Status(), p.Tail())
	}
}

func TestFloodOfStderr(t *testing.T) {
	var copied bytes.Buffer
	p, err := proc.Start(proc.Command{Argv: []string{os.Args[0]}, Env: []string{noSleep, actor + "=flood"}, Stderr: &copied})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := bufio.NewReader(p.Stdout).ReadString('\n')
	<-p.Exited()
	p.DrainStderr(time.Second)
	p.Stop(proc.Grace{})
	if out != "done\n" || len(p.Tail()) != 64<<10 || !strings.HasSuffix(p.Tail(), "the end\n") {
		t.Errorf("%q, a tail of %d", out, len(p.Tail()))
	}
	if copied.Len() != 2000*6000+len("the end\n") {
		t.Errorf("copied %d bytes", copied.Len())
	}
}

func TestNothingIsAddedToTheEnvironment(t *testing.T) {
	p := start(t, "env")
	b, _ := io.ReadAll(p.Stdout)
	if got := string(b); got != noSleep+"\n"+actor+"=env" && runtime.GOOS != "windows" {
		t.Errorf("environment %q", got)
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		argv []string
		want error
	}{
		{nil, nil}, {[]string{""}, nil},
		{[]string{"no-such-program"}, proc.ErrNotFound},
		{[]string{filepath.Join(dir, "none")}, proc.ErrNotFound},
		{[]string{plain}, proc.ErrNotExecutable},
		{[]string{"plain"}, proc.ErrNotExecutable},
		{[]string{dir}, proc.ErrNotExecutable},
	} {
		_, err := proc.Start(proc.Command{Argv: tc.argv, Env: []string{"PATH=" + dir}})
		var se *proc.StartError
		if !errors.As(err, &se) || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%q: %v, want %v", tc.argv, err, tc.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := []string{"PATH=/a", "API_TOKEN=x", "HOME=/h", "PATH=/b", "odd"}
	if v, ok := proc.Lookup(env, "PATH"); !ok || v != "/b" {
		t.Errorf("PATH = %q", v)
	}
	if got := strings.Join(proc.Minimal(env), " "); got != "PATH=/a HOME=/h PATH=/b" {
		t.Errorf("Minimal = %s", got)
	}
}

// BenchmarkSpawn is to be held against BenchmarkSpawnFloor.
func BenchmarkSpawn(b *testing.B) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		p, err := proc.Start(proc.Command{Argv: []string{cat}})
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(p.Stdin, "x\n")
		_, _ = p.Stdout.Read(make([]byte, 2))
		p.Stop(proc.Grace{Close: time.Second})
	}
}

func BenchmarkSpawnFloor(b *testing.B) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		c := exec.Command(cat)
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(in, "x\n")
		_, _ = out.Read(make([]byte, 2))
		_ = in.Close()
		_ = c.Wait()
	}
}
