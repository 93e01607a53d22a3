// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mcprove/mcprove/wire"
)

// StatusError says in the words of an *Error what an HTTP response means that
// carries no JSON-RPC: authentication, redirect, wrong path, a page, a failure.
// It is nil for a success that is no page.
func StatusError(head *wire.Head, body []byte) error {
	e := &Error{Status: head.Status}
	status := fmt.Sprintf("HTTP %d", head.Status)
	if text := http.StatusText(head.Status); text != "" {
		status += " " + text
	}
	switch s := head.Status; {
	case s == 401 || s == 403:
		e.Reason, e.Challenge = AuthNeeded, head.Get("WWW-Authenticate")
		e.Detail = status
		if s == 401 && e.Challenge == "" {
			e.Detail += ", which does not say where a token is to be had (no WWW-Authenticate)"
		}
	case s >= 300 && s < 400:
		e.Reason, e.Location = Redirected, safeLocation(head.Get("Location"))
		e.Detail = status
		if e.Location != "" {
			e.Detail += " to " + e.Location
		}
	case s == 404 || s == 410:
		e.Reason, e.Detail = NotFound, status+": no MCP endpoint at this path"
	case s >= 400:
		e.Reason, e.Detail = BadStatus, status
	case isHTML(head, body):
		e.Reason, e.Detail = NotMCP, status+" with an HTML page"
	default:
		return nil
	}
	return e
}

// safeLocation is the target of a redirect without what may be a secret.
func safeLocation(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func isHTML(head *wire.Head, body []byte) bool {
	switch head.MediaType() {
	case "text/html", "application/xhtml+xml":
		return true
	case "application/json", "text/event-stream":
		return false
	}
	start := bytes.ToLower(bytes.TrimLeft(body, " \t\r\n\ufeff"))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

func basicAuth(u *url.Userinfo) wire.HeaderField {
	password, _ := u.Password()
	return wire.HeaderField{Name: "Authorization",
		Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))}
}
