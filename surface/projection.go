// SPDX-License-Identifier: Apache-2.0

package surface

// projection reduces a surface to what a foreign file could have recorded of
// it, so that both sides of a comparison promise the same kind of thing. Nil
// means that the format keeps items whole.
type projection interface {
	reduce(other *Surface) *Surface
}

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
	return s.projection.reduce(other)
}

// mapItems returns s with its items replaced; f may leave one out.
func (s *Surface) mapItems(f func(Item) (Item, bool)) *Surface {
	out := *s
	out.items = make(map[Kind][]Item, len(s.items))
	for k, items := range s.items {
		kept := make([]Item, 0, len(items))
		for _, it := range items {
			if it, ok := f(it); ok {
				kept = append(kept, it)
			}
		}
		out.items[k] = kept
	}
	return &out
}

// with returns the item with other members: its name, and what object holds.
func (it Item) with(object map[string]any) (Item, error) {
	object[it.Kind.Key()] = it.Name
	raw, err := canonicalOf(object)
	if err != nil {
		return Item{}, err
	}
	return newItem(it.Kind, raw, it.Index)
}

// reduced is the item with other members. What was read from JSON can be
// written as such; the item stays whole if it cannot.
func (it Item) reduced(object map[string]any) Item {
	if out, err := it.with(object); err == nil {
		return out
	}
	return it
}
