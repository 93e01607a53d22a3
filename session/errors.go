// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// RPCError is a JSON-RPC error that answered a request.
type RPCError struct {
	Code    int64
	Message string
	Data    json.RawMessage
	Status  int // HTTP status that carried it, zero for other transports
	Method  string
}

func (e *RPCError) Error() string {
	s := fmt.Sprintf("error %d", e.Code)
	switch {
	case e.Message != "":
		s += ": " + e.Message
	case e.Code == 0:
		s = "an error without code and message"
	}
	if e.Method == "" {
		return s
	}
	return e.Method + ": " + s
}

// TimeoutError is a bounded wait that ended without an answer.
type TimeoutError struct {
	Method string        // the last one asked
	After  time.Duration // the bound
	Stderr string        // the last a process wrote there
	// Start says that the bound was Timeouts.Start, which holds for all that
	// Open tries. Tried is every method that was not answered then, in order.
	Start bool
	Tried []string
}

func (e *TimeoutError) Error() string {
	if e.Start {
		return fmt.Sprintf("no answer to %s within %s (the start bound)", strings.Join(e.Tried, " or "), rounded(e.After))
	}
	return fmt.Sprintf("%s: no answer within %s", e.Method, rounded(e.After))
}

// rounded is a duration as people tell it.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d
}

// Timeout makes the error one of net's kind.
func (e *TimeoutError) Timeout() bool { return true }

// ResultError is a response that cannot be used: no result type we know, no
// object where one must be.
type ResultError struct {
	Method string
	Detail string
	Frame  *wire.Frame
}

func (e *ResultError) Error() string { return e.Method + ": " + e.Detail }

// CursorError ends a listing that would not end by itself.
type CursorError struct {
	Method string
	Cursor string // the cursor that came again, or the last one
	Pages  int
	Repeat bool // false: more pages than the limit
}

func (e *CursorError) Error() string {
	if e.Repeat {
		return fmt.Sprintf("%s: cursor %.80q came a second time, after %d pages", e.Method, e.Cursor, e.Pages)
	}
	return fmt.Sprintf("%s: more than %d pages", e.Method, e.Pages)
}

// PageError is a listing that failed on one of its pages.
type PageError struct {
	Method string
	Page   int // from 1
	Err    error
}

// Error leaves the method out: who lists has named it, and so may the cause.
func (e *PageError) Error() string {
	return fmt.Sprintf("page %d: %s", e.Page, strings.TrimPrefix(e.Err.Error(), e.Method+": "))
}

func (e *PageError) Unwrap() error { return e.Err }

// NegotiationError is a session that found no common language.
type NegotiationError struct {
	Asked     string
	Supported []string // what the server named, if it did
	Attempts  []Attempt
	Err       error
}

func (e *NegotiationError) Error() string {
	var echo *EchoError
	if errors.As(e.Err, &echo) {
		return echo.Error() // it speaks nothing at all
	}
	s := "no common protocol revision"
	if e.Asked != "" {
		s = "the server does not speak " + e.Asked
	}
	if len(e.Supported) > 0 {
		s += "; it names " + strings.Join(e.Supported, ", ")
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *NegotiationError) Unwrap() error { return e.Err }

// RoundsError ends a multi round-trip request that asked too often.
type RoundsError struct {
	Method string
	Rounds int
}

func (e *RoundsError) Error() string {
	return fmt.Sprintf("%s: the server asked for input %d times", e.Method, e.Rounds)
}
