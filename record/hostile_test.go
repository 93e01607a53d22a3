// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/wire"
)

// Whatever a server says, what is asked takes a time that grows with its
// length, and files too. To look at every request for every answer would take
// several times the bound.
func TestHostileServersAreBounded(t *testing.T) {
	const bound = 20 * time.Second // a second, on a machine that is at rest
	many := 100_000
	if testing.Short() {
		many = 10_000
	}
	batch := func(text string) string { return "[" + strings.Repeat(text+",", many-1) + text + "]" }
	input := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`
	for _, tc := range []struct {
		name  string
		write bool
		play  func(*feed)
	}{
		{"one id for all it asks", false, func(f *feed) {
			f.say(7, batch(request("1", "ping")))
			f.say(7, batch(cancelled("1")))
			f.ask(7, batch(result("1")))
			f.say(7, batch(result("1")))
		}},
		{"on one HTTP response", false, func(f *feed) {
			f.post(7, 1, request("1", "ping"))
			f.reply(7, 1, batch(request("1", "ping")))
			f.reply(7, 1, batch(result("1")))
			f.reply(7, 1, batch(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`))
		}},
		{"rounds without end", false, func(f *feed) {
			f.ask(7, batch(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s"}}`))
			f.say(7, batch(input))
			f.ask(7, batch(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s"}}`))
		}},
		{"escapes in escapes", true, func(f *feed) {
			f.say(7, `{"jsonrpc":"2.0","method":"x","params":{"text":"`+strings.Repeat(`\\\\\\\\%25%25`, many)+`"}}`)
			f.say(7, `{"broken":"`+strings.Repeat(`\\\\\\\\%25%25`, many))
			f.say(7, strings.Repeat(`[`, many))
			f.say(7, `{"pin":`+strings.Repeat(`[`, 9000)+strings.Repeat(`]`, 9000)+`}`)
		}},
		{"a thousand cookies", true, func(f *feed) {
			for i := range 2000 {
				f.reply(7, 1, strings.Repeat("x", 2000)).HTTP.Header = []wire.HeaderField{{Name: "Set-Cookie", Value: fmt.Sprintf("a=cookie-%d-%d", i, i)}}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFeed(record.Options{Redact: record.Redaction{Values: []string{"qz-secret"}, Keys: []string{"pin"}}})
			tc.play(f)
			began := time.Now()
			r := f.r.Recording()
			r.Calls()
			if tc.write {
				if err := r.WriteJSONL(io.Discard); err != nil {
					t.Fatal(err)
				}
				if err := r.WriteHAR(io.Discard, "1"); err != nil {
					t.Fatal(err)
				}
			}
			f.r.Clear()
			if took := time.Since(began); took > bound {
				t.Errorf("took %s", took)
			}
			if n := len(f.r.Records()); n != 0 {
				t.Errorf("%d records after Clear", n)
			}
		})
	}
}
