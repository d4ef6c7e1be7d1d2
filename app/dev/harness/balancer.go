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
	var errs []error
	for i := range b.Addresses {
		conn, err := b.handshake(ctx, b.Addresses[(first+i)%len(b.Addresses)])
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
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, b.TLS)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	return conn, nil
}
