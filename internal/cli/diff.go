// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/mcprove/mcprove/surface"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	var (
		tf targetFlags
		of outputFlags
		j  judgeFlags
	)
	cmd := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Compare any two surfaces: files, git revisions, servers",
		Long: `Compare two surfaces and say which changes break callers. Each side is

  a file         a contract, a tools/list result, a listing, or a file of
                 mcp-contract or mcpdiff (.mcpc.json)
  -              such a file on standard input
  git:REV:path   such a file in a revision of the git repository here
  a URL          a server over HTTP
  demo: names    demo: and demo:drift
  -- COMMAND     a server over stdio, as the second side`,
		Example: `  mcprove contract diff git:main:mcprove.contract.json mcprove.contract.json
  mcprove contract diff old-tools.json -- npx -y my-mcp-server
  mcprove contract diff demo: demo:drift`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if of.format == "json" {
				a.judging = "contract diff"
			}
			before, command, err := words(cmd, args)
			if err != nil {
				return err
			}
			sides := len(before)
			if len(command) > 0 {
				sides++
			}
			if tf.server != "" {
				sides++
			}
			if sides != 2 {
				return usage(cmd.CommandPath(), cmd.CommandPath()+" --help", "two sides are compared, %d named", sides)
			}
			if strings.Count(strings.Join(before, "\x00")+"\x00", "-\x00") == 2 && before[0] == "-" && before[1] == "-" {
				return usage(cmd.CommandPath(), "", "standard input can be one side only")
			}
			ctx := cmd.Context()
			old, err := a.source(ctx, &tf, before[0])
			if err != nil {
				return err
			}
			var newer side
			if len(before) == 2 {
				newer, err = a.source(ctx, &tf, before[1])
			} else {
				newer, err = a.live(ctx, &tf, nil, command)
			}
			if err != nil {
				return err
			}
			return a.compare(comparison{
				verb: "contract diff", target: old.name + " -> " + newer.name,
				old: old.surface, new: newer.surface, words: newer.words,
				contractPath: newer.file, acceptPath: j.accept, mustAccept: j.accept != "",
			}, &j, &of, newer.settings, tf.verbose)
		},
	}
	tf.several = true
	tf.add(cmd)
	of.add(cmd)
	j.add(cmd)
	return cmd
}

// side is one side of a diff.
type side struct {
	surface  *surface.Surface
	name     string
	file     string // a file of the working tree, for annotations
	words    []string
	settings contractConfig
}

// source reads one side that is named by a word.
func (a *app) source(ctx context.Context, f *targetFlags, word string) (side, error) {
	switch {
	case word == "-":
		data, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxFile+1))
		if err != nil {
			return side{}, fmt.Errorf("read standard input: %w", err)
		}
		return fileSide("standard input", "", data)
	case strings.HasPrefix(word, "git:"):
		data, err := gitFile(ctx, strings.TrimPrefix(word, "git:"))
		if err != nil {
			return side{}, err
		}
		return fileSide(word, "", data)
	case strings.Contains(word, "://"), strings.HasPrefix(word, "demo:"):
		only := *f
		only.config, only.server = "", ""
		return a.live(ctx, &only, []string{word}, nil)
	}
	data, err := readFile(word)
	if errors.Is(err, fs.ErrNotExist) {
		return side{}, &Error{Exit: exitUsage, Code: "no-such-file", Where: word, Message: "there is no such file",
			Try: "a side is a file, -, git:REV:path, a URL, demo:, or a command after --"}
	}
	if err != nil {
		return side{}, err
	}
	return fileSide(word, word, data)
}

func fileSide(name, file string, data []byte) (side, error) {
	if len(data) > maxFile {
		return side{}, usage(name, "", "it has more than %d bytes", maxFile)
	}
	s, err := surface.Read(name, data)
	return side{surface: s, name: name, file: file}, err
}

func (a *app) live(ctx context.Context, f *targetFlags, before, command []string) (side, error) {
	t, err := a.resolve(f, before, command)
	if err != nil {
		return side{}, err
	}
	s, err := a.collect(ctx, f, t)
	return side{surface: s, name: t.name, words: t.words, settings: t.settings}, err
}

// gitFile reads REV:path from the repository here.
func gitFile(ctx context.Context, spec string) ([]byte, error) {
	rev, path, ok := strings.Cut(spec, ":")
	if !ok || rev == "" || path == "" || strings.HasPrefix(rev, "-") {
		return nil, usage("git:"+spec, "git:main:mcprove.contract.json", "write it as git:REV:path")
	}
	// ./ makes the path relative to this folder, as users write it.
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") {
		path = "./" + path
	}
	cmd := exec.CommandContext(ctx, "git", "show", "--no-textconv", rev+":"+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, usage("git:"+spec, "install git, or use a file", "git is not installed")
	}
	if err != nil {
		return nil, &Error{Exit: exitUsage, Code: "git-failed", Where: "git:" + spec, Message: firstOf(lastLine(stderr.String()), err.Error()),
			Try: "check the revision and the path: git show " + rev + ":" + path}
	}
	return out, nil
}
