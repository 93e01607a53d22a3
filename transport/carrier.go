// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"
	"net/url"

	"github.com/mcprove/mcprove/wire"
)

// carrier moves one HTTP exchange: our own HTTP/1.1, net/http, or a handler
// called in the process.
type carrier interface {
	// start sends the request. The context bounds that alone. The error is of
	// type *Error, without a target.
	start(ctx context.Context, r *request) (pending, error)
	// close ends what is idle, and waits within the context for goroutines of
	// its own; running exchanges were aborted by their owner.
	close(ctx context.Context) error
	// exact says whether heads are known as they crossed.
	exact() bool
}

// pending is a request that was sent.
type pending interface {
	// response waits for the head. The body must be closed.
	response() (*response, error)
	// abort ends the exchange from any goroutine, at any time: reading fails.
	abort()
}

type request struct {
	method string
	url    *url.URL // path and query of this request
	header []wire.HeaderField
	body   []byte
	// bytes, when not nil, is the whole request as it goes to the socket.
	bytes []byte
	// fresh asks for a connection that nothing else has used.
	fresh bool
}

type response struct {
	head *wire.Head
	body io.ReadCloser
}

// rawCarrier can send bytes that are no request.
type rawCarrier interface{ raw() }
