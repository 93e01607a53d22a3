// SPDX-License-Identifier: Apache-2.0

// Package version knows which mcprove this is, and says so before anything
// else of the program is initialised.
//
// Go initialises a package as soon as its own imports are done, in the order of
// import paths. This one imports os alone, so it comes before nearly all
// others, among them the schema validator, whose initialisation takes longer
// than an empty program (docs/decisions/0006).
package version

import "os"

// number is raised with each release; a release build may set it:
// -ldflags "-X github.com/mcprove/mcprove/internal/cli/version.number=1.2.3".
var number = "0.1.0-dev"

// String is the version: "0.1.0", with -dev between releases.
func String() string { return number }

func init() {
	if len(os.Args) != 2 || os.Args[1] != "version" {
		return
	}
	if _, err := os.Stdout.WriteString("mcprove " + number + "\n"); err != nil {
		os.Exit(70)
	}
	os.Exit(0)
}
