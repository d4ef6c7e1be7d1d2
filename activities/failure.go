package activities

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// connectionFailure returns a short reason for an error, without details of our network.
func connectionFailure(ctx context.Context, err error, timeout time.Duration) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork),
		errors.Is(err, ssrf.ErrInvalidHostPort):
		return "the address is not public"
	case errors.As(err, &certificate):
		return "the certificate is not trusted"
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		return fmt.Sprintf("no response within %s", timeout)
	case errors.As(err, &dns):
		return "the host name could not be resolved"
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "),
		errors.Is(err, http.ErrSchemeMismatch):
		return "the TLS handshake failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host is unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "server closed idle connection"): // net/http does not export this error
		return "the connection was closed without a response"
	case strings.Contains(err.Error(), "response headers exceeded"):
		return "the response headers are too large"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "the response is not HTTP"
	}
	return "the request failed"
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
