package activities

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/comanda-dev/comanda/app"
)

const (
	// maxResponseBody is how much of a response's body is kept, in bytes.
	maxResponseBody = 16 << 10
	// maxResponseHeader limits the headers of a response and of the interim responses (1xx) before
	// it, in bytes. Larger headers are a failure.
	maxResponseHeader = 16 << 10
	// idleTimeout is how long a connection is kept for the next POST. It is shorter than the
	// keep-alive of common servers (gunicorn 2 s; Node, Apache and uvicorn 5 s): a POST that is
	// written while the receiver closes the connection is a failed attempt.
	idleTimeout = 1500 * time.Millisecond
)

// EgressConfig configures the HTTP client for receivers.
type EgressConfig struct {
	Allow   []netip.Prefix // private addresses that are permitted
	RootCAs *x509.CertPool // nil = the system's
	Timeout time.Duration  // of a POST, from the DNS lookup to the end of the response; 0 = 10 s

	resolver *net.Resolver // nil = the system's
}

// Egress is the HTTP client for receivers (contract §4, Egress). It verifies certificates and
// dials public addresses only. It uses no proxy, follows no redirect and decompresses nothing.
// The address is checked when it is dialled, after the name was resolved, so that DNS rebinding
// has no effect.
type Egress struct {
	client  *http.Client
	timeout time.Duration
}

// NewEgress makes the client.
func NewEgress(config EgressConfig) *Egress {
	if config.Timeout == 0 {
		config.Timeout = 10 * time.Second
	}
	var v4, v6 []netip.Prefix
	for _, prefix := range config.Allow {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	dialer := &net.Dialer{Timeout: config.Timeout, Control: guard.Safe, Resolver: config.resolver}
	// HTTP/1.1 only: every server supports it, and a response that hangs blocks one connection
	// instead of all requests that HTTP/2 would multiplex over it.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Egress{
		timeout: config.Timeout,
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext:            dialer.DialContext,
				TLSClientConfig:        &tls.Config{RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    config.Timeout,
				Protocols:              protocols,
				DisableCompression:     true,
				MaxResponseHeaderBytes: maxResponseHeader,
				MaxIdleConns:           2000,
				MaxIdleConnsPerHost:    200,
				IdleConnTimeout:        idleTimeout,
			},
		},
	}
}

// Response is the response of a receiver.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // its first 16 KiB, as far as they came in time
}

// Post makes one POST to an https URL and returns within the timeout. The transport sends a
// request again only if the kept connection was closed before any byte of it was written.
// An error says in a few words why there was no response, fit to be shown to a tenant: no text
// of a resolver, no internal address.
func (e *Egress) Post(ctx context.Context, url string, header http.Header, body []byte) (Response, error) {
	if err := app.CheckWebhookURL(url); err != nil {
		return Response{}, fmt.Errorf("the URL %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Response{}, errors.New("the URL cannot be used")
	}
	request.Header = header
	response, err := e.client.Do(request)
	if err != nil {
		return Response{}, errors.New(connectionFailure(ctx, err, e.timeout))
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusContinue {
		return Response{}, errors.New("the answer is not HTTP")
	}
	return Response{response.StatusCode, response.Header, beginning(ctx, response)}, nil
}

// beginning returns the first part of a response's body, as far as it arrives before ctx ends.
// The status line has already decided, so a body that breaks off is not an error.
func beginning(ctx context.Context, response *http.Response) []byte {
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil // its body is the raw connection, which the request's context does not govern
	}
	stop := context.AfterFunc(ctx, func() { response.Body.Close() })
	defer stop()
	begun, _ := io.ReadAll(io.LimitReader(response.Body, maxResponseBody))
	return begun
}

// connectionFailure describes an error without details of our network.
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
		return fmt.Sprintf("no answer within %s", timeout)
	case errors.As(err, &dns):
		return "the host name could not be resolved"
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "),
		errors.Is(err, http.ErrSchemeMismatch):
		return "the TLS handshake failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host is out of reach"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		strings.Contains(err.Error(), "server closed idle connection"): // an error that net/http does not export
		return "the connection was closed without an answer"
	case strings.Contains(err.Error(), "response headers exceeded"):
		return "the response headers are too large"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "the answer is not HTTP"
	}
	return "the request failed"
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
