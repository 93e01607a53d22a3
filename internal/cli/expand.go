// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// variable is ${NAME}, ${NAME:-default}, ${env:NAME}, ${workspaceFolder} or
// ${input:id}; $${ is a plain ${.
var variable = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// expander fills variables in, and remembers which are missing: an empty text
// in the place of a missing secret fails far away from its cause.
type expander struct {
	app       *app
	workspace string
	missing   []string
}

func (x *expander) expand(s string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$${") {
			return m[1:]
		}
		body := m[2 : len(m)-1]
		name, def, hasDefault := strings.Cut(body, ":-")
		switch {
		case name == "workspaceFolder":
			return x.workspace
		case name == "userHome":
			if home, ok := x.app.getenv("HOME"); ok {
				return home
			}
		case name == "pathSeparator" || name == "/":
			return string(os.PathSeparator)
		case strings.HasPrefix(name, "input:"):
			x.missing = append(x.missing, m+" (asked for by the host; set the value with --env or --header)")
			return ""
		}
		name = strings.TrimPrefix(name, "env:")
		v, ok := x.app.getenv(name)
		switch {
		case ok && (v != "" || !hasDefault):
			return v
		case hasDefault:
			return def
		}
		x.missing = append(x.missing, name)
		return ""
	})
}

// server returns a copy of the server with every variable filled in.
func (x *expander) server(name string, s *serverConfig) (*serverConfig, error) {
	out := *s
	out.command = make([]string, len(s.command))
	for i, w := range s.command {
		out.command[i] = x.expand(w)
	}
	out.url, out.cwd = x.expand(s.url), x.expand(s.cwd)
	expandMap := func(m map[string]string) map[string]string {
		o := map[string]string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			o[k] = x.expand(m[k])
		}
		return o
	}
	out.env, out.header = expandMap(s.env), expandMap(s.header)
	x.app.learn(out.env)
	x.app.learnHeaders(out.header)
	if len(x.missing) > 0 {
		slices.Sort(x.missing)
		names := slices.Compact(x.missing)
		return nil, &Error{Exit: exitUsage, Code: "variable-missing", Where: s.place,
			Message: "server " + name + " needs variables that are not set: " + strings.Join(names, ", "),
			Try:     "export them, or give a default: ${NAME:-default}"}
	}
	return &out, nil
}
