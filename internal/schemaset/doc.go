// SPDX-License-Identifier: Apache-2.0

// Package schemaset treats JSON Schemas as sets of values, compares two of
// them and gives witnesses.
//
// One search carries everything: a value is looked for that every schema of one
// list accepts and every schema of another refuses. A value found is the
// witness; a search space closed by exact rules is a proof that there is none;
// anything else is an admission that the question stays open. Compare asks that
// question of two documents in both directions, Explain walks the two in
// parallel, proposes which keyword is to blame and keeps only the proposals
// that the search can prove.
//
// The package knows sets and facets, nothing of MCP. It reads no external
// reference and never panics on a foreign schema.
package schemaset
