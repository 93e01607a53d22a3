// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
)

// leak is a form of text that should not be shown.
type leak struct {
	what   string
	form   *regexp.Regexp
	except string // how what only looks like it begins
}

// inside is what only somebody on the machine should see.
var inside = []leak{
	{"a stack trace", regexp.MustCompile(`(\\n|\n)\s+at [^\\"\n]+:\d+:\d+\)?|Traceback \(most recent call last\)|goroutine \d+ \[[a-z ]+\]:|\bat [\w.$]+\([\w]+\.java:\d+\)|` +
		`"stack_?[tT]race"\s*:\s*\[\s*\{\s*"(class|file|method|module|line|declaring|native)[A-Z]`), ""},
	{"the path of a home", regexp.MustCompile(`(/home/|/Users/|[A-Za-z]:\\\\Users\\\\)[A-Za-z0-9._-]+[/\\]`), ""},
}

// internals may be meant to be seen.
var internals = append(slices.Clone(inside),
	leak{"an e-mail address", regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`), "git@"},
)

// credentialIn names the first credential in a JSON text, empty for none.
func credentialIn(s string) string {
	for _, secret := range probe.Secrets {
		if secret.Form.MatchString(s) {
			return secret.What
		}
	}
	return ""
}

// internalIn names the first personal or internal detail in a JSON text.
func internalIn(s string) string { return leakIn(internals, s) }

// mostLeaks bounds how many texts of one form are looked at.
const mostLeaks = 20

func leakIn(leaks []leak, s string) string {
	for _, l := range leaks {
		for _, found := range l.form.FindAllString(s, mostLeaks) {
			if l.except == "" || !strings.HasPrefix(found, l.except) {
				return l.what
			}
		}
	}
	return ""
}

// insideIn names what a text shows of the inside of a server: a stack trace, or
// the path of somebody's home. Empty for nothing.
func insideIn(s string) string { return leakIn(inside, s) }
