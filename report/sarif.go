// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
// The section numbers below are of that document.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	Properties  sarifRunFacts     `json:"properties"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Version        string      `json:"version,omitzero"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID         string         `json:"id"`
	Short      *sarifMessage  `json:"shortDescription,omitzero"`
	Full       *sarifMessage  `json:"fullDescription,omitzero"`
	Help       *sarifMessage  `json:"help,omitzero"`
	Properties *sarifRuleTags `json:"properties,omitzero"`
}

type sarifRuleTags struct {
	Tags  []string `json:"tags"`
	Level string   `json:"level"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

// sarifInvocation is 3.20.
type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	ExitCode            int                 `json:"exitCode"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifRunFacts struct {
	Verb    string    `json:"verb"`
	Target  string    `json:"target"`
	Outcome string    `json:"outcome"`
	Summary jsonx.Raw `json:"summary"`
}

// sarifResult is 3.27.
type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Kind         string             `json:"kind"`
	Level        string             `json:"level"`
	Message      sarifMessage       `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Related      []sarifLocation    `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string  `json:"partialFingerprints,omitempty"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Properties   sarifResultFacts   `json:"properties"`
}

type sarifResultFacts struct {
	Group    string         `json:"group"`
	Status   string         `json:"status"`
	Count    int            `json:"count"`
	Evidence []jsonEvidence `json:"evidence"`
}

// sarifLocation is 3.28.
type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitzero"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitzero"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name      string `json:"name,omitzero"`
	Qualified string `json:"fullyQualifiedName,omitzero"`
	Kind      string `json:"kind,omitzero"`
}

// sarifSuppression is 3.35.
type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

const (
	maxRelated   = 100
	projectURL   = "https://github.com/mcprove/mcprove"
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
	sarifVersion = "2.1.0"
)

// sarifText is foreign text as a message.
func sarifText(s string) sarifMessage { return sarifMessage{text.SARIF(valid(s))} }

func renderSARIF(d *document) ([]byte, error) {
	shown := d.findings
	if !d.options.Verbose {
		shown = slices.DeleteFunc(slices.Clone(shown), func(f finding) bool { return f.Status == rule.Pass })
	}
	rules, index := d.sarifRules(shown)
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{"mcprove", projectURL, valid(d.Version), rules}},
		Invocations: []sarifInvocation{d.invocation()},
		Results:     make([]sarifResult, 0, len(shown)),
		Properties:  sarifRunFacts{valid(d.Verb), valid(d.Target), d.Outcome, summaryJSON(d.Summary)},
	}
	for i := range shown {
		r := sarifResultOf(&shown[i])
		r.RuleIndex = index[r.RuleID]
		run.Results = append(run.Results, r)
	}
	out, err := jsonx.Marshal(sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
	if err != nil {
		return nil, fmt.Errorf("encode sarif: %w", err)
	}
	return finishJSON(out)
}

// sarifRules describes the rules that have results, by id.
func (d *document) sarifRules(fs []finding) ([]sarifRule, map[string]int) {
	index := map[string]int{}
	for i := range fs {
		index[valid(fs[i].ID)] = 0
	}
	ids := make([]string, 0, len(index))
	for id := range index {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rules := make([]sarifRule, 0, len(ids))
	for i, id := range ids {
		index[id] = i
		rules = append(rules, d.sarifRule(id))
	}
	return rules, index
}

func (d *document) sarifRule(id string) sarifRule {
	r := sarifRule{ID: id}
	if d.Infos == nil {
		return r
	}
	info, ok := d.Infos(id)
	if !ok {
		return r
	}
	part := func(parts ...string) *sarifMessage {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		m := sarifText(strings.Join(parts, "\n\n"))
		return &m
	}
	r.Short, r.Full = part(info.Title), part(info.Why)
	r.Help = part("Why: "+info.Why, "Fix: "+info.Fix, info.Detail)
	r.Properties = &sarifRuleTags{Tags: []string{valid(info.Family)}, Level: valid(info.Level)}
	return r
}

// invocation says how the run went; what could not be judged is a notification.
func (d *document) invocation() sarifInvocation {
	v := sarifInvocation{ExecutionSuccessful: d.Outcome != Incomplete, ExitCode: d.Exit}
	for i := range d.findings {
		if f := &d.findings[i]; f.Status == rule.Error {
			v.Notifications = append(v.Notifications, sarifNotification{"error", sarifText(f.ID + ": " + f.Message)})
		}
	}
	for _, n := range d.Notes {
		v.Notifications = append(v.Notifications, sarifNotification{"note", sarifText(n)})
	}
	return v
}

// sarifLevels are kind and level by status. Where the kind is not fail, the
// level is none (3.27.10).
var sarifLevels = map[rule.Status][2]string{
	rule.Pass:  {"pass", "none"},
	rule.Skip:  {"notApplicable", "none"},
	rule.Note:  {"fail", "note"},
	rule.Warn:  {"fail", "warning"},
	rule.Fail:  {"fail", "error"},
	rule.Error: {"open", "none"},
}

func sarifResultOf(f *finding) sarifResult {
	level, ok := sarifLevels[f.Status]
	if !ok {
		level = sarifLevels[rule.Error]
	}
	j := toJSON(f)
	r := sarifResult{
		RuleID: j.ID, Message: sarifText(f.sarifMessage()),
		Locations:  []sarifLocation{{Physical: sarifPhysicalOf(f), Logical: logical(f.Where)}},
		Properties: sarifResultFacts{j.Group, j.Status, j.Count, j.Evidence},
	}
	if reason, ok := f.accepted(); ok {
		// What it would have been is no longer known; it was worth a reason.
		level = sarifLevels[rule.Warn]
		r.Suppressions = []sarifSuppression{{"external", valid(reason)}}
	}
	r.Kind, r.Level = level[0], level[1]
	seen := map[sarifLogical]bool{} // the schema forbids a place twice
	for _, w := range f.Also[:min(maxRelated, len(f.Also))] {
		if l := logical(w); l != nil && !seen[l[0]] {
			seen[l[0]] = true
			r.Related = append(r.Related, sarifLocation{Logical: l})
		}
	}
	if f.Fingerprint != "" {
		r.Fingerprints = map[string]string{"mcprove/v1": j.Fingerprint}
	}
	return r
}

// sarifMessage holds what most viewers show alone.
func (f *finding) sarifMessage() string {
	head := title(f.Where)
	if p := spot(f.Where); p != "" {
		head = strings.TrimSpace(head + " " + p)
	}
	s := cmp.Or(f.Message, f.ID)
	if head != "" {
		s = head + ": " + s
	}
	for _, more := range []string{f.Why, f.Reason, f.places(fewPlaces)} {
		if more != "" {
			s += "\n" + more
		}
	}
	return s
}

// logical is the place on the server's surface; nil when there is none.
func logical(w rule.Where) []sarifLogical {
	if w == (rule.Where{}) {
		return nil
	}
	return []sarifLogical{{Name: valid(cmp.Or(w.Name, w.Kind)), Qualified: valid(title(w) + w.Pointer), Kind: valid(w.Kind)}}
}

func sarifPhysicalOf(f *finding) *sarifPhysical {
	if f.file == "" {
		return nil
	}
	p := &sarifPhysical{Artifact: sarifArtifact{fileURI(f.file)}}
	if f.line > 0 {
		p.Region = &sarifRegion{f.line}
	}
	return p
}

// fileURI is a path as a URI reference, relative where the path is.
func fileURI(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	u := url.URL{Path: file}
	switch {
	case len(file) > 1 && file[1] == ':': // a drive of Windows
		u = url.URL{Scheme: "file", Path: "/" + file}
	case path.IsAbs(file):
		u.Scheme = "file"
	}
	return u.String()
}
