// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/mcprove/mcprove/internal/text"

// line is foreign text as part of one line, and block with its own lines.
// Whatever is printed may end up in a build system's log.
func line(s string) string  { return text.LogLine(s) }
func block(s string) string { return text.LogBlock(s) }
