// SPDX-License-Identifier: Apache-2.0

//go:build unix

package contract_test

import (
	"syscall"
	"time"
)

// cpuTime is what the process has computed so far: a bound on it holds on a
// busy machine too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
