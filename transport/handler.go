// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Open implements Target.
func (t *Handler) Open(_ context.Context, o Options) (Conn, error) {
	raw := t.URL
	if raw == "" {
		raw = "http://localhost/"
	}
	u, err := parseURL(raw)
	if err != nil {
		return nil, &Error{Reason: BadTarget, Target: t.String(), Err: err}
	}
	if t.Handler == nil {
		return nil, &Error{Reason: BadTarget, Target: t.String(), Detail: "no handler"}
	}
	c := newHTTPConn(t.String(), StreamableHTTP, u, t.Header, &inProcess{handler: t.Handler}, o)
	return c, nil
}

// Kind implements Target.
func (t *Handler) Kind() Kind { return StreamableHTTP }

func (t *Handler) String() string {
	if t.Name == "" {
		return "handler"
	}
	return t.Name
}

// HTTPSSE implements SSEFallback.
func (t *Handler) HTTPSSE() Target { return &sseHandler{t} }

// inProcess calls a handler as net/http would, without sockets.
type inProcess struct {
	handler http.Handler
	running group
}

func (c *inProcess) exact() bool { return false }

type sentKey struct{}

// SentHeader returns the header of a request to a handler inside the process,
// in the order and spelling of its sender: net/http respells the names before a
// handler sees them. It is nil for a request that came over a socket.
func SentHeader(ctx context.Context) []wire.HeaderField {
	fs, _ := ctx.Value(sentKey{}).([]wire.HeaderField)
	return fs
}

// close waits for the handler's calls, which nothing but their context ends.
func (c *inProcess) close(ctx context.Context) error { return c.running.wait(ctx) }

func (c *inProcess) start(_ context.Context, r *request) (pending, error) {
	if len(r.body) == 0 {
		return c.call(r, http.NoBody, 0)
	}
	return c.call(r, io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body)))
}

// call calls the handler with a body, in chunks where its size is below zero.
func (c *inProcess) call(r *request, body io.ReadCloser, size int64) (*answer, error) {
	life, cancel := context.WithCancel(context.WithValue(context.Background(), sentKey{}, r.header))
	hr := &http.Request{
		Method: r.method, URL: r.url, RequestURI: r.url.RequestURI(), Host: r.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: body, ContentLength: size, RemoteAddr: "127.0.0.1:0",
	}
	setHeader(hr, r.header)
	if hr.Header["User-Agent"] == nil {
		delete(hr.Header, "User-Agent")
	}
	if size < 0 {
		hr.Header.Del("Transfer-Encoding") // as net/http does
		hr.TransferEncoding = []string{"chunked"}
	}
	// A server's handler owns its request: it may change the URL.
	u := *r.url
	hr.URL = &u
	w := &answer{cancel: cancel, wrote: make(chan struct{}), length: -1, method: r.method}
	w.cond.L = &w.mu
	hr = hr.WithContext(life)
	if !c.running.start(func() { w.serve(c.handler, hr); _ = body.Close() }) {
		cancel()
		return nil, &Error{Reason: Closed, Detail: "the connection is closed"}
	}
	return w, nil
}

const (
	// heldBack is how much net/http buffers before it sends without a flush.
	heldBack = 4 << 10
	// maxUnread is how much a handler may be ahead of its reader.
	maxUnread = 64 << 10
)

// answer is the http.ResponseWriter of one call, and the reading end of it.
// A handler runs until it returns; after abort its context is done and its
// writes fail.
type answer struct {
	cancel context.CancelFunc
	wrote  chan struct{} // closed when the head is final

	method string      // of the request
	header http.Header // the handler's to change at any time
	final  http.Header // as it was when the status was written
	status int
	// length is the Content-Length that the handler declared, -1 for none; written is
	// what it wrote or tried to, taken what was taken of that.
	length, written, taken int64

	mu      sync.Mutex
	cond    sync.Cond // ready, off or returned changed
	held    []byte    // written and not flushed; the handler's alone
	ready   []byte    // flushed and not read
	off     int       // of what was read of ready
	head    *wire.Head
	aborted bool
	ended   bool  // the handler returned
	failure error // it panicked
}

func (w *answer) serve(h http.Handler, r *http.Request) {
	defer func() {
		var failure error
		if v := recover(); v != nil {
			failure = fmt.Errorf("the handler panicked: %v", v)
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				failure = errors.New("the handler aborted the response")
			}
		}
		w.finish(failure)
	}()
	h.ServeHTTP(w, r)
}

func (w *answer) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *answer) WriteHeader(status int) {
	if w.status != 0 || status >= 100 && status < 200 {
		return
	}
	w.status = status
	w.final = w.Header().Clone()
	w.length = -1
	if text := w.final.Get("Content-Length"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			w.length = n
		} else {
			w.final.Del("Content-Length") // as net/http does
		}
	}
}

