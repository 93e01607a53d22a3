// SPDX-License-Identifier: Apache-2.0

// Package order sorts slices of any type by one body of code. The generic
// functions of package slices are compiled anew for every type: for the two
// dozen types of this program that is half a megabyte of its binary. It costs
// an indirect call for each comparison and swap, which no list here can feel.
package order

import "sort"

// Func sorts s by compare, as slices.SortFunc does.
func Func[T any](s []T, compare func(a, b T) int) { sort.Sort(slice[T]{s, compare}) }

// Stable sorts s by compare and leaves equal elements in their order, as
// slices.SortStableFunc does.
func Stable[T any](s []T, compare func(a, b T) int) { sort.Stable(slice[T]{s, compare}) }

// slice is a sort.Interface.
type slice[T any] struct {
	s       []T
	compare func(a, b T) int
}

func (x slice[T]) Len() int           { return len(x.s) }
func (x slice[T]) Less(i, j int) bool { return x.compare(x.s[i], x.s[j]) < 0 }
func (x slice[T]) Swap(i, j int)      { x.s[i], x.s[j] = x.s[j], x.s[i] }
