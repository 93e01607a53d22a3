// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

const elicitPage = "2026-07-28/client/elicitation"

const notForAuth = "elicitation.not-for-mcp-auth"

// elicitationRules are those of what a server asks a user, as it crosses.
var elicitationRules = []Rule{
	elicits("elicitation.message-present", rule.Must, rule.Keyword, "#elicitation-requests", since2506, elicitMessage,
		"an elicitation has a message", "the user is asked nothing that they could understand", "say in message what you need and why",
		onCall(formTool).Remove(formAt+"/params/message")),
	elicits("elicitation.mode-present", rule.Must, rule.Keyword, "#elicitation-requests", since2511, elicitMode,
		"an elicitation's mode is form or url", "the client cannot tell a form from a page, and refuses both", "set mode to form or url; only a form may leave it out",
		onCall(formTool).Set(formAt+"/params/mode", `"dialog"`)),
	elicits("elicitation.form-schema-present", rule.Must, rule.Keyword, "#form-mode-elicitation-requests", since2506, elicitSchema,
		"a form elicitation has a requestedSchema of type object with properties", "the client has no fields to show", `send requestedSchema with type "object" and properties`,
		onCall(formTool).Remove(formAt+"/params/requestedSchema")),
	elicits("elicitation.form-schema-flat", rule.Must, rule.Prose, "#requested-schema", since2506, elicitFlat,
		"a requestedSchema is flat: strings, numbers, booleans and enumerations", "clients draw one row a field, and cannot draw nested ones", "split nested values into fields of their own, or ask twice",
		onCall(formTool).Set(formAt+"/params/requestedSchema/properties/place", `{"type":"object","properties":{}}`)),
	elicits("elicitation.form-string-formats", rule.Must, rule.Schema, "#requested-schema", since2506, elicitFormats,
		"a string field's format is email, uri, date or date-time", "clients check these four, and let anything through for others, or refuse the form", "use one of the four, or a pattern in the description",
		onCall(formTool).Set(formAt+"/params/requestedSchema/properties/day/format", `"ipv4"`)),
	elicits("elicitation.enum-names-legacy", rule.ShouldNot, rule.Schema, "2026-07-28/schema#legacytitledenumschema", since2511, elicitEnumNames,
		"choices have titles by oneOf with const and title, not by enumNames", "newer clients show the bare values", "write oneOf: [{const, title}]",
		onCall(formTool).Set(formAt+"/params/requestedSchema/properties/wind", `{"type":"string","enum":["n","s"],"enumNames":["North","South"]}`)),
	elicits("elicitation.url-fields", rule.Must, rule.Keyword, "#url-mode-elicitation-requests", modern, elicitURLFields,
		"a URL elicitation has mode, message and url", "the client has no page to open", "send mode url, message and url",
		onCall(urlTool).Remove(urlAt+"/params/url")),
	elicits("elicitation.url-valid", rule.Must, rule.Keyword, "#url-mode-elicitation-requests", since2511, elicitURLValid,
		"the url of an elicitation is a valid URL", "the client refuses to open it", "send an absolute URL",
		onCall(urlTool).Set(urlAt+"/params/url", `"confirm here"`)),
	elicits("elicitation.url-https", rule.Should, rule.Keyword, "#safe-url-handling", since2511, elicitHTTPS,
		"the url of an elicitation is https", "what the user enters there can be read and changed on the way", "serve the page by https; http is for this machine alone",
		onCall(urlTool).Set(urlAt+"/params/url", `"http://example.com/confirm"`)),
	elicits("elicitation.url-no-sensitive", rule.MustNot, rule.Keyword, "#safe-url-handling", since2511, elicitURLSensitive,
		"the url of an elicitation holds no credentials or personal data", "URLs end in histories, logs and other people's screens", "put a random handle into the URL, and keep the rest on the server",
		onCall(urlTool).Set(urlAt+"/params/url", `"https://example.com/confirm?user=ada@example.com"`)),
	elicits("elicitation.form-no-clickable-url", rule.ShouldNot, rule.Keyword, "#safe-url-handling", since2511, elicitClickable,
		"a form's fields hold no URL to click", "the user is led to a page that nobody checked", "use URL mode for pages",
		onCall(formTool).Set(formAt+"/params/requestedSchema/properties/observer/description", `"See https://example.com/help"`)),
	elicits("elicitation.form-no-secrets", rule.MustNot, rule.Keyword, "#user-interaction-model", since2506, elicitSecrets,
		"a form asks for no password, key, token or payment data", "the secret passes through the client, the model's context and logs", "ask for secrets on a page of your own, by URL mode",
		onCall(formTool).Set(formAt+"/params/requestedSchema/properties/password", `{"type":"string","title":"Password"}`)),
	elicits("elicitation.secrets-by-url", rule.Must, rule.Keyword, "#user-interaction-model", since2511, elicitSecretsByURL,
		"sensitive data is gathered in URL mode alone", "a message that asks for a secret makes the user type it into the form", "ask for it on a page of your own",
		onCall(formTool).Set(formAt+"/params/message", `"Please enter your password below."`)),
	elicits(notForAuth, rule.MustNot, rule.Keyword, "#url-mode-elicitation-for-oauth-flows", since2511, elicitNotAuth,
		"URL elicitation does not authorise the client to the server itself", "the client never gets a token of its own, and every later call asks again", "answer 401 with WWW-Authenticate, as the authorization chapter says",
		onCall(urlTool).OnHTTP().Set(urlAt+"/params/url", `"https://example.com/authorize?response_type=code&client_id=x&resource=http%3A%2F%2Flocalhost%2F"`)),
}

