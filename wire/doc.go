// SPDX-License-Identifier: Apache-2.0

// Package wire turns bytes into frames and reads JSON-RPC out of them with
// every fault kept as data.
//
// A [Frame] is one JSON-RPC text exactly as it crossed, with the facts of the
// carrier that brought it. A [Message] is a reading of such a text. Reading
// never fails: what is wrong in a text is a [Fault] with an offset and a JSON
// pointer, and whatever can be read is read. [Lines] and [Events] cut byte
// streams into lines and server-sent events. An [Exchange] holds the frames
// that belong to one client request.
//
// The package knows JSON-RPC 2.0 and nothing of MCP or of networks.
package wire
