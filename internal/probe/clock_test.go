// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k Clock
		pass := func(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }
		pass(1) // nobody waits
		one := k.Wait()
		pass(2)
		two := k.Wait()
		pass(4) // two each
		one(Starting)
		one(Silence) // it has ended
		pass(3)
		two(Answering)
		pass(5)
		k.started()
		for w, want := range map[Waiting]time.Duration{Starting: 4 * time.Second, Answering: 5 * time.Second, Silence: 0} {
			if got := k.Spent(w); got != want {
				t.Errorf("waiting %d took %s, want %s", w, got, want)
			}
		}
		if got := k.Waited(); got != 9*time.Second {
			t.Errorf("%s were waited in all", got)
		}
		if k.Processes() != 1 {
			t.Errorf("%d processes", k.Processes())
		}
	})
}

func TestClockOfNobody(t *testing.T) {
	var k *Clock
	k.Wait()(Ending)
	k.started()
}
