// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
)

// dialError classes an error of connecting. ctx is the caller's, without our
// own bound.
func dialError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx, "connecting")
	}
	e := &Error{Reason: Unreachable, Detail: "connect", Err: err}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		e.Detail, e.Err = "look up "+dns.Name, errors.New(dns.Err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timeout(err):
		e.Detail, e.Err = "no answer to connecting", nil
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Detail, e.Err = "connection refused", nil
		if errors.As(err, &op) && op.Addr != nil {
			e.Detail += " by " + op.Addr.String()
		}
	}
	return e
}

func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func contextError(ctx context.Context, doing string) error {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Reason: TimedOut, Detail: doing, Err: err}
	}
	return &Error{Reason: Closed, Detail: doing + " was given up", Err: err}
}

// tlsError classes an error of the handshake.
func tlsError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx, "TLS handshake")
	}
	if errors.Is(err, context.DeadlineExceeded) || timeout(err) {
		return &Error{Reason: Unreachable, Detail: "no answer to the TLS handshake"}
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return &Error{Reason: TLSFailed, Detail: "the server does not speak TLS", Err: errors.New(record.Msg)}
	}
	return &Error{Reason: TLSFailed, Detail: "TLS handshake", Err: err}
}

// roundTripError classes an error of net/http, which mixes all stages.
func roundTripError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx, "sending the request")
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var (
		op        *net.OpError
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &verify),
		errors.As(err, &record), errors.As(err, &alert):
		return tlsError(ctx, err)
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return dialError(ctx, err)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return &Error{Reason: Unreachable, Detail: "connect by the proxy", Err: op.Err}
	}
	return &Error{Reason: Broken, Detail: "no response", Err: err}
}
