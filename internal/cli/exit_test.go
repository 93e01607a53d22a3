// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// An answer that cannot be used is neither a server that is not there nor an
// error that it answered with.
func TestExplainAnswersOfNoUse(t *testing.T) {
	bad := &session.ResultError{Method: spec.MethodToolsCall, Detail: "the result is no object but array"}
	for _, c := range []struct {
		err  error
		exit int
		code string
	}{
		{bad, exitIncomplete, "bad-answer"},
		{fmt.Errorf("x: %w", &session.RoundsError{Method: spec.MethodToolsCall, Rounds: 17}), exitIncomplete, "too-many-rounds"},
		{&surface.ListError{Kind: surface.Tools, Err: bad}, exitIncomplete, "listing-failed"},
		{&session.NegotiationError{Err: bad}, exitUnreachable, "no-common-revision"},
		{&transport.Error{Reason: transport.AuthNeeded, Err: &session.RPCError{Code: -32001}}, exitAuth, "auth-needed"},
		{errors.New("x"), exitUnreachable, "target-failed"},
	} {
		if e := explain(c.err, true); e.Exit != c.exit || e.Code != c.code {
			t.Errorf("%v: exit %d, %s; want %d, %s", c.err, e.Exit, e.Code, c.exit, c.code)
		}
	}
}
