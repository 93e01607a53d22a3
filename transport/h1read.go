// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/wire"
)

const (
	// maxHead bounds the bytes of one response head.
	maxHead = 256 << 10
	// maxInterim bounds how many 1xx heads may come before the response.
	maxInterim = 16
)

// h1Pending is an exchange on a connection of its own.
type h1Pending struct {
	h1       *h1
	conn     *h1Conn
	head     bool // the request was HEAD: no body follows
	reused   bool
	whole    bool // the connection is for this exchange alone
	writeErr error

	once sync.Once
}

func (p *h1Pending) abort() { p.once.Do(func() { p.conn.cut() }) }

// cut closes the socket at once. The farewell of TLS could wait for a peer
// that does not read.
func (c *h1Conn) cut() {
	if t, ok := c.Conn.(*tls.Conn); ok {
		_ = t.NetConn().Close()
		return
	}
	_ = c.Close()
}

// finish gives the connection back, or closes it.
func (p *h1Pending) finish(reusable bool) {
	p.once.Do(func() {
		if reusable && !p.whole {
			p.h1.put(p.conn)
			return
		}
		p.conn.cut()
	})
}

func (p *h1Pending) response() (*response, error) {
	if _, err := p.conn.br.Peek(1); err != nil {
		p.finish(false)
		return nil, p.headError(err, p.reused)
	}
	for range maxInterim {
		head, err := readHead(p.conn.br)
		if err != nil {
			p.finish(false)
			return nil, p.headError(err, false)
		}
		if head.Status >= 100 && head.Status < 200 && head.Status != 101 {
			continue
		}
		body, err := p.body(head)
		if err != nil {
			p.finish(false)
			return nil, err
		}
		return &response{head: head, body: body}, nil
	}
	p.finish(false)
	return nil, &Error{Reason: BadHTTP, Detail: fmt.Sprintf("more than %d interim responses", maxInterim)}
}

// headError is why there is no head. A connection is stale where nothing at all
// came on one that had served before.
func (p *h1Pending) headError(err error, stale bool) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if p.writeErr != nil {
		return &Error{Reason: Broken, Detail: "sending the request", Err: p.writeErr, Stale: stale}
	}
	detail := "the connection was closed before a response"
	if p.reused {
		detail = "the kept-alive connection was closed before a response"
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return &Error{Reason: Broken, Detail: detail, Err: err, Stale: stale}
}

// body chooses the framing of the body (RFC 9112, section 6.3).
func (p *h1Pending) body(head *wire.Head) (io.ReadCloser, error) {
	keep := keepAlive(head)
	if p.head || head.Status == 204 || head.Status == 304 || head.Status == 101 {
		p.finish(keep && head.Status != 101)
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	b := &h1Body{p: p, keep: keep}
	coding := strings.ToLower(strings.Join(head.Values("Transfer-Encoding"), ","))
	switch {
	case coding == "chunked":
		b.chunked = true
		b.r = httputil.NewChunkedReader(p.conn.br)
	case coding != "":
		return nil, &Error{Reason: BadHTTP, Status: head.Status, Detail: fmt.Sprintf("transfer coding %.60q", coding)}
	default:
		lengths := head.Values("Content-Length")
		if len(lengths) == 0 {
			b.keep, b.r = false, p.conn.br
			return b, nil
		}
		n, ok := contentLength(head)
		if !ok {
			return nil, &Error{Reason: BadHTTP, Status: head.Status, Detail: fmt.Sprintf("Content-Length %.60q", strings.Join(lengths, ", "))}
		}
		b.r, b.left = p.conn.br, n
		b.counted = true
		if n == 0 {
			p.finish(keep)
		}
	}
	return b, nil
}

// contentLength returns the announced length; ok is false when there is none,
// or several that differ.
func contentLength(head *wire.Head) (n int64, ok bool) {
	vs := head.Values("Content-Length")
	if len(vs) == 0 {
		return 0, false
	}
	for _, v := range vs {
		if v != vs[0] {
			return 0, false
		}
	}
	u, err := strconv.ParseUint(vs[0], 10, 63)
	return int64(u), err == nil
}

func keepAlive(head *wire.Head) bool {
	for _, v := range head.Values("Connection") {
		for _, token := range strings.Split(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "close") {
				return false
			}
		}
	}
	return head.Proto == "HTTP/1.1"
}

// h1Body reads a body and gives the connection back at its end.
type h1Body struct {
	p       *h1Pending
	r       io.Reader
	keep    bool
	chunked bool
	counted bool
	left    int64
	done    error
}

func (b *h1Body) Read(to []byte) (int, error) {
	if b.done != nil {
		return 0, b.done
	}
	if b.counted {
		if b.left == 0 {
			return 0, b.end(nil)
		}
		to = to[:min(int64(len(to)), b.left)]
	}
	n, err := b.r.Read(to)
	b.left -= int64(n)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, b.end(err)
	case b.counted && b.left > 0:
		return n, b.end(fmt.Errorf("%d bytes of the announced length are missing: %w", b.left, io.ErrUnexpectedEOF))
	case b.chunked:
		return n, b.end(readTrailer(b.p.conn.br))
	}
	return n, b.end(nil)
}

// end ends the body, properly when err is nil.
func (b *h1Body) end(err error) error {
	b.p.finish(err == nil && b.keep)
	if b.done = err; err == nil {
		b.done = io.EOF
	}
	return b.done
}

func (b *h1Body) Close() error {
	b.p.finish(false)
	return nil
}

func readTrailer(br *bufio.Reader) error {
	for size := 0; size < maxHead; {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if size += len(line); len(bytes.TrimRight(line, "\r\n")) == 0 {
			return nil
		}
	}
	return errors.New("the trailer is too long")
}

// readHead reads a status line and headers. Names and values are kept as they
// are, without the space around values.
func readHead(br *bufio.Reader) (*wire.Head, error) {
	head := &wire.Head{Dir: wire.ToClient, Exact: true, Header: make([]wire.HeaderField, 0, 8)}
	size := 0
	line, err := headLine(br, &size)
	if err != nil {
		return nil, err
	}
	head.Time = time.Now()
	proto, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/") || len(code) != 3 || err != nil || status < 100 {
		detail := fmt.Sprintf("no HTTP response: %.60q", line)
		if strings.HasPrefix(line, "\x15\x03") {
			detail = "the server speaks TLS: try https"
		}
		return nil, &Error{Reason: BadHTTP, Detail: detail}
	}
	head.Proto, head.Status, head.Reason = proto, status, reason
	for {
		line, err := headLine(br, &size)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			return head, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, &Error{Reason: BadHTTP, Status: status, Detail: fmt.Sprintf("no header line: %.60q", line)}
		}
		head.Header = append(head.Header, wire.HeaderField{Name: name, Value: strings.Trim(value, " \t")})
	}
}

// headLine reads one line without its end.
func headLine(br *bufio.Reader, size *int) (string, error) {
	var long []byte
	for {
		b, err := br.ReadSlice('\n')
		if *size += len(b); *size > maxHead {
			return "", &Error{Reason: BadHTTP, Detail: fmt.Sprintf("a head of more than %d bytes", maxHead)}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, b...)
			continue
		}
		if err != nil {
			if len(b)+len(long) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
				if text := string(append(long, b...)); !strings.HasPrefix(text, "HTTP/") && *size == len(text) {
					return text, nil // whatever it is, it is worth showing
				}
			}
			return "", err
		}
		if long != nil {
			b = append(long, b...)
		}
		b = bytes.TrimSuffix(b, []byte{'\n'})
		return string(bytes.TrimSuffix(b, []byte{'\r'})), nil
	}
}
