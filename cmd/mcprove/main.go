// SPDX-License-Identifier: Apache-2.0

// Command mcprove proves that an MCP server keeps its promises.
package main

import (
	"os"

	"github.com/mcprove/mcprove/internal/cli"
)

func main() { os.Exit(cli.Main()) }
