// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Load is the most that an intrusive rule puts on a server. No rule goes beyond
// it, whatever the server does.
type Load struct {
	Bytes       int           // sent
	Connections int           // open at once: sockets over HTTP, processes over stdio
	Sessions    int           // begun beside that of the client itself
	Time        time.Duration // from the first byte to the last
}

// Ids of the intrusive rules.
const (
	ruleBodySize    = "sec.body-size"
	ruleDepth       = "sec.depth"
	ruleSlowBody    = "sec.slow-body"
	ruleSlowReader  = "sec.slow-reader"
	ruleSessionLeak = "sec.session-leak"
	rulePattern     = "sec.template-redos"
)

// loads are the bounds of each intrusive rule.
var loads = map[string]Load{
	ruleBodySize:    {Bytes: 8 << 20, Connections: 4, Time: 9 * time.Second},
	ruleDepth:       {Bytes: 2 << 20, Connections: 4, Time: 9 * time.Second},
	ruleSlowBody:    {Bytes: 64 << 10, Connections: 24, Time: 9 * time.Second},
	ruleSlowReader:  {Bytes: 4 << 20, Connections: 24, Time: 9 * time.Second},
	ruleSessionLeak: {Bytes: 512 << 10, Connections: 4, Sessions: 200, Time: 9 * time.Second},
	rulePattern:     {Bytes: 1 << 20, Connections: 4, Time: 9 * time.Second},
}

// LoadOf is the load of a rule; ok is false for one that is not intrusive.
func LoadOf(id string) (l Load, ok bool) {
	l, ok = loads[id]
	return l, ok
}

func (l Load) String() string {
	size := fmt.Sprintf("%d KiB", l.Bytes>>10)
	if l.Bytes >= 1<<20 {
		size = fmt.Sprintf("%d MiB", l.Bytes>>20)
	}
	parts := []string{size, fmt.Sprintf("%d connections at once", l.Connections)}
	if l.Sessions > 0 {
		parts = append(parts, fmt.Sprintf("%d sessions", l.Sessions))
	}
	return "at most " + strings.Join(append(parts, fmt.Sprintf("%.0f seconds", l.Time.Seconds())), ", ")
}

// lastWords is the time that an intrusive rule gets to close what it opened, behind its
// time.
const lastWords = time.Second

// stressTime bounds the intrusive rules of one run together.
const stressTime = 60 * time.Second

// LeftOut counts the rules that only Intrusive would add on a transport, at any
// of some revisions.
func (o *Options) LeftOut(k transport.Kind, revisions ...spec.Revision) int {
	if o.Intrusive {
		return 0
	}
	with := *o
	with.Intrusive = true
	seen := map[string]bool{}
	for _, v := range revisions {
		with.Revision = v
		for _, r := range with.rules(k) {
			if r.Intrusive {
				seen[r.ID] = true
			}
		}
	}
	return len(seen)
}

// stress judges the intrusive rules: when all others are through, one after the
// other, on connections of their own, and nothing of what crosses is for other
// rules to look at. down says that the server ended before.
func (j *judging) stress(ctx context.Context, target transport.Target, rules []*Rule, down bool) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r *Rule) bool { return !r.Intrusive })
	if len(rules) == 0 {
		return
	}
	skip := func(rules []*Rule, because, reason string) {
		for _, r := range rules {
			j.add(r, probe.Verdict{Status: rule.Skip, Because: because, Reason: reason})
		}
	}
	if down {
		skip(rules, probe.RuleStaysUp, "the server ended in the middle of the run")
		return
	}
	limit, cancel := context.WithTimeout(ctx, stressTime)
	defer cancel()
	o := j.o.Options
	o.Stressing = true
	p, err := probe.Open(limit, target, o)
	if err != nil {
		skip(rules, "", fmt.Sprintf("the server could not be reached again: %v", err))
		return
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		p.Close(last)
	}()
	if !p.Facts().Answers() {
		skip(rules, "", "the server, which was judged by all other rules before, answers no more")
		return
	}
	for i, r := range rules {
		one, end := context.WithTimeout(limit, loads[r.ID].Time+lastWords)
		j.add(r, p.Judge(one, r.Info, r.Check))
		end()
		if p.Down() != nil {
			skip(rules[i+1:], r.ID, "the server ended under the load of "+r.ID)
			return
		}
	}
}
