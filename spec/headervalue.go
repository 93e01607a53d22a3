// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The markers around a Base64 header value. They are lower case and exact
// (2026-07-28/basic/transports/streamable-http#value-encoding).
const (
	base64Start = "=?base64?"
	base64End   = "?="
)

// Errors of DecodeHeaderValue.
var (
	// ErrHeaderBase64 is wrapped when what stands between the markers is no
	// padded standard Base64 (RFC 4648 section 4) of UTF-8 text.
	ErrHeaderBase64 = errors.New("bad Base64 header value")
	// ErrHeaderCharacter is wrapped when a plain value holds a byte that a
	// header value must not hold.
	ErrHeaderCharacter = errors.New("bad character in header value")
)

// HeaderValueUnsafe reports whether a value must be sent in Base64 form: it has
// bytes that are not printable ASCII, white space at an edge, or looks like the
// Base64 form itself.
func HeaderValueUnsafe(s string) bool {
	if strings.HasPrefix(s, base64Start) && strings.HasSuffix(s, base64End) {
		return true
	}
	if s != strings.Trim(s, " ") {
		return true
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return true
		}
	}
	return false
}

// EncodeHeaderValue returns a value as Mcp-Name and Mcp-Param headers carry it:
// as it is where that is safe, in Base64 form otherwise. Bytes that are not
// UTF-8 become U+FFFD, as they would in JSON.
func EncodeHeaderValue(s string) string {
	if !HeaderValueUnsafe(s) {
		return s
	}
	return Base64HeaderValue(s)
}

// Base64HeaderValue is EncodeHeaderValue in Base64 form, also of a value that
// would be safe as it is. Who receives it decodes either.
func Base64HeaderValue(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return base64Start + base64.StdEncoding.EncodeToString([]byte(s)) + base64End
}

// DecodeHeaderValue is the reverse of EncodeHeaderValue. Values without the
// exact markers are plain, whatever they resemble.
func DecodeHeaderValue(s string) (string, error) {
	inner, ok := base64Part(s)
	if !ok {
		for i := range len(s) {
			if (s[i] < ' ' && s[i] != '\t') || s[i] > '~' {
				return "", fmt.Errorf("%w: byte 0x%02X at %d", ErrHeaderCharacter, s[i], i)
			}
		}
		return s, nil
	}
	// The decoder of the standard library skips line breaks.
	if strings.ContainsAny(inner, "\r\n") {
		return "", fmt.Errorf("%w: line break", ErrHeaderBase64)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrHeaderBase64, err)
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%w: not UTF-8", ErrHeaderBase64)
	}
	return string(b), nil
}

// base64Part returns what stands between the markers. They must not overlap.
func base64Part(s string) (inner string, ok bool) {
	inner, ok = strings.CutPrefix(s, base64Start)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, base64End)
}
