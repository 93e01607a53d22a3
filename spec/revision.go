// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
)

// Revision is a dated revision of the protocol. Later revisions compare
// greater. The zero Revision is none.
type Revision uint8

// The released revisions, oldest first.
const (
	Rev20241105 Revision = iota + 1
	Rev20250326
	Rev20250618
	Rev20251125
	Rev20260728
)

// Latest is the newest revision this package knows.
const Latest = Rev20260728

// FirstModern is the first revision of the modern era.
const FirstModern = Rev20260728

// AssumedRevision is what a server reads into a request without a version
// header when it serves clients older than the header
// (2025-06-18/basic/transports#protocol-version-header).
const AssumedRevision = Rev20250326

var revisionNames = [...]string{
	Rev20241105: "2024-11-05",
	Rev20250326: "2025-03-26",
	Rev20250618: "2025-06-18",
	Rev20251125: "2025-11-25",
	Rev20260728: "2026-07-28",
}

// All returns every revision, oldest first.
func All() []Revision {
	return []Revision{Rev20241105, Rev20250326, Rev20250618, Rev20251125, Rev20260728}
}

// Valid reports whether r is one of All.
func (r Revision) Valid() bool { return r >= Rev20241105 && r <= Latest }

// String returns the date as it stands in protocolVersion, such as
// "2026-07-28".
func (r Revision) String() string {
	if !r.Valid() {
		return fmt.Sprintf("revision(%d)", uint8(r))
	}
	return revisionNames[r]
}

// ParseRevision reads a protocolVersion string. Comparison is exact, as peers
// compare it.
func ParseRevision(s string) (Revision, error) {
	for r := Rev20241105; r <= Latest; r++ {
		if revisionNames[r] == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("unknown protocol revision %q", clip(s))
}

// Era is a family of revisions that share one way of talking.
type Era uint8

const (
	// Legacy revisions open a session with the initialize handshake, and both
	// sides send requests (2024-11-05 to 2025-11-25).
	Legacy Era = iota + 1
	// Modern revisions are stateless: each request carries its version and the
	// client's capabilities in _meta (2026-07-28 on).
	Modern
)

// String returns "legacy" or "modern".
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return fmt.Sprintf("era(%d)", uint8(e))
}

// Era returns the era of r, zero when r is no revision.
func (r Revision) Era() Era {
	switch {
	case !r.Valid():
		return 0
	case r < FirstModern:
		return Legacy
	}
	return Modern
}

// Revisions returns the revisions of the era, oldest first.
func (e Era) Revisions() []Revision {
	return slices.DeleteFunc(All(), func(r Revision) bool { return r.Era() != e })
}

// Range is a run of revisions, both ends included. A zero end is open, so the
// zero Range holds every revision.
type Range struct {
	Since Revision
	Until Revision
}

// Contains reports whether r lies in the range. No range contains an invalid
// revision.
func (g Range) Contains(r Revision) bool {
	return r.Valid() && r >= g.Since && (g.Until == 0 || r <= g.Until)
}

// Overlaps reports whether some revision lies in both ranges.
func (g Range) Overlaps(o Range) bool {
	return slices.ContainsFunc(All(), func(r Revision) bool { return g.Contains(r) && o.Contains(r) })
}

// String returns the range as people write it: "2025-06-18 on",
// "until 2025-11-25", "2025-03-26 to 2025-11-25", one date, or "all revisions".
func (g Range) String() string {
	switch {
	case g.Since == 0 && g.Until == 0:
		return "all revisions"
	case g.Until == 0:
		return g.Since.String() + " on"
	case g.Since == 0:
		return "until " + g.Until.String()
	case g.Since == g.Until:
		return g.Since.String()
	}
	return g.Since.String() + " to " + g.Until.String()
}

func since(r Revision) Range      { return Range{Since: r} }
func until(r Revision) Range      { return Range{Until: r} }
func between(a, b Revision) Range { return Range{Since: a, Until: b} }
func only(r Revision) Range       { return Range{Since: r, Until: r} }

// legacyOnly and modernOnly are the two commonest ranges.
var (
	legacyOnly = until(FirstModern - 1)
	modernOnly = since(FirstModern)
)
