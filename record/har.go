// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// The members of HAR 1.2 that we write
// (http://www.softwareishard.com/blog/har-12-spec/).
type (
	harFile struct {
		Log harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harName    `json:"creator"`
		Entries []harEntry `json:"entries"`
		Comment string     `json:"comment,omitempty"`
	}
	harName struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started    string      `json:"startedDateTime"`
		Time       float64     `json:"time"` // ms
		Request    harRequest  `json:"request"`
		Response   harResponse `json:"response"`
		Cache      struct{}    `json:"cache"`
		Timings    harTimings  `json:"timings"`
		Connection string      `json:"connection"`
		Comment    string      `json:"comment,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		PostData    *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int64     `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// exchange is one HTTP request and its response.
type exchange struct {
	conn       int
	start, end time.Time
	request    *wire.Head
	post       *wire.Frame
	response   *wire.Head
	body       []byte // without secrets
	size       int64
	err        error
}

// WriteHAR writes the HTTP exchanges of the recording as HAR 1.2, without
// secrets, in the order of their requests; version is that of the program that
// writes. The text of an event stream is kept, comments and all. HAR knows HTTP
// alone: what crossed over stdio is left out, and a comment counts it.
func (r *Recording) WriteHAR(w io.Writer, version string) error {
	x := r.writer()
	log := harLog{Version: "1.2", Creator: harName{"mcprove", version}, Entries: []harEntry{}}
	exchanges, left := x.exchanges(r.entries)
	for _, e := range exchanges {
		log.Entries = append(log.Entries, x.har(e))
	}
	if left > 0 {
		log.Comment = fmt.Sprintf("%d messages of no HTTP exchange are left out", left)
	}
	raw, err := jsonx.Marshal(harFile{log})
	if err == nil {
		raw, err = jsonx.Indent(raw)
	}
	if err != nil {
		return fmt.Errorf("write HAR: %w", err)
	}
	_, err = w.Write(append(text.JSON(raw), '\n'))
	return err
}

// exchanges puts entries together; left counts the frames of no exchange.
func (x *writer) exchanges(entries []entry) (out []*exchange, left int) {
	open := map[flow]*exchange{}
	for i := range entries {
		n := &entries[i]
		at := flow{n.conn, n.channel}
		if n.kind == transport.EventHead && n.sent && n.head != nil {
			open[at] = &exchange{conn: n.conn, start: n.at, end: n.at, request: n.head}
			out = append(out, open[at])
			continue
		}
		e := open[at]
		switch {
		case n.kind == transport.EventUnsent:
			e = unsentOf(n, open)
		case n.kind == transport.EventFrame && (e == nil || n.frame.HTTP == nil):
			left++
			continue
		case n.kind == transport.EventLeft || n.kind == transport.EventLeaving:
			continue
		}
		if e != nil {
			x.grow(e, n)
		}
	}
	return out, left
}

// unsentOf is the exchange that failed, nil when nothing of it was shown.
func unsentOf(n *entry, open map[flow]*exchange) *exchange {
	e := open[flow{n.conn, n.channel}]
	if e == nil || n.unsent == nil || n.unsent.Head != e.request {
		return nil
	}
	return e
}

// grow adds what came on the exchange.
func (x *writer) grow(e *exchange, n *entry) {
	if n.at.After(e.end) {
		e.end = n.at
	}
	if n.err != nil {
		e.err = n.err
	}
	switch {
	case n.kind == transport.EventHead:
		e.response = n.head
	case n.kind == transport.EventFrame && n.frame.Dir == wire.ToServer:
		e.post = n.frame
	case n.kind == transport.EventFrame && n.frame.Event != nil:
		e.add(x.block(n.frame.Event), len(n.frame.Event.Raw))
	case n.kind == transport.EventFrame:
		e.add(x.red.JSON(n.frame.Raw), len(n.frame.Raw))
	case n.kind == transport.EventSSE && n.sse != nil:
		e.add(x.block(n.sse), len(n.sse.Raw))
	case n.kind == transport.EventBody:
		e.add(x.red.JSON(n.body), int(n.size))
	}
}

func (e *exchange) add(part []byte, size int) {
	e.body = append(e.body, part...)
	e.size += int64(size)
}

func (x *writer) har(e *exchange) harEntry {
	out := harEntry{
		Started: e.start.UTC().Format(time.RFC3339Nano), Time: millis(e.end.Sub(e.start)),
		Request: x.harRequest(e), Connection: fmt.Sprint(e.conn),
		Response: harResponse{Cookies: []harPair{}, Headers: []harPair{}, HeadersSize: -1, BodySize: -1},
		Timings:  harTimings{Wait: millis(e.end.Sub(e.start))},
	}
	if e.err != nil {
		out.Comment = x.text(e.err.Error())
	}
	h := e.response
	if h == nil {
		return out
	}
	out.Timings.Wait = min(millis(h.Time.Sub(e.start)), out.Time)
	out.Timings.Receive = out.Time - out.Timings.Wait
	content := harContent{Size: e.size, MimeType: x.text(h.Get("Content-Type")), Text: string(e.body)}
	if !utf8.Valid(e.body) {
		content.Text, content.Encoding = base64.StdEncoding.EncodeToString(e.body), "base64"
	}
	out.Response = harResponse{
		Status: h.Status, StatusText: x.text(h.Reason), HTTPVersion: x.text(h.Proto), Cookies: []harPair{}, Headers: x.pairs(h),
		Content: content, HeadersSize: -1, BodySize: e.size,
	}
	if to := h.Get("Location"); to != "" {
		out.Response.RedirectURL = valid(x.red.url(to))
	}
	return out
}

func (x *writer) harRequest(e *exchange) harRequest {
	h := e.request
	at := x.red.url(h.URL)
	out := harRequest{
		Method: x.text(h.Method), URL: valid(at), HTTPVersion: x.text(h.Proto), Cookies: []harPair{}, Headers: x.pairs(h),
		Query: []harPair{}, HeadersSize: -1,
	}
	if u, err := url.Parse(at); err == nil && u.RawQuery != "" {
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			k, v, _ := strings.Cut(pair, "=")
			out.Query = append(out.Query, harPair{valid(unquery(k)), valid(unquery(v))})
		}
	}
	if e.post != nil {
		out.BodySize = int64(len(e.post.Raw))
		kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
		if err != nil {
			kind = h.MediaType()
		}
		out.PostData = &harPost{MimeType: x.text(kind), Params: []harPair{}, Text: valid(string(x.red.JSON(e.post.Raw)))}
	}
	return out
}

func (x *writer) pairs(h *wire.Head) []harPair {
	out := make([]harPair, 0, len(h.Header))
	for _, f := range h.Header {
		f = x.red.field(f)
		out = append(out, harPair{valid(f.Name), valid(f.Value)})
	}
	return out
}

func millis(d time.Duration) float64 { return max(0, float64(d)/float64(time.Millisecond)) }
