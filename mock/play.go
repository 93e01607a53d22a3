// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// fixed is the Func of a result that never changes.
func fixed(result json.RawMessage) Func {
	return func(context.Context, *Call) (json.RawMessage, error) { return result, nil }
}

// sequence is a run of answers to the same arguments.
type sequence struct {
	match   []byte
	answers []Answer
}

// plays makes one Func of what a script says, nil when that is neither a Func
// nor answers. Sequences are counted under the id, which stays the same when
// the server changes.
func (s *Server) plays(f Func, answers []Answer, cycle bool, id string) Func {
	if f != nil {
		return guarded(f)
	}
	if len(answers) == 0 {
		return nil
	}
	var seqs []sequence
	at := map[string]int{}
	for _, a := range answers {
		key := ""
		if a.Match != nil {
			key = canonical(a.Match)
		}
		i, there := at[key]
		if !there {
			i = len(seqs)
			at[key] = i
			seqs = append(seqs, sequence{match: a.Match})
		}
		seqs[i].answers = append(seqs[i].answers, a)
	}
	return func(ctx context.Context, c *Call) (json.RawMessage, error) {
		for i, q := range seqs {
			if !fits(q.match, c.Arguments) {
				continue
			}
			if c.number == 0 {
				c.number = s.count(id + " " + strconv.Itoa(i))
			}
			n := min(c.number, len(q.answers)) - 1
			if cycle {
				n = (c.number - 1) % len(q.answers)
			}
			return s.play(ctx, c, &q.answers[n])
		}
		return nil, errNoAnswer
	}
}

// errNoAnswer says that a script has no answer to these arguments.
var errNoAnswer = errors.New("there is no answer to these arguments")

// count returns how often something happened, this time included.
func (s *Server) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
	return s.counts[what]
}

// fits reports whether arguments have every member of match.
func fits(match, arguments []byte) bool {
	for _, m := range members(match) {
		v := get(arguments, m.name)
		if v == nil || canonical(v) != canonical(m.value) {
			return false
		}
	}
	return true
}

// play makes the result of an answer.
func (s *Server) play(ctx context.Context, c *Call, a *Answer) (json.RawMessage, error) {
	if c.prelude && !a.AskBeforeTask {
		return nil, errPrelude
	}
	inputs := c.inputs
	if inputs == nil {
		if a.Deferrals > 0 && c.asker != nil {
			if err := c.asker.postpone(a.Deferrals); err != nil {
				return nil, err
			}
		}
		var err error
		if inputs, err = c.askAll(ctx, a.Ask); err != nil {
			return nil, err
		}
	}
	if c.prelude {
		c.inputs = inputs
		return nil, errPrelude
	}
	if key, action := declined(inputs); key != "" {
		return s.refused(c, a, inputs, key, action), nil
	}
	for i := range a.Steps {
		if err := s.step(ctx, c, &a.Steps[i]); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, a.Delay); err != nil {
		return nil, err
	}
	if a.Error != nil {
		return nil, a.Error
	}
	result := line(a.Result)
	if result == nil {
		result = plain(c, "Done.")
	}
	return c.fill(result, inputs), nil
}

// errPrelude ends the part of a call that comes before its task.
var errPrelude = errors.New("the rest is a task")

// askAll asks round by round.
func (c *Call) askAll(ctx context.Context, asks []Ask) (map[string]json.RawMessage, error) {
	inputs := map[string]json.RawMessage{}
	rounds := map[int][]Ask{}
	for i, a := range asks {
		if a.Key == "" {
			a.Key = "input" + strconv.Itoa(i+1)
		}
		rounds[max(a.Round, 1)] = append(rounds[max(a.Round, 1)], a)
	}
	for _, n := range slices.Sorted(maps.Keys(rounds)) {
		for i := range rounds[n] {
			rounds[n][i].Params = c.fill(line(rounds[n][i].Params), inputs)
		}
		got, err := c.Ask(ctx, rounds[n]...)
		if err != nil {
			return nil, err
		}
		maps.Copy(inputs, got)
		if key, _ := declined(inputs); key != "" {
			break
		}
	}
	return inputs, nil
}

// declined returns the first elicitation that was not accepted, and how.
func declined(inputs map[string]json.RawMessage) (key, action string) {
	for _, key := range slices.Sorted(maps.Keys(inputs)) {
		if action := word(inputs[key], "action"); action == "decline" || action == "cancel" {
			return key, action
		}
	}
	return "", ""
}

func (s *Server) refused(c *Call, a *Answer, inputs map[string]json.RawMessage, key, action string) json.RawMessage {
	if a.Refused != nil {
		return c.fill(line(a.Refused), inputs)
	}
	what := "declined"
	if action == "cancel" {
		what = "cancelled"
	}
	return plain(c, "Nothing was done: the question "+key+" was "+what+".")
}

// plain is a short text in the form of what was called.
func plain(c *Call, s string) json.RawMessage {
	switch c.Method {
	case spec.MethodResourcesRead:
		return contentsOf(c.Name, s)
	case spec.MethodPromptsGet:
		return array([]json.RawMessage{object(member{"role", quote("user")}, member{"content", textBlock(s)})})
	}
	return textResult(s, false)
}

// step does one step.
func (s *Server) step(ctx context.Context, c *Call, st *Step) error {
	if err := pause(ctx, st.Wait); err != nil {
		return err
	}
	if st.Progress != nil {
		c.Report(*st.Progress)
	}
	if st.Log != nil {
		c.Log(*st.Log)
	}
	if st.Notify != nil {
		c.Notify(st.Notify.Method, st.Notify.Params)
	}
	if st.Status != "" && c.task != nil {
		c.task.say(st.Status)
	}
	if st.Change != nil {
		s.change(ctx, st.Change)
	}
	if st.Drop {
		c.q.hide()
	}
	return nil
}

// pause waits, or returns why it must not.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var placeholder = regexp.MustCompile(`"\{\{json ([^{}"]+)\}\}"|\{\{([^{}"]+)\}\}`)

// fill replaces the placeholders in the strings of a JSON text.
func (c *Call) fill(raw json.RawMessage, inputs map[string]json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte("{{")) {
		return raw
	}
	return placeholder.ReplaceAllFunc(raw, func(found []byte) []byte {
		m := placeholder.FindSubmatch(found)
		if m[1] != nil {
			if v := c.value(string(m[1]), inputs); v != nil {
				return v
			}
			return []byte("null")
		}
		v := c.value(string(m[2]), inputs)
		if v == nil {
			return nil
		}
		if jsonx.KindOf(v) == jsonx.String {
			return v[1 : len(v)-1]
		}
		q := quote(string(v))
		return q[1 : len(q)-1]
	})
}

// value is what a placeholder stands for, nil for nothing.
func (c *Call) value(name string, inputs map[string]json.RawMessage) []byte {
	switch name {
	case "uri":
		return quote(c.Name)
	case "call":
		return number(int64(c.number))
	}
	if key, ok := strings.CutPrefix(name, "input."); ok {
		for k, v := range inputs {
			if key == k {
				return v
			}
			if rest, ok := strings.CutPrefix(key, k+"."); ok {
				return follow(v, rest)
			}
		}
		return nil
	}
	return follow(c.Arguments, name)
}

// follow walks a dotted path of members and indices.
func follow(v []byte, path string) []byte {
	for name := range strings.SplitSeq(path, ".") {
		if jsonx.KindOf(v) == jsonx.Array {
			es, _ := jsonx.Elements(v, jsonx.Lenient)
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(es) {
				return nil
			}
			v = es[i]
			continue
		}
		v = get(v, name)
	}
	return v
}
