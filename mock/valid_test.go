// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// everything is a script that uses every part of it.
func everything() mock.Script {
	s := mock.Library()
	s.Capabilities = raw(`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`)
	s.PageSize = 3
	s.Meta = raw(`{"com.example/build":"77"}`)
	s.Tools = append(s.Tools,
		mock.Tool{
			Definition: raw(`{"name":"count","description":"Counts.","inputSchema":{"type":"object"}}`),
			Func: func(_ context.Context, c *mock.Call) (json.RawMessage, error) {
				if token, err := lookup(c.Params, "/_meta/progressToken"); err == nil {
					c.Notify(spec.NotificationProgress, raw(`{"progressToken":`+string(token)+`,"progress":1,"total":2}`))
				}
				c.Notify(spec.NotificationMessage, raw(`{"level":"info","data":"counting"}`))
				return raw(`{"content":[{"type":"text","text":"1, 2"}]}`), nil
			},
		},
		mock.Tool{
			Definition: raw(`{"name":"fail","inputSchema":{"type":"object"}}`),
			Func: func(context.Context, *mock.Call) (json.RawMessage, error) {
				return nil, errors.New("the shelf is empty")
			},
		},
		mock.Tool{
			Definition: raw(`{"name":"refuse","inputSchema":{"type":"object"}}`),
			Func: func(context.Context, *mock.Call) (json.RawMessage, error) {
				return nil, &mock.Error{Code: spec.CodeInternalError, Message: "out of order"}
			},
		})
	return s
}

