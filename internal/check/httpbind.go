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
	In: every, Check: bindLocalhost, Under: []string{ruleBindAll},
}, {
	Info: rule.Info{
		ID: ruleBindAll, Level: rule.MustNot, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
		Title: "a server as it was started does not serve other machines without credentials",
		Why:   "everybody on the network can call the tools of the user, with the user's rights",
		Fix:   "bind to 127.0.0.1 unless the user asks for another address, and ask for credentials there",
		Detail: "judged for a server that was started for the run, as by URL -- COMMAND: it fails where a well-formed request at another address " +
			"of this machine is served",
	},
	In: every, Check: bindAll,
}}

const ruleBindAll = "sec.bind-all"

// dialing bounds a connection to an address of this machine.
const dialing = time.Second

func bindLocalhost(c *probe.Case) {
	bound(c, func(x *probe.Exchange) {
		c.Fail(x, "the server also listens at %s, where other machines reach it", x.SentHead.Get("Host")).And(c.Facts().Greeting)
	})
}

func bindAll(c *probe.Case) {
	if !c.Probe().Started() {
		c.Skip("the server was not started for this run, so how it is meant to be reached is not known")
		return
	}
	bound(c, func(x *probe.Exchange) {
		if !x.OK() {
			c.Pass(x) // it asks for something there
			return
		}
		c.Fail(x, "a request at %s, where other machines reach it, was served without credentials", x.SentHead.Get("Host")).And(c.Facts().Greeting)
	})
}

// bound looks for the server at the other addresses of this machine. It tells of
// the first answer, and passes where there is none.
func bound(c *probe.Case, answered func(*probe.Exchange)) {
	u := endpointOf(c)
	switch {
	case u == nil:
		c.Skip("where the server listens cannot be told")
		return
	case !isLoopback(u.Hostname()):
		c.Skip("the server is not reached at a loopback address, so it is not meant for this machine alone")
		return
	case c.Facts().Greeting.Head != nil && c.Facts().Greeting.Head.Proto == "":
		c.Skip("it needs a socket")
		return
	}
	own := outwardAddresses()
	for _, a := range own {
		x, listens := answersAt(c, u, a)
		switch {
		case x != nil:
			answered(x)
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
	c.Pass(c.Facts().Greeting)
}

// endpointOf is the URL at which the server is reached, nil where there is none.
func endpointOf(c *probe.Case) *url.URL {
	x := c.Facts().Greeting
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

// answersAt asks for the greeting at another address of this machine. It
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
	if x = p.Facts().Greeting; x.Head != nil {
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
