// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// serving makes this program a stdio server.
const serving = "MCPTEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		fmt.Fprintln(os.Stderr, "the server has begun")
		if err := mock.New(echoing()).ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// command is this program as a server.
func command(t testing.TB) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), serving+"=1")
	return cmd
}

func TestProcessesAndURLs(t *testing.T) {
	srv := httptest.NewServer(mock.New(echoing()))
	defer srv.Close()
	for name, target := range map[string]any{"process": command(t), "url": srv.URL + "/mcp"} {
		t.Run(name, func(t *testing.T) {
			mcptest.EachEra(t, target, func(t *testing.T, c *mcptest.Client) {
				c.HasTool("echo")
				c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
				c.CallTool("ecco", nil).HasErrorCode(spec.CodeInvalidParams)
			})
		})
	}
}

// What a process wrote to its standard error is in the failure.
func TestStandardErrorIsShown(t *testing.T) {
	w := watch(t, func(t testing.TB) { mcptest.Open(t, command(t)).HasTool("ecco") })
	found := false
	for _, l := range w.logged {
		found = found || l == "the server's standard error:\nthe server has begun"
	}
	if !found {
		t.Errorf("the test showed %q", w.logged)
	}
}

func TestCommandsAreStartedHere(t *testing.T) {
	for name, change := range map[string]func(*exec.Cmd){
		"a Stdin":         func(c *exec.Cmd) { c.Stdin = os.Stdin },
		"no such program": func(c *exec.Cmd) { *c = *exec.Command("mcprove-no-such-program") },
	} {
		cmd := command(t)
		change(cmd)
		if w := watch(t, func(t testing.TB) { mcptest.Open(t, cmd) }); len(w.said) != 1 {
			t.Errorf("%s: the test said %q", name, w.said)
		}
	}
}
