// SPDX-License-Identifier: Apache-2.0

package spec

// Capability is one node of the tree of capabilities that a side declares.
type Capability struct {
	Side  Side
	Path  string // dotted: "resources.subscribe"
	Range Range
	// Flag nodes are booleans that must be true to count; others are objects
	// that count by being present.
	Flag bool
	// Open nodes hold members named by others: experimental, extensions.
	Open bool
}

var capabilityTable = []Capability{
	{Side: Server, Path: "tools"},
	{Side: Server, Path: "tools.listChanged", Flag: true},
	{Side: Server, Path: "prompts"},
	{Side: Server, Path: "prompts.listChanged", Flag: true},
	{Side: Server, Path: "resources"},
	{Side: Server, Path: "resources.subscribe", Flag: true},
	{Side: Server, Path: "resources.listChanged", Flag: true},
	{Side: Server, Path: "completions", Range: since(Rev20250326)},
	{Side: Server, Path: "logging"},
	{Side: Server, Path: "tasks", Range: only(Rev20251125)},
	{Side: Server, Path: "tasks.list", Range: only(Rev20251125)},
	{Side: Server, Path: "tasks.cancel", Range: only(Rev20251125)},
	{Side: Server, Path: "tasks.requests", Range: only(Rev20251125)},
	{Side: Server, Path: "tasks.requests.tools", Range: only(Rev20251125)},
	{Side: Server, Path: "tasks.requests.tools.call", Range: only(Rev20251125)},
	{Side: Server, Path: "experimental", Open: true},
	{Side: Server, Path: "extensions", Range: modernOnly, Open: true},

	{Side: Client, Path: "roots"},
	{Side: Client, Path: "roots.listChanged", Range: legacyOnly, Flag: true},
	{Side: Client, Path: "sampling"},
	{Side: Client, Path: "sampling.context", Range: since(Rev20251125)},
	{Side: Client, Path: "sampling.tools", Range: since(Rev20251125)},
	{Side: Client, Path: "elicitation", Range: since(Rev20250618)},
	{Side: Client, Path: "elicitation.form", Range: since(Rev20251125)},
	{Side: Client, Path: "elicitation.url", Range: since(Rev20251125)},
	{Side: Client, Path: "tasks", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.list", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.cancel", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.requests", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.requests.sampling", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.requests.sampling.createMessage", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.requests.elicitation", Range: only(Rev20251125)},
	{Side: Client, Path: "tasks.requests.elicitation.create", Range: only(Rev20251125)},
	{Side: Client, Path: "experimental", Open: true},
	{Side: Client, Path: "extensions", Range: modernOnly, Open: true},
}

// CapabilityAt returns the facts of a capability of one side in a revision.
// Sets are open, so a path without a row is unknown, not wrong.
func CapabilityAt(s Side, path string, r Revision) (c Capability, ok bool) {
	for _, row := range capabilityTable {
		if row.Side == s && row.Path == path && row.Range.Contains(r) {
			return row, true
		}
	}
	return Capability{}, false
}

// Capabilities returns the capabilities of one side in a revision, parents
// before children.
func Capabilities(s Side, r Revision) []Capability {
	var cs []Capability
	for _, row := range capabilityTable {
		if row.Side == s && row.Range.Contains(r) {
			cs = append(cs, row)
		}
	}
	return cs
}
