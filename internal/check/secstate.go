// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	hexadecimal "encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// secStateRules are those of what a server hands a client to bring back.
var secStateRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.state-oracle", Level: rule.Should, Basis: rule.Harm, Section: mrtrWorkflow,
			Title: "every requestState that is not taken is refused in the same words",
			Why:   "different refusals tell an attacker which part of a made-up state was already right",
			Fix:   "answer one code and one message, whether the state cannot be decoded, has a wrong seal, is too old or belongs to another request",
		},
		In: modern, Check: stateOracle, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.ParamIs("/requestState", string(jsonx.Quote(noState)))).Set("/error/message", `"The state cannot be decoded"`),
		}},
	},
	{
		Info: rule.Info{
			ID: "sec.state-readable", Level: rule.Should, Basis: rule.Harm, Section: mrtrWorkflow,
			Title: "nobody but the server can read a requestState",
			Why:   "it goes through the client, the model's host and their logs: what a user entered, or who they are, can be read there",
			Fix:   "encrypt it (AEAD), or hand out an unguessable handle and keep the state",
		},
		In: modern, Check: stateReadable, Needs: "--tool",
		Break: Break{Change: func(s *mock.Script) { s.State.Form = mock.StateSigned }},
	},
	{
		Info: rule.Info{
			ID: "sec.handle-guessable", Level: rule.MustNot, Basis: rule.Harm, Section: "2026-07-28/tutorials/security/security_best_practices#state-handle-hijacking",
			Title: "handles that stand for a state cannot be guessed",
			Why:   "whoever counts on from their own handle goes on with the request of another user",
			Fix:   "make each handle of 128 random bits or more, and bind it to who it was given to",
		},
		In: modern, Check: handleGuessable, Needs: "--tool",
		Break: Break{Change: func(s *mock.Script) { s.State.Form = mock.StateNumbered }},
	},
}

// noState is a text that no server made.
const noState = "bWNwcm92ZS1uby1zdGF0ZQ"

// refusalWords is what a refusal says: the code, and the message where the state does
// not stand in it.
func refusalWords(x *probe.Exchange, state string) string {
	m := x.Message()
	if m == nil {
		return x.Brief()
	}
	words := string(x.Member("content"))
	if m.Error != nil {
		words = string(m.Error.Raw)
	}
	if len(state) < leastEcho {
		return words // it may be a part of any word
	}
	return strings.ReplaceAll(words, state, "")
}

// refusalHead is what a refusal says without its data, in which a number of its
// own may stand each time.
func refusalHead(x *probe.Exchange, state string) string {
	m := x.Message()
	if m == nil || m.Error == nil {
		return refusalWords(x, state)
	}
	code, _ := x.Code()
	head := strconv.Itoa(code) + " " + m.Error.Message
	if len(state) < leastEcho {
		return head
	}
	return strings.ReplaceAll(head, state, "")
}

// leastEcho is how long a state must be to be known again in a text.
const leastEcho = 12

func stateOracle(c *probe.Case) {
	for _, x := range askers(c, withState) {
		if _, ok := honest(c, x); !ok {
			return
		}
		first, ok := anew(c, x)
		if !ok {
			return
		}
		state := probe.Text(first.Member(spec.FieldRequestState))
		var was *probe.Exchange
		var words, cause string
		says := refusalWords
		for _, bad := range []struct{ state, what string }{
			{noState, "a made-up requestState"},
			{flipped(state, len(state)/2), "a requestState with one character changed"},
			{state[:len(state)/2], "half of a requestState"},
		} {
			y := c.Send(withOther(first, bad.state).Planting(bad.what))
			switch {
			case y.Message() == nil || went(y):
				continue // rules of their own say so
			case was == nil:
				again := c.Send(withOther(first, bad.state).Planting(bad.what))
				if says(y, bad.state) != says(again, bad.state) {
					says = refusalHead
				}
				if says(y, bad.state) != says(again, bad.state) {
					c.Skip("%s is refused in other words each time", bad.what)
					return
				}
				was, words, cause = y, says(y, bad.state), bad.what
			case says(y, bad.state) != words:
				c.Fail(y, "%s is refused in other words than %s", bad.what, cause).And(was)
				return
			}
			c.Pass(y)
		}
	}
	c.UnseenFor("mrtr.state-tamper-rejected", "a requestState that was changed is not refused")
}

