// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proc

import "os"

// A process that leaves its group is not found on these systems; a job object
// cannot be left.

type origin struct{}

func descendants(int) []origin { return nil }

func killThose([]origin) {}

func killHolders(...*os.File) {}

// countAlive knows that somebody is in the group, not how many.
func countAlive(_ []origin, pgid *int) int {
	if pgid == nil {
		return 0
	}
	return 1
}
