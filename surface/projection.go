// SPDX-License-Identifier: Apache-2.0

package surface

// projection reduces an item to what a foreign file format can express, so
// that both sides of a comparison promise the same kind of thing. Nil means
// that the format keeps items whole.
type projection func(Item) Item

// Aligned returns both surfaces as they may be compared: where one was read
// from a file of a format that keeps less, the other is reduced to the same.
func Aligned(old, new *Surface) (*Surface, *Surface) {
	return new.reducedOf(old), old.reducedOf(new)
}

// reducedOf returns other, reduced by the projection of s.
func (s *Surface) reducedOf(other *Surface) *Surface {
	if s.projection == nil {
		return other
	}
	out := *other
	out.items = map[Kind][]Item{}
	for k, items := range other.items {
		for _, it := range items {
			out.items[k] = append(out.items[k], s.projection(it))
		}
	}
	return &out
}
