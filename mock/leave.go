// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"slices"

	"github.com/mcprove/mcprove/transport"
)

// IgnoreEOF keeps a connection over stdio open when its input has ended, once
// the place was reached on it.
func (p Place) IgnoreEOF() Fault { return Fault{Place: p, Op: OpIgnoreEOF} }

// ignoresEOF reports whether the end of the input changes nothing.
func (c *lineConn) ignoresEOF() bool {
	return c.held || slices.ContainsFunc(c.server.script.Faults, func(f Fault) bool {
		return f.Op == OpIgnoreEOF && f.Method == "" && len(f.Conditions) == 0
	})
}

// toldKey is the key of the channel that is closed when the server of one
// connection is told to end.
type toldKey struct{}

// linger waits for another end than that of the input.
func (c *lineConn) linger(ctx context.Context) error {
	told, _ := ctx.Value(toldKey{}).(chan struct{})
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.server.ending:
	case <-told:
	}
	return nil
}

// CloseInput implements transport.InputCloser.
func (c *pipesConn) CloseInput() error {
	return c.Conn.(transport.InputCloser).CloseInput() // a pipe has it
}

// Terminate implements transport.Terminator. The server ends properly, as it
// does with its input.
func (c *pipesConn) Terminate() {
	if c.server.IgnoresTerm() {
		return
	}
	c.once.Do(func() { close(c.told) })
	_ = c.CloseInput() // whoever closed it before has the same wish
}

// OpLeaveBehind leaves a process behind when the server ends.
const OpLeaveBehind Op = "leave-behind"

// LeaveBehind leaves a process behind when the server ends: whoever runs the
// server asks [Server.LeavesBehind]. Over pipes it is only told. It has no
// place.
func LeaveBehind() Fault { return Fault{Op: OpLeaveBehind} }

// LeavesBehind reports whether a fault of the script says that a process stays
// when the server ends.
func (s *Server) LeavesBehind() bool { return s.has(OpLeaveBehind) }

// Left implements transport.Tree.
func (c *pipesConn) Left() int {
	select {
	case <-c.done:
	default:
		return 0
	}
	if c.server.LeavesBehind() {
		return 1
	}
	return 0
}
