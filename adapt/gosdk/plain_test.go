// SPDX-License-Identifier: Apache-2.0

package gosdk_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
)

// A server value that was not wrapped is told how.
func TestBareServersAreTold(t *testing.T) {
	if os.Getenv("GOSDK_BARE") != "" {
		mcptest.Open(t, greetServer())
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), exe, "-test.run", "^TestBareServersAreTold$")
	cmd.Env = append(os.Environ(), "GOSDK_BARE=1")
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "gosdk.Server(server)") {
		t.Error(string(out))
	}
}
