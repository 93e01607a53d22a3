// SPDX-License-Identifier: Apache-2.0

package text

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redacted stands in every output where a secret stood.
const Redacted = "[redacted]"

// MinSecret is the shortest value that is redacted wherever it occurs: shorter
// ones ("1", "true", "dev") would blank out ordinary words.
const MinSecret = 6

// Redactor removes secrets from text. The zero value knows only the shapes of
// well-known secrets; Add teaches it values.
type Redactor struct {
	values   []string
	replacer *strings.Replacer
}

// Add makes every occurrence of the values redacted from now on. Values
// shorter than six bytes are not taken.
func (r *Redactor) Add(values ...string) {
	for _, v := range values {
		if len(v) >= MinSecret && !slices.Contains(r.values, v) {
			r.values = append(r.values, v)
		}
	}
	// Longest first, so that a secret that contains another goes whole.
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range r.values {
		pairs = append(pairs, v, Redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// shape is a secret that is known by its form. Its expression keeps its first
// group. It is tried only on text that holds one of the hints, in lower case:
// the expressions are the dear part of every report.
type shape struct {
	re    func() *regexp.Regexp
	hints []string
}

// expression compiles when it is first used: most runs meet no hint.
func expression(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

var shapes = []shape{
	{expression(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), []string{"bearer", "basic"}},
	{expression(`(?i)(\b(?:authorization|proxy-authorization|x-api-key|api-key|cookie|set-cookie)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}`),
		[]string{"authorization", "api-key", "cookie"}},
	{expression(`(?i)(\b(?:access_token|refresh_token|id_token|client_secret|api_?key|auth_?token|password|passwd|secret)["']?\s*[:=]\s*["']?)[^\s"'&,;]{6,}`),
		[]string{"token", "secret", "apikey", "api_key", "passw"}},
	{expression(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s:@]+:[^/\s@]+@`), []string{"://"}},
	{expression(`()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|ntn_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,})\b`),
		[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "akia", "ntn_", "npm_"}},
	{expression(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), []string{"eyj"}},
	{expression(`()-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), []string{"-----begin"}},
}

// String returns s with every known value and shape of a secret replaced.
func (r *Redactor) String(s string) string {
	if r != nil && r.replacer != nil {
		s = r.replacer.Replace(s)
	}
	lower := strings.ToLower(s)
	for _, sh := range shapes {
		if slices.ContainsFunc(sh.hints, func(h string) bool { return strings.Contains(lower, h) }) {
			s = sh.re().ReplaceAllString(s, "${1}"+Redacted)
		}
	}
	return s
}

var secretName = expression(`(?i)(token|secret|passw|creds?\b|_pat$|^pat$|api[-_]?key|credential|private[-_]?key|authorization|[-_]auth$|^auth$|cookie|signature|(^|_)dsn$|connection[-_]?string)`)

// SecretName reports whether a header, variable or parameter of this name
// should be taken to hold a secret.
func SecretName(name string) bool { return secretName().MatchString(name) }
