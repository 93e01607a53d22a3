// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// atOnce is how many runs are judged side by side where nobody says otherwise:
// they wait more than they compute, but for the race detector.
const (
	atOnce      = "18"
	atOnceShort = "4"
)

func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		n := atOnce
		if testing.Short() {
			n = atOnceShort
		}
		_ = flag.Set("test.parallel", n) // an unknown flag would leave the default
	}
	debug.SetGCPercent(400) // a run keeps little, and there are hundreds
	debug.SetMemoryLimit(mostHeap * 3 / 4)
	os.Exit(m.Run())
}
