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
package record
