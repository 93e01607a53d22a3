// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// cancellation is one notifications/cancelled of the server.
type cancellation struct {
	frame *wire.Frame
	x     *probe.Exchange // that it came in, nil for none
	conn  int
	id    json.RawMessage // that it names, nil when that is none
}

func cancellations(t *probe.Traffic) []cancellation {
	var out []cancellation
	add := func(x *probe.Exchange, conn int, f *wire.Frame) {
		m := f.Message()
		if m.Kind != wire.Notification || m.Method != spec.NotificationCancelled {
			return
		}
		id := probe.Lookup(m.Params, "/requestId")
		if k := jsonx.KindOf(id); k != jsonx.String && k != jsonx.Number {
			id = nil
		}
		out = append(out, cancellation{f, x, conn, id})
	}
	for _, x := range t.Exchanges {
		for _, f := range x.Frames {
			add(x, x.Conn, f)
		}
	}
	for _, s := range t.Stray {
		add(nil, s.Conn, s.Frame)
	}
	return out
}

const noCancellation = "the server cancelled nothing"

// of is the request of ours that a cancellation names, nil when there is none:
// on its connection, the latest with that id.
func (k *cancellation) of(t *probe.Traffic) *probe.Exchange {
	for _, x := range slices.Backward(t.Exchanges) {
		if x.Conn == k.conn && x.ID != nil && sameID(x.ID, k.id) {
			return x
		}
	}
	return nil
}

// own reports whether a cancellation names a request that the server made, as
// it does in the handshake era.
func (k *cancellation) own(t *probe.Traffic) bool {
	return slices.ContainsFunc(t.Messages(wire.Request), func(r probe.Received) bool {
		return (r.Conn == k.conn || !t.Stdio()) && sameID(r.Message().ID, k.id)
	})
}

func cancelsOwn(c *probe.Case, t *probe.Traffic) {
	for _, k := range cancellations(t) {
		switch {
		case k.id == nil: // another rule says so
		case t.Revision.Era() == spec.Legacy && !k.own(t):
			c.Fail(k.x, "notifications/cancelled of the server names the request %s, which the server never made", k.id).In(k.frame, "/params/requestId")
		case t.Revision.Era() == spec.Modern && k.of(t) == nil:
			c.Fail(k.x, "notifications/cancelled names the request %s, which was never made", k.id).In(k.frame, "/params/requestId")
		default:
			c.Pass(k.x)
		}
	}
	c.Unseen(noCancellation)
}

func cancelsListens(c *probe.Case, t *probe.Traffic) {
	ks := cancellations(t)
	for _, k := range ks {
		if k.id == nil {
			continue
		}
		switch x := k.of(t); {
		case x == nil: // another rule says so
		case x.Method != spec.MethodListen:
			c.Fail(x, "notifications/cancelled names a request %s, which only the client may cancel", x.Method).In(k.frame, "/params/requestId")
		default:
			c.Pass(x)
		}
	}
	// That it cancelled nothing, where it was asked for something, is right.
	if results := t.Results(); len(ks) == 0 && len(results) > 0 {
		c.Pass(results[0])
	}
	c.Unseen(noCancellation)
}

func cancelsByID(c *probe.Case, t *probe.Traffic) {
	for _, k := range cancellations(t) {
		id := probe.Lookup(k.frame.Message().Params, "/requestId")
		switch kind := jsonx.KindOf(id); {
		case kind == 0:
			c.Fail(k.x, "notifications/cancelled has no requestId").In(k.frame, "/params")
		case kind == jsonx.String, kind == jsonx.Number && whole(id):
			c.Pass(k.x)
		default:
			c.Fail(k.x, "requestId of notifications/cancelled is %s, neither a string nor an integer", id).In(k.frame, "/params/requestId")
		}
	}
	c.Unseen(noCancellation)
}

// whole reports whether a number is an integer, however it is spelled.
func whole(number json.RawMessage) bool {
	m := wire.Read(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"x"}`, number))
	return !m.Has(wire.FaultIDType)
}