// talk is one of each request that a client can make, and the code of the
// error that answers it in the legacy and in the modern era.
var talk = []struct {
	method, params string
	legacy, modern int
}{
	{spec.MethodPing, "", 0, spec.CodeMethodNotFound},
	{spec.MethodToolsCall, `{"name":"get_book","arguments":{"book_id":"b-1024"}}`, 0, 0},
	{spec.MethodToolsCall, `{"name":"search_books","arguments":{"query":"harbour","filters":{"language":"en"},"limit":5}}`, 0, 0},
	{spec.MethodToolsCall, `{"name":"count"}`, 0, 0},
	{spec.MethodToolsCall, `{"name":"fail","arguments":{}}`, 0, 0},
	{spec.MethodToolsCall, `{"name":"refuse","arguments":{}}`, spec.CodeInternalError, spec.CodeInternalError},
	{spec.MethodToolsCall, `{"name":"nobody","arguments":{}}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodToolsCall, `{"name":"count","arguments":[]}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodToolsCall, `{}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodResourcesRead, `{"uri":"library://hours"}`, 0, 0},
	{spec.MethodResourcesRead, `{"uri":"library://books/b-7/cover"}`, 0, 0},
	{spec.MethodResourcesRead, `{"uri":"library://nothing"}`, spec.CodeResourceNotFound, spec.CodeInvalidParams},
	{spec.MethodResourcesRead, `{"uri":7}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodPromptsGet, `{"name":"plan_reading","arguments":{"topic":"seabirds \"of\" the north"}}`, 0, 0},
	{spec.MethodPromptsGet, `{"name":"plan_reading"}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodPromptsGet, `{"name":"plan_reading","arguments":{"topic":5}}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodPromptsGet, `{"name":"nothing"}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"plan_reading"},"argument":{"name":"topic","value":"s"}}`, 0, 0},
	{spec.MethodComplete, `{"ref":{"type":"ref/resource","uri":"library://books/{book_id}/cover"},"argument":{"name":"book_id","value":""}}`, 0, 0},
	{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"explain_fine"},"argument":{"name":"loan_id","value":"l"}}`, 0, 0},
	{spec.MethodComplete, `{"ref":{"type":"ref/tool"},"argument":{"name":"x","value":""}}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"plan_reading"},"argument":{"name":"topic"}}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodSetLevel, `{"level":"warning"}`, 0, spec.CodeMethodNotFound},
	{spec.MethodSetLevel, `{"level":"loud"}`, spec.CodeInvalidParams, spec.CodeMethodNotFound},
	{spec.MethodResourcesSubscribe, `{"uri":"library://hours"}`, 0, spec.CodeMethodNotFound},
	{spec.MethodResourcesUnsubscribe, `{"uri":"library://hours"}`, 0, spec.CodeMethodNotFound},
	{spec.MethodToolsList, `{"cursor":"bogus"}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodToolsList, `{"cursor":"page-99"}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodToolsList, `{"cursor":"page-+1"}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{spec.MethodToolsList, `{"cursor":null}`, spec.CodeInvalidParams, spec.CodeInvalidParams},
	{"no/such/method", `{}`, spec.CodeMethodNotFound, spec.CodeMethodNotFound},
	{spec.MethodRootsList, `{}`, spec.CodeMethodNotFound, spec.CodeMethodNotFound},
}

func TestEveryAnswerIsValidInEveryRevision(t *testing.T) {
	for _, r := range spec.All() {
		t.Run(r.String(), func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				j := newJudge(r)
				s := open(t, target(mock.New(everything())), session.Options{Revision: r, Tap: j.tap})
				if n := s.Negotiated(); n.Revision != r {
					t.Fatalf("negotiated %s", n.Revision)
				}
				for _, m := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList, spec.MethodPromptsList} {
					if _, err := s.List(within(t), m); err != nil {
						t.Errorf("%s: %v", m, err)
					}
				}
				for _, x := range talk {
					_, err := s.Call(within(t), x.method, raw(x.params))
					want := x.legacy
					if r.Era() == spec.Modern {
						want = x.modern
					}
					rpc, isRPC := errors.AsType[*session.RPCError](err)
					switch {
					case want == 0 && err != nil:
						t.Errorf("%s %s: %v", x.method, x.params, err)
					case want != 0 && (!isRPC || int(rpc.Code) != want):
						t.Errorf("%s %s: %v, want code %d", x.method, x.params, err, want)
					}
				}
				j.report(t)
				if as := s.Anomalies(); len(as) > 0 {
					t.Errorf("anomalies: %+v", as)
				}
			})
		})
	}
}

func TestBadArguments(t *testing.T) {
	for _, tc := range []struct{ name, tool, arguments, want string }{
		{"missing", "get_book", `{}`, "book_id is required"},
		{"wrong type", "get_book", `{"book_id":7}`, "book_id must be string"},
		{"nested enum", "search_books", `{"query":"ab","filters":{"language":"xx"}}`, "filters.language must be one of"},
		{"too large", "search_books", `{"query":"ab","limit":101}`, "limit must be at most 100"},
		{"too small", "search_books", `{"query":"ab","limit":0}`, "limit must be at least 1"},
		{"not whole", "search_books", `{"query":"ab","limit":1.5}`, "limit must be integer"},
		{"element", "list_loans", `{"member_id":"m","state":["active","lost"]}`, "state[1] must be one of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				params := raw(`{"name":"` + tc.tool + `","arguments":` + tc.arguments + `}`)
				for _, r := range []spec.Revision{spec.Rev20250618, spec.Rev20251125, spec.Rev20260728} {
					s := open(t, target(mock.New(mock.Library())), session.Options{Revision: r})
					res, err := s.Call(within(t), spec.MethodToolsCall, params)
					rpc, isRPC := errors.AsType[*session.RPCError](err)
					if r < spec.Rev20251125 {
						if !isRPC || rpc.Code != spec.CodeInvalidParams {
							t.Errorf("%s: %v, want a protocol error", r, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v, want a result with isError", r, err)
						continue
					}
					text, _ := lookup(res.Raw, "/content/0/text")
					failed, _ := lookup(res.Raw, "/isError")
					if string(failed) != "true" || !contains(text, tc.want) {
						t.Errorf("%s: %s, want isError and %q", r, res.Raw, tc.want)
					}
				}
			})
		})
	}
}

func TestWhatIsNotDeclaredIsNotServed(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, r := range []spec.Revision{spec.Rev20250618, spec.Rev20260728} {
			s := open(t, target(mock.New(mock.Script{Tools: mock.Library().Tools})), session.Options{Revision: r})
			if c := string(s.Negotiated().Capabilities); c != `{"tools":{}}` {
				t.Errorf("%s: capabilities %s", r, c)
			}
			for _, m := range []string{spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodComplete} {
				_, err := s.Call(within(t), m, raw(`{}`))
				if rpc, ok := errors.AsType[*session.RPCError](err); !ok || rpc.Code != spec.CodeMethodNotFound {
					t.Errorf("%s %s: %v", r, m, err)
				}
			}
		}
	})
}

func TestPromptsAndTemplatesAreFilledIn(t *testing.T) {
	s := open(t, mock.New(mock.Library()).HTTP(""), session.Options{})
	for _, tc := range []struct{ method, params, pointer, want string }{
		{spec.MethodPromptsGet, `{"name":"plan_reading","arguments":{"topic":"\"sea\"\n","books":"3"}}`, "/messages/0/content/text",
			`"Plan a month of reading about \"sea\"\n. Number of books: 3."`},
		{spec.MethodResourcesRead, `{"uri":"library://books/b-7/cover"}`, "/contents/0/text", `"Cover of book b-7"`},
		{spec.MethodResourcesRead, `{"uri":"library://books/b-7/cover"}`, "/contents/0/uri", `"library://books/b-7/cover"`},
		{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"plan_reading"},"argument":{"name":"topic","value":"s"}}`, "/completion",
			`{"values":["sailing","seabirds"],"total":2,"hasMore":false}`},
	} {
		res, err := s.Call(within(t), tc.method, raw(tc.params))
		if err != nil {
			t.Errorf("%s: %v", tc.method, err)
			continue
		}
		if got, _ := lookup(res.Raw, tc.pointer); string(got) != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.method, tc.pointer, got, tc.want)
		}
	}
}

