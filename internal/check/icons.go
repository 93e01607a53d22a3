// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// iconRules are those of icons, wherever they stand.
var iconRules = []Rule{
	{
		Info: rule.Info{
			ID: "icons.shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#icon",
			Title: "an icon has a URI as its src, and mimeType, sizes and theme have their form",
			Why:   "clients that read by the schema drop the tool, prompt or resource that the icon belongs to",
			Fix:   `send icons as an array of {"src": "https://…", "mimeType": "image/png", "sizes": ["48x48"]}`,
		},
		In: since2511, Watch: iconShape,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_icon","inputSchema":{"type":"object"},"icons":[{"mimeType":"image/png"}]}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_icon","inputSchema":{"type":"object"},"icons":[{"src":"data:image/png;base64,AA==","theme":"blue"}]}`)}},
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_icon","inputSchema":{"type":"object"},"icons":[{"src":"data:image/png;base64,AA==","sizes":["large"]}]}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "icons.src-scheme", Level: rule.Should, Basis: rule.Derived, Section: "2026-07-28/basic#icons",
			Title: "the src of an icon is an https or data URI",
			Why:   "clients must refuse other schemes, so nobody sees the icon",
			Fix:   "serve the icon by HTTPS, or put it into a data URI",
		},
		In: since2511, Watch: iconScheme,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_icon","inputSchema":{"type":"object"},"icons":[{"src":"file:///icon.png"}]}`)}},
	},
	{
		Info: rule.Info{
			ID: "icons.same-origin", Level: rule.Should, Basis: rule.Derived, Section: "2026-07-28/basic#icons",
			Title:  "the src of an icon is on the host of the server",
			Why:    "clients check that, since every icon of another host tells that host who uses the server",
			Fix:    "serve the icon beside the endpoint, or put it into a data URI",
			Detail: "Of a server on this machine nobody knows the public name, so a foreign host is for information there.",
		},
		In: since2511, Watch: iconOrigin,
		Break: Break{
			Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_icon","inputSchema":{"type":"object"},"icons":[{"src":"https://icons.example.net/a.png"}]}`)},
			Only:   transport.StreamableHTTP,
		},
	},
}

// icon is one icon, and what it belongs to.
type icon struct {
	x          *probe.Exchange
	raw        json.RawMessage
	kind, name string // of the item
	pointer    string
}

// owned is something that may have icons.
type owned struct {
	x          *probe.Exchange
	raw        json.RawMessage
	kind, name string
	pointer    string
}

// iconOwners are all that has a member icons: entries of lists, and the server
// itself.
func iconOwners(t *probe.Traffic) []owned {
	return probe.Known(t, "icon owners", func() []owned { return findIconOwners(t) })
}

func findIconOwners(t *probe.Traffic) []owned {
	var out []owned
	for _, l := range []struct{ method, kind string }{
		{spec.MethodToolsList, "tool"}, {spec.MethodPromptsList, "prompt"},
		{spec.MethodResourcesList, "resource"}, {spec.MethodResourceTemplatesList, "template"},
	} {
		for _, i := range t.Items(l.method) {
			out = append(out, owned{i.Page, i.Raw, l.kind, i.Name, i.Pointer})
		}
	}
	seen := map[string]bool{}
	for _, x := range t.Results() {
		for _, at := range []string{serverInfoPointer, "/serverInfo"} {
			if info := x.At(at); info != nil && !seen[string(info)] {
				seen[string(info)] = true
				out = append(out, owned{x, info, "server", probe.Text(probe.Lookup(info, "/name")), "/result" + at})
			}
		}
	}
	return out
}

var serverInfoPointer = jsonx.Push("/"+spec.FieldMeta, spec.MetaServerInfo)

