// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// namedFault is a fault that --fault and scripts know by its id.
type namedFault struct {
	title string
	apply func(*mock.Script)
	// at are the faults at another method, nil where the fault has its place.
	at func(method string) []mock.Fault
	// over is the one carrier that it breaks: http, http+sse or stdio; empty is each.
	over string
}

// faultsKnown are all faults by id: those of carriers, for people who test
// clients, and those of rules, each of which carries the fault that breaks it.
func faultsKnown() map[string]namedFault {
	out := map[string]namedFault{}
	for _, r := range check.Rules() {
		if len(r.Break.Faults) > 0 || r.Break.Change != nil {
			out[r.ID] = namedFault{title: "broken: " + r.Title, apply: r.Break.Apply, over: r.Transport}
		}
	}
	for _, c := range carrierFaults {
		at := func(method string) []mock.Fault { return c.faults(mock.On(method)) }
		over := ""
		if strings.HasSuffix(c.title, ofHTTP) {
			over = "http"
		}
		out["carrier."+c.name] = namedFault{over: over, title: c.title, at: at, apply: func(s *mock.Script) { s.Faults = append(s.Faults, at(c.method)...) }}
	}
	return out
}

// carrierFaults break what carries the answer of one method, and nothing else,
// so that a client can still connect and look around.
var carrierFaults = []struct {
	name, title, method string
	faults              func(mock.Place) []mock.Fault
}{
	{"cut", "the connection breaks in the middle of an answer", spec.MethodToolsCall, one(mock.Place.Half)},
	{"hang-up", "the connection breaks instead of an answer", spec.MethodToolsCall, one(mock.Place.HangUp)},
	{"silence", "there is never an answer", spec.MethodToolsCall, one(mock.Place.Drop)},
	{"delay", "an answer takes ten seconds", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.Late(10 * time.Second)}
	}},
	{"dribble", "an answer comes byte by byte", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.Dribble(1, 10*time.Millisecond)}
	}},
	{"duplicate-answer", "an answer comes twice", spec.MethodToolsCall, one(mock.Place.Twice)},
	{"wrong-id", "an answer has the id of no request", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.Set("/id", `"the-id-of-no-request"`)}
	}},
	{"wrong-content-type", "an answer says that it is a web page" + ofHTTP, spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.JSON(), p.Header(spec.HeaderContentType, "text/html")}
	}},
	{"bad-sse", "an answer is an event stream without a proper event" + ofHTTP, spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.SSE(), p.Event(":\nid\ndata {{data}}\n\n")}
	}},
	{"bad-utf8", "an answer has bytes that are no UTF-8", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.BadUTF8("/result/note")}
	}},
	{"oversize", "an answer has 64 MiB", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.Oversize("/result/note", 64<<20)}
	}},
	{"429", "the server asks for patience" + ofHTTP, spec.MethodToolsCall, refusal(http.StatusTooManyRequests)},
	{"500", "the server fails" + ofHTTP, spec.MethodToolsCall, refusal(http.StatusInternalServerError)},
	{"503", "the server is not available" + ofHTTP, spec.MethodToolsCall, refusal(http.StatusServiceUnavailable)},
	{"endless-cursor", "a list has always another page", spec.MethodToolsList, one(mock.Place.EndlessCursors)},
	{"endless-input", "a call asks for input for ever (2026-07-28)", spec.MethodToolsCall, func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.When(mock.RevisionFrom(spec.Rev20260728)).AskForever(
			`{"more":{"method":"elicitation/create","params":{"message":"What else?","requestedSchema":{"type":"object","properties":{"else":{"type":"string"}}}}}}`)}
	}},
}

// ofHTTP ends the titles of faults that only HTTP can have.
const ofHTTP = " (HTTP)"

func one(f func(mock.Place) mock.Fault) func(mock.Place) []mock.Fault {
	return func(p mock.Place) []mock.Fault { return []mock.Fault{f(p)} }
}

// refusal answers with a status; those that are over soon say when.
func refusal(status int) func(mock.Place) []mock.Fault {
	var header []wire.HeaderField
	if status != http.StatusInternalServerError {
		header = append(header, wire.HeaderField{Name: "Retry-After", Value: "1"})
	}
	return func(p mock.Place) []mock.Fault {
		return []mock.Fault{p.HTTP(status, "text/plain", http.StatusText(status)+"\n", header...)}
	}
}

// carriedBy refuses a fault that the carrier which is served cannot have: it
// would change nothing.
func carriedBy(id string, stdio bool) error {
	id, _, _ = strings.Cut(id, "@")
	switch over := faultsKnown()[id].over; {
	case strings.HasPrefix(over, "http") && stdio:
		return usage("--fault", "leave out --stdio", "%s is a fault of HTTP: over stdio it changes nothing", id)
	case over == "stdio" && !stdio:
		return usage("--fault", "add --stdio", "%s is a fault of stdio: over HTTP it changes nothing", id)
	}
	return nil
}

func faultNames() []string { return slices.Sorted(maps.Keys(faultsKnown())) }

// faultOf returns what ID or ID@METHOD does to a script. The error has no
// place.
func faultOf(name string) (func(*mock.Script), *rule.FileError) {
	id, method, moved := strings.Cut(name, "@")
	f, ok := faultsKnown()[id]
	if !ok {
		try := "mcprove mock --fault list names them"
		if near := rule.Nearest(id, faultNames()); len(near) > 0 {
			try = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return nil, &rule.FileError{Message: fmt.Sprintf("there is no fault %q", id), Try: try}
	}
	switch {
	case !moved:
		return f.apply, nil
	case f.at == nil:
		return nil, &rule.FileError{Message: fmt.Sprintf("fault %s has its place and cannot be moved to %s", id, method), Try: "leave out @" + method}
	case method == "*":
		method = ""
	case !knownMethod(method):
		return nil, &rule.FileError{Message: fmt.Sprintf("there is no method %q", method), Try: "write it like " + id + "@tools/list, or " + id + "@* for every one"}
	}
	return func(s *mock.Script) { s.Faults = append(s.Faults, f.at(method)...) }, nil
}

func knownMethod(name string) bool {
	return slices.ContainsFunc(spec.All(), func(r spec.Revision) bool {
		_, ok := spec.MethodAt(name, r)
		return ok
	})
}

// listFaults prints every fault.
func (a *app) listFaults() error {
	known := faultsKnown()
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if _, err := fmt.Fprintf(a.stdout, "%-44s %s\n", id, known[id].title); err != nil {
			return err
		}
	}
	return nil
}
