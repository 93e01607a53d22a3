// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// A family of subtests is run by a go test of its own where it must fail: a
// *testing.T cannot be watched from outside.

// failing names a test of this file that runs only when it is asked for.
const failing = "MCPTEST_FAILING"

// runFailing runs one of those, with flags, and gives what go test printed.
func runFailing(t *testing.T, name, dir string, flags ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"-test.run", "^" + name + "$", "-test.v"}, flags...)...)
	cmd.Env = append(os.Environ(), failing+"=1")
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // it fails, which is what is looked at
	return string(out)
}

func onlyWhenAsked(t *testing.T) {
	t.Helper()
	if os.Getenv(failing) == "" {
		t.Skip("run by another test")
	}
}

func TestCheckRunsEachRule(t *testing.T) {
	mcptest.Check(t, http.Handler(mock.New(mock.Specimen())), mcptest.Only("tools.unknown*", "jsonrpc.result-id-match"), mcptest.Opened(mcptest.Header("X-Test", "1")))
}

func TestFailingCheck(t *testing.T) {
	onlyWhenAsked(t)
	s := mock.Specimen()
	s.Revisions = []spec.Revision{spec.Rev20251125, spec.Rev20260728}
	s.Faults = append(s.Faults, mock.On(spec.MethodToolsCall).When(mock.AnswerIs("/error/code", "-32602")).Set("/error/code", "-32000"))
	mcptest.Check(t, s, mcptest.Only("tools.unknown-tool-32602"), mcptest.WarningsFail())
}

