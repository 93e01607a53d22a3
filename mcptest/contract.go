// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/surface"
)

// contractOptions are those of Contract.
type contractOptions struct {
	failOn string
}

// FailOn is the least class of a change that fails [Contract]: "breaking", which
// it is unless said, "routing" or "additive".
func FailOn(class string) Option {
	return func(o *options) { o.contracts.failOn = class }
}

// Contract holds what the server shows against a recorded contract, as mcprove
// contract check does, each tool, prompt and resource a subtest. A change that
// breaks somebody fails, and shows a call that worked and fails now. The file is
// written when the test runs with -mcprove.update; approvals are read from
// mcprove.accept.yaml beside it.
func Contract(t *testing.T, target any, path string, opts ...Option) {
	t.Helper()
	o := collect(opts)
	failOn := contract.Breaking
	if o.contracts.failOn != "" {
		class, err := contract.ParseClass(o.contracts.failOn)
		if err != nil {
			t.Fatalf("mcptest.FailOn: %v", err)
		}
		failOn = class
	}
	c := Open(t, target, opts...)
	now := c.surface()
	if *update {
		data, err := now.Encode()
		if err == nil {
			err = writeGolden(path, string(data))
		}
		if err != nil {
			t.Fatalf("write the contract: %v", err)
		}
		return
	}
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Fatalf("there is no contract %s; record it with go test -run '^%s$' -mcprove.update, or with mcprove contract snapshot", path, t.Name())
	}
	if err != nil {
		t.Fatal(err)
	}
	was, err := surface.Decode(path, data)
	if err != nil {
		t.Fatal(err)
	}
	result := contract.Compare(was, now, contract.Options{})
	if err := approved(t, result, filepath.Join(filepath.Dir(path), acceptFile)); err != nil {
		t.Fatal(err)
	}
	for _, n := range result.Notes {
		t.Log(n)
	}
	changed(t, result, failOn, path)
	for _, p := range result.Unchanged {
		t.Run(p.Name, func(*testing.T) {})
	}
}

// acceptFile is the name of the file of approvals beside a contract.
const acceptFile = "mcprove.accept.yaml"

// approved marks the changes that somebody has approved. An approval of nothing
// is a fault: it hides what comes next.
func approved(t *testing.T, result *contract.Result, path string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	approvals, err := rule.ParseExceptions(path, data)
	if err != nil {
		return err
	}
	for _, s := range result.Accept(approvals, time.Now()) {
		t.Error(shown(report.Stale(path, s).Message))
	}
	return nil
}

// changed reports the changes, those of one item in a subtest of its name.
func changed(t *testing.T, result *contract.Result, failOn contract.Class, path string) {
	t.Helper()
	byPlace := map[string][]*contract.Change{}
	var order []string
	for i := range result.Changes {
		ch := &result.Changes[i]
		at := place(ch)
		if byPlace[at] == nil {
			order = append(order, at)
		}
		byPlace[at] = append(byPlace[at], ch)
	}
	for _, at := range order {
		t.Run(at, func(t *testing.T) {
			for _, ch := range byPlace[at] {
				f := ch.Finding(path, failOn, nil)
				s := changeStory(ch, f)
				if f.Status >= rule.Fail {
					t.Error(s)
				} else {
					t.Log(s)
				}
			}
		})
	}
}

func changeStory(ch *contract.Change, f rule.Finding) string {
	var b strings.Builder
	b.WriteString(ch.Class.String() + ": " + shown(ch.Message))
	if f.Reason != "" {
		b.WriteString(" (accepted: " + shown(f.Reason) + ")")
	}
	if ch.Why != "" {
		b.WriteString("\n  why: " + shown(ch.Why))
	}
	for _, e := range f.Evidence {
		b.WriteString("\n  " + e.Label + ": " + text.Clip(text.Line(e.Text), 1000))
	}
	return b.String()
}
