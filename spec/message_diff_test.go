// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"maps"
	"testing"
)

// TestMessagesAgainstOfficial judges whole messages, valid and damaged, by
// Validate and by the official definitions that must hold together for them.
// What Validate forbids beyond the definitions is left aside.
func TestMessagesAgainstOfficial(t *testing.T) {
	schemaDir(t)
	count := 20000
	if testing.Short() {
		count = 3000
	}
	for _, r := range All() {
		doc, _ := official(t, r)
		var taken []difference
		for _, d := range differences {
			if d.in.Contains(r) {
				taken = append(taken, d)
			}
		}
		o := newOracle(t, r, taken...)
		g := newGen(uint64(r) + 500)
		g.learn(doc)
		var rows []Method
		for _, m := range Methods(r, 0) {
			if m.Kind != InputRequest {
				rows = append(rows, m)
			}
		}
		accepted, rejected, faults := 0, 0, 0
		for i := range count {
			m := rows[i%len(rows)]
			c := MessageContext{Method: m.Name}
			msg, names, answer := message(g, r, m)
			if g.IntN(3) > 0 {
				mutated, ok := g.mutate(msg, g.probe).(map[string]any)
				if !ok || !sameKind(msg, mutated, m) {
					continue
				}
				msg = mutated
			}
			text := write(msg)
			want := o.accepts(names[0], parse(t, text))
			if answer != "" {
				if result, ok := msg["result"]; ok {
					want = want && o.accepts(answer, parse(t, write(result)))
				}
			} else {
				for _, name := range names[1:] {
					want = want && o.accepts(name, parse(t, text))
				}
			}
			got := true
			vs := Validate(r, c, text)
			for _, v := range vs {
				got = got && (v.Kind == Forbidden || v.Kind == OtherRevision)
			}
			if want {
				accepted++
			} else {
				rejected++
			}
			if got != want {
				if faults++; faults < 10 {
					t.Errorf("%s %s %v %s: official accepts=%v, ours=%v %v\n%s", r, m.Name, names, answer, want, got, vs, clip400(text))
				}
			}
		}
		t.Logf("%s: %d messages accepted, %d rejected, %d disagreements", r, accepted, rejected, faults)
	}
}

// message makes one message about a method, and names the definitions that hold
// for it: of the message, and of its result.
func message(g *gen, r Revision, m Method) (msg map[string]any, names []string, answer string) {
	nodes := grammarOf(r).nodes
	if m.Kind == Request && g.IntN(2) == 0 {
		result := g.fromNode(nodes[m.Result]).(map[string]any)
		if r.Era() == Modern {
			result[FieldResultType] = ResultComplete
		}
		name := "JSONRPCResponse"
		if r >= Rev20251125 {
			name = "JSONRPCResultResponse"
		}
		return map[string]any{"jsonrpc": "2.0", "id": digits("1"), "result": result}, []string{name}, m.Result
	}
	msg = g.fromNode(nodes[m.Definition]).(map[string]any)
	maps.DeleteFunc(msg, func(k string, _ any) bool { return k != "params" })
	msg["jsonrpc"], msg["method"] = "2.0", m.Name
	if m.Kind == Notification {
		return msg, []string{"JSONRPCNotification", m.Definition}, ""
	}
	msg["id"] = "a"
	return msg, []string{"JSONRPCRequest", m.Definition}, ""
}

// sameKind reports whether damage has left the message what it was, so that the
// same definitions still apply. Messages of another kind have their own test.
func sameKind(before, after map[string]any, m Method) bool {
	if _, response := before["result"]; response {
		_, result := after["result"]
		_, method := after["method"]
		_, failure := after["error"]
		if !result || method || failure {
			return false
		}
		if o, ok := after["result"].(map[string]any); ok {
			kind, text := o[FieldResultType].(string)
			return !text || kind == ResultComplete
		}
		return true
	}
	_, result := after["result"]
	_, failure := after["error"]
	return after["method"] == m.Name && !result && !failure
}
