// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNotFound is wrapped by a StartError when there is no such program.
var ErrNotFound = errors.New("command not found")

// ErrNotExecutable is wrapped by a StartError when there is a file of that
// name that cannot be run.
var ErrNotExecutable = errors.New("not an executable file")

// Lookup returns the value of a variable in an environment. The last one of a
// name counts, as the operating system reads it.
func Lookup(env []string, name string) (value string, ok bool) {
	for _, kv := range env {
		k, v, found := strings.Cut(kv, "=")
		if found && sameName(k, name) {
			value, ok = v, true
		}
	}
	return value, ok
}

func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// minimal is what a server needs to run at all: where programs and homes are.
// Nothing in it is a secret by habit.
var minimal = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
}

// Minimal returns the few variables of env that programs need to start, and
// none that is likely to hold a secret.
func Minimal(env []string) []string {
	out := []string{}
	for _, kv := range env {
		k, _, _ := strings.Cut(kv, "=")
		for _, name := range minimal {
			if sameName(k, name) {
				out = append(out, kv)
			}
		}
	}
	return out
}

// lookPath finds the program in the PATH of env, or relative to dir.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsAny(name, pathSeparators) {
		path := name
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		found, err := executable(path, env)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	}
	path, _ := Lookup(env, "PATH")
	first := error(nil)
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue // a program of the current folder is never meant
		}
		found, err := executable(filepath.Join(d, name), env)
		if err == nil {
			return found, nil
		}
		if first == nil && errors.Is(err, ErrNotExecutable) {
			first = err
		}
	}
	if first != nil {
		return "", first
	}
	return "", ErrNotFound
}

func statError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}
