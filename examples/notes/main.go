// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	address := flag.String("http", "", "serve over HTTP at this `ADDRESS`, such as 127.0.0.1:8080, in place of stdio")
	flag.Parse()
	store := &Store{}
	if *address == "" {
		if err := NewServer(store).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	server := &http.Server{Addr: *address, Handler: Handler(store), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
