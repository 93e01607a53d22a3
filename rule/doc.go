// SPDX-License-Identifier: Apache-2.0

// Package rule holds what every judgement of mcprove has in common: what a
// rule says of itself (Info), what came out (Finding), and the exceptions that
// a user granted.
//
// It knows no family of rules. Contract changes, wire checks and lint each
// register their Infos here and emit Findings; report prints them.
package rule
