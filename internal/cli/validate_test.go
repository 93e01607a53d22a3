// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// In a recording every answer is judged by its request, and each side by what it
// may send.
func TestRecordingsAreValidated(t *testing.T) {
	for name, x := range map[string]struct {
		faults []mock.Fault
		wrong  []string // rules
	}{
		"right": {nil, nil},
		"wrong": {[]mock.Fault{mock.On(spec.MethodToolsList).OfResult().Remove("/result/tools")}, []string{spec.ProblemMissing}},
	} {
		for _, r := range []spec.Revision{spec.Rev20250326, spec.Rev20260728} {
			rec := record.New(record.Options{})
			target := rec.Wrap(mock.New(mock.Script{Tools: []mock.Tool{{Definition: []byte(`{"name":"a","inputSchema":{"type":"object"}}`)}}, Faults: x.faults}).HTTP("mock"))
			ctx := context.Background()
			s, err := session.Open(ctx, target, session.Options{Revision: r})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.Call(ctx, spec.MethodToolsList, nil)
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
			var b bytes.Buffer
			if err := rec.WriteJSONL(&b); err != nil {
				t.Fatal(err)
			}
			all, err := readJudgeables("talk.jsonl", b.Bytes(), &validating{})
			if err != nil || len(all) < 4 {
				t.Fatal(len(all), err)
			}
			var wrong []string
			for i := range all {
				if all[i].revision != r {
					t.Errorf("%s: %s is judged by %s", name, all[i].where, all[i].revision)
				}
				for _, f := range findingsOf(&all[i], false, "") {
					if f.Status >= rule.Fail {
						wrong = append(wrong, f.ID)
					}
				}
			}
			if len(wrong) != len(x.wrong) || len(wrong) > 0 && wrong[0] != x.wrong[0] {
				t.Errorf("%s in %s: wrong is %q, want %q", name, r, wrong, x.wrong)
			}
		}
	}
}

func FuzzJudgeables(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0"}`, `[{"name":"a","inputSchema":{}}]`, "{}\n{}\n", `{"tools":[1]}`, `{"format":1,"type":"mcprove recording"}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := readJudgeables("x", data, &validating{})
		if err == nil && len(all) == 0 {
			t.Error("nothing, and no error")
		}
		for i := range all {
			if len(findingsOf(&all[i], false, "")) == 0 || len(findingsOf(&all[i], true, "")) == 0 {
				t.Error("no finding")
			}
		}
	})
}
