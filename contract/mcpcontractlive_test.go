// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
)

// listed is the surface that a scripted server shows over stdio.
func listed(t *testing.T, era spec.Era, script mock.Script) (*surface.Surface, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := session.Open(ctx, mock.New(script).Stdio(""), session.Options{Era: era})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	return surface.Collect(ctx, s, surface.CollectOptions{})
}

func eachEra(t *testing.T, f func(t *testing.T, era spec.Era)) {
	t.Run("legacy", func(t *testing.T) { f(t, spec.Legacy) })
	t.Run("modern", func(t *testing.T) { f(t, spec.Modern) })
}

// shelves is a server with n tools, a resource and a prompt.
func shelves(n int) mock.Script {
	s := mock.Script{
		Resources: []mock.Resource{{Definition: json.RawMessage(`{"uri":"shelf://1","name":"1"}`)}},
		Prompts:   []mock.Prompt{{Definition: json.RawMessage(`{"name":"greet"}`)}},
	}
	for i := range n {
		s.Tools = append(s.Tools, mock.Tool{Definition: fmt.Appendf(nil, `{"name":"t%d","inputSchema":{"type":"object"}}`, i)})
	}
	return s
}

// Looking has no side effects: a server that dies when a tool is called, a
// prompt got or a resource read is recorded in full.
func TestPromiseNoToolIsEverCalled(t *testing.T) {
	eachEra(t, func(t *testing.T, era spec.Era) {
		script := shelves(2)
		for _, m := range []string{"tools/call", "prompts/get", "resources/read", "completion/complete"} {
			script.Faults = append(script.Faults, mock.On(m).Die())
		}
		for i := range script.Tools {
			script.Tools[i].Func = func(context.Context, *mock.Call) (json.RawMessage, error) {
				t.Error("a tool was called")
				return nil, nil
			}
		}
		s, err := listed(t, era, script)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Items(surface.Tools)) != 2 || len(s.Items(surface.Resources)) != 1 || len(s.Items(surface.Prompts)) != 1 {
			t.Errorf("not all is recorded: %+v", s)
		}
	})
}

// A tool on the last page is not a tool that is gone.
func TestPromiseEveryPageIsRead(t *testing.T) {
	eachEra(t, func(t *testing.T, era spec.Era) {
		paged := shelves(7)
		paged.PageSize = 2
		one, err := listed(t, era, shelves(7))
		if err != nil {
			t.Fatal(err)
		}
		many, err := listed(t, era, paged)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(many.Items(surface.Tools)); n != 7 {
			t.Errorf("%d tools of 7", n)
		}
		if r := contract.Compare(one, many, contract.Options{}); len(r.Changes) > 0 {
			t.Errorf("pages show in the contract:\n%s", describe(r))
		}
	})
}

// A listing without an end is an error, where mcp-contract records what it has
// after 100 pages: a partial contract would turn into removals.
func TestPromisePagingEnds(t *testing.T) {
	eachEra(t, func(t *testing.T, era spec.Era) {
		script := shelves(4)
		script.PageSize = 2
		script.Faults = []mock.Fault{mock.On("tools/list").RepeatCursor()}
		if _, err := listed(t, era, script); err == nil || !strings.Contains(err.Error(), "tools/list") {
			t.Errorf("a cursor that repeats: %v", err)
		}
	})
}

// "There are none" and "it could not be listed" are two facts. mcp-contract
// prints the second and records the first; here nothing is recorded.
func TestPromiseMethodNotFoundIsNone(t *testing.T) {
	eachEra(t, func(t *testing.T, era spec.Era) {
		none := shelves(2)
		none.Faults = []mock.Fault{mock.On("prompts/list").Error(-32601, "no prompts here")}
		s, err := listed(t, era, none)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Items(surface.Prompts)) != 0 || !s.Facets.HasKind(surface.Prompts) {
			t.Errorf("method not found is an empty listing: %v", s.Facets.Sorted())
		}
		for name, fault := range map[string]mock.Fault{
			"an error":            mock.On("prompts/list").Error(-32603, "database is down"),
			"an error on page 2":  mock.On("tools/list").OnPage(2).Error(-32603, "database is down"),
			"not found on page 2": mock.On("tools/list").OnPage(2).Error(-32601, "gone"),
		} {
			script := shelves(2)
			script.PageSize = 1
			script.Faults = []mock.Fault{fault}
			if _, err := listed(t, era, script); err == nil {
				t.Errorf("%s: recorded all the same", name)
			}
		}
	})
}

// Hints for caches differ between two answers of an unchanged server. ttlMs is
// never recorded. cacheScope is: whether one user's list may be shown to all
// is a promise, so it is judged where it widens.
func TestPromiseCacheHintsAreExcluded(t *testing.T) {
	scripted := func(ttl int64, scope string) *surface.Surface {
		script := shelves(1)
		script.TTL, script.CacheScope = ttl, scope
		s, err := listed(t, spec.Modern, script)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old := scripted(1_000, "private")
	if r := contract.Compare(old, scripted(60_000, "private"), contract.Options{}); len(r.Changes) > 0 {
		t.Errorf("ttlMs is no promise:\n%s", describe(r))
	}
	file, err := old.Encode()
	if err != nil || strings.Contains(string(file), "ttl") {
		t.Errorf("%v\n%s", err, file)
	}
	if r := contract.Compare(scripted(1, "public"), old, contract.Options{}); len(r.Changes) > 0 {
		t.Errorf("a narrower scope is %v:\n%s", r.Worst(), describe(r))
	}
}

// Recording again is how to accept a change: the new file has none left.
func TestPromiseRecordingAgainAccepts(t *testing.T) {
	eachEra(t, func(t *testing.T, era spec.Era) {
		old, err := listed(t, era, shelves(3))
		if err != nil {
			t.Fatal(err)
		}
		now, err := listed(t, era, shelves(2))
		if err != nil {
			t.Fatal(err)
		}
		if r := contract.Compare(old, now, contract.Options{}); r.Worst() != contract.Breaking {
			t.Fatalf("a tool is gone:\n%s", describe(r))
		}
		file, err := now.Encode()
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := surface.Decode("c", file)
		if err != nil {
			t.Fatal(err)
		}
		if r := contract.Compare(recorded, now, contract.Options{}); len(r.Changes) > 0 {
			t.Errorf("recorded again, and still:\n%s", describe(r))
		}
	})
}
