// SPDX-License-Identifier: Apache-2.0

// Package spec holds the revisions of the Model Context Protocol as data:
// eras, methods, metadata keys, headers, error codes, capabilities and message
// shapes, and judges whether a message keeps to them.
//
// A fact that depends on the revision is a row with a [Range], never a branch
// in the code that uses it. [MethodAt], [ErrorCode], [MetaKeyAt] and [HeaderAt]
// look rows up; [Validate] judges a message as it crossed the wire, and
// [ValidateDefinition] judges a value by the name the official schema gives it.
//
// The shapes describe structure only. Where the official texts of a revision
// contradict each other, the reading that blames nobody is taken, and a
// [Violation] that rests on such a point says so in Disputed.
package spec
