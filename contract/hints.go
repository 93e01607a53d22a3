// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/surface"
)

var (
	kindReadOnlyWithdrawn = define("hint-read-only-withdrawn", Breaking, "the tool no longer promises to be read-only",
		"hosts that approve reads by themselves now approve a write", "move the write into another tool")
	kindReadOnlyGranted = define("hint-read-only-granted", Additive, "the tool promises to be read-only now",
		"the promise got stronger", nothing)
	kindDestructiveRaised = define("hint-destructive-raised", Breaking, "the tool may be destructive now",
		"callers that ran it unattended were not expecting that", "move what destroys into another tool")
	kindDestructiveLowered = define("hint-destructive-lowered", Additive, "the tool promises not to be destructive now",
		"the promise got stronger", nothing)
	kindIdempotentWithdrawn = define("hint-idempotent-withdrawn", Breaking, "the tool no longer promises to be idempotent",
		"callers that retry after a timeout may apply it twice", "keep it idempotent, with a key that the caller chooses")
	kindIdempotentGranted = define("hint-idempotent-granted", Additive, "the tool promises to be idempotent now",
		"the promise got stronger", nothing)
	kindOpenWorldOpened = define("hint-open-world-opened", Breaking, "the tool may reach the outside world now",
		"data may leave a closed domain: hosts that gave it private data are concerned", "move what reaches out into another tool")
	kindOpenWorldClosed = define("hint-open-world-closed", Additive, "the tool promises to stay in its domain now",
		"the promise got stronger", nothing)
	kindHintRestated = define("hint-restated", Cosmetic, "a hint is stated (or left out), and its value is the same",
		"every hint has a documented default: leaving it out is a promise", nothing)
	kindHintMoot = define("hint-moot-on-read-only", Cosmetic, "a hint changed that means nothing for a read-only tool",
		"destructive and idempotent are meaningful only where readOnlyHint is false", nothing)
	kindHintContradiction = define("hint-contradiction-introduced", Routing, "the tool says it is read-only and destructive",
		"hosts disagree which of the two wins", "drop destructiveHint, or readOnlyHint")
	kindHintType = define("hint-wrong-type", Breaking, "a hint is not a boolean",
		"strict clients drop the tool, or the whole list", "write true or false without quotes")
	kindHintUnknown = define("hint-unknown-added", Cosmetic, "an unknown annotation changed",
		"the protocol does not know it", nothing)

	kindTaskOptional = define("task-support-added-optional", Additive, "the tool may run as a task now",
		"plain callers are not concerned", nothing)
	kindTaskRequired = define("task-support-now-required", Breaking, "the tool runs only as a task now",
		"plain calls are refused with -32601", "keep taskSupport optional")
	kindTaskWithdrawn = define("task-support-withdrawn", Breaking, "the tool no longer runs as a task",
		"callers that run it as a task are refused with -32601", "keep taskSupport optional")
	kindTaskRelaxed = define("task-support-relaxed", Additive, "the tool also takes plain calls now",
		"callers of both styles are served", nothing)
	kindTaskRestated = define("task-support-restated", Cosmetic, "taskSupport is stated (or left out), and its value is the same",
		"forbidden is the documented default", nothing)
	kindExecution = define("execution-changed", Cosmetic, "an unknown member of execution changed",
		"the protocol does not know it", nothing)
)

// hint is one behaviour hint with its documented default.
type hint struct {
	name     string
	standard bool
	moot     bool // means nothing where the tool is read-only
	// withdrawn is the change that takes freedom from callers, granted the other.
	freeing            bool // the value that grants callers more freedom
	withdrawn, granted *kind
}

var hintTable = []hint{
	{"readOnlyHint", false, false, true, kindReadOnlyWithdrawn, kindReadOnlyGranted},
	{"destructiveHint", true, true, false, kindDestructiveRaised, kindDestructiveLowered},
	{"idempotentHint", false, true, true, kindIdempotentWithdrawn, kindIdempotentGranted},
	{"openWorldHint", true, false, false, kindOpenWorldOpened, kindOpenWorldClosed},
}

// annotations of one item, with the hints resolved.
type annotations struct {
	raw map[string]jsonx.Raw
}

