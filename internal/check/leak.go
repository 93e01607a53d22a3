// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"strings"
)

// leak is a form of text that should not be shown.
type leak struct {
	what   string
	form   *regexp.Regexp
	except string // how what only looks like it begins
}

// credentials have forms that nothing else has.
var credentials = []leak{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`), ""},
	{"a signed token (JWT)", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`), ""},
	{"an access key", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`), ""},
	{"an access token", regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{20,}|sk-[A-Za-z0-9_-]{32,}|npm_[A-Za-z0-9]{36})\b`), ""},
	{"a password in an address", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"\\]+:[^\s/@"\\*]{4,}@[^\s/@"\\]+`), ""},
	{"an authorization header", regexp.MustCompile(`(?i)\bauthorization\\?"?\s*[:=]\s*\\?"?(bearer|basic)\s+[A-Za-z0-9+/._~-]{16,}`), ""},
}

// internals may be meant to be seen.
var internals = []leak{
	{"a stack trace", regexp.MustCompile(`\\n\s+at [^\\"]+:\d+:\d+\)?|Traceback \(most recent call last\)|goroutine \d+ \[[a-z ]+\]:|\bat [\w.$]+\([\w]+\.java:\d+\)`), ""},
	{"the path of a home", regexp.MustCompile(`(/home/|/Users/|[A-Za-z]:\\\\Users\\\\)[A-Za-z0-9._-]+[/\\]`), ""},
	{"an e-mail address", regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`), "git@"},
}

// credentialIn names the first credential in a JSON text, empty for none.
func credentialIn(s string) string { return leakIn(credentials, s) }

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
