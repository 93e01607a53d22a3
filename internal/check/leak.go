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

// CredentialIn names the first credential in a JSON text, empty for none.
func CredentialIn(s string) string {
	for _, secret := range probe.Secrets {
		for _, at := range secret.Form.FindAllStringIndex(s, mostLeaks) {
			if !isSample(s[at[0]:at[1]], s[at[1]:]) {
				return secret.What
			}
		}
	}
	return ""
}

// credentialLogged is CredentialIn for a log, which shows what there was and
// never the form of it.
func credentialLogged(s string) string {
	for _, secret := range probe.Secrets {
		if secret.Form.MatchString(s) {
			return secret.What
		}
	}
	return ""
}

// Descriptions of tools show the form of a credential by what is none.
var (
	// sampleWord is in what is to be replaced, and in what documentation uses.
	sampleWord = regexp.MustCompile(`(?i)example|sample|placeholder|dummy|your|x{4}|[<>{}$\[\]]|(access|api|auth|bearer|secret)[-_]?(token|key)`)
	// samplePassword is a word for a password in place of one.
	samplePassword = regexp.MustCompile(`(?i)^((my|your|the|db|user)?[-_]?(pass(word|wd|phrase|code)?|pwd|secret|token|credentials?|api[-_]?key)[-_]?(here)?|changeme|x+|\.+|…+|[<\[{($%].*)$`)
	// sampleHost is one that is set aside for documentation (RFC 2606), or a word
	// for a host.
	sampleHost = regexp.MustCompile(`(?i)^(([a-z0-9-]+\.)*(example(\.[a-z]+)?|test|invalid)|host(name)?|server)(:.*)?$`)
	// addressParts are the user, the password and the host in an address.
	addressParts = regexp.MustCompile(`://([^:]*):(.*)@([^@]*)$`)
	// keyText is what follows the first line of a private key.
	keyText = regexp.MustCompile(`^(\\[rnt]|\s)*([A-Za-z-]+:[^\\\n]*(\\[rn]|\s)+)*([A-Za-z0-9+/=]|\\[rn]|\s){40}`)
)

// sampleToken begins the payload of the token that documentation of JWT shows:
// its subject is 1234567890.
const sampleToken = ".eyJzdWIiOiIxMjM0NTY3ODkw"

// isSample reports whether what has the form of a credential stands for one.
func isSample(found, behind string) bool {
	switch m := addressParts.FindStringSubmatch(found); {
	case strings.HasPrefix(found, "-----BEGIN"):
		return !keyText.MatchString(behind)
	case m != nil:
		return samplePassword.MatchString(m[2]) || m[1] == m[2] || sampleHost.MatchString(m[3])
	}
	return sampleWord.MatchString(found) || strings.Contains(found, sampleToken)
}

// internalIn names the first personal or internal detail in a JSON text.
func internalIn(s string) string { return leakIn(internals, s, "") }

// mostLeaks bounds how many texts of one form are looked at.
const mostLeaks = 20

// leakIn names the first leak in a text. What stands in another text, which was
// sent before, is none.
func leakIn(leaks []leak, s, sent string) string {
	for _, l := range leaks {
		for _, at := range l.form.FindAllStringIndex(s, mostLeaks) {
			found := s[at[0]:at[1]]
			if n := strings.IndexAny(s[at[1]:], " \"'`\\\n,;)]>"); n > 0 { // the word that it begins
				found = strings.TrimRight(s[at[0]:at[1]+n], ".:!?")
			}
			if (l.except == "" || !strings.HasPrefix(found, l.except)) && !strings.Contains(sent, found) {
				return l.what
			}
		}
	}
	return ""
}

// InsideIn names what a text shows of the inside of a server: a stack trace, or
// the path of somebody's home. Empty for nothing.
func InsideIn(s, sent string) string { return leakIn(inside, s, sent) }
