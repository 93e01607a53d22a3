// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// The JSON form is mcprove's own; docs describe it and format counts its
// breaking changes. Members are only ever added under one number.
const jsonFormat = 1

type envelope struct {
	Format  int         `json:"format"`
	Verb    string      `json:"verb"`
	Target  string      `json:"target"`
	Outcome string      `json:"outcome"`
	Exit    int         `json:"exit"`
	Summary jsonx.Raw   `json:"summary"`
	Finding []jsonx.Raw `json:"findings"`
	Notes   []string    `json:"notes"`
}

type jsonFinding struct {
	ID          string         `json:"id"`
	Group       string         `json:"group"`
	Status      string         `json:"status"`
	Reason      string         `json:"reason"`
	Target      string         `json:"target"`
	Where       jsonWhere      `json:"where"`
	Also        []jsonWhere    `json:"also"`
	Count       int            `json:"count"`
	Message     string         `json:"message"`
	Why         string         `json:"why"`
	Evidence    []jsonEvidence `json:"evidence"`
	Fingerprint string         `json:"fingerprint"`
	Detail      jsonx.Raw      `json:"detail,omitzero"`
}

type jsonWhere struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Pointer string `json:"pointer"`
	Path    string `json:"path"`
}

type jsonEvidence struct {
	Label string `json:"label"`
	Text  string `json:"text"`
	Form  string `json:"form"`
}

var formNames = map[rule.Form]string{rule.Command: "command", rule.Diff: "diff"}

// valid replaces what JSON cannot hold.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func toJSON(f *finding) jsonFinding {
	out := jsonFinding{
		ID: valid(f.ID), Group: valid(f.Group), Status: f.Status.String(), Reason: valid(f.Reason), Target: valid(f.Target),
		Where: toJSONWhere(f.Where), Also: make([]jsonWhere, 0, len(f.Also)), Count: f.Count,
		Message: valid(f.Message), Why: valid(f.Why), Evidence: make([]jsonEvidence, 0, len(f.Evidence)),
		Fingerprint: valid(f.Fingerprint),
	}
	for _, w := range f.Also {
		out.Also = append(out.Also, toJSONWhere(w))
	}
	for _, e := range f.Evidence {
		form := formNames[e.Form]
		if form == "" {
			form = "plain"
		}
		out.Evidence = append(out.Evidence, jsonEvidence{valid(e.Label), valid(e.Text), form})
	}
	return out
}

func toJSONWhere(w rule.Where) jsonWhere {
	return jsonWhere{valid(w.Kind), valid(w.Name), valid(w.Pointer), valid(w.Path)}
}

func (d *document) envelope() envelope {
	e := envelope{
		Format: jsonFormat, Verb: valid(d.Verb), Target: valid(d.Target), Outcome: d.Outcome, Exit: d.Exit,
		Summary: summaryJSON(d.Summary), Notes: make([]string, 0, len(d.Notes)),
		Finding: make([]jsonx.Raw, 0, len(d.findings)),
	}
	for _, n := range d.Notes {
		e.Notes = append(e.Notes, valid(n))
	}
	return e
}

// summaryJSON is an object whose members keep their order; of two counts with
// one name the sum is given.
func summaryJSON(tallies []Tally) jsonx.Raw {
	sum := map[string]int{}
	for _, t := range tallies {
		sum[valid(t.Name)] += t.Count
	}
	out := []byte{'{'}
	for _, t := range tallies {
		name := valid(t.Name)
		n, ok := sum[name]
		if !ok {
			continue
		}
		delete(sum, name)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(append(out, jsonx.Quote(name)...), ":%d", n)
	}
	return append(out, '}')
}

// renderJSON writes the one object of --format json.
func renderJSON(d *document) ([]byte, error) {
	c := newCleaner(d.Redactor)
	e := d.envelope()
	key := valid(d.DetailKey)
	var details []jsonx.Raw
	for i := range d.findings {
		f := &d.findings[i]
		j := toJSON(f)
		if f.Detail != nil {
			raw, err := c.detail(f.Detail)
			switch {
			case err != nil:
				// The general form still says everything; only the
				// family's own members are missing.
				e.Notes = append(e.Notes, valid(c.text(fmt.Sprintf("the detail of %s cannot be written: %v", f.ID, err))))
			case key == findingsKey:
				e.Finding = append(e.Finding, raw)
				continue
			case key != "":
				details = append(details, raw)
			default:
				j.Detail = raw
			}
		}
		raw, err := jsonx.Marshal(j)
		if err != nil {
			return nil, fmt.Errorf("encode json: %w", err)
		}
		e.Finding = append(e.Finding, raw)
	}
	out, err := jsonx.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	if key != "" && key != findingsKey {
		out = appendMember(out, key, details)
	}
	for _, own := range d.Own {
		raw, err := c.detail(own.Value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", own.Key, err)
		}
		out = append(append(append(out[:len(out)-1], ','), jsonx.Quote(own.Key)...), ':')
		out = append(append(out, raw...), '}')
	}
	return finishJSON(out)
}

// findingsKey is the DetailKey of a family whose own form takes the place of
// the general one.
const findingsKey = "findings"

// appendMember adds an array as the last member of the object in out.
func appendMember(out []byte, key string, values []jsonx.Raw) []byte {
	out = append(out[:len(out)-1], ',')
	out = append(append(out, jsonx.Quote(key)...), ':', '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']', '}')
}

// finishJSON lays a document out for people and makes it safe to print.
func finishJSON(raw []byte) ([]byte, error) {
	out, err := jsonx.Indent(raw)
	if err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	return append(text.JSON(out), '\n'), nil
}
