// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

func har(t *testing.T, r *record.Recorder) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHAR(&b, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHAR(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { golden(t, "story.har", har(t, story().r)) })
}

// Every exchange of a live connection is an entry that has what HAR 1.2 asks
// for, with the texts that crossed.
func TestHAROfLiveTraffic(t *testing.T) {
	r := record.New(record.Options{})
	s, stop := open(t, r.Wrap(slow().HTTP("")), session.Options{Era: spec.Legacy, Listen: true})
	if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"wait","arguments":{"For":1},"_meta":{"progressToken":1}}`)); err != nil {
		t.Fatal(err)
	}
	stop()
	var file struct {
		Log struct {
			Version string
			Creator struct{ Name, Version string }
			Entries []map[string]json.RawMessage
		}
	}
	text := har(t, r)
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	if l := file.Log; l.Version != "1.2" || l.Creator.Name != "mcprove" || l.Creator.Version != "1.2.3" {
		t.Errorf("log %+v", l)
	}
	heads := 0
	for _, x := range r.Records() {
		if x.HTTP != nil && x.HTTP.Head.Method != "" {
			heads++
		}
	}
	if len(file.Log.Entries) != heads || heads < 4 {
		t.Errorf("%d entries of %d requests", len(file.Log.Entries), heads)
	}
	for _, e := range file.Log.Entries {
		for member, inside := range map[string][]string{
			"startedDateTime": nil, "time": nil, "cache": nil, "timings": {"send", "wait", "receive"},
			"request":  {"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"},
			"response": {"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"},
		} {
			var object map[string]json.RawMessage
			if e[member] == nil {
				t.Errorf("an entry has no %s", member)
			}
			for _, name := range inside {
				if err := json.Unmarshal(e[member], &object); err != nil || object[name] == nil {
					t.Errorf("%s has no %s: %s", member, name, e[member])
				}
			}
		}
	}
	a := r.Filter(func(x *record.Record) bool { return x.IsAnswer() && x.Method == spec.MethodToolsCall })
	quoted, _ := json.Marshal(string(a[0].Frame.Raw))
	if len(a) != 1 || !strings.Contains(text, string(quoted[1:len(quoted)-1])) {
		t.Errorf("the answer is not there: %s", quoted)
	}
}

func TestHAROfStdio(t *testing.T) {
	f := newFeed(record.Options{})
	f.ask(7, request("1", "ping"))
	f.say(7, result("1"))
	got := har(t, f.r)
	if !strings.Contains(got, `"entries": []`) || !strings.Contains(got, `"comment": "2 messages of no HTTP exchange are left out"`) {
		t.Error(got)
	}
}
