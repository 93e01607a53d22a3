// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/surface"
)

var (
	kindResourceRemoved = define("resource-removed", Breaking, "resource removed",
		"resources/read of it fails", "keep the resource, or offer a template that covers it")
	kindResourceCovered = define("resource-removed-covered-by-template", Additive, "resource is no longer listed; a template covers it",
		"it can still be read, it is only not enumerated", nothing)
	kindResourceAdded = define("resource-added", Additive, "resource added",
		"no caller reads it yet", nothing)
	kindResourceRespelled = define("resource-uri-respelled", Cosmetic, "resource's URI is spelled differently",
		"both spellings are equal by RFC 3986", nothing)
	kindResourceMime = define("resource-mime-changed", Breaking, "resource's MIME type changed",
		"readers parse by it", "serve the new type under a new URI")
	kindResourceMimeAdded = define("resource-mime-added", Additive, "resource's MIME type is stated now",
		"readers that guessed know it now", nothing)
	kindResourceMimeRemoved = define("resource-mime-removed", Breaking, "resource's MIME type is no longer stated",
		"readers must guess", "state the type again")
	kindResourceMimeParameter = define("resource-mime-parameter-changed", Routing, "a parameter of the MIME type changed",
		"charset and profile steer how it is decoded", nothing)
	kindResourceName = define("resource-name-changed", Routing, "resource's name changed",
		"people and models choose by it", nothing)
	kindResourceTitle = define("resource-title-changed", Routing, "resource's title changed",
		"people and models choose by it", nothing)
	kindResourceDescription = define("resource-description-changed", Routing, "resource's description changed",
		"people and models choose by it", nothing)
	kindResourceSize = define("resource-size-changed", Cosmetic, "resource's size changed",
		"it changes with the content; a contract file never records it", nothing)
	kindResourceAnnotations = define("resource-annotations-changed", Routing, "audience or priority changed",
		"hosts filter by them: losing the audience \"assistant\" hides it from the model", nothing)
	kindResourceModified = define("resource-last-modified-changed", Cosmetic, "lastModified changed",
		"it changes with the content; a contract file never records it", nothing)
	kindResourceMeta = define("resource-icons-meta-changed", Cosmetic, "icons, _meta or unknown members changed",
		"only what people see, or what some agreed on", nothing)
)

// resourceKinds are the kinds of change that resources and templates share in
// form.
type resourceKinds struct {
	mime, mimeAdded, mimeRemoved, mimeParameter *kind
	name, title, description                    *kind
}

// resources compares the resource listings.
func (c *comparer) resources() {
	k := surface.Resources
	if !c.both(surface.Facet(k)) {
		c.notCompared(k)
		return
	}
	ms := matched(c.old.Items(k), c.new.Items(k))
	// A removed and an added URI that are equal once normalised are one.
	added := map[string]*surface.Item{}
	for _, m := range ms {
		if m.old == nil {
			added[normalURI(m.name)] = m.new
		}
	}
	respelled := map[string]bool{}
	for _, m := range ms {
		if n := added[normalURI(m.name)]; m.new == nil && n != nil {
			respelled[m.name], respelled[n.Name] = true, true
			c.add(kindResourceRespelled, at{"resource", Place{Name: n.Name, Pointer: "/uri", Path: "uri"}}, values(str(m.name), str(n.Name)))
			c.resource(at{"resource", Place{Name: n.Name}}, m.old, n)
		}
	}
	for _, m := range ms {
		a := at{"resource", Place{Name: m.name}}
		switch {
		case respelled[m.name]:
		case m.old == nil:
			c.add(kindResourceAdded, a, values(nil, m.new.Raw))
		case m.new == nil:
			if t := c.covering(m.name); t != "" {
				c.add(kindResourceCovered, a, values(m.old.Raw, nil), message("resource is no longer listed; the template "+t+" covers it"))
			} else {
				c.add(kindResourceRemoved, a, values(m.old.Raw, nil), func(ch *Change) { ch.cause = c.templateGone(m.name) })
			}
		default:
			c.result.Compared["resource"]++
			c.resource(a, m.old, m.new)
		}
	}
}

// covering returns a template of the new surface that matches the URI.
func (c *comparer) covering(uri string) string {
	for _, it := range c.new.Items(surface.Templates) {
		if t, err := parseTemplate(it.Name); err == nil && t.matches(uri) {
			return it.Name
		}
	}
	return ""
}

// templateGone returns a template of the old surface that matched the URI and is
// gone: it is what the resources of its form have in common.
func (c *comparer) templateGone(uri string) string {
	for _, it := range c.old.Items(surface.Templates) {
		if slices.ContainsFunc(c.new.Items(surface.Templates), func(n surface.Item) bool { return n.Name == it.Name }) {
			continue
		}
		if t, err := parseTemplate(it.Name); err == nil && t.matches(uri) {
			return it.Name
		}
	}
	return ""
}

func (c *comparer) resource(a at, old, new *surface.Item) {
	c.described(surface.Resources, a, old, new, resourceKinds{
		kindResourceMime, kindResourceMimeAdded, kindResourceMimeRemoved, kindResourceMimeParameter,
		kindResourceName, kindResourceTitle, kindResourceDescription,
	})
	if b, n := old.Member("size"), new.Member("size"); c.both(surface.Resources.Of("size")) && string(b) != string(n) {
		c.add(kindResourceSize, a.member("size"), values(b, n))
	}
}

