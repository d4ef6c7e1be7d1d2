package boot

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// drainTimeout is the time for which a stopping process waits for open requests.
const drainTimeout = 20 * time.Second

// Limits of an HTTP/2 connection. Go's defaults are 250 streams, and 1 MiB of bodies that handlers have not read.
const (
	maxStreams      = 32
	maxStreamBuffer = 128 << 10 // bytes; with a smaller one, a body of 8 MiB from far away takes longer than 15 s
	// maxConnBuffer is the buffer of a connection. A body that is not read yet leaves half of it to the others.
	maxConnBuffer = 2 * maxStreamBuffer
)

// listen serves a handler in the background until ctx is done. Then it waits for open requests. name is the variable
// that configures the address, for the error and the log. Without a certificate it serves plain HTTP. balancers are the
// peers that use the PROXY protocol, proxies those whose connections are of many clients.
func listen(
	ctx context.Context, group *errgroup.Group, name, address string, certificate *certificate,
	balancers, proxies []netip.Prefix, handler http.Handler, logger zerolog.Logger,
) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(balancers) > 0 {
		listener = behindBalancers(listener, balancers, proxyHeaderTimeout)
	}
	listener = limitConnections(listener, maxConnections, proxies)
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: maxConnBuffer,
			MaxReceiveBufferPerStream:     maxStreamBuffer,
		},
		// "OPTIONS *" is handled like an unknown route
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(debugLines{logger}, "", 0), // mostly TLS handshakes that clients abort
	}
	if certificate != nil {
		server.TLSConfig = &tls.Config{GetCertificate: certificate.get, MinVersion: tls.VersionTLS12}
	}
	var waiting unused
	waiting.watch(server)
	served := make(chan struct{})
	group.Go(func() error {
		defer close(served)
		var err error
		if certificate != nil {
			err = server.ServeTLS(listener, "", "")
		} else {
			err = server.Serve(listener)
		}
		if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	})
	group.Go(func() error {
		<-ctx.Done()
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		listener.Close()
		<-served
		waiting.wait()
		return server.Shutdown(draining)
	})
	logger.Info().Str("variable", name).Str("address", listener.Addr().String()).Msg("listening")
	return nil
}

// drain returns a handler that closes each connection after its next response once ctx is done. The API then accepts
// connections for COMANDA_DRAIN_DELAY, while /readyz makes load balancers choose other processes. Without the delay,
// requests would be lost: closing a listener resets connections that are not yet accepted, stopping a server closes
// idle connections to which a request may be on its way, and clients do not repeat the first request of a connection.
func drain(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close") // with HTTP/2, the server announces the end of the connection
		}
		next.ServeHTTP(w, r)
	})
}

// debugLines is a writer that logs each line at the level debug.
type debugLines struct{ log zerolog.Logger }

// Write logs one line.
func (d debugLines) Write(line []byte) (int, error) {
	d.log.Debug().Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}
