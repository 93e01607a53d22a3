// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const pageStdio = "2026-07-28/basic/transports/stdio#overview"

// stdioRules are those on what stands on the lines of stdout.
var stdioRules = []Rule{
	{
		Info: rule.Info{
			ID: "stdio.stdout-only-mcp", Level: rule.MustNot, Basis: rule.Keyword, Section: pageStdio, Transport: "stdio",
			Title: "stdout carries nothing but MCP messages",
			Why:   "strict clients drop the connection at the first line that they cannot read",
			Fix:   "write banners, logs and print statements to stderr, those of libraries too",
		},
		In: every, Watch: stdoutOnly,
		Break: Break{Faults: []mock.Fault{mock.Banner("Tide office 1.4.2 is ready")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.Farewell("bye")}},
			{Faults: []mock.Fault{mock.On(spec.MethodToolsList).Before(`{"level":"info","msg":"tools listed"}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "stdio.newline-framing", Level: rule.MustNot, Basis: rule.Keyword, Section: pageStdio, Transport: "stdio",
			Title: "a message stands on one line",
			Why:   "clients read line by line: a message spread over several is several broken ones",
			Fix:   "encode messages without indentation, so that newlines occur in strings only, as \\n",
		},
		In: every, Watch: newlineFraming,
		Break: Break{Faults: []mock.Fault{mock.OnNotification(spec.NotificationResourcesUpdated).Pretty()}},
	},
	{
		Info: rule.Info{
			ID: "stdio.one-message-per-line", Level: rule.Must, Basis: rule.Prose, Section: pageStdio, Transport: "stdio",
			Title: "a line holds one message",
			Why:   "clients parse a line as one message, and drop what stands behind it or the whole line",
			Fix:   "end every message with a newline, and never send an array of messages",
		},
		In: since2506, Watch: oneMessageALine, Under: []string{"jsonrpc.no-batch"},
		Break: Break{Faults: []mock.Fault{mock.OnNotification(spec.NotificationMessage).
			SameLine(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"two"}}`)}},
	},
	{
		Info: rule.Info{
			ID: "stdio.blank-lines", Level: rule.Must, Basis: rule.Derived, Section: pageStdio, Transport: "stdio",
			Title: "there are no blank lines on stdout",
			Why:   "an empty line is no message: clients report a parse error for each",
			Fix:   "write one newline behind a message, not two, and print nothing else",
		},
		In: every, Watch: blankLines,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsList).Before("")}},
	},
	{
		Info: rule.Info{
			ID: "stdio.server-no-requests", Level: rule.MustNot, Basis: rule.Keyword, Transport: "stdio",
			Section: "2026-07-28/basic/transports/stdio#receiving-messages",
			Title:   "the server writes no requests to stdout",
			Why:     "clients of this revision answer no requests: what the server waits for never comes",
			Fix:     "ask by an input_required result, which the client answers with its next request",
		},
		In: modern, Watch: stdioNoRequests,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsList).Request(spec.MethodRootsList, "{}", `"mcprove"`)},
			Also:   []string{"jsonrpc.server-no-requests", probe.RuleRequests},
		},
	},
	{
		Info: rule.Info{
			ID: "stdio.no-auth-flow", Level: rule.ShouldNot, Basis: rule.Keyword, Transport: "stdio",
			Section: "2026-07-28/basic/authorization#protocol-requirements",
			Title:   "a server on stdio does not send clients through an OAuth flow",
			Why:     "there is no HTTP response to challenge: clients do not look for one here, and cannot sign in",
			Fix:     "take credentials from the environment of the process, and say in the error which variable is missing",
		},
		In: since2503, Watch: noAuthFlow,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Set("/result/_meta/com.example~1challenge",
			`["Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\""]`)}},
	},
}

// lineSort says what a line of stdout is.
type lineSort uint8

const (
	lineMessage lineSort = iota
	lineBlank
	lineNoise
	linePart   // of a message spread over several
	lineJoined // several messages on one
	lineCut    // the last one, which the end of the process cut off
)

