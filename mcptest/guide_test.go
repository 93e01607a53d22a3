// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The code of a guide is code that runs.
func TestGuidesShowWhatRuns(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"../examples/notes/*.go", "*_test.go", "../adapt/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	for _, guide := range []string{"docs/guides/test-in-go.md", "README.md"} {
		page, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(guide)))
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(page), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s shows no code", guide)
		}
		for _, b := range blocks {
			b, _, ended := strings.Cut(b, "```")
			if !ended || !strings.Contains(code.String(), b) {
				t.Errorf("%s shows code that nothing runs:\n%s", guide, b)
			}
		}
	}
}
