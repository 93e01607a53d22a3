// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/mock"
)

// printed is what a function prints.
func printed(t *testing.T, f func(*app) error) (string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{env: Env{Now: time.Now}, stdout: &out, stderr: &errs, redactor: &text.Redactor{}}
	if err := f(a); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String()
}

// A text that is escaped piece by piece reads as one that is escaped whole.
func TestLongTextIsPrintedWhole(t *testing.T) {
	for name, unit := range map[string]string{
		"lines":      "ein Wort ü\x1b[0m\n::error::x\n##[error]\n",
		"one line":   "äöü€𝄞\u202e",
		"one letter": "x",
		"blanks":     "\n\n\r\n",
	} {
		long := strings.Repeat(unit, 3*printChunk/len(unit))
		got, _ := printed(t, func(a *app) error { return a.printText(long) })
		want := text.LogBlock(strings.TrimSuffix(strings.ReplaceAll(long, "\r\n", "\n"), "\n")) + "\n"
		if got != want {
			t.Errorf("%s: %d bytes; want %d", name, len(got), len(want))
		}
	}
}

// What a tool says twice, for clients that know only one way, is printed once.
func TestToolResultIsPrintedOnce(t *testing.T) {
	for _, c := range []struct{ name, result, want string }{
		{"text", `{"content":[{"type":"text","text":"a\n"}]}`, "a\n"},
		{"two", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb\n"},
		{"the same", `{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}`, "{\n  \"a\": 1\n}\n"},
		{"a wrapped text", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":"a"}}`, "a\n"},
		{"a wrapped list", `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`, "{\n  \"result\": [\n    1\n  ]\n}\n"},
		{"another", `{"content":[{"type":"text","text":"b"}],"structuredContent":{"result":"a"}}`, "b\n{\n  \"result\": \"a\"\n}\n"},
		{"a text that is a wrapped number", `{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5}}`, "{\n  \"result\": 5\n}\n"},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, "[image image/png, 3 bytes; --save writes it to a file]\n"},
		{"image that is none", `{"content":[{"type":"image","mimeType":"image/\u001bpng","data":"!"}]}`, `[image image/\u{1B}png, its data is no Base64: illegal base64 data at input byte 0; --save writes it to a file]` + "\n"},
		{"unknown", `{"content":[{"type":"x","y":1}]}`, "{\n  \"type\": \"x\",\n  \"y\": 1\n}\n"},
		{"null content", `{"content":null}`, ""},
		{"content that is no list", `{"content":{"a":1}}`, ""},
	} {
		got, _ := printed(t, func(a *app) error { return a.printToolResult(jsonx.Raw(c.result)) })
		if got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

// Saved contents get names of ours, and overwrite nothing in a folder.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	result := jsonx.Raw(`{"content":[{"type":"text","text":"a\u001b"},{"type":"image","mimeType":"image/png","data":"AAAA"},` +
		`{"type":"resource","resource":{"uri":"file:///../../etc/passwd","mimeType":"../x","blob":"AQID"}}]}`)
	save := func(path string, result jsonx.Raw) error {
		k := &talk{a: &app{stderr: &bytes.Buffer{}, redactor: &text.Redactor{}}, f: &askFlags{save: path}}
		_, err := k.saved(result)
		return err
	}
	for range 2 {
		if err := save(dir, result); err != nil {
			t.Fatal(err)
		}
	}
	got, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(got) != 6 {
		t.Fatalf("%v, %v", got, err)
	}
	for name, want := range map[string]string{"content-1.txt": "a\x1b", "content-2.png": "\x00\x00\x00", "content-3.bin": "\x01\x02\x03", "content-6.bin": "\x01\x02\x03"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v; want %q", name, b, err, want)
		}
	}
	one := filepath.Join(dir, "one")
	if err := save(one, result); err == nil || !strings.Contains(err.Error(), "there are 3 contents") {
		t.Errorf("three contents into one file: %v", err)
	}
	if err := save(one, jsonx.Raw(`{"content":[{"type":"text","text":"about"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}`)); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(one); string(b) != "\x00\x00\x00" {
		t.Errorf("the file holds %q", b)
	}
	if err := save(one, jsonx.Raw(`{"content":[{"type":"image","data":"!"}]}`)); err == nil || !strings.Contains(err.Error(), "no Base64") {
		t.Errorf("data that is no Base64: %v", err)
	}
}

// A flood of progress costs a bounded number of lines.
func TestFloodOfProgress(t *testing.T) {
	steps := make([]mock.Step, 3*maxSaid)
	for i := range steps {
		steps[i] = mock.Step{Progress: &mock.Progress{Progress: float64(i)}}
	}
	url, _ := watching(t, mock.Script{Tools: []mock.Tool{{
		Definition: []byte(`{"name":"flood","inputSchema":{"type":"object"}}`),
		Answers:    []mock.Answer{{Steps: steps, Result: []byte(`{"content":[{"type":"text","text":"done"}]}`)}},
	}}})
	r := start(strings.NewReader(""), "call", "flood", url)
	<-r.done
	if n := strings.Count(r.stderr.String(), "\n"); r.code != 0 || n != maxSaid+1 {
		t.Errorf("exit %d, %d lines; want %d", r.code, n, maxSaid+1)
	}
	if got := r.stdout.String(); got != "done\n" {
		t.Errorf("stdout is %q", got)
	}
}
