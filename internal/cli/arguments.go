// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/spf13/cobra"
)

// argument is one k=v or k:=json of a command line.
type argument struct {
	name  string
	value string
	raw   bool // value is JSON: k:=json
}

// parseArgument reads k=v or k:=json. ok is false for a word that is neither.
func parseArgument(word string) (arg argument, ok bool, err error) {
	name, value, found := strings.Cut(word, "=")
	if !found || name == "" || name == ":" {
		return arg, false, nil
	}
	arg = argument{name: name, value: value}
	if !utf8.ValidString(word) {
		return arg, true, badArguments("", "", "argument %s is not UTF-8", name)
	}
	if n, raw := strings.CutSuffix(name, ":"); raw {
		arg.name, arg.raw = n, true
		data, err := maybeFile(value)
		if err != nil {
			return arg, true, err
		}
		if err := jsonx.Check(data, jsonx.Strict); err != nil {
			return arg, true, badArguments("", "after := stands JSON: "+n+":=5, "+n+`:='"text"', `+n+`:='["a","b"]'`, "argument %s is no JSON: %v", n, err)
		}
		arg.value = string(bytes.TrimSpace(data))
	}
	return arg, true, nil
}

// takesArguments tells who writes --name value how arguments are written.
func takesArguments(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd.CommandPath(), "arguments are written name=value, without --; "+cmd.CommandPath()+" --help lists the flags", "%v", err)
	})
}

func badArguments(where, try, format string, args ...any) *Error {
	e := usage(where, try, format, args...)
	e.Code = "bad-arguments"
	return e
}

// maybeFile is a text, or with @ before it the text of a file.
func maybeFile(s string) ([]byte, error) {
	path, named := strings.CutPrefix(s, "@")
	if !named {
		return []byte(s), nil
	}
	data, err := readFile(path)
	if _, ours := errors.AsType[*Error](err); err != nil && !ours {
		err = &Error{Exit: exitUsage, Code: "file-unreadable", Where: path, Message: err.Error(), Try: "check the path after @"}
	}
	return data, err
}

// givenArguments are the arguments that a command line holds: an object that
// may be empty, and what is set in it.
type givenArguments struct {
	base jsonx.Raw // of --json or stdin; nil without
	set  []argument
}

// readArguments reads the words behind a name: k=v, k:=json, or - for an
// object on stdin. whole is the value of --json.
func (a *app) readArguments(list []string, whole string) (givenArguments, error) {
	var g givenArguments
	read := func(data []byte, what string) error {
		if g.base != nil {
			return badArguments("", "leave out one of the two", "the arguments are given twice, as --json and on stdin")
		}
		if err := jsonx.Check(data, jsonx.Strict); err != nil {
			return badArguments(what, `an object is expected: {"name":"value"}`, "the arguments are no JSON: %v", err)
		}
		if k := jsonx.KindOf(bytes.TrimSpace(data)); k != jsonx.Object {
			return badArguments(what, `an object is expected: {"name":"value"}`, "the arguments are %s", k.Name())
		}
		g.base = bytes.TrimSpace(data)
		return nil
	}
	stdin := func() error {
		data, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxFile+1))
		switch {
		case err != nil:
			return fmt.Errorf("read stdin: %w", err)
		case len(data) > maxFile:
			return badArguments("stdin", "", "it holds more than %d bytes", maxFile)
		}
		return read(data, "stdin")
	}
	switch {
	case whole == "-":
		if err := stdin(); err != nil {
			return g, err
		}
	case whole != "":
		data, err := maybeFile(whole)
		if err != nil {
			return g, err
		}
		if err := read(data, "--json"); err != nil {
			return g, err
		}
	}
	for _, w := range list {
		if w == "-" {
			if err := stdin(); err != nil {
				return g, err
			}
			continue
		}
		arg, ok, err := parseArgument(w)
		if err != nil {
			return g, err
		}
		if !ok {
			try := "write arguments as name=value or name:=JSON; the server's command stands behind --"
			if strings.HasPrefix(w, "{") {
				try = "--json '{...}' is the whole object"
			}
			return g, badArguments("", try, "%q is no argument", text.Clip(w, 100))
		}
		for _, old := range g.set {
			if old.name == arg.name {
				return g, badArguments("", "several values are one list: "+arg.name+`:='["a","b"]'`, "argument %s is given twice", arg.name)
			}
		}
		g.set = append(g.set, arg)
	}
	return g, nil
}

// put sets a value in an object at a path of member names, making the objects
// on the way. What stands there is replaced.
func put(object jsonx.Raw, path []string, value jsonx.Raw) jsonx.Raw {
	if len(path) == 0 {
		return value
	}
	ms, _ := jsonx.Members(object, jsonx.Strict)
	out, done := []byte{'{'}, false
	add := func(name string, v jsonx.Raw) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonx.Quote(name)...), ':'), v...)
	}
	for _, m := range ms {
		if m.Name == path[0] {
			m.Value, done = put(m.Value, path[1:], value), true
		}
		add(m.Name, m.Value)
	}
	if !done {
		add(path[0], put(nil, path[1:], value))
	}
	return append(out, '}')
}
