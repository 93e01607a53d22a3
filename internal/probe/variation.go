// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/transport"
)

// Command is how the server is started, nil where we do not start it over stdio.
func (p *Probe) Command() *transport.Command {
	c, _ := p.target.(*transport.Command)
	return c
}

// OpenIn is [Case.Open] for a process in another environment: the variables
// named, and without those whose value is empty. Where we do not start the
// server, or that fails, it is nil and the case skipped.
func (c *Case) OpenIn(env map[string]string) *Conn {
	command := c.probe.Command()
	if command == nil {
		c.Skip("it needs a server over stdio that is started for it")
		return nil
	}
	if !c.further() {
		return nil
	}
	other := *command
	other.Env = slices.DeleteFunc(slices.Clone(other.Env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, changed := env[name]
		return changed
	})
	for name, value := range env {
		if value != "" {
			other.Env = append(other.Env, name+"="+value)
		}
	}
	conn, err := c.probe.dialTo(c.ctx, &other)
	if err != nil {
		c.Skip("a further process could not be started: %v", err)
		return nil
	}
	c.conns = append(c.conns, conn)
	if !c.probe.Legacy() {
		return conn
	}
	if x := conn.Greet(c.ctx, "{}"); conn.Agreed() != c.probe.o.Revision {
		c.Lacks(x)
		return nil
	}
	return conn
}
