// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Fetch asks for the URL that stands at a pointer of the request, before it is
// answered: what a server must not do with references that it is sent. Only
// hosts on this machine are asked.
func (p Place) Fetch(pointer string) Fault { return Fault{Place: p, Op: OpFetch, Pointer: pointer} }

// fetchTime bounds the wait for what is fetched.
const fetchTime = time.Second

// fetch does it. Nobody is told how it went.
func (f *Fault) fetch(ctx context.Context, q *request) {
	v, _ := jsonx.Lookup(q.Raw, f.Pointer)
	text, _ := jsonx.Text(v)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" {
		return
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return
	}
	limit, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	r, err := http.NewRequestWithContext(limit, http.MethodGet, u.String(), nil)
	if err != nil {
		return
	}
	t := &http.Transport{DisableKeepAlives: true}
	defer t.CloseIdleConnections()
	if answer, err := t.RoundTrip(r); err == nil {
		_ = answer.Body.Close()
	}
}