// eachIcon judges every icon. What is no array of icons is for iconShape.
func eachIcon(c *probe.Case, t *probe.Traffic, judge func(icon)) {
	for _, o := range iconOwners(t) {
		for n, raw := range probe.Elements(probe.Lookup(o.raw, "/icons")) {
			judge(icon{o.x, raw, o.kind, o.name, fmt.Sprintf("%s/icons/%d", o.pointer, n)})
		}
	}
	c.Unseen("no icon was seen")
}

// of points a blame at the icon.
func (i icon) of(b *probe.Blame, pointer string) {
	placed(b, i.x.Response, i.pointer+pointer, i.kind, i.name)
}

// iconSize is the form of sizes: 48x48, or any.
var iconSize = regexp.MustCompile(`^([0-9]+x[0-9]+|any)$`)

func iconShape(c *probe.Case, t *probe.Traffic) {
	bad, odd := blames{say: c.Fail}, blames{say: c.Warn}
	for _, o := range iconOwners(t) {
		if icons := probe.Lookup(o.raw, "/icons"); icons != nil && jsonx.KindOf(icons) != jsonx.Array {
			placed(bad.add(o.x, "the icons of the %s %s are %s, not an array", o.kind, brief(o.name), asJSON(icons)), o.x.Response, o.pointer+"/icons", o.kind, o.name)
		}
	}
	eachIcon(c, t, func(i icon) {
		vs, err := spec.ValidateDefinition(t.Revision, "Icon", i.raw)
		if v, malformed := malformation(vs, nil); err == nil && malformed {
			i.of(bad.add(i.x, "an icon of the %s %s is malformed: %s", i.kind, brief(i.name), v.Message), v.Pointer)
			return
		}
		for n, s := range probe.Elements(probe.Lookup(i.raw, "/sizes")) {
			if size := probe.Text(s); !iconSize.MatchString(size) {
				i.of(odd.add(i.x, "an icon of the %s %s has the size %s, not a width and height like 48x48, nor any", i.kind, brief(i.name), brief(size)), fmt.Sprintf("/sizes/%d", n))
				return
			}
		}
		c.Pass(i.x)
	})
}

// src is the address of an icon; nil where it is none, which iconShape says.
func (i icon) src() *url.URL {
	u, err := url.Parse(probe.Text(probe.Lookup(i.raw, "/src")))
	if err != nil || u.Scheme == "" {
		return nil
	}
	return u
}

func iconScheme(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	eachIcon(c, t, func(i icon) {
		switch u := i.src(); {
		case u == nil:
		case u.Scheme == "https", u.Scheme == "http", u.Scheme == "data":
			c.Pass(i.x)
		default:
			i.of(bad.add(i.x, "the icon of the %s %s is at a URI of the scheme %s, which clients must refuse", i.kind, brief(i.name), brief(u.Scheme)), "/src")
		}
	})
}

func iconOrigin(c *probe.Case, t *probe.Traffic) {
	if t.Stdio() {
		c.Skip("a server over stdio has no host to compare with")
		return
	}
	bad, far := blames{say: c.Fail}, blames{say: c.Note}
	eachIcon(c, t, func(i icon) {
		u, host := i.src(), iconHost(i.x)
		switch {
		case u == nil, host == "":
		case u.Scheme != "https" && u.Scheme != "http", strings.EqualFold(u.Hostname(), host):
			c.Pass(i.x)
		case loopback(host):
			i.of(far.add(i.x, "the icon of the %s %s is at the host %s; clients show it only when that is the server's own", i.kind, brief(i.name), brief(u.Hostname())), "/src")
		default:
			i.of(bad.add(i.x, "the icon of the %s %s is at the host %s, and the server at %s", i.kind, brief(i.name), brief(u.Hostname()), brief(host)), "/src")
		}
	})
}

// iconHost is the host that a request went to, without a port.
func iconHost(x *probe.Exchange) string {
	if x.SentHead == nil {
		return ""
	}
	if u, err := url.Parse(x.SentHead.URL); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	host := x.SentHead.Get("Host")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.Trim(host, "[]")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
