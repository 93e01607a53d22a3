// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// The Markdown format is for a comment on a pull request:
// GitHub Flavored Markdown, https://github.github.com/gfm/.
//
// Foreign text stands in lists only, never in a table: inside a table a
// backslash before a bar can end a code span early.

// A comment holds at most 65,536 characters, a step summary 1 MiB. Bytes are
// counted, which is never too few.
const (
	maxComment     = 65_536
	maxStepSummary = 1 << 20
	reservedTail   = 8_192 // for notes and the line that says what is left out
	maxInline      = 600
	maxFolded      = 2_000
	maxNote        = 300
	maxEvidence    = 8
)

// marker lets a workflow find its comment again, to replace it.
const marker = "<!-- mcprove -->\n"

func renderMarkdown(d *document) ([]byte, error)    { return markdown(d, maxComment), nil }
func renderStepSummary(d *document) ([]byte, error) { return markdown(d, maxStepSummary), nil }

var outcomeMark = map[string]string{Passed: "✅", Failed: "❌", Incomplete: "⚠"}

// md is foreign text as running text.
func md(s string, limit int) string { return text.Markdown(line(text.Clip(s, limit))) }

// code is foreign text as a code span; nothing for nothing.
func code(s string) string {
	if s == "" {
		return ""
	}
	return text.MarkdownCode(line(text.Clip(s, maxInline)))
}

func markdown(d *document, limit int) []byte {
	var b strings.Builder
	b.WriteString(marker)
	fmt.Fprintf(&b, "### %s mcprove %s: %s\n\n", outcomeMark[d.Outcome], md(d.Verb, maxNote), d.Outcome)
	if d.Target != "" {
		b.WriteString("Target: " + code(d.Target) + "\n\n")
	}
	s := d.sections()
	d.countsTable(&b)
	if sum := d.summary(); sum != "" {
		b.WriteString(md(sum, maxInline) + "\n\n")
	}
	b.WriteString(md(d.verdict(), maxInline) + "\n\n")

	left := 0
	room := func(part string) bool {
		if left > 0 || b.Len()+len(part) > limit-reservedTail {
			return false
		}
		b.WriteString(part)
		return true
	}
	section := func(name string, fs []*finding, entry func(*finding) string) {
		heading := fmt.Sprintf("#### %s (%d)\n\n", md(name, maxNote), len(fs))
		for _, f := range fs {
			// One that is too long for the room must not cost the others
			// theirs: its first line is tried.
			if !room(heading+entry(f)) && !room(heading+entryHead(f)+"\n") {
				left++
			}
			heading = ""
		}
		if left == 0 && len(fs) > 0 {
			b.WriteByte('\n')
		}
	}
	for _, g := range s.groups {
		section(title1(g.name), g.findings, entryMarkdown)
	}
	section("Could not be judged", s.errors, entryMarkdown)
	section("Accepted", s.accepted, func(f *finding) string {
		reason, _ := f.accepted()
		return entryHead(f) + ": " + md(reason, maxInline) + "\n"
	})
	section("Skipped", s.skipped, func(f *finding) string {
		return entryHead(f) + ": " + md(cmp.Or(f.Reason, "no reason given"), maxInline) + "\n"
	})
	if d.options.Verbose {
		section("Passed", s.passed, func(f *finding) string { return entryHead(f) + "\n" })
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n**%d more %s left out here: there is room for %d bytes. The json and text reports hold all.**\n\n",
			left, pick(left, "finding is", "findings are"), limit)
	}
	d.notesMarkdown(&b, limit)
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

// title1 starts a word of plain letters with a capital.
func title1(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// maxTallies is how many counts a table has columns for.
const maxTallies = 12

// countsTable holds numbers and the names the families gave them.
func (d *document) countsTable(b *strings.Builder) {
	if len(d.Summary) == 0 {
		return
	}
	var names, rules, counts strings.Builder
	for _, t := range d.Summary[:min(len(d.Summary), maxTallies)] {
		names.WriteString("| " + md(t.Name, maxNote) + " ")
		rules.WriteString("|---:")
		fmt.Fprintf(&counts, "| %d ", t.Count)
	}
	fmt.Fprintf(b, "%s|\n%s|\n%s|\n\n", names.String(), rules.String(), counts.String())
}

// entryHead starts a list item: the id, the thing and the place.
func entryHead(f *finding) string {
	head := "- **" + code(f.ID) + "**"
	if f.Where.Kind != "" {
		head += " " + md(f.Where.Kind, maxNote)
	}
	for _, s := range []string{f.Where.Name, spot(f.Where)} {
		if s != "" {
			head += " " + code(s)
		}
	}
	return head
}

func entryMarkdown(f *finding) string {
	var b strings.Builder
	b.WriteString(entryHead(f))
	b.WriteString("\n")
	for _, s := range []string{f.Message, f.Why, f.Reason, f.places(fewPlaces)} {
		if s != "" {
			b.WriteString("\n  " + md(s, maxInline) + "\n")
		}
	}
	b.WriteString(evidenceMarkdown(f.Evidence[:min(len(f.Evidence), maxEvidence)]))
	return b.String()
}

// foldFrom is the number of characters from which evidence is folded away.
const foldFrom = 400

func evidenceMarkdown(es []rule.Evidence) string {
	var b strings.Builder
	long := 0
	for _, e := range clipped(es, maxFolded) {
		language := ""
		switch e.Form {
		case rule.Command:
			language = "sh"
		case rule.Diff:
		default:
			language = "json"
			if !strings.ContainsAny(e.Text, `{["`) {
				language = ""
			}
		}
		long += len(e.Text)
		b.WriteString("\n" + indented(strings.TrimRight(md(e.Label, maxNote), ":")+":\n\n"+fence(text.Clip(e.Text, 2*maxFolded), language)))
	}
	if long < foldFrom {
		return b.String()
	}
	return "\n  <details><summary>evidence</summary>\n" + b.String() + "\n  </details>\n"
}

// fence is foreign text as a fenced block of one line or more.
func fence(s, language string) string { return text.MarkdownFence(block(s), language) }

// indented moves a block under its list item. Fences stay fences because every
// line of them moves.
func indented(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) != "" {
			b.WriteString("  ")
		}
		b.WriteString(l)
	}
	return b.String()
}

// notesMarkdown stays within the room that was kept for it.
func (d *document) notesMarkdown(b *strings.Builder, limit int) {
	if len(d.Notes) == 0 {
		return
	}
	b.WriteString("#### Notes\n\n")
	for i, n := range d.Notes {
		note := "- " + md(n, maxNote) + "\n"
		if b.Len()+len(note) > limit-maxNote {
			fmt.Fprintf(b, "- %d more notes\n", len(d.Notes)-i)
			return
		}
		b.WriteString(note)
	}
}
