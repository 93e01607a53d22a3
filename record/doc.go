// SPDX-License-Identifier: Apache-2.0

// Package record keeps what crosses between a client and MCP servers, and
// answers questions about it: what was said, how long each answer took, what
// was never answered.
//
// A [Recorder] listens as a tap, on any target ([Recorder.Wrap]) or wherever a
// tap is taken ([Recorder.Tap]). Keeping costs little: an entry in a slice.
// Everything else, which request an answer belongs to above all, is found out
// when it is asked for, in a [Recording].
//
// A recording is written as JSON Lines, which [Read] takes back byte for byte,
// or as HAR for tools that know HTTP alone. Secrets are cut out before anything
// is written; in memory nothing is changed.
//
// # Files
//
// The first line of a JSON Lines file is
//
//	{"format":1,"type":"mcprove recording","dropped":0}
//
// and each line behind it is one thing that was seen: seq, time, conn, channel
// and event, which is one of
//
//   - frame: a JSON-RPC text, with dir and text; over stdio with its line (n,
//     end, size, faults), over HTTP with the seq of its head, in an event
//     stream with its block (sse) in place of text;
//   - head: an HTTP head (http), of a request when dir is to-server;
//   - body, sse: what came over HTTP and is no message;
//   - opening, open-failed, left, leaving, closed, lost, unsent: what became of
//     a connection, of one of its channels, or of what was to be sent.
//
// Foreign text is a string where it is UTF-8, else {"base64":"..."}. The
// members kind, method, id, answers, latencyMs, repeated, cancelled and
// afterCancel say what was found out. They are for people and jq: reading finds
// them out again.
package record
