// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// good reports whether there is an answer to look into; where there is none, the
// test fails with what it wanted.
func (r *Reply) good(wanted func() string) bool {
	if r.answered() {
		return true
	}
	r.c.t.Helper()
	r.c.t.Errorf("%s: want %s, got %s", r.name(), wanted(), r.outcome())
	return false
}

// answered reports whether there is an answer that is no error.
func (r *Reply) answered() bool {
	r.looked.Store(true)
	return r.err == nil && r.result != nil && r.result.Raw != nil && (r.tolerant || !r.isToolError())
}

// cameBack reports whether the server answered, be it with an error. A call that
// failed otherwise has been looked at by whoever tells of that.
func (r *Reply) cameBack() bool {
	if r.err == nil || r.rpc() != nil {
		return true
	}
	r.looked.Store(true)
	return false
}

// IsOK asserts that there is a result, and that it is no tool error.
func (r *Reply) IsOK() *Reply {
	if !r.answered() {
		r.c.t.Helper()
		r.good(func() string { return "a result" })
	}
	return r
}

// HasText asserts the text of the answer, as [Reply.Text] gives it.
func (r *Reply) HasText(want string) *Reply {
	if !r.answered() {
		r.c.t.Helper()
		r.good(func() string { return fmt.Sprintf("the text %q", want) })
		return r
	}
	if got := strings.Join(r.texts(), "\n"); got != want {
		r.c.t.Helper()
		r.c.t.Errorf("%s: the text is\n  %s\nwant\n  %s", r.name(), quoted(got), quoted(want))
	}
	return r
}

// Contains asserts that the text of the answer contains each of the parts.
func (r *Reply) Contains(parts ...string) *Reply {
	r.c.t.Helper()
	if !r.good(func() string { return "a text with " + quotedAll(parts) }) {
		return r
	}
	got := strings.Join(r.texts(), "\n")
	for _, p := range parts {
		if !strings.Contains(got, p) {
			r.c.t.Errorf("%s: the text does not contain %q:\n  %s", r.name(), p, quoted(got))
		}
	}
	return r
}

// HasJSON asserts the value of the answer: structuredContent of a tool, or its
// only text read as JSON, the result of anything else. want is a value or JSON
// text; numbers are equal by value, and the order of members does not matter.
func (r *Reply) HasJSON(want any) *Reply {
	r.c.t.Helper()
	return r.hasAt("", want)
}

// HasAt asserts one value of the answer, by a JSON Pointer ("/items/0/name") or
// a JSONPath ("$.items[*].name", RFC 9535), whose values are compared as a list
// unless there is exactly one.
func (r *Reply) HasAt(path string, want any) *Reply {
	r.c.t.Helper()
	return r.hasAt(path, want)
}

func (r *Reply) hasAt(path string, want any) *Reply {
	r.c.t.Helper()
	wanted, err := encodeWant(want)
	if err != nil {
		r.c.t.Fatalf("%s: what is wanted cannot be read: %v", r.name(), err)
	}
	if !r.good(func() string { return shownJSON(wanted) + atPath(path) }) {
		return r
	}
	got, err := query(r.value(), path)
	if err != nil {
		r.c.t.Errorf("%s: %v in %s", r.name(), err, shownJSON(r.value()))
		return r
	}
	if same, diff := sameJSON(got, wanted); !same {
		r.c.t.Errorf("%s: the value%s is not as wanted:\n%s", r.name(), atPath(path), diff)
	}
	return r
}

func atPath(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}

// Satisfies asserts whatever a function finds: it says what is wrong, or gives
// nil.
func (r *Reply) Satisfies(check func(r *Reply) error) *Reply {
	r.c.t.Helper()
	if err := check(r); err != nil {
		r.c.t.Errorf("%s: %v", r.name(), err)
	}
	return r
}

// HasImage asserts that the answer has an image of the type, whose data is
// Base64 of something.
func (r *Reply) HasImage(mimeType string) *Reply {
	r.c.t.Helper()
	if !r.good(func() string { return "an image " + mimeType }) {
		return r
	}
	var there []string
	for _, c := range r.contents() {
		kind, _ := jsonx.Text(lookup(c, "/type"))
		got, _ := jsonx.Text(lookup(c, "/mimeType"))
		there = append(there, strings.TrimSpace(kind+" "+got))
		if kind == spec.ContentImage && got == mimeType {
			if _, data := r.blob(c, "/data"); len(data) == 0 {
				r.c.t.Errorf("%s: the image %s is empty", r.name(), mimeType)
			}
			return r
		}
	}
	r.c.t.Errorf("%s: there is no image %s, but %s", r.name(), mimeType, orNothing(there))
	return r
}

// IsToolError asserts that the tool itself failed: a result with isError. What
// follows looks at the content of that error.
func (r *Reply) IsToolError() *Reply {
	r.c.t.Helper()
	r.looked.Store(true)
	if !r.isToolError() {
		r.c.t.Errorf("%s: want a tool error (isError), got %s", r.name(), r.outcome())
	}
	r.tolerant = true
	return r
}

// HasErrorCode asserts that a JSON-RPC error with that code answered.
func (r *Reply) HasErrorCode(code int) *Reply {
	r.c.t.Helper()
	r.looked.Store(true)
	if e := r.rpc(); e == nil || e.Code != int64(code) {
		r.c.t.Errorf("%s: want the JSON-RPC error %d, got %s", r.name(), code, r.outcome())
	}
	return r
}