// sorted says of each line of a connection what it is.
func sorted(lines []*wire.Frame) []lineSort {
	out := make([]lineSort, len(lines))
	for i := 0; i < len(lines); i++ {
		if n := spread(lines[i:]); n > 1 {
			for j := range n {
				out[i+j] = linePart
			}
			i += n - 1
			continue
		}
		out[i] = sortOf(lines[i])
	}
	return out
}

func sortOf(f *wire.Frame) lineSort {
	m := f.Message()
	switch {
	case len(bytes.TrimSpace(f.Raw)) == 0:
		return lineBlank
	case m.Kind == wire.Batch:
		if holdsMessages(m) {
			return lineJoined
		}
		return lineNoise
	case m.Kind == wire.Invalid:
		switch {
		case unfinished(f) && bytes.HasPrefix(bytes.TrimSpace(f.Raw), []byte("{")):
			return lineCut
		case m.JSONRPC != nil && !m.Has(wire.FaultNotJSON):
			return lineMessage // a bad one, which the rules on messages judge
		}
		return lineNoise
	case m.Has(wire.FaultTrailing):
		return lineJoined
	}
	return lineMessage
}

// holdsMessages tells a batch from any other array that somebody printed.
func holdsMessages(m *wire.Message) bool {
	return slices.ContainsFunc(m.Batch(), func(one *wire.Message) bool { return one.Kind != wire.Invalid })
}

func unfinished(f *wire.Frame) bool {
	return f.Line != nil && slices.ContainsFunc(f.Line.Faults, func(x wire.Fault) bool { return x.Code == wire.FaultUnfinished })
}

// Bounds on a message that is spread over lines.
const (
	mostSpread      = 5000
	mostSpreadBytes = 1 << 20
	mostSpreadTries = 200
)

// spread counts the lines at the beginning that make up one message; it is zero
// when they do not.
func spread(lines []*wire.Frame) int {
	first := bytes.TrimSpace(lines[0].Raw)
	if len(lines) < 2 || len(first) == 0 || first[0] != '{' || !lines[0].Message().Has(wire.FaultNotJSON) {
		return 0
	}
	var text []byte
	tries := 0
	for i, f := range lines[:min(len(lines), mostSpread)] {
		text = append(append(text, f.Raw...), '\n')
		if len(text) > mostSpreadBytes || tries > mostSpreadTries {
			return 0
		}
		if i == 0 || !bytes.HasSuffix(bytes.TrimSpace(f.Raw), []byte("}")) {
			continue
		}
		tries++
		if m := wire.Read(text); !m.Has(wire.FaultNotJSON) && m.Kind != wire.Invalid {
			return i + 1
		}
	}
	return 0
}

// eachLine looks at the lines of every connection, in the order of their opening.
func eachLine(t *probe.Traffic, look func(conn int, lines []*wire.Frame, sorts []lineSort)) {
	for _, n := range slices.Sorted(maps.Keys(t.Lines)) {
		look(n, t.Lines[n], sorted(t.Lines[n]))
	}
}

const noLines = "nothing came on stdout"

