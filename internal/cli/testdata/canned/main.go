// SPDX-License-Identifier: Apache-2.0

// Command canned is a stdio server that shows what a contract file records,
// and costs next to nothing: what is measured with it is mcprove alone.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var c struct {
		Server, Capabilities, Tools, Resources, ResourceTemplates, Prompts json.RawMessage
		Instructions                                                       string
	}
	if err := json.Unmarshal(data, &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	list := func(key string, items json.RawMessage) map[string]any {
		if items == nil {
			items = json.RawMessage("[]")
		}
		return map[string]any{key: items}
	}
	initialize := map[string]any{"protocolVersion": "2025-11-25", "capabilities": c.Capabilities, "serverInfo": c.Server}
	if c.Instructions != "" {
		initialize["instructions"] = c.Instructions
	}
	answers := map[string]any{
		"initialize": initialize, "tools/list": list("tools", c.Tools), "prompts/list": list("prompts", c.Prompts),
		"resources/list": list("resources", c.Resources), "resources/templates/list": list("resourceTemplates", c.ResourceTemplates),
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": r.ID}
		if a, ok := answers[r.Method]; ok {
			reply["result"] = a
		} else {
			reply["error"] = map[string]any{"code": -32601, "message": "Method not found"}
		}
		if out.Encode(reply) != nil {
			return
		}
	}
}
