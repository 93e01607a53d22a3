// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// conversation asks by requests of the server, as the legacy era does: on the
// stream of the client's request, waiting for what answers them.
type conversation struct {
	server *Server
	call   *Call
	q      *request // on whose stream it asks
	// related is the task that asks, nil for none.
	related *task
}

// postpone implements asker: the legacy era has nothing like it.
func (*conversation) postpone(int) error { return nil }

// ask implements asker.
func (v *conversation) ask(ctx context.Context, asks []Ask) (map[string]json.RawMessage, error) {
	got := map[string]json.RawMessage{}
	if v.q.lenient(CheckAskEra) {
		return nil, &pending{asks: asks}
	}
	for _, a := range asks {
		if !v.able(&a) {
			if a.Optional {
				continue
			}
			return nil, fmt.Errorf("the client cannot be asked for %s", a.Method)
		}
		params := v.adapted(&a)
		answer, err := v.request(ctx, a.Method, params)
		if err != nil {
			return nil, err
		}
		if e := v.server.judge(v.q, &a, answer); e != nil {
			return nil, errors.New(e.Message)
		}
		got[a.Key] = answer
	}
	return got, nil
}

// able reports whether the revision has the request, the client declared that it
// answers it, and the carrier can ask it.
func (v *conversation) able(a *Ask) bool {
	if v.q.lenient(CheckClientCapability) {
		return !v.q.mute
	}
	m, ok := spec.MethodAt(a.Method, v.call.Revision)
	if !ok || !m.Direction.Includes(spec.ServerToClient) || v.q.peer == nil || v.q.mute {
		return false
	}
	if word(a.Params, "mode") == "url" && v.call.Revision < spec.Rev20251125 {
		return false
	}
	return lacking(a, v.q.peer.clientCapabilities(), v.call.Revision) == nil
}

// adapted gives params the form of the revision: 2025-06-18 knows no mode, and
// 2025-11-25 wants an id for an elicitation by URL.
func (v *conversation) adapted(a *Ask) []byte {
	params := []byte(a.Params)
	if a.Method == spec.MethodElicit {
		if v.call.Revision < spec.Rev20251125 {
			params = remove(params, "/mode")
		} else if word(params, "mode") == "url" {
			params = with(params, member{"elicitationId", quote(strconv.Itoa(v.server.count("elicitation")))})
		}
	}
	if v.related != nil {
		if params == nil {
			params = []byte("{}")
		}
		params = with(params, v.related.meta())
	}
	return params
}

// request sends one request and waits for its answer.
func (v *conversation) request(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	if v.q.peer == nil {
		return nil, errors.New("the client cannot be asked")
	}
	id, answered, forget := v.q.peer.expect()
	defer forget()
	v.q.emit(v.server, method, object(member{"jsonrpc", []byte(`"2.0"`)}, member{"id", id}, member{"method", quote(method)}, member{"params", params}))
	select {
	case m := <-answered:
		if m.Kind == wire.ErrorResponse {
			return nil, fmt.Errorf("the client refused %s: %s", method, clip(m.Error.Message))
		}
		return json.RawMessage(m.Result), nil
	case <-v.q.peer.ended:
		return nil, errors.New("the client has left")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
