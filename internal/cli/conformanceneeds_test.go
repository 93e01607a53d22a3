// SPDX-License-Identifier: Apache-2.0

//go:build peers

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// The suite is written for servers that were written for it. To hold it against
// any other, one must know of each scenario what it takes for granted: then a
// failure is of the server or of the scenario, and which is no matter of taste.

// fixture is something that a scenario asks for by name.
type fixture struct{ kind, name string }

// The kinds of fixtures.
const (
	toolFixture     = "tool"
	resourceFixture = "resource"
	templateFixture = "template"
	promptFixture   = "prompt"
)

// fixtureOf is what a scenario of 2025-11-25 asks for. Where the server does not
// list it, the scenario does not apply.
var fixtureOf = map[string]fixture{
	"completion-complete":           {promptFixture, "test_prompt_with_arguments"},
	"tools-call-simple-text":        {toolFixture, "test_simple_text"},
	"tools-call-image":              {toolFixture, "test_image_content"},
	"tools-call-audio":              {toolFixture, "test_audio_content"},
	"tools-call-embedded-resource":  {toolFixture, "test_embedded_resource"},
	"tools-call-mixed-content":      {toolFixture, "test_multiple_content_types"},
	"tools-call-with-logging":       {toolFixture, "test_tool_with_logging"},
	"tools-call-error":              {toolFixture, "test_error_handling"},
	"tools-call-with-progress":      {toolFixture, "test_tool_with_progress"},
	"tools-call-sampling":           {toolFixture, "test_sampling"},
	"tools-call-elicitation":        {toolFixture, "test_elicitation"},
	"json-schema-2020-12":           {toolFixture, "json_schema_2020_12_tool"},
	"elicitation-sep1034-defaults":  {toolFixture, "test_elicitation_sep1034_defaults"},
	"elicitation-sep1330-enums":     {toolFixture, "test_elicitation_sep1330_enums"},
	"server-sse-polling":            {toolFixture, "test_reconnection"},
	"resources-read-text":           {resourceFixture, "test://static-text"},
	"resources-read-binary":         {resourceFixture, "test://static-binary"},
	"resources-templates-read":      {templateFixture, "test://template/{id}/data"},
	"resources-subscribe":           {resourceFixture, "test://watched-resource"},
	"resources-unsubscribe":         {resourceFixture, "test://watched-resource"},
	"prompts-get-simple":            {promptFixture, "test_simple_prompt"},
	"prompts-get-with-args":         {promptFixture, "test_prompt_with_arguments"},
	"prompts-get-embedded-resource": {promptFixture, "test_prompt_with_embedded_resource"},
	"prompts-get-with-image":        {promptFixture, "test_prompt_with_image"},
}

// featureOf is the capability of a scenario that needs no fixture. All of them
// are optional: where the server does not declare it, the scenario does not apply.
var featureOf = map[string]string{
	"logging-set-level": "logging",
	"tools-list":        "tools",
	"resources-list":    "resources",
	"prompts-list":      "prompts",
}

// anyServer are the scenarios that ask for nothing.
var anyServer = []string{
	"server-initialize", "ping", "server-sse-multiple-streams", "dns-rebinding-protection", "server-session-lifecycle",
}

// withoutFixture are checks that hold of every message or every stream, so also
// where the scenario that they are in does not apply.
var withoutFixture = []string{"wire-schema-valid", "server-sse-priming-event"}

// shown is what a server lists and declares.
type shown struct {
	Capabilities      map[string]json.RawMessage
	Tools, Prompts    []struct{ Name string }
	Resources         []struct{ URI string }
	ResourceTemplates []struct{ URITemplate string }
}

// applies reports whether a scenario can be asked of a server, and why not.
func (s *shown) applies(scenario string) (why string, ok bool) {
	if feature, has := featureOf[scenario]; has {
		_, ok := s.Capabilities[feature]
		return "declares no " + feature, ok
	}
	f, has := fixtureOf[scenario]
	if !has {
		return "", true
	}
	why = fmt.Sprintf("has no %s %s", f.kind, f.name)
	switch f.kind {
	case toolFixture:
		ok = slices.ContainsFunc(s.Tools, func(x struct{ Name string }) bool { return x.Name == f.name })
	case promptFixture:
		ok = slices.ContainsFunc(s.Prompts, func(x struct{ Name string }) bool { return x.Name == f.name })
	case resourceFixture:
		ok = slices.ContainsFunc(s.Resources, func(x struct{ URI string }) bool { return x.URI == f.name })
	case templateFixture:
		ok = slices.ContainsFunc(s.ResourceTemplates, func(x struct{ URITemplate string }) bool { return x.URITemplate == f.name })
	}
	return why, ok
}

