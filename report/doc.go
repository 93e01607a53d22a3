// SPDX-License-Identifier: Apache-2.0

// Package report turns the stream of findings into output formats: one Sink
// per format, several at once by Tee.
//
// It knows no family of rules. Every text it is given is taken to be foreign:
// secrets are removed from a finding before any format sees it, and each
// format escapes for its own medium through internal/text.
package report
