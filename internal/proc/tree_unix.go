// SPDX-License-Identifier: Apache-2.0

//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const pathSeparators = "/"

// executable returns path when it is a file that may be run.
func executable(path string, _ []string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", statError(err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", ErrNotExecutable
	}
	return path, nil
}

// tree is a process group, named by its leader.
type tree struct {
	pgid int
	// empty is set when the leader was waited for and nobody else was in the
	// group: its number may then name a stranger, and is never signalled again.
	empty atomic.Bool
}

func startTree(cmd *exec.Cmd) (*tree, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &tree{pgid: cmd.Process.Pid}, nil
}

func (t *tree) signal(sig unix.Signal) {
	if !t.empty.Load() {
		_ = unix.Kill(-t.pgid, sig)
	}
}

func (t *tree) terminate() { t.signal(unix.SIGTERM) }
func (t *tree) kill()      { t.signal(unix.SIGKILL) }
func (t *tree) release()   {}

func (t *tree) leaderGone() {
	t.empty.Store(errors.Is(unix.Kill(-t.pgid, 0), unix.ESRCH))
}

// left counts who is still in the group, and who of a list left it and is
// still there.
func (t *tree) left(known []origin) int {
	if t.empty.Load() {
		return countAlive(known, nil)
	}
	if errors.Is(unix.Kill(-t.pgid, 0), unix.ESRCH) {
		t.empty.Store(true)
		return countAlive(known, nil)
	}
	return countAlive(known, &t.pgid)
}

func statusOf(state *os.ProcessState, _ error) Status {
	if state == nil {
		return Status{Code: -1}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Status{Code: -1, Signal: unix.SignalName(ws.Signal())}
	}
	return Status{Code: state.ExitCode()}
}
