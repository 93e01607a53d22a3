// SPDX-License-Identifier: Apache-2.0

//go:build unix

package proc_test

import (
	"os/exec"
	"syscall"
)

func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
