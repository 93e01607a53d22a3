// SPDX-License-Identifier: Apache-2.0

// Command probe asks a stdio server for what a contract records, by hand and
// as cheaply as can be: the floor that mcprove is measured against.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(out, 1<<20)
	ask := func(id int, method, params string) error {
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			return err
		}
		want := fmt.Appendf(nil, `"id":%d`, id)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return err
			}
			if bytes.Contains(line, want) {
				return nil
			}
		}
	}
	if err := ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}`); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	for i, m := range []string{"tools/list", "resources/list", "resources/templates/list"} {
		if err := ask(i+2, m, "{}"); err != nil {
			return err
		}
	}
	if err := in.Close(); err != nil {
		return err
	}
	return cmd.Wait()
}
