// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// Witness is a value that shows a change: arguments a caller sends, or a
// structured result a caller receives. A validator confirmed both answers.
type Witness struct {
	Value       jsonx.Raw `json:"value"`
	ValidBefore bool      `json:"validBefore"`
	ValidAfter  bool      `json:"validAfter"`
}

// Place is one spot of a surface.
type Place struct {
	Name    string `json:"name"`    // of the tool, prompt, resource or template
	Pointer string `json:"pointer"` // RFC 6901, into the item as listed
	Path    string `json:"path"`    // for people: filters.city, tags[].name
}

// Change is one difference between two surfaces.
type Change struct {
	ID        string
	Class     Class
	Certainty Certainty
	Kind      string // "tool", "prompt", "resource", "template" or "server"
	Place
	Before, After jsonx.Raw // the values that differ; nil where there is none
	Message       string    // one sentence: what changed
	Why           string    // who is hurt, and how
	Witness       *Witness
	Example       jsonx.Raw // arguments of a call that behaves differently, where no witness can exist
	Words         string    // text changes, word by word: [-gone-]{+new+}
	Also          []Place   // further places with the same cause
	Output        bool      // the change is in what the server sends
	Fingerprint   string
	Accepted      string // reason of the approval that covers it

	listed bool   // about values that one form of the other side still lists
	cause  string // what brought it, where the values that differ do not tell
}

// Count is the number of places in all.
func (c *Change) Count() int { return 1 + len(c.Also) }

// MarshalJSON gives the form documented for --format json.
func (c *Change) MarshalJSON() ([]byte, error) {
	also := c.Also
	if also == nil {
		also = []Place{}
	}
	return jsonx.Marshal(struct {
		ID        string    `json:"id"`
		Class     string    `json:"class"`
		Certainty string    `json:"certainty"`
		Kind      string    `json:"kind"`
		Name      string    `json:"name"`
		Pointer   string    `json:"pointer"`
		Path      string    `json:"path"`
		Before    jsonx.Raw `json:"before"`
		After     jsonx.Raw `json:"after"`
		Message   string    `json:"message"`
		Why       string    `json:"why"`
		Witness   *Witness  `json:"witness"`
		Count     int       `json:"count"`
		Also      []Place   `json:"also"`

		Fingerprint string `json:"fingerprint"`
		Accepted    bool   `json:"accepted"`
	}{
		c.ID, c.Class.String(), c.Certainty.String(), c.Kind, c.Name, c.Pointer, c.Path,
		orNull(c.Before), orNull(c.After), c.Message, c.Why, c.Witness, c.Count(), also,
		c.Fingerprint, c.Accepted != "",
	})
}

func orNull(v jsonx.Raw) jsonx.Raw {
	if v == nil {
		return jsonx.Raw("null")
	}
	return v
}

// fingerprint names exactly this change: its kind, all its places, and what
// was and is there. An approval by it never covers a different change.
func (c *Change) fingerprint() string {
	places := []string{c.Name + "\x00" + c.Pointer}
	for _, p := range c.Also {
		places = append(places, p.Name+"\x00"+p.Pointer)
	}
	slices.Sort(places)
	return rule.Fingerprint(c.ID, c.Kind, strings.Join(places, "\x01"), string(c.Before), string(c.After))
}

// Finding returns the change as the common event. failOn is the mildest class
// that fails; target words end the command that shows the change.
func (c *Change) Finding(target string, failOn Class, words []string) rule.Finding {
	f := rule.Finding{
		ID: c.ID, Group: c.Class.String(), Target: target, Count: c.Count(),
		Where:   rule.Where{Kind: c.Kind, Name: c.Name, Pointer: c.Pointer, Path: c.Path},
		Message: c.Message, Why: c.Why, Fingerprint: c.Fingerprint, Detail: c,
	}
	switch {
	case c.Accepted != "":
		f.Status, f.Reason = rule.Skip, c.Accepted
	case c.Class >= failOn:
		f.Status = rule.Fail
	case c.Class >= Routing:
		f.Status = rule.Warn
	default:
		f.Status = rule.Note
	}
	for _, p := range c.Also {
		f.Also = append(f.Also, rule.Where{Kind: c.Kind, Name: p.Name, Pointer: p.Pointer, Path: p.Path})
	}
	add := func(label, t string, form rule.Form) {
		if t != "" {
			f.Evidence = append(f.Evidence, rule.Evidence{Label: label, Text: t, Form: form})
		}
	}
	switch {
	case c.Words != "":
		add("words", c.Words, rule.Diff)
	case c.Pointer != "" && c.Before != nil && c.After != nil:
		add("before", string(c.Before), rule.Plain)
		add("after", string(c.After), rule.Plain)
	}
	switch w := c.Witness; {
	case w == nil && c.Example != nil:
		add("the call", callOf(c.Name, c.Example, words), rule.Command)
	case w == nil:
	case c.Output && w.ValidAfter && !w.ValidBefore:
		add("can now arrive, never before", string(w.Value), rule.Plain)
	case c.Output:
		add("could arrive, no longer", string(w.Value), rule.Plain)
	case w.ValidBefore && !w.ValidAfter:
		add("worked before, fails now", callOf(c.Name, w.Value, words), rule.Command)
	default:
		add("failed before, works now", callOf(c.Name, w.Value, words), rule.Command)
	}
	if c.Certainty == Undecided {
		add("certainty", "undecided: judged by the worse case", rule.Plain)
	}
	return f
}

// wordable reports whether a name can stand before = on a command line: dots
// lead into objects there.
func wordable(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=.") && !strings.HasSuffix(name, ":") && !strings.HasPrefix(name, "-")
}

// maxCall bounds the arguments of a printed command: those beyond are counted.
const maxCall = 2_000

// callOf is the command that makes the call: mcprove call TOOL k=v -- COMMAND.
// k=v is a string, whatever the schema that it is read by says: one that could
// be read as JSON, and every other value, is k:=JSON, so that "5" and 5 stay
// apart. Names that such words cannot hold make it one object.
func callOf(tool string, arguments jsonx.Raw, target []string) string {
	var b strings.Builder
	b.WriteString("mcprove call ")
	isURL := len(target) == 1
	if isURL {
		b.WriteString(text.ShellWord(target[0]) + " ")
	}
	b.WriteString(text.ShellWord(tool))
	ms, err := jsonx.Members(arguments, jsonx.Strict)
	if err != nil {
		return "" // not an object: no tools/call can carry it
	}
	if slices.ContainsFunc(ms, func(m jsonx.Member) bool { return !wordable(m.Name) }) && len(arguments) < maxCall {
		b.WriteString(" --json " + text.ShellWord(string(arguments)))
		ms = nil
	}
	for i, m := range ms {
		v := ":=" + string(m.Value)
		if s, ok := jsonx.Text(m.Value); ok && jsonx.Check([]byte(s), jsonx.Strict) != nil {
			v = "=" + s
		}
		word := text.ShellWord(m.Name + v)
		if b.Len()+len(word) > maxCall {
			fmt.Fprintf(&b, " ... (%d more arguments, %d bytes in all)", len(ms)-i, len(arguments))
			break
		}
		b.WriteString(" " + word)
	}
	if !isURL {
		for _, w := range target {
			b.WriteString(" " + text.ShellWord(w))
		}
	}
	return b.String()
}
