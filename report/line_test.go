// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
)

// A line is one JSON text that holds no secret and nothing that a terminal or a
// build system would act on.
func TestLine(t *testing.T) {
	r := &text.Redactor{}
	r.Add("correct-horse")
	var b strings.Builder
	if err := report.Line(&b, r, []byte("{\"a\" : \"correct-horse\u202e\u001b[1m ##[error]\",\n\"a\":1}")); err == nil {
		t.Error("a text that is no JSON was written")
	}
	if err := report.Line(&b, r, []byte("{\"a\" : \"correct-horse\u202e\\u001b[1m ##[error]\",\n\"a\":1}")); err != nil {
		t.Fatal(err)
	}
	want := `{"a":"[redacted]\u202e\u001b[1m ##\u005berror]","a (2)":1}` + "\n"
	if got := b.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
