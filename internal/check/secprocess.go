// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
)

// secProcessRules are those of servers that show one face to a scanner and
// another one to a user. They need a process that is started for them: what no
// mock inside this one can show is shown by processes of its own.
var secProcessRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.surface-per-env", Level: rule.MustNot, Basis: rule.Harm, Section: toolsListing, Transport: "stdio",
			Title: "what the server shows is the same in CI and outside of it", Why: surfaceWhy, Fix: surfaceFix,
			Detail: "a process is started with CI and GITHUB_ACTIONS set, and one without",
		},
		In: every, Check: surfacePerEnv, Apart: true, Whole: true,
	},
	{
		Info: rule.Info{
			ID: "sec.surface-after-restart", Level: rule.MustNot, Basis: rule.Harm, Section: toolsListing, Transport: "stdio",
			Title: "what the server shows is the same after a restart, and in an empty home", Why: surfaceWhy, Fix: surfaceFix,
			Detail: "a process is started again after the first has ended, and once more in a home without any file; " +
				"the latter not where a package runner would have to fetch the server anew, and not of items that are in one of the homes alone: what was set up there is",
		},
		In: every, Check: surfaceAfterRestart, Apart: true, Whole: true,
	},
}

// face is what a further process shows. It ends before the next one starts.
func face(c *probe.Case, env map[string]string) (showing, bool) {
	conn := c.OpenIn(env)
	if conn == nil {
		return showing{}, false
	}
	s, ok := lookOnce(c, conn, asIs)
	conn.Close(c.Context())
	return s, ok
}

// atDesk is the environment of a user of the server.
var atDesk = map[string]string{"CI": "", "GITHUB_ACTIONS": ""}

// usualFace is what a process shows to a user, read once for all rules.
func usualFace(c *probe.Case) (showing, bool) {
	type shown struct {
		showing
		ok bool
	}
	s := probe.Share(c.Probe(), "usual face", func() shown {
		x, ok := face(c, atDesk)
		return shown{x, ok}
	})
	if !s.ok {
		c.Skip("the lists of a further process cannot be read to their end")
	}
	return s.showing, s.ok
}

// faces compares what a process shows to what is shown usually, and blames a
// difference that is there again, but for some.
func faces(c *probe.Case, is func() map[string]string, when string, but func(contract.Change) bool) {
	first, ok := usualFace(c)
	if !ok {
		return
	}
	second, ok := face(c, is())
	if !ok {
		return
	}
	m := mutatedBut(first, second, but)
	if m == nil {
		c.Pass(second.pages[0])
		return
	}
	third, ok := face(c, atDesk)
	if !ok {
		return
	}
	fourth, ok := face(c, is())
	switch {
	case !ok:
	case !bytes.Equal(first.text, third.text) || !bytes.Equal(second.text, fourth.text):
		c.Skip("the lists are others in every process")
	default:
		m.blame(c, first, second, when)
	}
}

func surfacePerEnv(c *probe.Case) {
	faces(c, func() map[string]string { return map[string]string{"CI": "true", "GITHUB_ACTIONS": "true"} },
		"with CI and GITHUB_ACTIONS set another surface is shown", nil)
}

// runners fetch what they run, into the home.
var runners = []string{"npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno", "uv", "uvx", "pipx", "go", "cargo", "docker", "podman", "mvn", "gradle", "jbang"}

func surfaceAfterRestart(c *probe.Case) {
	command := c.Probe().Command()
	if command == nil {
		c.Skip("it needs a server over stdio that is started for it")
		return
	}
	first, ok := usualFace(c)
	if !ok {
		return
	}
	second, ok := face(c, atDesk)
	if !ok {
		return
	}
	if m := mutated(first, second); m != nil {
		if again, ok := face(c, atDesk); ok && mutated(second, again) == nil {
			m.blame(c, first, second, "after a restart another surface is shown")
			return
		}
		c.Skip("the lists are others in every process")
		return
	}
	if name := filepath.Base(command.Argv[0]); slices.Contains(runners, name) {
		c.Pass(second.pages[0])
		return
	}
	home, err := os.MkdirTemp("", "mcprove-home-")
	if err != nil {
		c.Pass(second.pages[0])
		return
	}
	defer func() { _ = os.RemoveAll(home) }()
	n := 0
	fresh := func() map[string]string {
		n++
		dir := filepath.Join(home, strconv.Itoa(n))
		_ = os.Mkdir(dir, 0o700) // a server that finds no home says so
		return map[string]string{"CI": "", "GITHUB_ACTIONS": "", "HOME": dir, "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "XDG_STATE_HOME": ""}
	}
	// What a user set up is not there: accounts, and the tools that need one.
	faces(c, fresh, "in an empty home another surface is shown", comesOrGoes)
}
