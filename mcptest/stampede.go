// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"errors"
	"fmt"
	"sync"
)

// Stampede calls a tool n times at once, and asserts that each call got its own
// answer. args gives the arguments of call i; own says what is wrong with the
// answer to it, or nil: it must be able to tell the answers apart, such as by a
// text that the tool repeats.
//
//	c.Stampede(50, "echo", func(i int) any { return mcptest.Args{"text": fmt.Sprint(i)} },
//		func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint(i)) })
func (c *Client) Stampede(n int, tool string, args func(i int) any, own func(i int, r *Reply) error) {
	c.t.Helper()
	if own == nil {
		c.t.Fatal("Stampede needs a function that tells whether an answer is its own")
	}
	if args == nil {
		args = func(int) any { return nil }
	}
	c.toolOf(c.ctx, tool) // listed before, once
	replies, errs := make([]*Reply, n), make([]error, n)
	var wait sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-begin
			replies[i], errs[i] = c.callTool(c.ctx, tool, args(i), nil)
		})
	}
	close(begin)
	wait.Wait()
	c.tell()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatalf("the arguments of %s: %v", tool, err)
	}
	wrong := 0
	for i, r := range replies {
		if r.err != nil {
			r.looked.Store(true)
			c.t.Errorf("call %d of %d at once was not answered: %s", i+1, n, r.failure())
			continue
		}
		err := own(i, r)
		if err == nil {
			continue
		}
		if wrong++; wrong > mostBlames {
			continue
		}
		c.t.Errorf("call %d of %d at once got another answer: %v%s", i+1, n, err, c.whose(i, replies, own))
	}
	if wrong > mostBlames {
		c.t.Errorf("and so did %d more", wrong-mostBlames)
	}
}

// whose says to which call the answer to call i belongs.
func (c *Client) whose(i int, replies []*Reply, own func(int, *Reply) error) string {
	for j := range replies {
		if j != i && own(j, replies[i]) == nil {
			return fmt.Sprintf("\n  it is the answer to call %d\n  sent %s\n  got  %s", j+1, shownJSON(replies[i].exchange.Request().Raw), shownJSON(replies[i].exchange.Response.Raw))
		}
	}
	return ""
}

// Is is an error for a value that is not the wanted one, nil for one that is.
func Is[T comparable](got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("got %v, want %v", got, want)
}
