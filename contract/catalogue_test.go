// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"go.yaml.in/yaml/v4"
)

// waived are ids of the catalogue that two surfaces cannot show, or that are
// shown under other ids, with the reason. One that is registered after all, or
// that the catalogue does not have, fails.
var waived = map[string]string{
	"tool-order-nondeterministic":          "needs two listings of one server: a check on a live one",
	"tool-meta-volatile-ignored":           "stripped before anything is compared",
	"hint-vs-description-mismatch":         "a judgement of one surface alone: lint",
	"enum-in-union-branch-changed":         "judged as the enum inside the branch",
	"format-known-inclusion":               "the table that input-format-relaxed and output-format-narrowed use",
	"items-schema-changed":                 "judged as what changed inside the items",
	"prefix-items-position-changed":        "judged as what changed at the position",
	"additional-properties-schema-changed": "judged as what changed inside the map's values",
	"nested-depth-unbounded":               "judged at any depth under the same ids",
	"property-name-with-dot":               "JSON pointers tell the two apart",
	"union-branch-modified":                "judged as what changed inside the branch",
	"all-of-sibling-properties":            "judged as what changed inside the branch",
	"ref-target-schema-changed":            "judged at the place that refers",
	"ref-siblings-changed":                 "judged by what the dialect makes of the siblings",
	"ref-root-recursion":                   "judged once, at the place that refers",
	"recursion-depth-changed":              "judged once, inside the loop",
	"property-order-changed":               "objects have no order: nobody can observe it, and a contract is sorted",
	"defs-unused-changed":                  "definitions that nothing refers to are left out of every surface",
	"prompt-body-changed":                  "needs prompts/get, which no contract verb calls",
	"resource-list-dynamic":                "needs two listings of one server; ignore patterns leave such items out",
	"cache-scope-narrowed":                 "cacheScope is judged in one direction only (ADR 4)",
	"ttl-changed":                          "not part of a contract (ADR 4)",
	"listing-failed":                       "an error of the run (exit 6), never a change",
	"listing-method-not-found":             "a listing that is not served, recorded as none",
	"pagination-cursor-loop":               "an error of the run (exit 6), never a change",
	"cache-scope-inconsistent-pages":       "a note while the pages are read: a check on a live server",
	"surface-varies-per-connection":        "needs two connections: a check on a live server",
	"surface-varies-per-auth":              "needs two credentials: a check on a live server",
	"surface-mutates-after-calls":          "needs calls, which no contract verb makes",
	"contract-format-newer":                "an error of the run (exit 2), never a change",
	"contract-field-not-recorded-then":     "a note: facets that one side did not capture are not compared",
}

// Every kind of change in the catalogue is one that contract knows, or is
// waived with a reason.
func TestCatalogueIsCovered(t *testing.T) {
	data, err := os.ReadFile(shared(t, "contract", "changes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Changes []struct {
			ID string `yaml:"id"`
		} `yaml:"changes"`
	}
	if err := yaml.Load(data, &doc); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, i := range contract.Infos() {
		known[i.ID] = true
	}
	inCatalogue := map[string]bool{}
	missing := 0
	for _, c := range doc.Changes {
		inCatalogue[c.ID] = true
		switch reason, ok := waived[c.ID]; {
		case known[c.ID] && ok:
			t.Errorf("%s is waived (%s) and registered", c.ID, reason)
		case !known[c.ID] && !ok:
			missing++
			t.Errorf("%s is neither registered nor waived", c.ID)
		}
	}
	for id := range waived {
		if !inCatalogue[id] {
			t.Errorf("%s is waived, but not in the catalogue", id)
		}
	}
	t.Logf("%d kinds in the catalogue, %d waived, %d missing, %d registered here", len(doc.Changes), len(waived), missing, len(known))
}

// Kinds read well: lower case, no full stop, a mirror where one is to be
// expected.
func TestKindsReadWell(t *testing.T) {
	for _, i := range contract.Infos() {
		for _, s := range []string{i.Title, i.Why, i.Fix} {
			if strings.HasSuffix(s, ".") || s != strings.TrimSpace(s) {
				t.Errorf("%s: %q must be a phrase without a full stop", i.ID, s)
			}
		}
		if strings.ToLower(i.ID) != i.ID || strings.ContainsAny(i.ID, " _") {
			t.Errorf("%s is not kebab-case", i.ID)
		}
	}
}

// mirrors are the words that a kind and its opposite differ by.
var mirrors = [][2]string{
	{"-added", "-removed"}, {"-tightened", "-relaxed"}, {"-widened", "-narrowed"}, {"-withdrawn", "-granted"},
	{"-opened", "-closed"}, {"-raised", "-lowered"}, {"-introduced", "-dropped"}, {"now-required", "now-optional"},
}

