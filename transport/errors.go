// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Reason classes what went wrong with a target, as far as a caller acts on it.
type Reason string

// The reasons.
const (
	// NotStarted: the command was not found or cannot be executed.
	NotStarted Reason = "not-started"
	// Died: the process ended, or closed its output.
	Died Reason = "died"
	// Unreachable: no such host, refused, no route.
	Unreachable Reason = "unreachable"
	// TLSFailed: the handshake failed or the certificate is not trusted.
	TLSFailed Reason = "tls"
	// TimedOut: a bounded wait ended.
	TimedOut Reason = "timed-out"
	// NotFound: HTTP 404 or 410 without a JSON-RPC error.
	NotFound Reason = "not-found"
	// NotMCP: an answer that is no MCP, such as an HTML page.
	NotMCP Reason = "not-mcp"
	// AuthNeeded: HTTP 401 or 403.
	AuthNeeded Reason = "auth"
	// Redirected: HTTP 3xx; redirects are not followed.
	Redirected Reason = "redirect"
	// BadStatus: any other HTTP status that is no success.
	BadStatus Reason = "status"
	// BadHTTP: the response breaks HTTP itself.
	BadHTTP Reason = "bad-http"
	// Broken: a stream or connection ended before it was complete.
	Broken Reason = "broken"
	// Closed: we closed it.
	Closed Reason = "closed"
	// BadTarget: the target's description cannot be used.
	BadTarget Reason = "bad-target"
)

// Error is every error of this package.
type Error struct {
	Reason Reason
	Target string // description without secrets
	Detail string // what happened, in words of ours

	Status    int    // HTTP status, when there was one
	Location  string // Redirected
	Challenge string // AuthNeeded: WWW-Authenticate, may be empty
	Exit      *Exit  // Died, NotStarted when a process was there
	Err       error  // the cause, may be nil
	// Stale: Broken, on a connection that had served an earlier exchange, before a
	// byte of the response. The server may have closed it while it was idle, and
	// not have seen the request (RFC 9112, section 9.6).
	Stale bool
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Target != "" {
		b.WriteString(e.Target)
		b.WriteString(": ")
	}
	b.WriteString(e.Detail)
	if e.Err != nil {
		if e.Detail != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	if e.Exit != nil {
		fmt.Fprintf(&b, " (%s)", e.Exit)
		if line := lastLine(e.Exit.Stderr); line != "" {
			b.WriteString("; stderr ends: ")
			b.WriteString(line)
		}
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of the first *Error in err's chain, or empty.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func (x *Exit) String() string {
	if x.Signal != "" {
		return "ended by " + x.Signal
	}
	return "exit status " + strconv.Itoa(x.Code)
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\r\n\t ")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
