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
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"time"

	"code.dny.dev/ssrf"

	"github.com/comanda-dev/comanda/app"
)

const (
	// maxResponseBody is the number of bytes of a response body that are stored.
	maxResponseBody = 16 << 10
	// maxResponseHeader limits the headers of a response, including interim responses (1xx), in bytes. Larger headers
	// are a failure.
	maxResponseHeader = 16 << 10
	// idleTimeout is the time for which an idle connection is kept for the next POST. It is shorter than the keep-alive
	// of common servers (gunicorn 2 s; Node, Apache and uvicorn 5 s), because a POST that is written while the receiver
	// closes the connection is a failed attempt.
	idleTimeout = 1500 * time.Millisecond
	// maxIdle and maxIdlePerHost limit the idle connections. Webhooks of many tenants may share the host of an
	// integrator. Its limit covers the bursts of a worker, because a TLS handshake costs more CPU time than a POST.
	maxIdle, maxIdlePerHost = 2000, 1000
)

// EgressConfig configures the HTTP client for receivers.
type EgressConfig struct {
	Allow   []netip.Prefix // permitted private addresses
	RootCAs *x509.CertPool // nil = the system's certificate authorities
	Timeout time.Duration  // of a POST, from the DNS lookup to the end of the response; 0 = 10 s

	resolver *net.Resolver // nil = the system's resolver
}

// Egress is the HTTP client for receivers (docs/behaviour.md#egress). It verifies certificates and connects only to
// public addresses. It uses no proxy, follows no redirect and decompresses nothing. It checks the address when it
// dials, after name resolution, so that DNS rebinding has no effect.
type Egress struct {
	client  *http.Client
	timeout time.Duration
}

// azureHost is the address at which Azure serves keys and settings to its virtual machines, though it is a public one.
var azureHost = netip.MustParsePrefix("168.63.129.16/32")

// NewEgress returns a client.
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
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
		ssrf.WithDeniedV4Prefixes(azureHost))
	dialer := &net.Dialer{Timeout: config.Timeout, Control: guard.Safe, Resolver: config.resolver}
	// HTTP/1.1 only: every server supports it, and a hanging response blocks one connection. With HTTP/2, it would
	// block all requests on the same connection.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	secure := &tls.Dialer{NetDialer: dialer, Config: &tls.Config{
		RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(maxIdle), // a resumed handshake costs a fraction of a full one
	}}
	return &Egress{
		timeout: config.Timeout,
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := secure.DialContext(ctx, network, address)
					if err != nil {
						return nil, err
					}
					return &connection{Conn: conn.(*tls.Conn)}, nil
				},
				Protocols:              protocols,
				DisableCompression:     true,
				MaxResponseHeaderBytes: maxResponseHeader,
				MaxIdleConns:           maxIdle,
				MaxIdleConnsPerHost:    maxIdlePerHost,
				IdleConnTimeout:        idleTimeout,
			},
		},
	}
}

// Response is the response of a receiver.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // the first 16 KiB, as far as they arrived within the timeout
}

// Post makes one POST to an https URL and returns within the timeout. The transport repeats a request only if a reused
// connection was closed before any byte was written. Post calls due when the connection is ready; with an error of due,
// it does not send the request. The text of an error is a short reason that can be shown to tenants: it contains no
// resolver text and no internal address.
func (e *Egress) Post(
	ctx context.Context, url string, header http.Header, body []byte, due func() error,
) (Response, error) {
	if err := app.CheckWebhookURL(url); err != nil {
		return Response{}, fmt.Errorf("the URL %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { got.Conn.(*connection).due.Store(&due) },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Response{}, errors.New("the URL is invalid")
	}
	request.Header = header
	response, err := e.client.Do(request)
	if err != nil {
		return Response{}, errors.New(connectionFailure(ctx, err, e.timeout))
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusContinue {
		return Response{}, errors.New("the response is not HTTP")
	}
	return Response{response.StatusCode, response.Header, beginning(ctx, response)}, nil
}

// connection is a connection to a receiver. Before the first byte of a request is written, it calls due, whose error
// fails the write.
type connection struct {
	*tls.Conn
	due atomic.Pointer[func() error] // nil after the first byte
}

func (c *connection) Write(p []byte) (int, error) {
	if due := c.due.Swap(nil); due != nil {
		if err := (*due)(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// beginning returns the beginning of a response body, as far as it arrives before ctx is done. An incomplete body is
// not an error, because the status line determines the outcome.
func beginning(ctx context.Context, response *http.Response) []byte {
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil // the body is the raw connection, to which the request's context does not apply
	}
	stop := context.AfterFunc(ctx, func() { response.Body.Close() })
	defer stop()
	begun, _ := io.ReadAll(io.LimitReader(response.Body, maxResponseBody))
	return begun
}