func TestErasFollowFromTheRevisions(t *testing.T) {
	for _, tc := range []struct {
		name      string
		revisions []spec.Revision
		auto      spec.Revision // what a client that finds out agrees on
		listed    []string
	}{
		{"dual", nil, spec.Rev20260728, []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}},
		{"legacy", []spec.Revision{spec.Rev20250326, spec.Rev20250618}, spec.Rev20250618, nil},
		{"modern", []spec.Revision{spec.Rev20260728}, spec.Rev20260728, []string{"2026-07-28"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				s := open(t, target(mock.New(mock.Script{Revisions: tc.revisions})), session.Options{})
				n := s.Negotiated()
				if n.Revision != tc.auto || !slices.Equal(n.Supported, tc.listed) {
					t.Errorf("agreed on %s of %v, want %s of %v", n.Revision, n.Supported, tc.auto, tc.listed)
				}
			})
		})
	}
}

func TestAskedForTheOtherEra(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, tc := range []struct {
			serves, asks spec.Revision
			names        bool // the refusal names what is served
		}{
			{spec.Rev20260728, spec.Rev20250618, true},
			{spec.Rev20250618, spec.Rev20260728, false},
		} {
			s, err := session.Open(within(t), target(mock.New(mock.Script{Revisions: []spec.Revision{tc.serves}})), session.Options{Revision: tc.asks})
			if err == nil {
				t.Errorf("%s was agreed on", tc.asks)
				_ = s.Close(within(t))
				continue
			}
			ne, ok := errors.AsType[*session.NegotiationError](err)
			if tc.names && (!ok || !slices.Equal(ne.Supported, []string{tc.serves.String()})) {
				t.Errorf("%s asked of %s: %v", tc.asks, tc.serves, err)
			}
		}
	})
}

func TestDualServerWhoseDiscoveryFailsIsMetByTheHandshake(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	for _, f := range []mock.Fault{discover.Die(), discover.HangUp(), discover.Half(), discover.Drop(), discover.Error(spec.CodeInvalidParams, "no")} {
		srv := mock.New(mock.Script{Faults: []mock.Fault{f}})
		s := open(t, srv.Stdio(""), session.Options{Timeouts: session.Timeouts{Discover: 50 * time.Millisecond}})
		if n := s.Negotiated(); n.Revision != spec.Rev20251125 {
			t.Errorf("%s: negotiated %s", f.Op, n.Revision)
		}
	}
}
