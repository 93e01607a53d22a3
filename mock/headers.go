// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"errors"
	"math"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// mirror is one header that repeats a part of the body, and the checks by
// which it is compared.
type mirror struct {
	name     string
	missing  string
	mismatch string
	decode   string // empty for values that are never in Base64 form
}

var (
	versionMirror = mirror{spec.HeaderProtocolVersion, CheckHeaderVersionMissing, CheckHeaderVersionMismatch, ""}
	methodMirror  = mirror{spec.HeaderMethod, CheckHeaderMethodMissing, CheckHeaderMethodMismatch, ""}
	nameMirror    = mirror{spec.HeaderName, CheckHeaderNameMissing, CheckHeaderNameMismatch, CheckHeaderNameDecode}
)

// checkHeaders compares the headers with the body they mirror
// (2026-07-28/basic/transports/streamable-http#server-validation).
func (s *Server) checkHeaders(q *request, version string) *Error {
	if e := q.mirrors(versionMirror, version); e != nil {
		return e
	}
	if e := q.mirrors(methodMirror, q.Method); e != nil {
		return e
	}
	if from := s.nameFrom(q); from != "" {
		name, ok := jsonx.Text(q.param(from))
		if !ok && len(q.header.Values(spec.HeaderName)) == 0 {
			return nil // nothing to mirror; the params themselves are wrong
		}
		if e := q.mirrors(nameMirror, name); e != nil {
			return e
		}
	}
	if q.Method != spec.MethodToolsCall {
		return nil
	}
	name, _ := jsonx.Text(q.param("name"))
	if t := s.catalog.Load().tool(name, false); t != nil {
		return checkParamHeaders(q, t)
	}
	return nil
}

// nameFrom is the member of params that Mcp-Name mirrors, empty for none.
func (s *Server) nameFrom(q *request) string {
	if m, ok := spec.MethodAt(q.Method, spec.Latest); ok {
		return m.NameFrom
	}
	if x, ok := spec.ExtensionMethodAt(q.Method, spec.Latest); ok && s.declaresTasks() {
		return x.NameFrom
	}
	return ""
}

// mirrors compares one header with what it repeats.
func (q *request) mirrors(m mirror, want string) *Error {
	got, there, e := q.single(m.name, m.missing)
	if e != nil || !there {
		return e
	}
	if m.decode != "" && !q.lenient(m.decode) {
		if got, e = q.decoded(m.name, got, want); e != nil {
			return e
		}
	}
	if q.equal(got, want) || q.lenient(m.mismatch) {
		return nil
	}
	return headerMismatch("%s is %q, the body says %q", m.name, clip(got), clip(want))
}

// single returns the value of a header that must be there once.
func (q *request) single(name, missing string) (value string, there bool, e *Error) {
	values := q.header.Values(name)
	switch {
	case len(values) == 0 && q.lenient(missing):
		return "", false, nil
	case len(values) == 0:
		return "", false, headerMismatch("%s is missing", name)
	case len(values) > 1 && !q.lenient(CheckHeaderRepeated):
		return "", false, headerMismatch("%s must be sent once, came %d times", name, len(values))
	}
	return values[0], true, nil
}

// decoded reads a value that may be in Base64 form. One that a lenient server
// takes though it cannot be read is what was wanted.
func (q *request) decoded(name, value, want string) (string, *Error) {
	got, err := spec.DecodeHeaderValue(q.markers(value))
	switch {
	case err == nil:
		return got, nil
	case q.takes(err):
		return want, nil
	}
	return "", headerMismatch("%s: %v", name, err)
}

// takes reports whether a value that cannot be read is taken all the same.
func (q *request) takes(err error) bool {
	return errors.Is(err, spec.ErrHeaderBase64) && q.lenient(CheckHeaderBase64Malformed) ||
		errors.Is(err, spec.ErrHeaderCharacter) && q.lenient(CheckHeaderChars)
}

// markers turns Base64 markers of another case into the exact ones for a
// lenient server.
func (q *request) markers(value string) string {
	exact := spec.EncodeHeaderValue("\n")
	start, _, _ := strings.Cut(exact, "Cg")
	if len(value) >= len(start) && strings.EqualFold(value[:len(start)], start) && q.lenient(CheckHeaderBase64Markers) {
		return start + value[len(start):]
	}
	return value
}

func (q *request) equal(got, want string) bool {
	return got == want || q.lenient(CheckHeaderCase) && strings.EqualFold(got, want)
}

// largestSafe is the largest integer that every peer reads exactly.
const largestSafe = 1<<53 - 1

// checkParamHeaders: a value without its header, or an unequal one, is refused
// (2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters).
func checkParamHeaders(q *request, t *tool) *Error {
	for _, p := range t.headers.Valid {
		v := q.param("arguments")
		for _, name := range p.Path {
			v = get(v, name)
		}
		if k := jsonx.KindOf(v); k == 0 || k == jsonx.Null {
			continue
		}
		if f := float(v); f != nil && math.Abs(*f) > largestSafe && !q.lenient(CheckHeaderParamRange) {
			return headerMismatch("%s is of an integer beyond 2^53-1", p.HeaderName())
		}
		got, there, e := q.single(p.HeaderName(), CheckHeaderParamMissing)
		switch {
		case e != nil:
			return e
		case !there || q.paramMatches(p, got, v):
			continue
		}
		return headerMismatch("%s does not say what the argument says", p.HeaderName())
	}
	return nil
}

func (q *request) paramMatches(p spec.ParamHeader, got string, v jsonx.Raw) bool {
	if q.lenient(CheckHeaderParamMismatch) {
		return true
	}
	text, isText := jsonx.Text(v)
	if !isText {
		text = string(v)
	}
	switch {
	case q.lenient(CheckHeaderParamDecode) && isText,
		q.lenient(CheckHeaderParamNumeric) && jsonx.KindOf(v) == jsonx.Number:
		return q.equal(got, text)
	}
	same, err := p.Matches(q.markers(got), v)
	if err != nil {
		return q.takes(err)
	}
	return same || q.equal(got, text)
}
