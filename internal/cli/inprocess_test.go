// SPDX-License-Identifier: Apache-2.0

//go:build real || peers

package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// runReal runs one command line in process.
func runReal(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	code = Run(ctx, Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: environ, Now: time.Now})
	return code, out.String(), errs.String()
}
