// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// A recorder stands around any target. Answers carry the method of their
// request.
func ExampleRecorder() {
	server := mock.New(mock.Script{Tools: []mock.Tool{{Definition: json.RawMessage(`{"name":"greet","inputSchema":{"type":"object"}}`)}}})
	recorder := record.New(record.Options{Redact: record.Redaction{Keys: []string{"pin"}}})
	ctx := context.Background()
	client, err := session.Open(ctx, recorder.Wrap(server.HTTP("")), session.Options{Revision: spec.Rev20260728})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	if _, err := client.Call(ctx, spec.MethodToolsList, nil); err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range recorder.ByMethod(spec.MethodToolsList) {
		fmt.Println(r.Dir, r.Kind, r.Method, r.HTTP.Method, r.HTTP.Status)
	}
	fmt.Println(len(recorder.Unanswered()), "unanswered,", recorder.Average() > 0)

	var file bytes.Buffer
	if err := recorder.WriteJSONL(&file); err != nil {
		fmt.Println(err)
		return
	}
	again, err := record.Read("run.jsonl", file.Bytes())
	fmt.Println(again.Counts()[spec.MethodToolsList], err)
	// Output:
	// to-server request tools/list POST 0
	// to-client response tools/list POST 200
	// 0 unanswered, true
	// 2 <nil>
}
