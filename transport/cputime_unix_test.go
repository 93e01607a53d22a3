// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime reports the CPU time of this process for each operation, which other
// load on the machine changes less than the time of the clock.
func cpuTime(b *testing.B) func() {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	return func() {
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}
