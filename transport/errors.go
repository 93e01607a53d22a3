// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
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
		if line := e.Exit.Said(); line != "" {
			b.WriteString("; stderr says: ")
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

// cause is the form of a line that says why a program ended, in the languages that
// servers are written in: "Error: Cannot find module", "ModuleNotFoundError: ...",
// `Exception in thread "main" ...`, "panic: ...", "thread 'main' panicked at ...".
var cause = regexp.MustCompile(`^(?:Uncaught |Caused by: )?(?:[\w.$]*(?:Error|Exception)\b.*:|Exception in thread|panic:|fatal(?: error)?:|error:|Error:|thread '.*' panicked)`)

// Said is the line of stderr that says most of why the process ended: the last one
// in the form of a cause, or else the last of all; empty when there is none.
func (x *Exit) Said() string {
	last, why := "", ""
	for line := range strings.Lines(x.Stderr) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if last = line; cause.MatchString(line) {
			why = line
		}
	}
	return cmp.Or(why, last)
}
