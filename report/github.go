// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// The github format prints annotations as workflow commands:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions

// maxAnnotations is how many annotations of one level GitHub keeps of a step.
const maxAnnotations = 10

// annotationLevels are the commands, from the worst.
var annotationLevels = []string{"error", "warning", "notice"}

var annotationLevel = map[rule.Status]string{
	rule.Error: "error", rule.Fail: "error", rule.Warn: "warning", rule.Note: "notice",
}

func renderGitHub(d *document) ([]byte, error) {
	byLevel := map[string][]string{}
	add := func(level, command string) { byLevel[level] = append(byLevel[level], command) }
	for i := range d.findings {
		f := &d.findings[i]
		if level := annotationLevel[f.Status]; level != "" {
			add(level, annotation(level, f.file, f.line, f.ID+": "+title(f.Where), f.annotationText()))
		}
	}
	if d.Outcome != Passed && len(byLevel["error"]) == 0 {
		add("error", annotation("error", "", 0, "mcprove "+d.Verb, d.verdict()))
	}
	var b strings.Builder
	var more []string
	for _, level := range annotationLevels {
		commands := byLevel[level]
		keep := min(maxAnnotations, len(commands))
		if level == "notice" && keep == maxAnnotations && (len(more) > 0 || len(commands) > keep) {
			keep-- // the place of the notice that says how many more
		}
		for _, c := range commands[:keep] {
			b.WriteString(c)
		}
		if n := len(commands) - keep; n > 0 {
			more = append(more, fmt.Sprintf("%d more %s", n, pick(n, level, level+"s")))
		}
	}
	if len(more) > 0 {
		b.WriteString(annotation("notice", "", 0, "mcprove "+d.Verb,
			strings.Join(more, ", ")+": GitHub shows at most 10 of a level per step; the text report holds all"))
	}
	return []byte(b.String()), nil
}

// annotationText is the message of an annotation. It may have lines of its
// own: GitHub decodes them.
func (f *finding) annotationText() string {
	s := text.Clip(f.Message, maxInline)
	if p := spot(f.Where); p != "" {
		s = text.Clip(p, maxInline) + ": " + s
	}
	for _, more := range []string{f.Why, f.Reason, f.places(fewPlaces)} {
		if more != "" {
			s += "\n" + text.Clip(more, maxInline)
		}
	}
	for _, e := range clipped(f.Evidence, shortValue) {
		s += "\n" + e.Label + ": " + e.Text
	}
	return s
}

// annotation is one workflow command on a line of its own. Only text made
// harmless may stand in it, or a server could issue commands to the runner.
func annotation(level, file string, at int, heading, message string) string {
	var ps []string
	if file != "" {
		ps = append(ps, "file="+text.GitHubProperty(line(file)))
		if at > 0 {
			ps = append(ps, fmt.Sprintf("line=%d", at))
		}
	}
	ps = append(ps, "title="+text.GitHubProperty(line(text.Clip(strings.TrimSuffix(heading, ": "), maxNote))))
	return "::" + level + " " + strings.Join(ps, ",") + "::" + text.GitHubData(block(message)) + "\n"
}