// HasErrorMessage asserts that a JSON-RPC error answered whose message contains
// the text.
func (r *Reply) HasErrorMessage(part string) *Reply {
	r.c.t.Helper()
	r.looked.Store(true)
	if e := r.rpc(); e == nil || !strings.Contains(e.Message, part) {
		r.c.t.Errorf("%s: want a JSON-RPC error with %q, got %s", r.name(), part, r.outcome())
	}
	return r
}

// HasStatus asserts the HTTP status.
func (r *Reply) HasStatus(status int) *Reply {
	r.c.t.Helper()
	switch got := r.Status(); {
	case got == status:
		if status >= http.StatusBadRequest {
			r.looked.Store(true) // that it failed is what was asserted
		}
	case got == 0:
		r.c.t.Errorf("%s: want HTTP status %d, and no HTTP response came: %s", r.name(), status, r.outcome())
	default:
		r.c.t.Errorf("%s: the HTTP status is %d, want %d: %s", r.name(), got, status, r.outcome())
	}
	return r
}

// AsksInVain asserts that the call failed for a question of the server that the
// test has no answer to.
func (r *Reply) AsksInVain(method string) *Reply {
	r.c.t.Helper()
	r.looked.Store(true)
	var none *NoAnswerError
	if errors.As(r.err, &none) && none.Question.Method == method {
		r.c.mu.Lock()
		for _, v := range r.c.vain {
			v.seen = v.seen || v.error == none
		}
		r.c.mu.Unlock()
		return r
	}
	// In the legacy era the question is refused, and the call is the server's.
	r.c.AsksInVain(method)
	return r
}

// MatchesOutputSchema asserts that the tool has an outputSchema and that
// structuredContent matches it.
func (r *Reply) MatchesOutputSchema() *Reply {
	r.c.t.Helper()
	if !r.good(func() string { return "structured content" }) {
		return r
	}
	schema := r.c.toolNamed(r).OutputSchema
	if schema == nil {
		r.c.t.Errorf("%s: the tool declares no outputSchema", r.name())
		return r
	}
	content := r.at("/structuredContent")
	if content == nil {
		r.c.t.Errorf("%s: the tool declares an outputSchema, and there is no structuredContent: %s", r.name(), r.outcome())
		return r
	}
	switch ok, why, err := contract.Accepts(schema, content); {
	case err != nil:
		r.c.t.Errorf("%s: the outputSchema cannot be judged: %v", r.name(), err)
	case !ok:
		r.c.t.Errorf("%s: structuredContent does not match the outputSchema: %s\n  it is %s", r.name(), shown(why), shownJSON(content))
	}
	return r
}

// Within asserts that the answer came in time. In virtual time it is exact; in
// real time leave room for a busy machine.
func (r *Reply) Within(d time.Duration) *Reply {
	r.c.t.Helper()
	if !r.cameBack() {
		r.c.t.Errorf("%s: want an answer within %s, got %s", r.name(), d, r.outcome())
		return r
	}
	if took := r.Took(); took > d {
		r.c.t.Errorf("%s took %s, want at most %s", r.name(), took, d)
	}
	return r
}

// HasNoSecrets asserts that nothing in the answer, its headers included, is a
// secret or tells of the inside of the server: none of the given values, no
// private key or well-known token, no stack trace, no path of a home directory.
func (r *Reply) HasNoSecrets(values ...string) *Reply {
	r.c.t.Helper()
	if !r.cameBack() && len(r.exchange.Heads) < 2 {
		r.c.t.Errorf("%s: want an answer without secrets, got %s", r.name(), r.outcome())
		return r
	}
	for _, f := range r.exchange.Frames {
		if f == r.exchange.Request() {
			continue
		}
		for _, leak := range leaks(f.Raw, values) {
			r.c.t.Errorf("%s: the answer shows %s", r.name(), leak)
		}
	}
	for _, leak := range leaks(r.exchange.Body, values) {
		r.c.t.Errorf("%s: the body shows %s", r.name(), leak)
	}
	for _, h := range r.Headers() {
		for _, leak := range leaks([]byte(h.Name+": "+h.Value), values) {
			r.c.t.Errorf("%s: the header %s shows %s", r.name(), h.Name, leak)
		}
	}
	return r
}

// Reports asserts that progress was reported at least n times, and that it rose
// each time.
func (r *Reply) Reports(n int) *Reply {
	r.c.t.Helper()
	got := r.Progress()
	if len(got) < n {
		r.c.t.Errorf("%s: there were %s of progress, want at least %d%s", r.name(), count(len(got), "report"), n, unasked(r))
	}
	for i := 1; i < len(got); i++ {
		if got[i].Progress <= got[i-1].Progress {
			r.c.t.Errorf("%s: progress went from %v to %v", r.name(), got[i-1].Progress, got[i].Progress)
		}
	}
	return r
}

// LogsAt asserts that a log message of that level came for the request.
func (r *Reply) LogsAt(level string) *Reply {
	r.c.t.Helper()
	var there []string
	for _, l := range r.Logs() {
		there = append(there, l.Level)
	}
	if !slices.Contains(there, level) {
		r.c.t.Errorf("%s: there is no log message at %q, but %s", r.name(), level, orNothing(there))
	}
	return r
}

// unasked says that progress was not asked for.
func unasked(r *Reply) string {
	if f := r.exchange.Request(); f == nil || lookup(f.Raw, "/params/_meta/"+spec.MetaProgressToken) == nil {
		return " (ask for it with mcptest.WithProgress)"
	}
	return ""
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return names(list)
}

func quoted(s string) string { return fmt.Sprintf("%q", clip(s, 2000)) }

func quotedAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return strings.Join(out, " and ")
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:n]), nil)) + fmt.Sprintf("[... %d bytes more]", len(s)-n)
}
