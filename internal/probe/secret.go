// SPDX-License-Identifier: Apache-2.0

package probe

import "regexp"

// Secret is a form of text that nobody should be shown.
type Secret struct {
	What string // "an access key"
	Form *regexp.Regexp
}

// Secrets have forms that nothing else has.
var Secrets = []Secret{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"a signed token (JWT)", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`)},
	{"an access key", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"an access token", regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{20,}|sk-[A-Za-z0-9_-]{32,}|npm_[A-Za-z0-9]{36})\b`)},
	{"a password in an address", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"\\]+:[^\s/@"\\*]{4,}@[^\s/@"\\]+`)},
	{"an authorization header", regexp.MustCompile(`(?i)\bauthorization\\?"?\s*[:=]\s*\\?"?(bearer|basic)\s+[A-Za-z0-9+/._~-]{16,}`)},
}

// hideSecrets keeps the beginning of every secret, so that its owner finds it.
func hideSecrets(text string) string {
	const kept = 6
	for _, s := range Secrets {
		text = s.Form.ReplaceAllStringFunc(text, func(found string) string { return found[:min(kept, len(found))] + "…(secret)" })
	}
	return text
}
