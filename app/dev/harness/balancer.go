package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// connectTimeout limits the connection to one address of a Balancer.
const connectTimeout = 5 * time.Second

// Balancer connects to the addresses of several APIs in turn, as a load balancer does. If an API refuses the
// connection, it connects to the next one.
type Balancer struct {
	Addresses []string
	TLS       *tls.Config
	// Dial connects to an address; nil = on this host.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Avoid reports whether an API is not ready. Its address is tried last; nil = all are ready.
	Avoid func(address string) bool

	turn atomic.Uint64
}

// Client returns a client whose requests go to any of the APIs. Like every client of HTTP in Go, it repeats a request
// if the API closes a kept connection before its response begins, and if the request has an Idempotency-Key.
func (b *Balancer) Client(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return b.connect(ctx) },
	}}
}

// connect returns a connection to the next API that accepts one.
func (b *Balancer) connect(ctx context.Context) (net.Conn, error) {
	first := int(b.turn.Add(1) % uint64(len(b.Addresses)))
	var ready, others []string
	for i := range b.Addresses {
		address := b.Addresses[(first+i)%len(b.Addresses)]
		if b.Avoid != nil && b.Avoid(address) {
			others = append(others, address)
		} else {
			ready = append(ready, address)
		}
	}
	var errs []error
	for _, address := range append(ready, others...) {
		conn, err := b.handshake(ctx, address)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// handshake opens a TLS connection. The API has accepted it then, and responds to its first request also if it stops.
func (b *Balancer) handshake(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dial := b.Dial
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	plain, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, b.TLS)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	return conn, nil
}
