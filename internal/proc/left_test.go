// SPDX-License-Identifier: Apache-2.0

package proc_test

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/proc"
)

func TestLeavesNobodyBehind(t *testing.T) {
	p := start(t, "echo")
	_, _ = io.WriteString(p.Stdin, "hello\n")
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.EndInput(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if n := p.Left(); n != 0 {
		t.Errorf("%d processes left", n)
	}
}

func TestLeavesAChildBehind(t *testing.T) {
	p := start(t, "fork")
	var pid int
	if _, err := fmt.Fscan(p.Stdout, &pid); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if n := p.Left(); n != 1 {
		t.Errorf("%d processes left, want that of the child", n)
	}
	p.Stop(proc.Grace{})
	gone := time.Now().Add(2 * time.Second)
	for p.Left() != 0 && time.Now().Before(gone) {
		time.Sleep(time.Millisecond)
	}
	if n := p.Left(); n != 0 && runtime.GOOS != "windows" {
		t.Errorf("%d processes left after Stop", n)
	}
}

func TestLeavesADaemonBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there a process that left the group is found")
	}
	p := start(t, "daemon")
	var pid int
	if _, err := fmt.Fscan(p.Stdout, &pid); err != nil {
		t.Fatal(err)
	}
	if err := p.EndInput(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if n := p.Left(); n != 1 {
		t.Errorf("%d processes left, want that of the daemon", n)
	}
	p.Stop(proc.Grace{})
}

func TestTerminate(t *testing.T) {
	p := start(t, "hold")
	if n := p.Left(); n != 0 {
		t.Errorf("%d processes left while it runs", n)
	}
	if runtime.GOOS == "windows" {
		t.Skip("a signal reaches it only where it shares our console")
	}
	p.Terminate()
	<-p.Exited()
	if s := p.Status(); s.Signal != "SIGTERM" || p.Left() != 0 {
		t.Errorf("%+v, %d left", s, p.Left())
	}
}
