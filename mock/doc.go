// SPDX-License-Identifier: Apache-2.0

// Package mock is a scripted MCP server, over HTTP and over stdio, in every
// revision of the protocol, that keeps all rules until a Fault tells it not to.
//
// A [Script] says what the server shows and answers. [New] makes a [Server] of
// it, which is an http.Handler and serves stdio; [Server.HTTP] and
// [Server.Stdio] are targets inside the process, without sockets. Which eras
// it speaks follows from the revisions of the script.
//
// A [Fault] is data: a [Place], which is a method, a page and a turn, and what
// happens to the answer there. The server first makes the correct answer, then
// applies the faults to it, so a fault changes exactly what it names.
package mock
