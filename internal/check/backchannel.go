// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// BackChannel is a tool that answers only where it can ask its client by
// requests of its own, which no client of a modern revision answers.
type BackChannel struct {
	Tool  string
	Asked string          // the method of the first such request
	Older *probe.Exchange // the call that was answered after it
	Newer *probe.Exchange // the call that failed
}

// BackChannels are the tools that answered in a run of the handshake era after
// they had asked the client, and that neither answered nor asked in a run of the
// modern era. Only what both runs called is compared.
func BackChannels(older, newer *Result) []BackChannel {
	failed := map[string][]*probe.Exchange{}
	works := map[string]bool{}
	for _, x := range newer.Traffic.Exchanges {
		name := callOf(x)
		switch {
		case name == "" || x.Response == nil:
		case x.OK() && !isError(x):
			works[name] = true // asking by a result is answering here
		default:
			failed[name] = append(failed[name], x)
		}
	}
	var out []BackChannel
	for _, x := range older.Traffic.Exchanges {
		name := callOf(x)
		if name == "" || !x.OK() || isError(x) || works[name] || failed[name] == nil {
			continue
		}
		as := askedIn(x)
		if len(as) == 0 || slices.ContainsFunc(out, func(b BackChannel) bool { return b.Tool == name }) {
			continue
		}
		// A client that can answer, which the server could have asked by a result.
		able := func(y *probe.Exchange) bool { return y.Declared(capabilityOf(as[0].method)) != nil }
		if at := slices.IndexFunc(failed[name], able); at >= 0 {
			out = append(out, BackChannel{Tool: name, Asked: as[0].method, Older: x, Newer: failed[name][at]})
		}
	}
	return out
}

// capabilityOf is what a client declares that answers requests of a method.
func capabilityOf(method string) string {
	family, _, _ := strings.Cut(method, "/")
	return family
}

// callOf is the tool that is called as it is meant to be, empty for any other
// exchange.
func callOf(x *probe.Exchange) string {
	if x.Method != spec.MethodToolsCall || x.Planted() != "" {
		return ""
	}
	return called(x)
}
