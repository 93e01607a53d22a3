// SPDX-License-Identifier: Apache-2.0

package proc_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/proc"
)

// TestChildThatLeftTheGroup: one that holds the pipes while its parent is gone
// already, and one without the pipes whose parent is still there.
func TestChildThatLeftTheGroup(t *testing.T) {
	for name, args := range map[string][]string{"holds the pipes": {"x"}, "without the pipes": nil} {
		p, err := proc.Start(proc.Command{Argv: append([]string{os.Args[0]}, args...), Env: []string{noSleep, actor + "=daemon"}})
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(p.Stdout, &pid); err != nil {
			t.Fatal(err)
		}
		if args != nil {
			<-p.Exited()
		}
		within(t, 2*time.Second, "Stop", func() { p.Stop(proc.Grace{Close: time.Second}) })
		gone := false
		for deadline := time.Now().Add(time.Second); !gone && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			gone = err != nil || bytes.Contains(b, []byte(") Z "))
		}
		if !gone {
			t.Errorf("%s: process %d is still there", name, pid)
		}
	}
}
