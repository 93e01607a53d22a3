// SPDX-License-Identifier: Apache-2.0

// Package transport opens connections to MCP servers and moves frames over
// them exactly as they are.
//
// A [Target] says where a server is and opens any number of connections. A
// [Conn] sends frames, and gives everything that arrives as one ordered stream
// of events. It never reads a JSON-RPC id and knows no method, so whatever a
// server sends, right or wrong, reaches the one who judges.
//
// Nothing is ever sent anywhere but to the target: redirects are reported and
// not followed. Every wait ends with its context.
package transport
