// SPDX-License-Identifier: Apache-2.0

// Package mcprove_test holds the project to its house plan: which package may
// import which, what only one package may do, and what every file has.
package mcprove_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcprove/mcprove"

// modules are the folders of the modules: the root, and those that keep the SDKs
// out of it. Examples are modules as their readers would have them.
var (
	modules  = []string{".", "adapt/gosdk", "adapt/mcpgo"}
	examples = []string{"examples/notes"}
)

// floors says on which floor a package stands. Imports go strictly down; two
// packages of one floor never import each other.
var floors = map[string]int{
	"internal/jsonx": 0, "internal/proc": 0, "internal/text": 0, "internal/order": 0,
	"wire": 1,
	"spec": 2, "rule": 2, "internal/schemaset": 2,
	"transport": 3,
	"session":   4, "record": 4, "internal/inside": 4,
	"surface": 5, "mock": 5, "authtest": 5,
	"contract": 6, "internal/probe": 6,
	"report": 7, "internal/check": 7,
	"mcptest": 8, "adapt/gosdk": 8, "adapt/mcpgo": 8,
	"internal/cli/version": 8, // imports nothing of ours; below cli by its path
	"internal/cli":         9, "cmd/mcprove": 10,
}

// bans are imports that only some packages may have, with the reason.
var bans = []struct {
	prefix  string
	allowed []string
	reason  string
}{
	{"testing", []string{"mcptest"}, "only the kit for go test is a test"},
	{"flag", []string{"internal/cli", "mcptest"}, "only the command line reads flags, and the kit has the one of go test"},
	{"github.com/spf13/", []string{"internal/cli"}, "only the command line reads flags"},
	{"golang.org/x/term", []string{"internal/cli"}, "only the command line looks at the terminal"},
	{"github.com/go-json-experiment/", []string{"internal/jsonx"}, "one door to the JSON library"},
	{"github.com/santhosh-tekuri/", []string{"contract"}, "contract alone asks the validator"},
	{"github.com/go-jose/", []string{"authtest"}, "the test identity provider alone knows tokens; the binary does not link it"},
	{"github.com/modelcontextprotocol/", []string{"adapt/gosdk"}, "SDKs decode and encode again, so the faults we look for vanish"},
	{"github.com/mark3labs/", []string{"adapt/mcpgo"}, "SDKs decode and encode again, so the faults we look for vanish"},
}

type pkg struct {
	ImportPath   string
	Name, Doc    string
	Dir          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	var ps []pkg
	for _, dir := range modules {
		cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
		cmd.Env, cmd.Dir = append(os.Environ(), "GOWORK=off"), dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", dir, err)
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
			var p pkg
			if err := dec.Decode(&p); err != nil {
				t.Fatal(err)
			}
			ps = append(ps, p)
		}
	}
	return ps
}

