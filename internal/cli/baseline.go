// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/rule"
)

// readBaseline reads the accepted findings; without a file there are none. An
// id that no rule has is an error: a typo must not look like a decision.
func (a *app) readBaseline(p *checkPlan) (*rule.Exceptions, error) {
	data, err := readFile(p.baseline)
	if errors.Is(err, fs.ErrNotExist) && !p.must {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := rule.ParseExceptions(p.baseline, data)
	if err != nil {
		return nil, err
	}
	reg := registry()
	for _, e := range x.Entries {
		if _, ok := reg.Lookup(e.ID); !ok {
			try := "mcprove rules lists them"
			if near := reg.Nearest(e.ID); len(near) > 0 {
				try = "did you mean " + strings.Join(near, ", ") + "?"
			}
			return nil, usage(p.baseline, try, "the entry for %s names no rule", e.ID)
		}
	}
	return x, nil
}

// apply marks the findings that the baseline accepts, and returns its entries
// that do nothing any more. An entry whose rule was not judged in this run is
// left alone: nothing is known of it.
func (c *checkRun) apply(x *rule.Exceptions, fs []rule.Finding) []rule.Stale {
	if x == nil {
		return nil
	}
	judged := map[string]bool{}
	var bad []rule.Finding
	var at []int
	for i := range fs {
		if fs[i].Status != rule.Skip && fs[i].Status != rule.Error {
			judged[fs[i].ID] = true
		}
		if fs[i].Status >= rule.Note && fs[i].Status != rule.Error {
			bad, at = append(bad, fs[i]), append(at, i)
		}
	}
	stale := x.Apply(bad, c.app.env.Now())
	for i, f := range bad {
		fs[at[i]] = f
	}
	return slices.DeleteFunc(stale, func(s rule.Stale) bool { return !s.Expired && !judged[s.ID] })
}

// updateBaseline writes what fails now. Entries that still match keep their
// reason and date; those whose rule was not judged stay.
func (a *app) updateBaseline(path string, old *rule.Exceptions, c *checkRun) error {
	fs := c.findings()
	judged := map[string]bool{}
	kept := map[string]rule.Exception{}
	if old != nil {
		for _, e := range old.Entries {
			kept[e.ID+" "+e.Fingerprint] = e
		}
	}
	out := &rule.Exceptions{Path: path}
	for _, f := range fs {
		if f.Status != rule.Skip {
			judged[f.ID] = true
		}
		if f.Status < c.plan.failOn || f.Status == rule.Error {
			continue
		}
		key := f.ID + " " + f.Fingerprint
		e, ok := kept[key]
		if !ok {
			e = rule.Exception{
				ID: f.ID, Target: f.Target, Where: strings.TrimSpace(f.Where.Kind + " " + f.Where.Name), Fingerprint: f.Fingerprint,
				Reason: "recorded on " + a.env.Now().Format(rule.DateLayout) + ", not looked at yet",
			}
			if e.Where == "" {
				e.Where = "server"
			}
		}
		if !slices.ContainsFunc(out.Entries, func(o rule.Exception) bool { return o.ID+" "+o.Fingerprint == key }) {
			out.Entries = append(out.Entries, e)
		}
		delete(kept, key)
	}
	for _, e := range kept {
		if !judged[e.ID] {
			out.Entries = append(out.Entries, e)
		}
	}
	data, err := out.Encode()
	if err != nil {
		return err
	}
	if _, err := writeFile(path, data); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	a.say("mcprove: %s holds %s", path, plural(len(out.Entries), "accepted finding"))
	if len(c.judged) == 0 {
		return &Error{Exit: exitIncomplete, Code: "not-judged", Message: strings.Join(c.missed, "; ")}
	}
	return nil
}
