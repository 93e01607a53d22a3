// SPDX-License-Identifier: Apache-2.0

// Package session is one MCP client that knows both eras: it negotiates the
// revision, correlates answers with requests, pages lists, answers what a
// server asks, cancels and subscribes.
//
// A [Session] is the only place where frames get a meaning beyond JSON-RPC.
// What a server does against the rules of correlation (an answer to nothing,
// two answers, noise on its output) is recorded as an [Anomaly] and never
// waited for without a bound.
package session
