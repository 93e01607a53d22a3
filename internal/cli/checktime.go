// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
)

// checkTime says in JSON where the time of check went, in milliseconds. The
// members after Processes share Elapsed.
type checkTime struct {
	Elapsed    int64 `json:"elapsed"`
	Processes  int   `json:"processes"`
	Starting   int64 `json:"starting"`
	Answering  int64 `json:"answering"`
	Unanswered int64 `json:"unanswered"`
	Silence    int64 `json:"silence"`
	Ending     int64 `json:"ending"`
	Told       int64 `json:"told"`
	Rest       int64 `json:"rest"`
}

// longCheck is how long a check takes before people ask where the time went.
const longCheck = 5 * time.Second

// time reads the clock of a run that took so long.
func (c *checkRun) time(elapsed time.Duration) checkTime {
	spent := func(w probe.Waiting) int64 { return c.clock.Spent(w).Milliseconds() }
	return checkTime{
		Elapsed: elapsed.Milliseconds(), Processes: c.clock.Processes(),
		Starting: spent(probe.Starting), Answering: spent(probe.Answering), Unanswered: spent(probe.Unanswered),
		Silence: spent(probe.Silence), Ending: spent(probe.Ending), Told: spent(probe.Told),
		Rest: max(0, elapsed-c.clock.Waited()).Milliseconds(),
	}
}

// words is the time for people, empty for a short one.
func (t checkTime) words() string {
	if t.Elapsed < longCheck.Milliseconds() {
		return ""
	}
	starting := "until the server was there"
	switch {
	case t.Processes > 1:
		starting = fmt.Sprintf("until %d processes had started", t.Processes)
	case t.Processes == 1:
		starting = "until 1 process had started"
	}
	var parts []string
	for _, p := range []struct {
		ms   int64
		what string
	}{
		{t.Starting, starting},
		{t.Answering, "for answers"},
		{t.Unanswered, "for answers that did not come"},
		{t.Silence, "listening for what must not come"},
		{t.Ending, "until servers and streams had ended"},
		{t.Told, "as long as was asked for"},
		{t.Rest, "for the rest"},
	} {
		if p.ms >= 50 {
			parts = append(parts, seconds(p.ms)+" "+p.what)
		}
	}
	return fmt.Sprintf("time: %s, shared by what goes on side by side: %s", seconds(t.Elapsed), strings.Join(parts, ", "))
}

func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }
