// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// mostEchoes bounds how many tools are tried for one that repeats a text.
const mostEchoes = 6

// echoes are n calls of a tool that says that it only reads and whose answer
// repeats one of its arguments; nil where there is none. A refusal is made at
// once in most servers, before another request can come between. A tool that
// works is under way for a while, and that is when answers are mixed up.
func echoes(c *probe.Case, n int) []*telltale {
	if !c.Facts().Declares("tools") {
		return nil
	}
	tools := slices.DeleteFunc(c.Probe().Callable(), func(t probe.Tool) bool { return !reads(t) })
	run := rand.Text()[:10]
	for _, t := range tools[:min(len(tools), mostEchoes)] {
		members, err := jsonx.Members(t.Arguments, jsonx.Lenient)
		if err != nil {
			continue
		}
		for _, m := range members {
			if jsonx.KindOf(m.Value) != jsonx.String {
				continue
			}
			called := func(mark string) *telltale {
				arguments := slices.Concat([]byte(t.Arguments[:m.Offset]), []byte(jsonx.Quote(mark)), []byte(t.Arguments[int(m.Offset)+len(m.Value):]))
				return &telltale{request: c.Probe().CallRequest(t.Item, arguments), mark: mark}
			}
			control := called("mcprove-" + run)
			x := c.Send(control.request)
			if !x.OK() || !control.is(x) || bytes.Equal(x.Member("isError"), []byte("true")) {
				continue
			}
			out := make([]*telltale, n)
			for i := range out {
				out[i] = called(fmt.Sprintf("mcprove-%s-%02d-of", run, i))
				out[i].usual = x.End.Sub(x.Start)
			}
			return out
		}
	}
	return nil
}

// mostOverlaps bounds how many requests overlap with calls of a slow tool.
const mostOverlaps = 8

// overlaps are calls of a slow tool that only reads, and among them requests
// that are answered while those are under way; nil where there is no such tool.
func overlaps(c *probe.Case, quick []*telltale) []*telltale {
	if quick == nil || !c.Facts().Declares("tools") || c.Facts().List(spec.MethodToolsList).Items == nil {
		return nil
	}
	tool, usual := slowTool(c)
	if usual == 0 || !reads(tool) {
		return nil
	}
	x := c.Send(c.Probe().CallRequest(tool.Item, tool.Arguments))
	if !x.OK() || bytes.Equal(x.Member("isError"), []byte("true")) {
		return nil // a failure may be told of any call in the same words
	}
	slow := &telltale{request: c.Probe().CallRequest(tool.Item, tool.Arguments), content: canonicalText(x.Result()), usual: x.End.Sub(x.Start)}
	out := slices.Clone(quick[:min(len(quick), mostOverlaps)])
	for i := range out {
		if i%4 == 0 || i%4 == 3 { // for each of two clients that take turns
			out[i] = slow
		}
	}
	return out
}

// reads reports whether a tool says that it only reads.
func reads(t probe.Tool) bool {
	return jsonx.KindOf(probe.Lookup(t.Raw, "/annotations/readOnlyHint")) == jsonx.True
}

// crossings runs requests at once, first those that are refused, then calls of
// a tool that works, then such that overlap with a slow one, and judges the
// first set whose answers went astray.
func crossings(c *probe.Case, n int, run func(asked []*telltale) *crossing) {
	turn := alone(c)
	turn.Lock()
	defer turn.Unlock()
	refused, repeated := telltales(c, n), echoes(c, n)
	quick := repeated
	if quick == nil {
		quick = refused
	}
	sets := slices.DeleteFunc([][]*telltale{refused, repeated, overlaps(c, quick)}, func(s []*telltale) bool { return s == nil })
	if len(sets) == 0 {
		c.Skip("not run: no two answers of the server can be told apart")
		return
	}
	for i, asked := range sets {
		k := run(asked)
		if k == nil {
			return
		}
		if k.astray() || i == len(sets)-1 {
			k.judge(c, func() *crossing { return run(asked) })
			return
		}
	}
}

// astray reports whether an answer went elsewhere, or is missing.
func (k *crossing) astray() bool {
	_, _, found := k.crossed()
	return found || len(k.lost()) > 0
}
