// SPDX-License-Identifier: Apache-2.0

// Package probe is a live server under test: it sends what a check wants to
// send, well formed or with one thing wrong on purpose, keeps everything that
// crosses, and turns what a check saw into a verdict with its evidence.
//
// A [Probe] is one target at one revision. Its [Facts] are what the server says
// of itself. A [Case] is one rule being judged: it sends requests, and says
// pass, fail or skip. [Traffic] is all that crossed, for the rules that only
// look on; a recording can be read into one too.
//
// The package sends through transport itself, because a session repairs what a
// check must see: ids that match nothing, answers that come twice, requests
// that no client may send.
package probe