// elicits makes one rule about elicitations that looks on.
func elicits(id, level string, basis rule.Basis, section string, in spec.Range, watch func(*probe.Case, *probe.Traffic), title, why, fix string, fault mock.Fault) Rule {
	if strings.HasPrefix(section, "#") {
		section = elicitPage + section
	}
	r := Rule{
		Info: rule.Info{ID: id, Level: level, Basis: basis, Section: section, Title: title, Why: why, Fix: fix},
		In:   in, Watch: watch, Stir: stirAsks, Needs: "--tool",
	}
	r.Break, r.Breaks = ofAsk(fault, in)
	if id == notForAuth {
		r.Break.Only = transport.StreamableHTTP // over stdio there is no endpoint to name
		r.Breaks[0].Only = transport.StreamableHTTP
	}
	return r
}

func elicitMessage(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isElicit, func(a *ask) {
		if a.url() && a.get("/url") == nil {
			return // a rule of its own says what a URL elicitation lacks
		}
		if jsonx.KindOf(a.get("/message")) != jsonx.String {
			a.fail(c, "/message", "the elicitation %q has no message", a.key)
		}
	})
}

func elicitMode(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isElicit, func(a *ask) {
		switch mode := a.get("/mode"); {
		case mode == nil && a.get("/url") == nil, a.form(), a.url():
		case mode == nil:
			a.fail(c, "/mode", "the elicitation %q has a url and no mode", a.key)
		default:
			a.fail(c, "/mode", "the elicitation %q has mode %s", a.key, orAbsent(mode))
		}
	})
}

func elicitSchema(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		if a.get("/mode") == nil && a.get("/url") != nil {
			return
		}
		switch s := a.get("/requestedSchema"); {
		case jsonx.KindOf(s) != jsonx.Object:
			a.fail(c, "/requestedSchema", "the form %q has no requestedSchema", a.key)
		case a.text("/requestedSchema/type") != "object":
			a.fail(c, "/requestedSchema/type", "the requestedSchema of %q is of type %s", a.key, orAbsent(a.get("/requestedSchema/type")))
		case jsonx.KindOf(a.get("/requestedSchema/properties")) != jsonx.Object:
			a.fail(c, "/requestedSchema", "the requestedSchema of %q has no properties", a.key)
		}
	})
}

// fields are the properties of a form's schema.
func fields(a *ask) []jsonx.Member { return probe.Members(a.get("/requestedSchema/properties")) }

func fieldAt(name string) string { return jsonx.Push("/requestedSchema/properties", name) }

func elicitFlat(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		for _, f := range fields(a) {
			kind := probe.Text(probe.Lookup([]byte(f.Value), "/type"))
			items := probe.Lookup([]byte(f.Value), "/items")
			choice := probe.Lookup(items, "/enum") != nil || probe.Lookup(items, "/anyOf") != nil || probe.Lookup(items, "/oneOf") != nil
			switch {
			case slices.Contains([]string{"string", "number", "integer", "boolean"}, kind):
			case kind == "" && (probe.Lookup([]byte(f.Value), "/enum") != nil || probe.Lookup([]byte(f.Value), "/oneOf") != nil):
			case kind == "array" && choice && t.Revision >= spec.Rev20251125:
			default:
				a.fail(c, fieldAt(f.Name), "the field %q of the form %q is no string, number, boolean or choice", f.Name, a.key)
			}
		}
	})
}

func elicitFormats(c *probe.Case, t *probe.Traffic) {
	known := []string{"email", "uri", "date", "date-time"}
	eachAsk(c, t, isForm, func(a *ask) {
		for _, f := range fields(a) {
			raw := probe.Lookup([]byte(f.Value), "/format")
			if probe.Lookup([]byte(f.Value), "/enum") != nil || probe.Lookup([]byte(f.Value), "/oneOf") != nil {
				continue // a choice, whose schema knows no format and lets any member be
			}
			if probe.Text(probe.Lookup([]byte(f.Value), "/type")) == "string" && raw != nil && !slices.Contains(known, probe.Text(raw)) {
				a.fail(c, fieldAt(f.Name)+"/format", "the field %q has format %s", f.Name, orAbsent(raw))
			}
		}
	})
}

