// SPDX-License-Identifier: Apache-2.0

//go:build peers

package cli

import (
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// refereedOlder are the faults of rules that the suite judges at 2025-11-25 and
// no more at the newest revision.
var refereedOlder = []refereed{
	{"server-initialize", "server-initialize", "lifecycle.init-result", 0, nil, ""},
	{"server-initialize", "server-initialize", "lifecycle.init-result", 1, nil, ""},
	{"server-initialize", "server-initialize", "lifecycle.init-result", 2, nil, "it initializes once"},
	{"server-initialize", "server-session-id-visible-ascii", "session.id-visible-ascii", 0, nil, ""},
	{"server-initialize", "server-session-id-visible-ascii", "session.id-visible-ascii", 1, nil, ""},
	{"server-session-lifecycle", "server-session-terminated-returns-404", "session.unknown-404", 0, nil, ""},
	{"server-session-lifecycle", "server-session-terminated-returns-404", "session.unknown-404", 1, nil, ""},
	{"logging-set-level", "logging-set-level", "logging.set-level", 0, nil, "of the eight levels it sets one"},
	{"logging-set-level", "logging-set-level", "logging.set-level", 1, nil, ""},
	{"logging-set-level", "logging-set-level", "logging.set-level", 2, nil, ""},
	{"ping", "ping", "ping.answered", 0, nil, ""},
	{"ping", "ping", "ping.answered", 1, nil, ""},
	{"resources-subscribe", "resources-subscribe", "resources.subscribe-legacy", 0, nil, ""},
	{"resources-unsubscribe", "resources-unsubscribe", "resources.subscribe-legacy", 1, nil, ""},
	{"resources-subscribe", "resources-subscribe", "resources.subscribe-legacy", 2, nil, "any result is good for it"},
	{"server-sse-polling", "server-sse-priming-event", "http-legacy.sse-priming-event", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).Lenient(mock.CheckStreamPriming),
	}, ""},
	{"server-sse-polling", "server-sse-retry-field", "http-legacy.sse-retry-before-close", 0, nil, ""},
}
