// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// secondReading is what a second reader wrote down from the specification
// alone. The head of the file explains the fields.
type secondReading struct {
	Format        int           `yaml:"format"`
	Revision      string        `yaml:"revision"`
	Specification string        `yaml:"specification"`
	Seed          int           `yaml:"seed"`
	Perfect       perfectServer `yaml:"perfect"`
	Rules         []readRule    `yaml:"rules"`
}

type readRule struct {
	ID         string      `yaml:"rule"`
	Section    string      `yaml:"section"`
	Word       string      `yaml:"word"`
	Situations []situation `yaml:"situations"`
}

type situation struct {
	Name      string     `yaml:"name"`
	Does      string     `yaml:"does"`
	Transport string     `yaml:"transport"`
	Server    readServer `yaml:"server"`
	Verdict   verdicts   `yaml:"verdict"`
	Because   string     `yaml:"because"`
	// Corrected is there where the row was misread at first.
	Corrected *correction `yaml:"corrected"`
}

type correction struct {
	Was verdicts `yaml:"was"`
	Why string   `yaml:"why"`
}

// verdicts are the statuses that the page justifies, the likeliest first.
type verdicts []string

func (v *verdicts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*v = verdicts{n.Value}
		return nil
	}
	return n.Load((*[]string)(v))
}

func (v verdicts) String() string { return strings.Join(v, " or ") }

var readAgain = sync.OnceValues(func() (*secondReading, error) {
	data, err := os.ReadFile("testdata/second-reading.yaml")
	if err != nil {
		return nil, err
	}
	out := &secondReading{}
	return out, yaml.Load(data, out, yaml.WithKnownFields())
})

func readingAgain(t *testing.T) *secondReading {
	t.Helper()
	r, err := readAgain()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every situation of the second reading gets the verdict that was read there.
func TestSecondReading(t *testing.T) {
	reading := readingAgain(t)
	for i := range reading.Rules {
		r := &reading.Rules[i]
		for j := range r.Situations {
			s := &r.Situations[j]
			for _, c := range modernCarriers {
				if s.Transport != "any" && s.Transport != transportName(c.kind) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", r.ID, s.Name, c.kind), func(t *testing.T) {
					t.Parallel()
					o := s.play(t, &reading.Perfect, r.ID, c.kind)
					if !slices.Contains(s.Verdict, o.Status.String()) {
						t.Errorf("want %s: %s\n%s", s.Verdict, s.Because, show(o))
					}
				})
			}
		}
	}
}

// transportName is how a row names a transport.
func transportName(k transport.Kind) string {
	if k == transport.Stdio {
		return "stdio"
	}
	return "http"
}

// play judges the server of a situation by one rule.
func (s *situation) play(t *testing.T, perfect *perfectServer, id string, k transport.Kind) check.Outcome {
	t.Helper()
	o := check.Options{Only: append([]string{id}, alongside[id]...)}
	var got check.Outcome
	if s.Server.Transcript != nil {
		for _, out := range check.Watched(s.Server.traffic(k), o) {
			if out.Rule.ID == id {
				got = out
			}
		}
	} else {
		target, erased := s.Server.target(t, perfect, k)
		o.Tools = map[string]json.RawMessage{}
		got = judgeAt(t, target, o)[id]
		if erased.Load() {
			t.Error("the tool that erases was called")
		}
	}
	if got.Rule == nil {
		t.Fatalf("%s was not judged", id)
	}
	return got
}

// The server that the second reader thought up gets no finding at all.
func TestPerfectServer(t *testing.T) {
	perfect := readingAgain(t).Perfect
	for _, c := range modernCarriers {
		t.Run(c.kind.String(), func(t *testing.T) {
			t.Parallel()
			target, erased := (&readServer{}).target(t, &perfect, c.kind)
			o := check.Options{}
			o.Tools = map[string]json.RawMessage{}
			for _, out := range judgeAt(t, target, o) {
				if out.Status == rule.Fail || out.Status == rule.Warn || out.Status == rule.Error {
					t.Error(show(out))
				}
			}
			if erased.Load() {
				t.Error("the tool that erases was called")
			}
		})
	}
}