// bodyAllowed reports whether a response of the status may have a body (RFC 9110,
// section 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

func (w *answer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !bodyAllowed(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += int64(len(b)); w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength
	}
	n := 0
	for part := range slices.Chunk(b, maxUnread) { // a long body waits for its reader too
		w.held = append(w.held, part...)
		if len(w.held) >= heldBack {
			if err := w.FlushError(); err != nil {
				return n, err
			}
		}
		n += len(part)
		w.taken += int64(len(part))
	}
	return n, nil
}

// Flush implements http.Flusher.
func (w *answer) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController calls.
func (w *answer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return http.ErrHandlerTimeout // it was broken off
	}
	w.sendHead(-1)
	for len(w.ready)-w.off > maxUnread && !w.aborted {
		w.cond.Wait()
	}
	if w.aborted {
		return http.ErrHandlerTimeout
	}
	w.move()
	return nil
}

// SetReadDeadline and the other two let http.ResponseController succeed: there
// is no socket that could time out.
func (w *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (w *answer) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing.
func (w *answer) EnableFullDuplex() error { return nil }

// move makes what was held back readable. The lock is held.
func (w *answer) move() {
	if w.off == len(w.ready) && len(w.held) > 0 {
		w.ready, w.held, w.off = w.held, w.ready[:0], 0
	} else {
		w.ready = append(w.ready, w.held...)
		w.held = w.held[:0]
	}
	w.cond.Broadcast()
}

// sendHead makes the head final. The lock is held. length is that of the whole
// body when it is known.
func (w *answer) sendHead(length int) {
	if w.head != nil {
		return
	}
	h := w.final
	if _, ok := h["Content-Type"]; !ok && len(w.held) > 0 {
		h.Set("Content-Type", http.DetectContentType(w.held))
	}
	if _, ok := h["Content-Length"]; !ok && length >= 0 && w.status != 204 && w.status != 304 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	w.head = &wire.Head{
		Time: time.Now(), Dir: wire.ToClient, Status: w.status, Reason: http.StatusText(w.status), Header: sortedFields(h),
	}
	close(w.wrote)
}

// BreakOff ends the response at once, as a panic of the handler would; what it
// writes from now on fails. It is for what stands between the carrier and a
// handler, and knows that this one will not end.
func (w *answer) BreakOff(why error) {
	w.cancel()
	w.finish(fmt.Errorf("the handler panicked: %w", why))
}

func (w *answer) finish(failure error) {
	if w.status == 0 && failure == nil {
		w.WriteHeader(http.StatusOK)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return // it was broken off
	}
	if failure == nil {
		w.sendHead(len(w.held))
		w.move()
		if w.taken < w.length && w.method != http.MethodHead && bodyAllowed(w.status) {
			// net/http ends the connection then, before a client has all it was told of.
			failure = fmt.Errorf("the handler declared %d bytes and wrote %d", w.length, w.taken)
		}
	}
	w.ended, w.failure = true, failure
	if w.head == nil {
		close(w.wrote)
	}
	w.cond.Broadcast()
}

// abort implements pending.
func (w *answer) abort() {
	w.cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = true
	w.cond.Broadcast()
	if w.head == nil && !w.ended {
		// Nobody waits for a head of a handler that does not look at its context.
		w.head = &wire.Head{}
		close(w.wrote)
	}
}

var errAborted = errors.New("aborted")

func (w *answer) response() (*response, error) {
	<-w.wrote
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aborted {
		return nil, &Error{Reason: Broken, Detail: "the call of the handler", Err: errAborted}
	}
	if w.head == nil {
		return nil, &Error{Reason: Broken, Detail: w.failure.Error()}
	}
	return &response{head: w.head, body: w}, nil
}

// Read is the body's.
func (w *answer) Read(to []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.off == len(w.ready) && !w.ended && !w.aborted {
		w.cond.Wait()
	}
	if w.aborted {
		return 0, errAborted
	}
	if w.off == len(w.ready) {
		if w.failure != nil {
			return 0, w.failure
		}
		return 0, io.EOF
	}
	n := copy(to, w.ready[w.off:])
	w.off += n
	w.cond.Broadcast()
	return n, nil
}

// Close is the body's: the exchange is over, and so is the handler's context.
func (w *answer) Close() error {
	w.cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = true
	w.cond.Broadcast()
	return nil
}

// parseURL reads an http or https URL.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // the text may hold secrets
		}
		return nil, fmt.Errorf("parse URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("a URL of scheme %q: only http and https carry MCP", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("a URL without a host")
	}
	u.Fragment = ""
	return u, nil
}

// safeURL is u without user information and query.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "URL"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}
