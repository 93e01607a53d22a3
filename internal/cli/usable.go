// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

const badAnswer = "bad-answer"

// unusable is the error of a result that a client cannot use: it breaks the
// shape that the revision gives it, or its structured content the outputSchema
// of the tool. It is nil for every other result, and where nobody can judge.
func (k *talk) unusable(where string, res *session.Result) *Error {
	x := res.Exchange
	if x == nil || x.Response == nil || x.Request() == nil {
		return nil
	}
	revision := k.s.Negotiated().Revision
	params := jsonx.Raw(x.Request().Message().Params)
	bad := func(format string, args ...any) *Error {
		return &Error{Exit: exitIncomplete, Code: badAnswer, Where: where, Message: "the result is none that can be used: " + text.Clip(fmt.Sprintf(format, args...), 500), Try: "mcprove check judges the server by every rule"}
	}
	c := spec.MessageContext{From: spec.Server, Method: x.Method, TaskRequested: look(params, "/task") != nil}
	for _, v := range spec.Validate(revision, c, x.Response.Raw) {
		if !v.Disputed && !sideIssue(v) {
			return bad("%s", v)
		}
	}
	if x.Method != spec.MethodToolsCall || revision < spec.Rev20250618 || res.ResultType != spec.ResultComplete || c.TaskRequested {
		return nil
	}
	schema := look(k.tools[member(params, "name")], "/outputSchema")
	if jsonx.KindOf(schema) != jsonx.Object {
		return nil
	}
	value := jsonx.Raw(res.Member("structuredContent"))
	if value == nil {
		return bad("the tool has an outputSchema, and there is no structuredContent")
	}
	if ok, why, err := contract.Accepts(schema, value); err == nil && !ok {
		return bad("structuredContent does not conform to the tool's outputSchema: %s", why)
	}
	return nil
}

// sideIssues are members of a result that say nothing of its content: a result is of
// use without them, and check tells of them.
var sideIssues = []string{"ttlMs", "cacheScope", spec.FieldMeta, spec.FieldResultType}

// sideIssue reports whether a violation is about one of those.
func sideIssue(v spec.Violation) bool {
	return slices.ContainsFunc(sideIssues, func(name string) bool {
		at := jsonx.Push("/result", name)
		return v.Pointer == "/result" && v.Member == name || v.Pointer == at || strings.HasPrefix(v.Pointer, at+"/")
	})
}