// Every module is tested: the Makefile walks those that are listed here, and no
// other is nested but what stands beside the product.
func TestModulesAreWalked(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	walked := slices.Concat(modules, examples)
	if want := "MODULES := " + strings.Join(walked, " ") + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile must say %q", want)
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if !slices.Contains(walked, dir) && dir != "tools" && !strings.HasPrefix(dir, "testdata/") && !strings.HasPrefix(dir, ".") {
			t.Errorf("the module %s is not listed", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsGoDown(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if len(p.GoFiles) == 0 {
			continue
		}
		floor, ok := floors[name]
		if !ok {
			t.Errorf("%s stands on no floor: add it to the table", name)
			continue
		}
		seen[name] = true
		for _, imp := range p.Imports {
			if to, ours := strings.CutPrefix(imp, module+"/"); ours {
				if f, ok := floors[to]; !ok || f >= floor {
					t.Errorf("%s (floor %d) imports %s (floor %d)", name, floor, to, f)
				}
			}
			for _, b := range bans {
				if (imp == b.prefix || strings.HasSuffix(b.prefix, "/") && strings.HasPrefix(imp, b.prefix)) && !slices.Contains(b.allowed, name) {
					t.Errorf("%s imports %s: %s", name, imp, b.reason)
				}
			}
		}
	}
	for name := range floors {
		if !seen[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
	}
}

// Every package says in one sentence what it is for.
func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	for _, p := range packages(t) {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if len(p.GoFiles) > 0 && !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: the package comment must start with %q, is %q", p.ImportPath, want, p.Doc)
		}
	}
}

// walk visits every Go file of the modules. Those of examples, which are what users
// build, have rules of their own.
func walk(t *testing.T, visit func(path string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, own := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (own == nil && !slices.Contains(modules, filepath.ToSlash(path)) || strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			visit(path, data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	const most = 600
	walk(t, func(path string, data []byte) {
		if !bytes.HasPrefix(data, []byte("// SPDX-License-Identifier: Apache-2.0\n")) {
			t.Errorf("%s: the first line must be the SPDX line", path)
		}
		if n := bytes.Count(data, []byte("\n")); n > most && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has %d lines: look for the noun inside", path, n)
		}
	})
}

// JSON is read and written by internal/jsonx alone; of encoding/json, only the
// types of public APIs are used. adapt/mcpgo stands for a part of its SDK, and
// reads and writes as that does.
func TestJSONGoesThroughOneDoor(t *testing.T) {
	allowed := []string{"RawMessage", "Number"}
	walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/jsonx/") || strings.HasPrefix(path, "adapt/mcpgo/") || strings.Contains(path, "testdata/") {
			return
		}
		uses(t, path, data, "encoding/json", func(name string) {
			if !slices.Contains(allowed, name) {
				t.Errorf("%s uses json.%s", path, name)
			}
		})
	})
}

// uses visits every use of a name of an imported package.
func uses(t *testing.T, path string, data []byte, imported string, visit func(name string)) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, data, 0)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	local := ""
	for _, imp := range f.Imports {
		if strings.Trim(imp.Path.Value, `"`) == imported {
			local = filepath.Base(imported)
			if imp.Name != nil {
				local = imp.Name.Name
			}
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil {
				visit(sel.Sel.Name)
			}
		}
		return true
	})
}

// Only the command line reads the environment, prints or exits.
func TestOnlyTheCommandLineTouchesTheWorld(t *testing.T) {
	forbidden := map[string][]string{
		"os":  {"Exit", "Getenv", "LookupEnv", "Environ", "Stdout", "Stderr", "Stdin", "Args"},
		"fmt": {"Print", "Println", "Printf"},
		"log": {"Print", "Println", "Printf", "Fatal", "Fatalf"},
	}
	walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/cli/") || strings.HasPrefix(path, "cmd/") ||
			strings.HasPrefix(path, "testdata/servers/") {
			return // the command line, and the programs that its tests run
		}
		for imported, names := range forbidden {
			uses(t, path, data, imported, func(name string) {
				if slices.Contains(names, name) {
					t.Errorf("%s uses %s.%s", path, imported, name)
				}
			})
		}
	})
}

// Every direct dependency has its reason in docs/dependencies.md, and nothing
// is required that is not listed there.
func TestDependenciesHaveReasons(t *testing.T) {
	required := map[string]bool{}
	for _, dir := range modules {
		cmd := exec.Command("go", "mod", "edit", "-json")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go mod edit in %s: %v", dir, err)
		}
		var mod struct {
			Require []struct {
				Path, Version string
				Indirect      bool
			}
		}
		if err := json.Unmarshal(out, &mod); err != nil {
			t.Fatal(err)
		}
		for _, m := range mod.Require {
			if !m.Indirect && m.Path != module {
				required[m.Path+" "+m.Version] = true
			}
		}
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			if name := strings.Trim(strings.TrimSpace(cells[1]), "`"); strings.Contains(name, "/") {
				listed[name+" "+strings.TrimSpace(cells[2])] = true
			}
		}
	}
	for m := range required {
		if !listed[m] {
			t.Errorf("%s is required, and docs/dependencies.md does not list it", m)
		}
		delete(listed, m)
	}
	for m := range listed {
		t.Errorf("docs/dependencies.md lists %s, which is not required", m)
	}
	if _, err := os.Stat("go.work"); err == nil {
		t.Error("there is a go.work: nested modules are tested with GOWORK=off")
	}
}
