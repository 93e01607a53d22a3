// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Names of members count as they stand, and once.
func TestKeysOfTheEnvelope(t *testing.T) {
	good := modern(spec.MethodDiscover, "")
	for _, tc := range []struct{ check, old, new string }{
		{mock.CheckKeyFold, `"method":`, `"Method":`},
		{mock.CheckKeyNUL, `"method":`, `"method\u0000":`},
		{mock.CheckKeyDuplicate, `"method":`, `"method":"ping","method":`},
	} {
		t.Run(tc.check, func(t *testing.T) {
			body := strings.Replace(good, tc.old, tc.new, 1)
			asGood := func(h http.Header) {
				for _, f := range headerOf(good) {
					h.Set(f.Name, f.Value)
				}
			}
			if w := post(mock.New(mock.Script{}), body, asGood); w.Code != 400 {
				t.Errorf("strict: %d %s", w.Code, w.Body)
			}
			lenient := mock.New(mock.Script{Faults: []mock.Fault{mock.Lenient(tc.check)}})
			if w := post(lenient, body, asGood); w.Code != 200 || !strings.Contains(w.Body.String(), "supportedVersions") {
				t.Errorf("lenient: %d %s", w.Code, w.Body)
			}
			if w := post(lenient, good, nil); w.Code != 200 {
				t.Errorf("a good message: %d %s", w.Code, w.Body)
			}
		})
	}
}

// Answers that are under way at once change places, each under its own id.
func TestCross(t *testing.T) {
	call := func(id, name string) string {
		return strings.Replace(modern(spec.MethodToolsCall, `"name":"`+name+`"`), `"id":1`, `"id":`+id, 1)
	}
	for _, tc := range []struct {
		how    mock.Crossing
		ids    [2]string
		places bool
	}{
		{mock.CrossIDs, [2]string{"1", "2"}, true},
		{mock.CrossIDs, [2]string{"1", "1"}, false},
		{mock.CrossSameID, [2]string{"1", "1"}, true},
		{mock.CrossSameID, [2]string{"1", "2"}, false},
		{mock.CrossClients, [2]string{"1", "1"}, true}, // nothing tells one client from another here
		{mock.CrossClients, [2]string{"1", "2"}, false},
	} {
		s := mock.New(mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"a","inputSchema":{"type":"object"}}`)}}, Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Cross(tc.how)}})
		var got [2]*wire.Message
		var wait sync.WaitGroup
		for i, name := range []string{"one", "two"} {
			wait.Go(func() { got[i] = wire.Read(post(s, call(tc.ids[i], name), nil).Body.Bytes()) })
		}
		wait.Wait()
		for i, name := range []string{"two", "one"} {
			if string(got[i].ID) != tc.ids[i] {
				t.Errorf("%s %v: id %s", tc.how, tc.ids, got[i].ID)
			}
			if strings.Contains(string(got[i].Raw), name) != tc.places {
				t.Errorf("%s %v: %s, changed places %t", tc.how, tc.ids, got[i].Raw, !tc.places)
			}
		}
	}
}