// unmirrored are kinds without an opposite, with the reason.
var unmirrored = map[string]string{
	"cache-scope-widened":                                 "the way back is no change (ADR 4)",
	"protocol-version-dropped":                            "its opposite is protocol-version-added",
	"task-support-now-required":                           "its opposite is task-support-relaxed",
	"input-multiple-of-added-or-coarsened":                "its opposite is input-multiple-of-relaxed",
	"input-format-added-or-changed":                       "its opposites are input-format-removed and -relaxed",
	"output-now-optional":                                 "its opposite is output-now-guaranteed",
	"output-pattern-removed-or-changed":                   "its opposite is output-pattern-added",
	"resource-removed-covered-by-template":                "its opposite is resource-added",
	"tool-removed-after-deprecation":                      "a policy's exception",
	"task-capability-withdrawn":                           "its opposite is capability-added",
	"resource-subscribe-withdrawn":                        "its opposite is capability-added",
	"completions-withdrawn":                               "its opposite is capability-added",
	"task-support-withdrawn":                              "its opposites are task-support-added-optional and -relaxed",
	"task-support-relaxed":                                "its opposite is task-support-now-required",
	"task-support-added-optional":                         "its opposite is task-support-withdrawn",
	"extension-removed":                                   "its opposite is capability-added",
	"input-type-added-to-untyped":                         "its opposite is input-type-dropped",
	"input-type-dropped":                                  "its opposite is input-type-added-to-untyped",
	"output-type-dropped":                                 "its opposite is output-type-narrowed",
	"union-with-array-added":                              "its opposite is input-type-narrowed",
	"required-argument-added":                             "its opposites are the removal of an argument",
	"required-argument-added-with-default":                "its opposites are the removal of an argument",
	"argument-now-required-with-default":                  "its opposite is argument-now-optional",
	"optional-parent-with-required-child-added":           "its opposites are the removal of an argument",
	"required-child-added-under-existing-optional-parent": "its opposites are the removal of an argument",
	"required-name-without-property-added":                "its opposite is argument-now-optional",
	"argument-removed-closed":                             "its opposite is argument-added",
	"argument-removed-open":                               "its opposite is argument-added",
	"argument-removed-covered-by-pattern":                 "its opposite is argument-added",
	"argument-added":                                      "its opposites are argument-removed-open and -closed",
	"argument-added-narrows-open-object":                  "a theoretical case of argument-added",
	"argument-description-added":                          "the removal is argument-description-changed",
	"prompt-required-argument-added":                      "its opposite is prompt-argument-removed",
	"output-field-added-open":                             "its opposites are the removal of a field",
	"output-field-added-closed":                           "its opposites are the removal of a field",
	"output-required-field-removed":                       "its opposites are the addition of a field",
	"output-optional-field-removed":                       "its opposites are the addition of a field",
	"one-of-branch-added":                                 "its opposite is any-of-branch-removed",
	"external-ref-introduced":                             "the fault going away hurts nobody",
	"ref-dangling-introduced":                             "the fault going away hurts nobody",
	"hint-contradiction-introduced":                       "the fault going away hurts nobody",
	"tool-name-duplicate-introduced":                      "the fault going away hurts nobody",
	"items-introduced":                                    "its opposite is items-removed",
	"items-removed":                                       "its opposite is items-introduced",
	"prefix-items-added":                                  "it covers both ways",
	"additional-properties-schema-to-false":               "its opposite is additional-properties-opened",
	"unevaluated-properties-closed":                       "it covers both ways",
	"hint-unknown-added":                                  "it covers both ways",
	"deprecated-added":                                    "it covers both ways",
	"enum-null-added":                                     "it covers both ways",
	"template-variable-removed":                           "its opposites are template-required-variable-added and -optional-",
	"template-required-variable-added":                    "its opposite is template-variable-removed",
	"template-optional-variable-added":                    "its opposite is template-variable-removed",
	"template-mime-added":                                 "the removal is template-mime-changed",
	"input-pattern-added":                                 "its opposite is input-pattern-removed",
	"output-pattern-added":                                "its opposite is output-pattern-removed-or-changed",
	"input-format-removed":                                "its opposite is input-format-added-or-changed",
	"input-format-relaxed":                                "its opposite is input-format-added-or-changed",
	"output-format-narrowed":                              "its opposite is output-format-changed",
	"input-multiple-of-relaxed":                           "its opposite is input-multiple-of-added-or-coarsened",
	"output-became-not-nullable":                          "named by became",
	"header-param-added":                                  "its opposite is header-param-removed",
	"protocol-version-added":                              "its opposite is protocol-version-dropped",
	"list-changed-granted":                                "its opposite is list-changed-withdrawn",
	"const-added":                                         "its opposite is const-removed",
}

// Whoever adds a kind for one way must say what becomes of the other.
func TestKindsHaveTheirMirrors(t *testing.T) {
	var ids []string
	for _, i := range contract.Infos() {
		ids = append(ids, i.ID)
	}
	for _, id := range ids {
		for _, m := range mirrors {
			for k, word := range m {
				if !strings.Contains(id, word) {
					continue
				}
				other := strings.Replace(id, word, m[1-k], 1)
				_, waivedHere := unmirrored[id]
				if !slices.Contains(ids, other) && !waivedHere {
					t.Errorf("%s has no mirror %s, and no reason why", id, other)
				}
			}
		}
	}
	for id := range unmirrored {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is excused, but does not exist", id)
		}
	}
}