func TestChecksFailAsSubtests(t *testing.T) {
	out := runFailing(t, "TestFailingCheck", ".")
	for _, want := range []string{
		"--- FAIL: TestFailingCheck/2026-07-28/tools.unknown-tool-32602", "-32000", "fix:", "-> ", "<- ",
		"--- PASS: TestFailingCheck/2026-07-28/base.answers",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

func TestUnknownRulesAreMistakes(t *testing.T) {
	out := runFailing(t, "TestFailingRuleName", ".")
	if !strings.Contains(out, `there is no rule "tools.unknown-tol-32602"`) || !strings.Contains(out, "nearest: tools.unknown-tool-32602") {
		t.Error(out)
	}
}

func TestFailingRuleName(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Check(t, mock.Specimen(), mcptest.Only("tools.unknown-tol-32602"))
}

func TestQuick(t *testing.T) {
	mcptest.Quick(t, http.Handler(mock.New(mock.Specimen())))
}

func TestFailingQuick(t *testing.T) {
	onlyWhenAsked(t)
	s := mock.Specimen()
	s.Faults = append(s.Faults, mock.On(spec.MethodToolsList).OnPage(1).OfResult().Oversize("/result/tools/0/description", 70_000))
	mcptest.Quick(t, s, mcptest.MaxListBytes(60_000))
}

func TestQuickFails(t *testing.T) {
	out := runFailing(t, "TestFailingQuick", ".")
	if !strings.Contains(out, "--- FAIL: TestFailingQuick/sec.list-bytes") || !strings.Contains(out, "--- PASS: TestFailingQuick/sec.cross-wire-unique") {
		t.Error(out)
	}
}

func TestContract(t *testing.T) { mcptest.Contract(t, harbour(), "testdata/harbour.contract.json") }

// drifted is the harbour after a release that breaks a caller.
func drifted() mock.Script {
	s := harbour()
	s.Tools = slices.Clone(s.Tools)
	s.Tools[0].Definition = json.RawMessage(strings.Replace(string(s.Tools[0].Definition), `"required":["text"]`, `"required":["text","minutes"]`, 1))
	return s
}

// What a rule asks for is an option of the kit here.
func TestRulesSpeakOfTheKit(t *testing.T) {
	out := runFailing(t, "TestFailingSkips", ".")
	if !strings.Contains(out, "mcptest.Calls(") || strings.Contains(out, "--tool") {
		t.Error(out)
	}
}

func TestFailingSkips(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Check(t, mock.Script{}, mcptest.Only("tools", "elicitation"), mcptest.Opened(mcptest.Modern, mcptest.Revision("2026-07-28")))
}

func TestFailingContract(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Contract(t, drifted(), "testdata/harbour.contract.json")
}

func TestFailingNoContract(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Contract(t, harbour(), "testdata/absent.contract.json")
}

func TestContractsFailWithTheCall(t *testing.T) {
	out := runFailing(t, "TestFailingContract", ".")
	for _, want := range []string{"--- FAIL: TestFailingContract/tool_echo", "breaking:", "worked before, fails now", "mcprove call echo"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if out := runFailing(t, "TestFailingNoContract", "."); !strings.Contains(out, "-mcprove.update") {
		t.Error(out)
	}
}

// What is approved beside the contract does not fail, and what is written anew
// is the contract of now.
func TestContractsAreApprovedAndWritten(t *testing.T) {
	dir := t.TempDir()
	copyFile(t, "testdata/harbour.contract.json", filepath.Join(dir, "testdata", "harbour.contract.json"))
	out := runFailing(t, "TestFailingContract", dir, "-mcprove.update")
	if strings.Contains(out, "--- FAIL") {
		t.Fatal(out)
	}
	if out := runFailing(t, "TestFailingContract", dir); strings.Contains(out, "--- FAIL") {
		t.Error(out)
	}
	was, _ := os.ReadFile("testdata/harbour.contract.json")
	is, _ := os.ReadFile(filepath.Join(dir, "testdata", "harbour.contract.json"))
	if string(was) == string(is) {
		t.Error("it was not written anew")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoldenFiles(t *testing.T) {
	// The same in every revision but for what each has of its own.
	c := mcptest.Open(t, harbour(), mcptest.Modern)
	c.CallTool("tide", nil).Golden(t, "tide")
	c.CallTool("moor", nil).Golden(t, "moor")
	c.CallTool("count", nil).Golden(t, "count", mcptest.Without("/result/content/*/text"))
	c.CallTool("count", nil).Golden(t, "count", mcptest.Without("/result/content/*/text"))
	c.CallTool("echo", mcptest.Args{"text": "at 2026-07-28T12:00:00Z by 123e4567-e89b-12d3-a456-426614174000"}).Golden(t, "volatile")
}

func TestFailingGolden(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Open(t, harbour()).CallTool("count", nil).Golden(t, "written")
}

func TestGoldenFilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	if out := runFailing(t, "TestFailingGolden", dir); !strings.Contains(out, "there is no golden file") {
		t.Error(out)
	}
	if out := runFailing(t, "TestFailingGolden", dir, "-mcprove.update"); strings.Contains(out, "--- FAIL") {
		t.Error(out)
	}
	if out := runFailing(t, "TestFailingGolden", dir); strings.Contains(out, "--- FAIL") {
		t.Error(out)
	}
}

// A server that claims what it does not speak, and a test that was not run in all.
func TestFailingEachEra(t *testing.T) {
	onlyWhenAsked(t)
	s := echoing()
	s.Faults = []mock.Fault{mock.On(spec.MethodInitialize).When(mock.ParamIs("/protocolVersion", `"2025-06-18"`)).Error(-32602, "no")}
	s.Faults = append(s.Faults, mock.On(spec.MethodDiscover).OfResult().Set("/result/supportedVersions", `["2025-06-18","2026-07-28"]`))
	mcptest.EachEra(t, s, func(t *testing.T, c *mcptest.Client) { c.HasTool("echo") })
}

func TestClaimsAreKept(t *testing.T) {
	out := runFailing(t, "TestFailingEachEra", ".")
	if !strings.Contains(out, "the server names 2025-06-18 as supported, and does not speak it") ||
		!regexp.MustCompile(`ran in 4 revisions: 2024-11-05, 2025-03-26, 2025-11-25, 2026-07-28`).MatchString(out) {
		t.Error(out)
	}
	out = runFailing(t, "TestFailingEachEra/2025-11-25", ".")
	if !strings.Contains(out, "left out by -run: 2024-11-05") {
		t.Error(out)
	}
}

// legacyOnly has a tool that asks by a request of its own alone.
func legacyOnly() mock.Script {
	s := echoing()
	form := json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`)
	s.Tools = append(s.Tools, mock.Tool{
		Definition: []byte(`{"name":"ask","description":"Asks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`),
		Answers:    []mock.Answer{{Ask: []mock.Ask{{Key: "sure", Method: spec.MethodElicit, Params: form}}}},
	})
	s.Faults = []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.RevisionFrom(spec.Rev20260728), mock.ParamIs("/name", `"ask"`)).Error(-32603, "no back-channel")}
	return s
}

func TestToolsOfTheLegacyEraAlone(t *testing.T) {
	mcptest.Open(t, legacyOnly()).OnlyLegacy([]string{"ask"})
	mcptest.Open(t, harbour()).OnlyLegacy(nil, mcptest.Calls("sail", nil))
	w := watch(t, func(t testing.TB) {
		mcptest.Open(t, legacyOnly()).OnlyLegacy([]string{"echo"})
	})
	saysAs(t, "only-legacy", w)
}
