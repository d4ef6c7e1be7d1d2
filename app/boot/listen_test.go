package boot

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
)

// A connection with HTTP/2 has few streams, and receives few bytes of bodies that no handler reads.
func TestLimitsOfHTTP2Connections(t *testing.T) {
	t.Parallel()
	dir, pair := t.TempDir(), selfSigned(t, "test.example")
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write(t, certFile, pair.cert)
	write(t, keyFile, pair.key)
	c, err := newCertificate(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	address := unusedAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	if err := listen(ctx, group, "TEST", address, c, nil, nil, http.NotFoundHandler(), zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}} //nolint:gosec // self-signed
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var streams, ofStream uint32
	const initial = 1<<16 - 1 // of a connection, RFC 9113, section 6.9.2
	ofConnection := uint32(0)
	for streams == 0 || ofConnection == 0 {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				streams, _ = frame.Value(http2.SettingMaxConcurrentStreams)
				ofStream, _ = frame.Value(http2.SettingInitialWindowSize)
			}
		case *http2.WindowUpdateFrame:
			ofConnection = initial + frame.Increment
		}
	}
	if streams != maxStreams || ofStream != maxReceiveBuffer || ofConnection != maxReceiveBuffers {
		t.Errorf("got %d streams with %d of %d bytes, want %d with %d of %d",
			streams, ofStream, ofConnection, maxStreams, maxReceiveBuffer, maxReceiveBuffers)
	}
	conn.Close()
	stop()
	if err := group.Wait(); err != nil {
		t.Errorf("stop: %v, want no error", err)
	}
}
