package comanda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Config configures a [Client].
type Config struct {
	// APIKey is sent with each request. Without it, the client sends the access token of its session.
	APIKey string
	// HTTP sends the requests. Default: a client with a timeout of one minute. Redirects are never followed.
	HTTP *http.Client
	// MaxRetries is the maximum number of repetitions of a request. Default: 4. Negative: none.
	MaxRetries int
	// MaxWait is the maximum wait before one repetition. If Retry-After is longer, the error is returned immediately.
	// Default: 30 seconds.
	MaxWait time.Duration
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	base    string
	config  Config
	http    http.Client
	session session
	wait    func(context.Context, time.Duration) error
	jitter  func() float64 // from 0 to 1
}

// New returns a client of the service at a base URL such as "https://comanda.example.com". The URL must use HTTPS,
// except for hosts of this machine.
func New(baseURL string, config Config) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("comanda: %w", err)
	}
	if base.Host == "" || base.Scheme != "https" && (base.Scheme != "http" || !local(base.Hostname())) {
		return nil, errors.New("comanda: the base URL must begin with https:// and have a host")
	}
	if base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, errors.New("comanda: the base URL must not have a user, a query or a fragment")
	}
	c := &Client{base: strings.TrimSuffix(base.String(), "/"), config: config, wait: sleep, jitter: rand.Float64}
	c.http = http.Client{Timeout: time.Minute}
	if config.HTTP != nil {
		c.http = *config.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.http.Jar, err = cookiejar.New(nil); err != nil { // of this client only: it holds the refresh token
		return nil, err
	}
	if config.MaxRetries == 0 {
		c.config.MaxRetries = 4
	}
	if config.MaxWait == 0 {
		c.config.MaxWait = 30 * time.Second
	}
	c.session.turn = make(chan struct{}, 1)
	return c, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// CallOption changes one call.
type CallOption func(http.Header)

// IdempotencyKey replaces the random Idempotency-Key of a call. The service responds to a repetition within 24 hours
// with the stored response.
func IdempotencyKey(key string) CallOption {
	return func(header http.Header) { header.Set("Idempotency-Key", key) }
}

// IfMatch makes a change conditional: if the resource has another version, the error code is VERSION_MISMATCH.
func IfMatch(version int64) CallOption {
	return func(header http.Header) { header.Set("If-Match", fmt.Sprintf(`"%d"`, version)) }
}