func elicitEnumNames(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		for _, f := range fields(a) {
			if probe.Lookup([]byte(f.Value), "/enumNames") != nil {
				a.fail(c, fieldAt(f.Name)+"/enumNames", "the field %q has enumNames", f.Name)
			}
		}
	})
}

func elicitURLFields(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		for _, name := range []string{"message", "url"} {
			if jsonx.KindOf(a.get("/"+name)) != jsonx.String && (name != "message" || a.get("/url") == nil) {
				a.fail(c, "/"+name, "the URL elicitation %q has no %s", a.key, name)
			}
		}
	})
}

// page is the URL of an elicitation that has one which can be read.
func page(a *ask) *url.URL {
	u, err := url.Parse(a.text("/url"))
	if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
		return nil
	}
	return u
}

func elicitURLValid(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		if raw := a.text("/url"); raw != "" && page(a) == nil {
			a.fail(c, "/url", "the url of %q is no absolute URL: %.80q", a.key, raw)
		}
	})
}

func elicitHTTPS(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		u := page(a)
		if u == nil || u.Scheme != "http" {
			return
		}
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			a.fail(c, "/url", "the url of %q is http: %s", a.key, u.Host)
		}
	})
}

func elicitURLSensitive(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		u := page(a)
		if u == nil {
			return
		}
		if u.User != nil {
			a.fail(c, "/url", "the url of %q holds user information", a.key)
			return
		}
		for name, values := range u.Query() {
			for _, v := range values {
				_, err := mail.ParseAddress(v)
				switch {
				case err == nil:
					a.fail(c, "/url", "the url of %q holds an e-mail address in %q", a.key, name)
				case text.SecretName(name) && len(v) >= 8 && name != "state":
					a.fail(c, "/url", "the url of %q holds %q", a.key, name)
				}
			}
		}
	})
}

// link is a URL in running text.
var link = regexp.MustCompile(`https?://[^\s"'<>]+`)

func elicitClickable(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		for _, f := range fields(a) {
			for _, name := range []string{"title", "description", "default"} {
				if s := probe.Text(probe.Lookup([]byte(f.Value), "/"+name)); link.MatchString(s) {
					a.fail(c, fieldAt(f.Name)+"/"+name, "the %s of the field %q holds a URL", name, f.Name)
				}
			}
		}
	})
}

// secretField is a word that names a secret, as a whole word of a field's name
// or title: passwords, keys, tokens, payment data.
var secretField = regexp.MustCompile(`(?i)(^|[^a-z])(password|passwort|passphrase|api[ _-]?key|secret[ _-]?key|client[ _-]?secret|access[ _-]?token|auth[ _-]?token|private[ _-]?key|credit[ _-]?card|card[ _-]?number|cvv|cvc|iban|pin[ _-]?code)([^a-z]|$)`)

// askedSecret is a request to enter a secret.
var askedSecret = regexp.MustCompile(`(?i)\b(enter|provide|type|paste|give|share|send)\b[^.?!]{0,40}\b(password|passphrase|api key|secret key|access token|private key|credit card|card number|cvv)\b`)

func elicitSecrets(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		for _, f := range fields(a) {
			title := probe.Text(probe.Lookup([]byte(f.Value), "/title"))
			kind := probe.Text(probe.Lookup([]byte(f.Value), "/type"))
			if kind == "string" && (secretField.MatchString(f.Name) || secretField.MatchString(title)) {
				a.fail(c, fieldAt(f.Name), "the form %q asks for %q", a.key, f.Name)
			}
		}
	})
}

func elicitSecretsByURL(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isForm, func(a *ask) {
		if askedSecret.MatchString(a.text("/message")) {
			a.fail(c, "/message", "the message of the form %q asks for a secret: %.120q", a.key, a.text("/message"))
		}
	})
}

// elicitNotAuth looks for an authorization request for the server itself: its
// resource parameter (RFC 8707) is the endpoint.
func elicitNotAuth(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		u := page(a)
		if u == nil || u.Query().Get("response_type") == "" || a.x == nil || a.x.SentHead == nil {
			return
		}
		own, err := url.Parse(a.x.SentHead.URL)
		if resource := u.Query().Get("resource"); err == nil && resource != "" && strings.HasPrefix(resource, own.Scheme+"://"+own.Host) {
			a.fail(c, "/url", "the url of %q is an authorization request for this server itself", a.key)
		}
	})
}
