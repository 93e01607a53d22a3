// SPDX-License-Identifier: Apache-2.0

package mock

import "github.com/mcprove/mcprove/transport"

// CloseInput implements transport.InputCloser.
func (c *pipesConn) CloseInput() error {
	return c.Conn.(transport.InputCloser).CloseInput() // a pipe has it
}

// Terminate implements transport.Terminator. It is to the server as if its
// input had ended, like a process that ends properly when it is told to.
func (c *pipesConn) Terminate() {
	switch {
	case c.server.IgnoresTerm():
	case c.server.has(OpIgnoreEOF):
		c.cancel()
	default:
		_ = c.CloseInput() // whoever closed it before has the same wish
	}
}
