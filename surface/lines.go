// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"bytes"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// LineKey names an item of a contract file: its word ("tool") and name.
type LineKey struct{ Kind, Name string }

// Lines returns the 1-based line on which each item of a contract file starts.
// A file that cannot be read has none.
func Lines(data []byte) map[LineKey]int {
	out := map[LineKey]int{}
	for _, k := range Kinds {
		list, base, err := jsonx.Locate(data, "/"+string(k))
		if err != nil {
			continue
		}
		es, offsets, err := jsonx.ElementsAt(list, jsonx.Strict)
		if err != nil {
			continue
		}
		line, done := 1, int64(0)
		for i, e := range es {
			at := base + offsets[i]
			line += bytes.Count(data[done:at], []byte{'\n'})
			done = at
			if name, err := nameOf(k, jsonx.Skim(e)); err == nil {
				out[LineKey{k.One(), name}] = line
			}
		}
	}
	return out
}
