// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckURI(t *testing.T) {
	for s, want := range map[string]uriFault{
		"file:///srv/a.txt": 0, "urn:isbn:0451450523": 0, "git+ssh://host/r": 0, "x-y.z://a?b=c#d": 0, "mailto:a@b.example": 0,
		"http://[::1]:80/": 0, "demo://caf%C3%A9": 0, "a:": 0,
		"": uriNoScheme, "/package.json": uriNoScheme, "readme": uriNoScheme, "docs/a:b": uriNoScheme, "?a:b": uriNoScheme, ":a": uriNoScheme,
		"my_scheme://x": uriBadScheme, "1st://x": uriBadScheme, "-a:b": uriBadScheme, "a b:c": uriBadScheme, "é:a": uriBadScheme,
		"file:///a b": uriBadChar, "demo://é": uriBadChar, "demo://%zz": uriBadChar, "demo://%2": uriBadChar, "demo://a#b#c": uriBadChar,
		"demo://{id}": uriBadChar, `C:\notes`: uriBadChar,
	} {
		if got, what := checkURI(s); got != want {
			t.Errorf("%q: fault %d (%q), want %d", s, got, what, want)
		}
	}
}

func TestReadTemplate(t *testing.T) {
	for _, c := range []struct {
		s         string
		variables []string
		broken    bool
		odd       string
	}{
		{s: "demo://all"},
		{s: "demo://{id}", variables: []string{"id"}},
		{s: "{scheme}://{+path*}{?q,lang:2}", variables: []string{"scheme", "path", "q", "lang"}},
		{s: "demo://{a.b}/{%41x}", variables: []string{"a.b", "%41x"}},
		{s: "demo://{issue-id}", variables: []string{"issue-id"}, odd: "issue-id"},
		{s: "demo://{id", broken: true}, {s: "demo://id}", broken: true}, {s: "demo://{{id}}", broken: true},
		{s: "demo://{}", broken: true}, {s: "demo://{a,}", broken: true}, {s: "demo://{a:}", broken: true}, {s: "demo://{a:12345}", broken: true},
		{s: "demo://{=a}", broken: true}, {s: "demo://{+}", broken: true},
	} {
		got := readTemplate(c.s)
		if (got.broken != "") != c.broken || !slices.Equal(got.variables, c.variables) || got.odd != c.odd {
			t.Errorf("%q: %+v", c.s, got)
		}
	}
}

func TestMayMatch(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"demo://all", "demo://all", true}, {"demo://all", "demo://al", false},
		{"demo://{id}", "demo://x/y", true}, {"demo://{id}/cover", "demo://x/cover", true}, {"demo://{id}/cover", "demo://x/back", false},
		{"demo://{a}/{b}/c", "demo://1/2/c", true}, {"demo://{a}-{b}", "demo://12", false}, {"{+any}", "x:y", true},
		{"demo://{id", "other:z", true},
	} {
		if got := readTemplate(c.template).mayMatch(c.uri); got != c.want {
			t.Errorf("%q may match %q: %t", c.template, c.uri, got)
		}
	}
}

func TestSibling(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///srv/a.txt": "file:///srv/n", "demo://host": "demo://n", "demo://a/b/?q=1/2": "demo://a/b/n", "urn:isbn:1": "urn:n",
	} {
		if got := sibling(uri, "n"); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
}

// Each leads out of its directory to the root, and is a URI.
func TestTraversals(t *testing.T) {
	for _, file := range []string{"file:///a.txt", sharedFile, "file://host/x/y"} {
		for _, uri := range traversals(file) {
			if fault, what := checkURI(uri); fault != 0 {
				t.Errorf("%q: fault %d at %q", uri, fault, what)
			}
			if !strings.HasPrefix(uri, file[:strings.LastIndexByte(file, '/')+1]) {
				t.Errorf("%q does not begin beside %q", uri, file)
			}
		}
	}
}

func TestTimestamp(t *testing.T) {
	for s, want := range map[string]bool{
		"2025-01-12T15:00:58Z": true, "2025-01-12T15:00:58.123+02:00": true, "2025-01-12": true, "2025-01-12T15:00": true,
		"2025-01-12t15:00:58z": true, "20250112T150058Z": true, "2025-01-12T15:00:58+0200": true, "2025-01-12T15:00:58,5Z": true,
		"": false, "yesterday": false, "12.01.2025": false, "1736694058": false, "2025-13-01": false, "2025-01-12 15:00": false,
	} {
		if timestamp(s) != want {
			t.Errorf("%q: %t", s, !want)
		}
	}
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{"file:///a", "my_scheme:x", "demo://{id}/{+p*}", "{", "%", ":", "a:%4"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, s, uri string) {
		checkURI(s)
		read := readTemplate(s)
		if read.broken == "" && len(read.literals) > len(read.variables)+1 {
			t.Errorf("%q: more literals than there is between %d variables", s, len(read.variables))
		}
		read.mayMatch(uri)
		if plain := strings.Join(read.literals, ""); read.broken == "" && !read.mayMatch(plain) {
			t.Errorf("%q does not match %q, its expansion with nothing", s, plain)
		}
	})
}
