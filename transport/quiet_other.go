// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// quiet reports whether an idle connection is open and nothing has arrived on
// it. It waits a moment, because there is no portable way to look.
func quiet(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if c.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	var b [1]byte
	_, err := c.Read(b[:])
	return errors.Is(err, os.ErrDeadlineExceeded) && c.SetReadDeadline(time.Time{}) == nil
}