// states are some of what the server hands out, each fresh.
func states(c *probe.Case, n int) (texts []string, xs []*probe.Exchange) {
	asking := askers(c, withState)
	if len(asking) == 0 {
		return nil, nil
	}
	for range n {
		y, ok := anew(c, asking[0])
		if !ok {
			return nil, nil
		}
		texts, xs = append(texts, probe.Text(y.Member(spec.FieldRequestState))), append(xs, y)
	}
	return texts, xs
}

// plainText is what anybody can read in a text: itself, or what it is an
// encoding of. It is nil where that is no JSON object.
func plainText(s string) []byte {
	candidates := [][]byte{[]byte(s)}
	parts := strings.Split(s, ".")
	if header, err := base64.RawURLEncoding.DecodeString(parts[0]); err == nil && (len(parts) == 3 || len(parts) == 5) && probe.Lookup(header, "/alg") != nil {
		parts = parts[1:] // of a JWS or JWE, which says how it is made (RFC 7515 and 7516, section 7.1)
	}
	for _, part := range parts {
		for _, e := range []*base64.Encoding{base64.RawURLEncoding, base64.URLEncoding, base64.StdEncoding, base64.RawStdEncoding} {
			if b, err := e.DecodeString(part); err == nil {
				candidates = append(candidates, b)
				break
			}
		}
		if b, err := hexadecimal.DecodeString(part); err == nil {
			candidates = append(candidates, b)
		}
	}
	for _, b := range candidates {
		if jsonx.KindOf(b) == jsonx.Object && jsonx.Check(b, jsonx.Lenient) == nil && len(probe.Members(b)) > 0 {
			return b
		}
	}
	return nil
}

func stateReadable(c *probe.Case) {
	texts, xs := states(c, 1)
	for i, s := range texts {
		if plain := plainText(s); plain != nil {
			var names []string
			for _, m := range probe.Members(plain) {
				names = append(names, m.Name)
			}
			c.Fail(xs[i], "the requestState is a JSON object that anybody can read, with %s", strings.Join(names[:min(6, len(names))], ", ")).
				In(xs[i].Response, "/result/"+spec.FieldRequestState)
			return
		}
		c.Pass(xs[i])
	}
}

// manyHandles are enough to see a counter.
const manyHandles = 6

func handleGuessable(c *probe.Case) {
	texts, xs := states(c, manyHandles)
	if texts == nil {
		return
	}
	if what := guessable(texts); what != "" {
		c.Fail(xs[len(xs)-1], "handles that were given one after the other %s: %s", what, clipped(strings.Join(texts, ", "))).And(xs[0])
		return
	}
	c.Pass(xs[0])
}

// guessable says why the next of some handles is known, empty where it is not:
// they are the same but for a number that grows by a little.
func guessable(texts []string) string {
	numbers := make([][]int64, len(texts))
	shapes := make([]string, len(texts))
	for i, s := range texts {
		shapes[i], numbers[i] = split(s)
	}
	if slices.ContainsFunc(shapes, func(s string) bool { return s != shapes[0] }) || len(numbers[0]) == 0 {
		return ""
	}
	const step = 64 // others are served meanwhile
	grew := false
	for i := 1; i < len(numbers); i++ {
		for k, n := range numbers[i] {
			d := n - numbers[i-1][k]
			if d < 0 || d > step {
				return ""
			}
			grew = grew || d > 0
		}
	}
	if !grew {
		return "" // the server gives the same one again
	}
	return "are the same but for a number that counts on"
}

// split is a text with its numbers taken out, and the numbers.
func split(s string) (shape string, numbers []int64) {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if n := j - i; n > 0 && n <= 15 {
			var v int64
			for _, d := range s[i:j] {
				v = v*10 + int64(d-'0')
			}
			numbers = append(numbers, v)
			b.WriteByte('#')
			i = j
			continue
		}
		j = max(j, i+1)
		b.WriteString(s[i:j])
		i = j
	}
	return b.String(), numbers
}
