// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// Args are the arguments of a call.
type Args = map[string]any

// encode makes JSON of what a test hands in. json.RawMessage and []byte are sent
// as they are, but for what is no JSON.
func encode(v any) (json.RawMessage, error) {
	switch x := v.(type) {
	case json.RawMessage:
		return x, whole(x)
	case []byte:
		return x, whole(x)
	case nil:
		return json.RawMessage("null"), nil
	}
	raw, err := jsonx.MarshalGo(v)
	if err != nil {
		return nil, fmt.Errorf("a %T cannot be written as JSON: %w", v, err)
	}
	return raw, nil
}

func whole(raw []byte) error {
	if err := jsonx.Check(raw, jsonx.Lenient); err != nil {
		return fmt.Errorf("%s is no JSON: %w", shown(string(raw)), err)
	}
	return nil
}

// shown is foreign text in one line of a message.
func shown(s string) string { return text.Clip(text.Line(s), 300) }

// shownJSON is a JSON text in a message.
func shownJSON(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return text.Clip(text.Line(string(raw)), 1000)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n int) string {
	switch n {
	case 0:
		return "not at all"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// missing is the message for a name that is not there: what was there, and the
// nearest.
func missing(kind, name string, there []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "there is no %s %q", kind, name)
	switch len(there) {
	case 0:
		fmt.Fprintf(&b, ": the server has no %ss", kind)
		return b.String()
	}
	if near := rule.Nearest(name, there); len(near) > 0 {
		fmt.Fprintf(&b, "\n  nearest: %s", names(near))
	}
	fmt.Fprintf(&b, "\n  there:   %s", names(there))
	return b.String()
}

// namesShown is how many names a message lists.
const namesShown = 40

func names(list []string) string {
	more := ""
	if len(list) > namesShown {
		more = fmt.Sprintf(", and %d more", len(list)-namesShown)
		list = list[:namesShown]
	}
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = shown(n)
	}
	return strings.Join(out, ", ") + more
}
