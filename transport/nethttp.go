// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/wire"
)

// netHTTP carries requests by net/http, for proxies and HTTP/2. Header names
// and order are not what crossed, but what net/http makes of them.
type netHTTP struct {
	rt    http.RoundTripper
	owned *http.Transport // ours to close, nil for the caller's
}

func newNetHTTP(t *HTTP) *netHTTP {
	if t.RoundTripper != nil {
		return &netHTTP{rt: t.RoundTripper}
	}
	tr := &http.Transport{
		ForceAttemptHTTP2: t.HTTP2, DisableCompression: true, TLSClientConfig: t.TLS.Clone(),
		MaxResponseHeaderBytes: maxHead, TLSHandshakeTimeout: defaultDialTimeout,
	}
	if t.DialTimeout > 0 {
		tr.TLSHandshakeTimeout = t.DialTimeout
	}
	if t.Proxy != nil {
		tr.Proxy = http.ProxyURL(t.Proxy)
	}
	return &netHTTP{rt: tr, owned: tr}
}

func (c *netHTTP) exact() bool { return false }

func (c *netHTTP) close(context.Context) error {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
	return nil
}

// netPending is a RoundTrip that runs in a goroutine of its own, which ends
// with the response or with abort.
type netPending struct {
	cancel context.CancelFunc
	done   chan struct{}
	resp   *http.Response
	err    error
}

func (c *netHTTP) start(ctx context.Context, r *request) (pending, error) {
	p := &netPending{done: make(chan struct{})}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	wrote := make(chan struct{})
	var once sync.Once
	life = httptrace.WithClientTrace(life, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { once.Do(func() { close(wrote) }) },
	})
	hr, err := http.NewRequestWithContext(life, r.method, r.url.String(), nil)
	if err != nil {
		cancel()
		return nil, &Error{Reason: BadTarget, Detail: "request", Err: err}
	}
	if r.body != nil {
		hr.Body = io.NopCloser(bytes.NewReader(r.body))
		hr.ContentLength = int64(len(r.body))
	}
	setHeader(hr, r.header)
	go func() {
		defer close(p.done)
		p.resp, p.err = c.rt.RoundTrip(hr)
	}()
	select {
	case <-wrote:
	case <-p.done:
		if p.err != nil {
			cancel()
			return nil, roundTripError(ctx, p.err)
		}
	case <-ctx.Done():
		cancel()
		<-p.done
		if p.resp != nil {
			_ = p.resp.Body.Close()
		}
		return nil, contextError(ctx, "sending the request")
	}
	return p, nil
}

// setHeader moves fields into the form of net/http.
func setHeader(hr *http.Request, fields []wire.HeaderField) {
	hr.Header = make(http.Header, len(fields)+1)
	single := make([]string, len(fields)) // most names have one value
	for i, f := range fields {
		if strings.EqualFold(f.Name, "Host") {
			hr.Host = f.Value
			continue
		}
		if strings.EqualFold(f.Name, "Content-Length") {
			continue
		}
		name := http.CanonicalHeaderKey(f.Name)
		if there := hr.Header[name]; there != nil {
			hr.Header[name] = append(there, f.Value)
			continue
		}
		single[i] = f.Value
		hr.Header[name] = single[i : i+1 : i+1]
	}
	if _, ok := hr.Header["User-Agent"]; !ok {
		hr.Header["User-Agent"] = nil // net/http would add its own
	}
}

func (p *netPending) abort() { p.cancel() }

func (p *netPending) response() (*response, error) {
	<-p.done
	if p.err != nil {
		p.cancel()
		return nil, roundTripError(context.Background(), p.err)
	}
	_, reason, _ := strings.Cut(p.resp.Status, " ")
	head := &wire.Head{
		Time: time.Now(), Dir: wire.ToClient, Status: p.resp.StatusCode, Reason: reason,
		Proto: p.resp.Proto, Header: sortedFields(p.resp.Header),
	}
	return &response{head: head, body: &netBody{ReadCloser: p.resp.Body, cancel: p.cancel}}, nil
}

type netBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *netBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// sortedFields is the header in the one order that can be told.
func sortedFields(h http.Header) []wire.HeaderField {
	fs := make([]wire.HeaderField, 0, len(h))
	for name, values := range h {
		for _, v := range values {
			fs = append(fs, wire.HeaderField{Name: name, Value: v})
		}
	}
	if len(fs) > 1 {
		order.Stable(fs, func(a, b wire.HeaderField) int { return strings.Compare(a.Name, b.Name) })
	}
	return fs
}
