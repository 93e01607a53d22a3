// SPDX-License-Identifier: Apache-2.0

// Package text makes foreign text safe to show: it escapes for a medium,
// makes invisible characters visible, redacts secrets and compares wording.
//
// Everything that a server, a file or a peer wrote is hostile until it went
// through here. Nothing else in the project escapes or redacts.
package text
