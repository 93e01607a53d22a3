// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// willing answers everything that a server may ask.
func willing() session.Handlers {
	return session.Handlers{
		Elicit: func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
			switch {
			case contains(params, `"mode":"url"`):
				return raw(`{"action":"accept"}`), nil
			case contains(params, `"station"`):
				return raw(`{"action":"accept","content":{"station":"west"}}`), nil
			}
			return raw(`{"action":"accept","content":{"observer":"Ada","height":2.5}}`), nil
		},
		Sample: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`{"role":"assistant","content":{"type":"text","text":"A high one."},"model":"m"}`), nil
		},
		Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`{"roots":[{"uri":"file:///home/ada","name":"home"}]}`), nil
		},
	}
}

// able are the capabilities of a client that can do everything.
const able = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// specimenCalls are arguments for the tools that need some.
var specimenCalls = map[string]string{
	"greet_visitor": `{"name":"Ada"}`, "read_tide": `{"station":"east"}`, "route_notice": `{"region":"north","copies":2,"urgent":true}`,
	"look_up_mark": `{"code":"HBR-0042"}`,
}

func TestSpecimenIsValidInEveryRevision(t *testing.T) {
	for _, r := range spec.All() {
		t.Run(r.String(), func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				srv := mock.New(mock.Specimen())
				defer func() { _ = srv.Shutdown(within(t)) }()
				j := newJudge(r)
				s := open(t, target(srv), session.Options{Revision: r, Tap: j.tap, Handlers: willing(), Capabilities: raw(able), LogLevel: "debug"})
				pages := 0
				lists := map[string][]jsonx.Raw{}
				for method, key := range map[string]string{
					spec.MethodToolsList: "tools", spec.MethodResourcesList: "resources",
					spec.MethodResourceTemplatesList: "resourceTemplates", spec.MethodPromptsList: "prompts",
				} {
					l, err := s.List(within(t), method)
					if err != nil {
						t.Fatalf("%s: %v", method, err)
					}
					if len(l.Pages) < 2 {
						t.Errorf("%s has %d pages", method, len(l.Pages))
					}
					pages += len(l.Pages)
					for _, p := range l.Pages {
						es, _ := jsonx.Elements(jsonx.Raw(p.Member(key)), jsonx.Strict)
						lists[key] = append(lists[key], es...)
					}
				}
				for _, tool := range lists["tools"] {
					callSpecimen(t, s, r, tool)
				}
				for _, res := range lists["resources"] {
					readSpecimen(t, s, res)
				}
				for _, p := range lists["prompts"] {
					name, _ := jsonx.Lookup(p, "/name")
					params := `{"name":` + string(name) + `,"arguments":{"first":"east","vessel":"vessel-001"}}`
					_, err := s.Call(within(t), spec.MethodPromptsGet, raw(params))
					if err != nil && (string(name) != `"interview_pilot"` || r >= spec.Rev20250618) {
						t.Errorf("%s: %v", params, err)
					}
				}
				for _, uri := range []string{"tide://stations/east/reading", "tide://stations/west/days/monday", "tide://charts/harbour", "tide://records/2026"} {
					_, err := s.Call(within(t), spec.MethodResourcesRead, raw(`{"uri":"`+uri+`"}`))
					if err != nil && (uri != "tide://records/2026" || r >= spec.Rev20250618) {
						t.Errorf("%s: %v", uri, err)
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

func callSpecimen(t *testing.T, s *session.Session, r spec.Revision, tool jsonx.Raw) {
	t.Helper()
	name, _ := jsonx.Lookup(tool, "/name")
	schema, _ := jsonx.Lookup(tool, "/inputSchema")
	word, _ := jsonx.Text(name)
	if word == "watch_tide" {
		return // it takes its time
	}
	arguments := specimenCalls[word]
	if arguments == "" {
		arguments = "{}"
	}
	res, err := s.Do(within(t), session.Request{
		Method: spec.MethodToolsCall, Params: raw(`{"name":` + string(name) + `,"arguments":` + arguments + `}`),
		ToolSchema: json.RawMessage(schema), ProgressToken: raw(`"p-1"`),
	})
	if err != nil {
		t.Errorf("%s: %v", word, err)
		return
	}
	failed := contains(res.Raw, `"isError":true`)
	old := r < spec.Rev20250618 && slices.Contains([]string{"complete_report", "confirm_reading", "write_digest"}, word) || r < spec.Rev20251125 && word == "confirm_reading"
	if failed != (word == "read_broken_gauge" || old) {
		t.Errorf("%s: %s", word, res.Raw)
	}
}

func readSpecimen(t *testing.T, s *session.Session, resource jsonx.Raw) {
	t.Helper()
	uri, _ := jsonx.Lookup(resource, "/uri")
	size, _ := jsonx.Lookup(resource, "/size")
	res, err := s.Call(within(t), spec.MethodResourcesRead, raw(`{"uri":`+string(uri)+`}`))
	if err != nil {
		t.Errorf("%s: %v", uri, err)
		return
	}
	var n int
	if v, err := lookup(res.Raw, "/contents/0/text"); err == nil {
		text, _ := jsonx.Text(v)
		n = len(text)
	} else if v, err := lookup(res.Raw, "/contents/0/blob"); err == nil {
		text, _ := jsonx.Text(v)
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		n = len(b)
	}
	if string(size) != jsonNumber(n) {
		t.Errorf("%s: size %s, has %d bytes", uri, size, n)
	}
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestSpecimenTellsOfChanges(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		srv, j := mock.New(mock.Specimen()), newJudge(spec.Rev20260728)
		s := open(t, target(srv), session.Options{Era: spec.Modern, Tap: j.tap})
		sub, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["tide://log"]}`))
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.List(within(t), spec.MethodToolsList)
		for _, name := range []string{"announce_lists", "announce_log"} {
			done := make(chan error, 1)
			go func() {
				_, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"`+name+`"}`))
				done <- err
			}()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		for _, want := range []string{spec.NotificationToolsListChanged, spec.NotificationPromptsListChanged, spec.NotificationResourcesListChanged, spec.NotificationResourcesUpdated} {
			f, err := sub.Next(within(t))
			if err != nil || f.Message().Method != want {
				t.Errorf("came %v, %v; want %s", f, err, want)
			}
		}
		after, _ := s.List(within(t), spec.MethodToolsList)
		if string(before.Pages[0].Raw) != string(after.Pages[0].Raw) {
			t.Error("the list is another one")
		}
		_ = sub.Close(within(t))
		j.report(t)
	})
}

// What is not there, or leads elsewhere, is not served.
func TestSpecimenRefusesURIs(t *testing.T) {
	srv := mock.New(mock.Specimen())
	for _, uri := range []string{
		"", " ", "tide://", "tide://readme/..", "tide://stations/../reading", "tide://stations/%2e%2e/reading", "tide://stations/north/reading",
		"tide://charts/%252e%252e", "tide://charts/a b", "tide://charts/" + strings.Repeat("x", 5000), "file:///etc/passwd", "TIDE://readme",
	} {
		w := post(srv, modern(spec.MethodResourcesRead, `"uri":`+string(jsonx.Quote(uri))), nil)
		if c := code(t, w.Body.Bytes()); c != spec.CodeInvalidParams {
			t.Errorf("%q: %s", uri, w.Body)
		}
	}
}
