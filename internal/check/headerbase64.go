// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// headerValueRules are those of the form of Mcp-Name.
var headerValueRules = []Rule{
	{
		Info: rule.Info{
			ID: "http-header.base64-decode-name", Level: rule.Must, Basis: rule.Keyword, Section: httpEncoding, Transport: "http",
			Title: "an Mcp-Name in Base64 form is decoded before it is compared",
			Why:   "nothing whose name or URI has a letter beyond ASCII can be called, read or got",
			Fix:   "decode what stands between =?base64? and ?= as Base64 of UTF-8, then compare it with the body",
		},
		In: modern, Check: nameDecoded,
		Break: Break{
			Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderNameDecode)},
			Also:   []string{"http-header.invalid-characters-refused"}, // what is compared as it came is not looked at otherwise
		},
	},
	{
		Info: rule.Info{
			ID: "http-header.base64-mismatch-after-decode", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "an Mcp-Name in Base64 form that decodes to another name is refused with -32020",
			Why:   "the Base64 form is a way around the comparison of header and body",
			Fix:   "compare the decoded value as you compare a plain one",
		},
		In: modern, Check: nameDecodedMismatch,
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.HeaderIs(spec.HeaderName, spec.Base64HeaderValue(otherName))).Lenient(mock.CheckHeaderNameMismatch)},
		},
	},
	{
		Info: rule.Info{
			ID: "http-header.base64-malformed", Level: rule.Must, Basis: rule.Derived, Section: httpValidation, Transport: "http",
			Title: "an Mcp-Name with bad Base64 between the markers is refused with -32020",
			Why:   "a value that cannot be read is equal to nothing; who takes it compares nothing",
			Fix:   "answer HTTP 400 and error -32020 when the value cannot be decoded",
		},
		In: modern, Check: nameMalformed,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderBase64Malformed)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.base64-markers-exact", Level: rule.Must, Basis: rule.Keyword, Section: httpEncoding, Transport: "http",
			Title: "the markers of the Base64 form are lower case: =?BASE64? is plain text",
			Why:   "a gateway that keeps to the exact markers reads another name than the server does",
			Fix:   "take for the Base64 form only what begins with =?base64? and ends with ?=, in lower case",
		},
		In: modern, Check: nameMarkers,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderBase64Markers)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.invalid-characters-refused", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a header value with bytes beyond printable ASCII is refused with 400",
			Why:   "what stands between reads such bytes in one encoding or another, so header and body are no longer the same for all",
			Fix:   "answer HTTP 400 and error -32020 when Mcp-Name or Mcp-Param holds a byte outside 0x20 to 0x7E but a tab",
		},
		In: modern, Check: nameCharacters,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).Lenient(mock.CheckHeaderChars)}},
	},
}

// comparedNames are the requests for which the server is seen to compare
// Mcp-Name with the body. Without any the case is skipped because of the first
// that is not compared.
func comparedNames(c *probe.Case) []*nameRequest {
	var out []*nameRequest
	ns := allNamed(c)
	for _, n := range ns {
		if n.sound(c) && n.mismatch(c).Is(spec.CodeHeaderMismatch) {
			out = append(out, n)
		}
	}
	switch {
	case len(out) > 0:
	case len(ns) == 0:
		c.Skip(nothingNamed)
	case !ns[0].sound(c):
		c.Lacks(ns[0].control(c))
	default:
		because := "http-header.name-mismatch-" + ns[0].family
		if ns[0].mismatch(c).Refused() && !ns[0].alike(c, ns[0].mismatch(c)) {
			because = ruleHeaderBody
		}
		c.SkipFor(because, "another name in Mcp-Name is not refused with error %d", spec.CodeHeaderMismatch)
	}
	return out
}

// nameDecoded sends the Base64 form of names that exist, and of one of no tool
// or prompt that needs it.
func nameDecoded(c *probe.Case) {
	for _, n := range comparedNames(c) {
		if !n.real && n.family != "resources" {
			n = unreal(c, n.family, wideName)
		}
		x := c.Once(n.Header(spec.HeaderName, spec.Base64HeaderValue(n.name)))
		if x.OK() || !n.real && x.Response != nil && !x.Is(spec.CodeHeaderMismatch) {
			c.Pass(x)
			continue
		}
		c.Fail(x, "%s with its name in Base64 form was answered by %s", n.Method, x.Brief()).And(n.control(c))
	}
}

func nameDecodedMismatch(c *probe.Case) {
	for _, n := range comparedNames(c) {
		x := n.with(c, spec.Base64HeaderValue(n.other()), "the Base64 form of another name")
		n.judgeForm(c, x, "the Base64 form of another name in Mcp-Name")
	}
}

func nameMalformed(c *probe.Case) {
	for _, n := range comparedNames(c) {
		start, end := markers(n.name)
		n.judgeForm(c, n.with(c, start+"***"+end, "bad Base64 in Mcp-Name"), "bad Base64 in Mcp-Name")
	}
}

func nameMarkers(c *probe.Case) {
	for _, n := range comparedNames(c) {
		start, end := markers(n.name)
		value := upper(start) + base64.StdEncoding.EncodeToString([]byte(n.name)) + end
		n.judgeForm(c, n.with(c, value, "Base64 markers in capitals"), "an Mcp-Name with its markers in capitals")
	}
}

// judgeForm is judge where the name is known to be compared: an answer as if
// nothing were wrong means that the form was taken.
func (n *nameRequest) judgeForm(c *probe.Case, x *probe.Exchange, what string) {
	if n.alike(c, x) {
		c.Fail(x, "%s was taken: %s was answered by %s", what, n.Method, x.Brief()).And(n.control(c))
		return
	}
	refusedForHeader(c, x, n.Request, what)
}

// markers are what stands around the Base64 form.
func markers(name string) (start, end string) {
	start, end, _ = strings.Cut(spec.Base64HeaderValue(name), base64.StdEncoding.EncodeToString([]byte(name)))
	return start, end
}

// nameCharacters asks for a name whose letters stand in the header as they are,
// so that a server which takes the bytes finds header and body equal. The
// control is another name that does not exist, since the right form of this one
// must be decoded.
func nameCharacters(c *probe.Case) {
	compared := false
	for _, n := range allNamed(c) {
		if n.family == "resources" {
			continue // not every URI may hold such a letter
		}
		n = unreal(c, n.family, noSuchName)
		if !n.sound(c) || !n.mismatch(c).Is(spec.CodeHeaderMismatch) {
			continue
		}
		compared = true
		x := unreal(c, n.family, wideName).with(c, wideName, "bytes beyond ASCII in Mcp-Name")
		switch {
		case x.Sent == nil || x.Head == nil && !x.Silent() && !x.Died():
			c.Skip("such a header cannot be sent: %s", x.Brief())
		case x.Is(spec.CodeHeaderMismatch), x.Status() == http.StatusBadRequest && !n.alike(c, x):
			c.Pass(x)
		default:
			c.Fail(x, "an Mcp-Name with bytes beyond ASCII was answered by %s", x.Brief()).And(n.control(c))
		}
	}
	if !compared {
		c.Skip("no name that does not exist is compared with Mcp-Name before it is looked up")
	}
}
