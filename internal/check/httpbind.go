// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// httpBindRules are those of where a server listens. No mock shows them: a
// handler inside the process listens nowhere.
var httpBindRules = []Rule{{
	Info: rule.Info{
		ID: "transport-http.bind-localhost", Level: rule.Should, Basis: rule.Keyword, Section: httpSecurity, Transport: "http",
		Title: "a server that runs locally listens on 127.0.0.1 alone",
		Why:   "every machine on the network can call the tools of the user",
		Fix:   "bind to 127.0.0.1 unless the user asks for another address",
		Detail: "judged for a server that is reached at a loopback address: the same port is tried at the other addresses of this machine, " +
			"and counts when HTTP answers there",
	},
	In: every, Check: bindLocalhost,
}}

// dialing bounds a connection to an address of this machine.
const dialing = time.Second

func bindLocalhost(c *probe.Case) {
	u := endpointOf(c)
	switch {
	case u == nil:
		c.Skip("where the server listens cannot be told")
		return
	case !isLoopback(u.Hostname()):
		c.Skip("the server is not reached at a loopback address, so it is not meant for this machine alone")
		return
	case c.Facts().Discover.Head != nil && c.Facts().Discover.Head.Proto == "":
		c.Skip("it needs a socket")
		return
	}
	own := outwardAddresses()
	for _, a := range own {
		x, listens := answersAt(c, u, a)
		switch {
		case x != nil:
			c.Fail(x, "the server also listens at %s, where other machines reach it", x.SentHead.Get("Host")).And(c.Facts().Discover)
			return
		case listens:
			c.Skip("something listens at port %s of %s too, and did not answer in time", u.Port(), a)
			return
		}
	}
	if len(own) == 0 {
		c.Skip("this machine has no address but that of loopback")
		return
	}
	c.Pass(c.Facts().Discover)
}

// endpointOf is the URL at which the server is reached, nil where there is none.
func endpointOf(c *probe.Case) *url.URL {
	x := c.Facts().Discover
	if x == nil || x.SentHead == nil {
		return nil
	}
	u, err := url.Parse(x.SentHead.URL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return u
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// answersAt asks for server/discover at another address of this machine. It
// returns nil where no HTTP answers; any answer does, a refusal too. Listens is
// true where a connection was taken and nothing was said on it: that may be a
// server that is slow, or another program.
func answersAt(c *probe.Case, u *url.URL, a netip.Addr) (x *probe.Exchange, listens bool) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	there := net.JoinHostPort(a.String(), port)
	d := net.Dialer{Timeout: dialing}
	conn, err := d.DialContext(c.Context(), "tcp", there)
	if err != nil {
		return nil, false
	}
	_ = conn.Close()
	v := *u
	v.Host = there
	// The server answers other requests meanwhile, so it gets as long as a
	// first one does.
	p, err := probe.Open(c.Context(), &transport.HTTP{URL: v.String()}, probe.Options{Revision: c.Probe().Revision()})
	if err != nil {
		return nil, false
	}
	defer p.Close(c.Context())
	if x = p.Facts().Discover; x.Head != nil {
		return x, true
	}
	return nil, x.Silent()
}

// outwardAddresses are the addresses of this machine that others can reach, one
// of each version of IP.
func outwardAddresses() []netip.Addr {
	as, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	var four, six bool
	for _, a := range as {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		ip = ip.Unmap()
		if !ok || ip.IsLoopback() || !ip.IsGlobalUnicast() || ip.Is4() && four || ip.Is6() && six {
			continue
		}
		four, six = four || ip.Is4(), six || ip.Is6()
		out = append(out, ip)
	}
	return out
}
