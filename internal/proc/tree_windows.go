// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const pathSeparators = `/\:`

// executable returns path, completed by an extension of PATHEXT where needed.
func executable(path string, env []string) (string, error) {
	exts, ok := Lookup(env, "PATHEXT")
	if !ok || exts == "" {
		exts = ".COM;.EXE;.BAT;.CMD"
	}
	candidates := []string{}
	for _, ext := range strings.Split(exts, ";") {
		if ext == "" {
			continue
		}
		if strings.EqualFold(filepath.Ext(path), ext) {
			candidates = append([]string{path}, candidates...)
		}
		candidates = append(candidates, path+ext)
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && !info.IsDir() {
			return c, nil
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", statError(err)
	}
	if info.Mode().IsRegular() {
		return "", ErrNotExecutable
	}
	return "", ErrNotFound
}

// tree is a job object that kills its processes when its handle is closed.
type tree struct {
	job windows.Handle
	pid int
}

func startTree(cmd *exec.Cmd) (*tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("limit job object: %w", err)
	}
	// Started suspended, so that it cannot start others before it is in the job.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	if err := enter(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, err
	}
	return &tree{job: job, pid: cmd.Process.Pid}, nil
}

func enter(job windows.Handle, pid int) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("assign to job object: %w", err)
	}
	return resume(uint32(pid))
}

// resume lets the only thread of a process that was started suspended run.
func resume(pid uint32) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snap) }()
	entry := windows.ThreadEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Thread32First(snap, &entry); err == nil; err = windows.Thread32Next(snap, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		th, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open thread: %w", err)
		}
		_, err = windows.ResumeThread(th)
		_ = windows.CloseHandle(th)
		return err
	}
	return fmt.Errorf("list threads of process %d: %w", pid, err)
}

// terminate sends CTRL_BREAK, which reaches the group only where it shares our
// console; kill follows either way.
func (t *tree) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid))
}

func (t *tree) kill()    { _ = windows.TerminateJobObject(t.job, 1) }
func (t *tree) release() { _ = windows.CloseHandle(t.job) }

func (t *tree) leaderGone() {}

// left counts the processes of the job.
func (t *tree) left([]origin) int {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		times      [4]int64
		faults     uint32
		total      uint32
		active     uint32
		terminated uint32
	}
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(t.job, basicAccounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0
	}
	return int(info.active)
}

func statusOf(state *os.ProcessState, _ error) Status {
	if state == nil {
		return Status{Code: -1}
	}
	return Status{Code: state.ExitCode()}
}