// shown quotes the beginning of a line.
func shown(line []byte) string {
	const most = 100
	s := strings.ToValidUTF8(string(line), "\uFFFD")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

// stdoutOnly gives one finding for all noise: a server that prints prints again
// in every process.
func stdoutOnly(c *probe.Case, t *probe.Traffic) {
	var first *wire.Frame
	var said string
	more := 0
	eachLine(t, func(conn int, lines []*wire.Frame, sorts []lineSort) {
		count := 0
		var f *wire.Frame
		at := 0
		for i, s := range sorts {
			if s != lineNoise {
				continue
			}
			if count++; f == nil {
				f, at = lines[i], i
			}
		}
		switch {
		case f == nil:
		case first != nil:
			more++
		default:
			first = f
			verb := "lines on stdout are no MCP messages; the first of them came"
			if count == 1 {
				verb = "line on stdout is no MCP message; it came"
			}
			said = fmt.Sprintf("%d %s %s: %s", count, verb, moment(t, conn, sorts, f, at), shown(f.Raw))
		}
	})
	switch {
	case first == nil && len(t.Lines) > 0:
		c.Pass(nil)
	case first != nil && more > 0:
		c.Fail(nil, "%s (and so in each of %d other processes)", said, more).In(first, "")
	case first != nil:
		c.Fail(nil, "%s", said).In(first, "")
	}
	c.Unseen(noLines)
}

// moment says when a line came, by what came before it.
func moment(t *probe.Traffic, conn int, sorts []lineSort, f *wire.Frame, at int) string {
	is := func(s lineSort) bool { return s == lineMessage || s == lineJoined || s == linePart }
	left, ended := t.Left[conn]
	switch {
	case ended && f.Time.After(left):
		return "after the end of the input"
	case !slices.ContainsFunc(sorts[:at], is):
		return "before the first message"
	case !slices.ContainsFunc(sorts[at:], is):
		return "after the last message"
	}
	return "between messages"
}

func newlineFraming(c *probe.Case, t *probe.Traffic) {
	eachLine(t, func(_ int, lines []*wire.Frame, sorts []lineSort) {
		if i := slices.Index(sorts, linePart); i >= 0 {
			c.Fail(nil, "a message is spread over %d lines, of which the first is %s", spread(lines[i:]), shown(lines[i].Raw)).In(lines[i], "")
			return
		}
		c.Pass(nil)
	})
	c.Unseen(noLines)
}

func oneMessageALine(c *probe.Case, t *probe.Traffic) {
	eachLine(t, func(_ int, lines []*wire.Frame, sorts []lineSort) {
		if i := slices.Index(sorts, lineJoined); i >= 0 {
			what := "more text stands behind a message on its line"
			if lines[i].Message().Kind == wire.Batch {
				what = "a line holds an array of messages"
			}
			c.Fail(nil, "%s: %s", what, shown(lines[i].Raw)).In(lines[i], "")
			return
		}
		c.Pass(nil)
	})
	c.Unseen(noLines)
}

func blankLines(c *probe.Case, t *probe.Traffic) {
	blank := 0
	var first *wire.Frame
	eachLine(t, func(_ int, lines []*wire.Frame, sorts []lineSort) {
		for i, s := range sorts {
			if s == lineBlank {
				if blank++; first == nil {
					first = lines[i]
				}
			}
		}
	})
	switch {
	case blank == 1:
		c.Fail(nil, "a blank line came on stdout").In(first, "")
	case blank > 1:
		c.Fail(nil, "%d blank lines came on stdout", blank).In(first, "")
	case len(t.Lines) > 0:
		c.Pass(nil)
	}
	c.Unseen(noLines)
}

func stdioNoRequests(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.Request) {
		c.Fail(r.Exchange, "the server sent the request %s", r.Message().Method).In(r.Frame, "")
		return
	}
	if len(t.Lines) > 0 {
		c.Pass(nil)
	}
	c.Unseen(noLines)
}

// noAuthFlow looks for the challenge of an HTTP response where there is none:
// in the data of errors and in _meta of results.
func noAuthFlow(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.Response, wire.ErrorResponse) {
		m := r.Message()
		place, at := probe.Lookup(m.Result, "/"+spec.FieldMeta), "/result/"+spec.FieldMeta
		if m.Error != nil {
			place, at = m.Error.Data, "/error/data"
		}
		if text := challenge(place, maxChallengeDepth); text != "" {
			c.Fail(r.Exchange, "an answer over stdio carries the challenge of an OAuth flow: %s", shown([]byte(text))).In(r.Frame, at)
			return
		}
	}
	if len(t.Lines) > 0 {
		c.Pass(nil)
	}
	c.Unseen(noLines)
}

const maxChallengeDepth = 4

// challenge is a text in a value that challenges by bearer tokens, or names the
// metadata of a protected resource; empty when there is none.
func challenge(v json.RawMessage, depth int) string {
	if text := probe.Text(v); text != "" {
		s := strings.ToLower(text)
		if strings.HasPrefix(s, "bearer ") && (strings.Contains(s, "resource_metadata=") || strings.Contains(s, "error=")) ||
			strings.Contains(s, "/.well-known/oauth-protected-resource") {
			return text
		}
		return ""
	}
	if depth == 0 {
		return ""
	}
	inner := probe.Elements(v)
	for _, m := range probe.Members(v) {
		inner = append(inner, json.RawMessage(m.Value))
	}
	for _, e := range inner {
		if text := challenge(e, depth-1); text != "" {
			return text
		}
	}
	return ""
}
