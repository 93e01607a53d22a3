// SPDX-License-Identifier: Apache-2.0

// Package contract compares two surfaces of a server and says which changes
// break the callers built on the old one, each with a witness where one exists.
//
// Everything is judged from the caller's side. What a caller sends may be
// accepted more widely, never more narrowly; what a caller receives may become
// narrower, never wider; text that a model reads is routing; what nobody can
// observe is cosmetic.
package contract