// described compares what resources and templates have in common.
func (c *comparer) described(k surface.Kind, a at, old, new *surface.Item, ks resourceKinds) {
	if string(old.Raw) == string(new.Raw) {
		return
	}
	has := func(member string) bool { return c.both(k.Of(member)) }
	if has("mimeType") {
		c.mimeType(a.member("mimeType"), old.Member("mimeType"), new.Member("mimeType"), ks)
	}
	for _, t := range []struct {
		member string
		k      *kind
	}{{"name", ks.name}, {"title", ks.title}, {"description", ks.description}} {
		if has(t.member) {
			c.text(wording{changed: t.k}, a.member(t.member), old.Member(t.member), new.Member(t.member))
		}
	}
	if has("annotations") {
		c.resourceAnnotations(k, a, old, new)
	}
	for _, m := range []string{"icons", "_meta"} {
		if b, n := old.Member(m), new.Member(m); has(m) && string(b) != string(n) {
			c.add(kindResourceMeta, a.member(m), values(b, n))
		}
	}
	if has("") {
		c.otherMembers(kindResourceMeta, k, a, old, new)
	}
}

func (c *comparer) mimeType(a at, before, after jsonx.Raw, ks resourceKinds) {
	x, _ := jsonx.Text(before)
	y, _ := jsonx.Text(after)
	if x == y {
		return
	}
	xt, xp, xErr := mime.ParseMediaType(x)
	yt, yp, yErr := mime.ParseMediaType(y)
	switch {
	case x == "":
		c.add(ks.mimeAdded, a, values(before, after))
	case y == "":
		c.add(ks.mimeRemoved, a, values(before, after))
	case xErr == nil && yErr == nil && xt == yt && equalMaps(xp, yp):
		// Case and spacing only.
	case xErr == nil && yErr == nil && xt == yt:
		c.add(ks.mimeParameter, a, values(before, after))
	default:
		c.add(ks.mime, a, values(before, after))
	}
}

func equalMaps(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func (c *comparer) resourceAnnotations(k surface.Kind, a at, old, new *surface.Item) {
	b, n := annotationsOf(old), annotationsOf(new)
	a = a.member("annotations")
	if was, is := b.raw["lastModified"], n.raw["lastModified"]; string(was) != string(is) && c.both(surface.LastModified(k)) {
		c.add(kindResourceModified, a.member("lastModified"), values(was, is))
	}
	delete(b.raw, "lastModified")
	delete(n.raw, "lastModified")
	x, _ := jsonx.Marshal(b.raw)
	y, _ := jsonx.Marshal(n.raw)
	if string(x) != string(y) {
		c.add(kindResourceAnnotations, a, values(old.Member("annotations"), new.Member("annotations")))
	}
}

// normalURI brings a URI into the normal form of RFC 3986 section 6.2.2 and
// 6.2.3: case of scheme, host and percent-encoding, unreserved characters
// decoded, dot segments removed, the default port dropped.
func normalURI(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return s
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443", "ftp": ":21"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
		if u.Path == "" {
			u.Path = "/"
		}
	}
	if u.Opaque != "" {
		return u.Scheme + ":" + normalEscapes(u.Opaque) + tail(u)
	}
	p := normalEscapes(u.EscapedPath())
	if u.Host != "" || strings.HasPrefix(p, "/") {
		clean := path.Clean("/" + p)
		if strings.HasSuffix(p, "/") && clean != "/" {
			clean += "/"
		}
		if p != "" && !strings.Contains(p, "//") {
			p = clean
		}
	}
	auth := ""
	if u.Host != "" || strings.HasPrefix(s[len(u.Scheme):], "://") {
		auth = "//"
		if u.User != nil {
			auth += u.User.String() + "@"
		}
		auth += u.Host
	}
	return u.Scheme + ":" + auth + p + tail(u)
}

func tail(u *url.URL) string {
	t := ""
	if u.RawQuery != "" || u.ForceQuery {
		t += "?" + normalEscapes(u.RawQuery)
	}
	if u.Fragment != "" {
		t += "#" + normalEscapes(u.EscapedFragment())
	}
	return t
}

// normalEscapes writes percent-encodings in upper case, and unreserved
// characters plainly.
func normalEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		c := unhex(s[i+1])<<4 | unhex(s[i+2])
		if unreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// origins are the origins that icons come from; "data:" and "data:svg" stand
// for embedded ones.
func origins(icons jsonx.Raw) map[string]bool {
	out := map[string]bool{}
	es, _ := jsonx.Elements(icons, jsonx.Strict)
	for _, e := range es {
		src, err := jsonx.Lookup(e, "/src")
		if err != nil {
			continue
		}
		s, _ := jsonx.Text(src)
		u, err := url.Parse(s)
		switch {
		case err != nil:
			out[s] = true
		case u.Scheme == "data" && strings.HasPrefix(u.Opaque, "image/svg"):
			out["data:svg"] = true
		case u.Scheme == "data":
			out["data:"] = true
		default:
			out[u.Scheme+"://"+u.Host] = true
		}
	}
	return out
}
