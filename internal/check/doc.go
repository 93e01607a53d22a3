// SPDX-License-Identifier: Apache-2.0

// Package check judges a live server by the rules of the protocol, one file a
// topic. A rule is one literal: what it says, how it is judged, and the fault
// of package mock that breaks it.
package check
