// SPDX-License-Identifier: Apache-2.0

// Package version knows which mcprove this is, and says so before anything
// else of the program is initialised.
//
// Go initialises packages in the order of their import paths once their own
// imports are done. This one imports next to nothing, so it comes before the
// schema validator, whose initialisation alone takes longer than an empty
// program (docs/decisions/0006). Scripts that ask for the version in a loop
// should not pay for what they do not use.
package version

import (
	"os"
	"runtime/debug"
)

// number is set by the release build: -ldflags "-X .../version.number=1.2.3".
var number string

// String is the version, "(devel)" for a build from a checkout.
func String() string {
	if number != "" {
		return number
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func init() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		if _, err := os.Stdout.WriteString("mcprove " + String() + "\n"); err != nil {
			os.Exit(70)
		}
		os.Exit(0)
	}
}