// alongside are rules that send what a rule that only looks on has to see.
var alongside = map[string][]string{
	"caching.scope-value":      {"caching.hints-resources-read", "prompts.arguments-validated"},
	"errors.standard-code-set": {"tools.unknown-tool-32602"},
	"jsonrpc.version-member":   {"tools.unknown-tool-32602", "transport-http.origin-validated"},
}

// The rows can be read: each rule is built, and each verdict is a status.
func TestSecondReadingRows(t *testing.T) {
	reading := readingAgain(t)
	if reading.Format != 1 || reading.Revision != spec.Rev20260728.String() {
		t.Errorf("format %d of revision %s", reading.Format, reading.Revision)
	}
	for _, r := range reading.Rules {
		if !built(r.ID) {
			t.Errorf("%s is not built", r.ID)
		}
		for _, s := range r.Situations {
			if s.Name == "" || s.Does == "" || s.Because == "" || len(s.Verdict) == 0 || !slices.Contains([]string{"any", "http", "stdio"}, s.Transport) {
				t.Errorf("%s: %s is not whole", r.ID, s.Name)
			}
			words := s.Verdict
			if s.Corrected != nil {
				words = slices.Concat(words, s.Corrected.Was)
				if s.Corrected.Why == "" || slices.Equal(s.Corrected.Was, s.Verdict) {
					t.Errorf("%s: %s is corrected without a reason or a change", r.ID, s.Name)
				}
			}
			for _, w := range words {
				if !slices.ContainsFunc([]rule.Status{rule.Pass, rule.Skip, rule.Note, rule.Warn, rule.Fail}, func(st rule.Status) bool { return st.String() == w }) {
					t.Errorf("%s: %s: there is no verdict %q", r.ID, s.Name, w)
				}
			}
		}
	}
}

const readingPage = "../../docs/second-reading.md"

// The page holds the rows of the data. What stands above them is written by hand.
func TestSecondReadingPage(t *testing.T) {
	got, err := os.ReadFile(readingPage)
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## The rows\n"
	head, _, found := bytes.Cut(got, []byte(heading))
	if !found {
		t.Fatalf("%s has no heading %q", readingPage, heading)
	}
	want := append(slices.Clone(head), heading+readingAgain(t).rows()...)
	if *update {
		if err := os.WriteFile(readingPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the rows say; write it again with -update", readingPage)
	}
}

// rows are the tables of the page.
func (s *secondReading) rows() string {
	var b, corrected strings.Builder
	n := 0
	cell := strings.NewReplacer("_", `\_`, "|", `\|`).Replace
	for _, r := range s.Rules {
		n += len(r.Situations)
	}
	fmt.Fprintf(&b, "\n%d situations of %d rules. The word is what carries the sentence on the page.\n\n", n, len(s.Rules))
	b.WriteString("| rule | word | situation | transport | verdict | because | section |\n|---|---|---|---|---|---|---|\n")
	for _, r := range s.Rules {
		for _, x := range r.Situations {
			fmt.Fprintf(&b, "| %s | %s | **%s**: %s | %s | %s | %s | %s |\n",
				r.ID, r.Word, cell(x.Name), cell(x.Does), x.Transport, x.Verdict, cell(x.Because), cell(r.Section))
			if c := x.Corrected; c != nil {
				fmt.Fprintf(&corrected, "| %s | %s | %s | %s | %s |\n", r.ID, cell(x.Name), c.Was, x.Verdict, cell(c.Why))
			}
		}
	}
	b.WriteString("\n## Corrections\n\n")
	if corrected.Len() == 0 {
		b.WriteString("None so far.\n")
		return b.String()
	}
	b.WriteString("| rule | situation | was | is | what was misread |\n|---|---|---|---|---|\n" + corrected.String())
	return b.String()
}
