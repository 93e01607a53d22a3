// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// atOnce is how many runs are judged side by side where nobody says otherwise:
// most compute, and a few wait for sockets and processes.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", atOnce) // an unknown flag would leave the default
	}
	debug.SetGCPercent(400) // a run keeps little, and there are hundreds
	debug.SetMemoryLimit(mostHeap * 3 / 4)
	reachInside()
	os.Exit(m.Run())
}
