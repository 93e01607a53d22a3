// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A process may leave its group by setsid, as daemons and detached children
// do. Linux tells enough to find those that came from ours.

// origin names a process for as long as the system runs: ids are used again.
type origin struct {
	pid   int
	start string // in clock ticks since boot
}

// descendants lists the children of a process, and theirs.
func descendants(pid int) []origin {
	var found []origin
	queue := []int{pid}
	for len(queue) > 0 && len(found) < maxDescendants {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", queue[0]))
		queue = queue[1:]
		for _, t := range tasks {
			b, err := os.ReadFile(t)
			if err != nil {
				continue
			}
			for _, f := range strings.Fields(string(b)) {
				child, err := strconv.Atoi(f)
				if err != nil {
					continue
				}
				if start, ok := startOf(child); ok {
					found = append(found, origin{child, start})
					queue = append(queue, child)
				}
			}
		}
	}
	return found
}

// maxDescendants bounds the search in a tree that grows while it is read.
const maxDescendants = 10_000

// startOf reads the start time of a process that is no zombie (proc_pid_stat(5)).
func startOf(pid int) (start string, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const state, starttime = 0, 19
	if len(fields) <= starttime || fields[state] == "Z" {
		return "", false
	}
	return fields[starttime], true
}

// countAlive counts the processes of a list and of a group, nil for none, that
// are still there. Those that have ended and were not waited for do not count.
func countAlive(list []origin, pgid *int) int {
	alive := map[int]bool{}
	for _, o := range list {
		if start, ok := startOf(o.pid); ok && start == o.start {
			alive[o.pid] = true
		}
	}
	if pgid == nil {
		return len(alive)
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(s)))
		if err != nil {
			continue
		}
		if group, err := unix.Getpgid(pid); err != nil || group != *pgid {
			continue
		}
		if _, ok := startOf(pid); ok {
			alive[pid] = true
		}
	}
	return len(alive)
}

// killThose kills what is still there of a list.
func killThose(list []origin) {
	for _, o := range list {
		if start, ok := startOf(o.pid); ok && start == o.start {
			_ = unix.Kill(o.pid, unix.SIGKILL)
		}
	}
}

// killHolders kills every other process that has one of our pipes open. Only
// one that inherited it from the command can have.
func killHolders(pipes ...*os.File) {
	names := map[string]bool{}
	for _, p := range pipes {
		if info, err := p.Stat(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				names[fmt.Sprintf("pipe:[%d]", st.Ino)] = true
			}
		}
	}
	// A child that we are starting just now has all of our files until it has
	// become its own program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	self := strconv.Itoa(os.Getpid())
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		pid, _, _ := strings.Cut(strings.TrimPrefix(fd, "/proc/"), "/")
		if pid == self {
			continue
		}
		if to, err := os.Readlink(fd); err == nil && names[to] {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = unix.Kill(n, unix.SIGKILL)
			}
		}
	}
}