// showAt is what a server shows to a client of a revision.
func showAt(t *testing.T, url string, revision spec.Revision) *shown {
	t.Helper()
	code, out, errs := runReal(t, []string{"PATH=" + os.Getenv("PATH")}, "show", "-o", "json", "--revision", revision.String(), url)
	if code != exitOK {
		t.Fatalf("show exits %d:\n%s%s", code, out, errs)
	}
	var doc struct{ Surface shown }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	return &doc.Surface
}

// excuse is why check need not find what a check of the suite does.
type excuse struct {
	check  string
	says   *regexp.Regexp // what the suite says of it, nil for whatever it says
	server string         // the server it is about, empty for all
	reason string
	// skipped is the rule that check must skip there for the reason to hold:
	// that there is nothing to judge is what check says too.
	skipped string
}

var askedNothing = regexp.MustCompile(`^Server did not request (sampling|elicitation) from client$`)

// excuses are those for servers of 2025-11-25.
var excuses = []excuse{
	{"tools-list", regexp.MustCompile(`^(Tool \d+: missing description(; |$))+$`), "",
		"the schema has the description of a tool optional, and no sentence of the specification asks for it", ""},
	{"prompts-list", regexp.MustCompile(`^(Prompt \d+: missing description(; |$))+$`), "",
		"the schema has the description of a prompt optional, and no sentence of the specification asks for it", ""},
	{"server-sse-multiple-streams-session", nil, "",
		"a server may keep no sessions; the check tells that it does not", "session.unknown-404"},
	{"server-sse-polling-session", nil, "",
		"a server may keep no sessions; the check tells that it does not", "session.unknown-404"},
	{"server-sse-priming-event", nil, "",
		"it says where a client may come back to; these servers give their events no ids, which is to offer no coming back, and optional. `http-legacy.sse-priming-event` judges streams with ids, and tells that there are none", "http-legacy.sse-priming-event"},
	{"tools-call-sampling", askedNothing, "go-gosdk-conformance", asksNobody, ""},
	{"tools-call-elicitation", askedNothing, "go-gosdk-conformance", asksNobody, ""},
	{"elicitation-sep1034-general", askedNothing, "go-gosdk-conformance", asksNobody, ""},
	{"elicitation-sep1330-general", askedNothing, "go-gosdk-conformance", asksNobody, ""},
}

// asksNobody is what go-sdk's conformance server does without sessions.
const asksNobody = "it was started without sessions, where go-sdk has no way to its client: the tool answers with isError, which it may. With sessions it passes"

// excused finds the excuse for a failed check.
func excused(server, id, says string) (nth int, ok bool) {
	nth = slices.IndexFunc(excuses, func(e excuse) bool {
		return e.check == id && (e.server == "" || e.server == server) && (e.says == nil || e.says.MatchString(says))
	})
	return nth, nth >= 0
}

// judgesOf are the rules of a revision that judge what a check of the suite
// judges: those of which the suite sees a fault.
func judgesOf(t *testing.T, id string, revision spec.Revision) []string {
	t.Helper()
	rules := map[string]bool{}
	for _, r := range slices.Concat(refereedFaults, refereedOlder) {
		if r.check != id || r.unseen != "" {
			continue
		}
		rl, ok := check.Find(r.rule)
		if !ok {
			t.Fatalf("there is no rule %s", r.rule)
		}
		if rl.In.Contains(revision) {
			rules[r.rule] = true
		}
	}
	return slices.Sorted(maps.Keys(rules))
}

// A scenario that is thought to ask for what it does not would be said not to
// apply wherever it fails: so each is one of the suite's, and what it asks for is
// in the fixture that passes them all.
func TestConformanceNeeds(t *testing.T) {
	scored, unscored := installedSuite(t).required(t, spec.Rev20251125)
	all := slices.Concat(scored, unscored)
	known := slices.Concat(slices.Collect(maps.Keys(fixtureOf)), slices.Collect(maps.Keys(featureOf)), anyServer)
	slices.Sort(all)
	slices.Sort(known)
	if !slices.Equal(all, known) {
		t.Errorf("scenarios of the suite:\n%v\nand those with a need, or none:\n%v", all, known)
	}
	srv := httptest.NewServer(mock.New(mock.Conformance()))
	defer srv.Close()
	defer srv.CloseClientConnections()
	s := showAt(t, srv.URL+mockPath, spec.Rev20251125)
	for _, scenario := range all {
		if why, ok := s.applies(scenario); !ok {
			t.Errorf("%s: the fixture %s", scenario, why)
		}
	}
}