func annotationsOf(it *surface.Item) annotations {
	out := annotations{map[string]jsonx.Raw{}}
	ms, _ := jsonx.Members(it.Member("annotations"), jsonx.Strict)
	for _, m := range ms {
		out.raw[m.Name] = m.Value
	}
	return out
}

// value is the hint's effective value; wrong tells that it is not a boolean,
// which counts as absent.
func (a annotations) value(h hint) (v, wrong bool) {
	switch raw := a.raw[h.name]; {
	case raw == nil, string(raw) == "null":
		return h.standard, false
	case string(raw) == "true":
		return true, false
	case string(raw) == "false":
		return false, false
	}
	return h.standard, true
}

// hints compares the behaviour hints by their effective values.
func (c *comparer) hints(a at, old, new *surface.Item) {
	b, n := annotationsOf(old), annotationsOf(new)
	a = a.member("annotations")
	readOnly, _ := n.value(hintTable[0])
	known := map[string]bool{"title": true}
	for _, h := range hintTable {
		known[h.name] = true
		was, wasWrong := b.value(h)
		is, isWrong := n.value(h)
		before, after := b.raw[h.name], n.raw[h.name]
		set := values(before, after)
		effective := func(ch *Change) {
			set(ch)
			ch.Message += fmt.Sprintf(" (%s: %s before, %s now)", h.name, effectively(before, was), effectively(after, is))
		}
		p := a.member(h.name)
		switch {
		case isWrong && !(wasWrong && string(before) == string(after)):
			c.add(kindHintType, p, set, message(fmt.Sprintf("%s is %s, not a boolean", h.name, brief(after))))
		case was == is && string(before) == string(after):
		case was == is:
			c.add(kindHintRestated, p, set)
		case h.moot && readOnly:
			c.add(kindHintMoot, p, set)
		case is == h.freeing:
			c.add(h.granted, p, effective)
		default:
			c.add(h.withdrawn, p, effective)
		}
	}
	contradicts := func(x annotations) bool {
		return string(x.raw["readOnlyHint"]) == "true" && string(x.raw["destructiveHint"]) == "true"
	}
	if contradicts(n) && !contradicts(b) {
		c.add(kindHintContradiction, a, values(old.Member("annotations"), new.Member("annotations")))
	}
	for _, m := range append(old.Members(), new.Members()...) {
		if m.Name != "annotations" {
			continue
		}
		ms, _ := jsonx.Members(m.Value, jsonx.Strict)
		for _, m := range ms {
			if known[m.Name] {
				continue
			}
			known[m.Name] = true
			if string(b.raw[m.Name]) != string(n.raw[m.Name]) {
				c.add(kindHintUnknown, a.member(m.Name), values(b.raw[m.Name], n.raw[m.Name]))
			}
		}
	}
}

func effectively(raw jsonx.Raw, v bool) string {
	if raw == nil {
		return fmt.Sprintf("left out (so %t)", v)
	}
	return fmt.Sprint(v)
}

func brief(v jsonx.Raw) string {
	const most = 60
	if len(v) > most {
		return string(v[:most]) + "..."
	}
	return string(v)
}

// taskSupport compares execution.taskSupport, whose default is forbidden.
func (c *comparer) taskSupport(a at, old, new *surface.Item) {
	b, n := old.Member("execution"), new.Member("execution")
	if string(b) == string(n) {
		return
	}
	read := func(raw jsonx.Raw) (v jsonx.Raw, effective string) {
		effective = "forbidden"
		if raw == nil {
			return nil, effective
		}
		v, err := jsonx.Lookup(raw, "/taskSupport")
		if err != nil {
			return nil, effective
		}
		if t, ok := jsonx.Text(v); ok {
			effective = t
		}
		return v, effective
	}
	before, was := read(b)
	after, is := read(n)
	p := a.member("execution").member("taskSupport")
	set := values(before, after)
	switch {
	case was == is && string(before) == string(after):
		if b != nil && n != nil {
			c.add(kindExecution, a.member("execution"), values(b, n))
		}
	case was == is:
		c.add(kindTaskRestated, p, set)
	case is == "required":
		c.add(kindTaskRequired, p, set)
	case is == "optional" && was == "required":
		c.add(kindTaskRelaxed, p, set)
	case is == "optional":
		c.add(kindTaskOptional, p, set)
	default:
		c.add(kindTaskWithdrawn, p, set)
	}
}
