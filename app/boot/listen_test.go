package boot

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
)

// A connection with HTTP/2 has few streams, and receives few bytes of bodies that no handler reads.
func TestLimitsOfHTTP2Connections(t *testing.T) {
	t.Parallel()
	l := listenTLS(t, "test.example")
	conn := dialTLS(t, l.address, "h2")
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
	if streams != maxStreams || ofStream != maxStreamBuffer || ofConnection != maxConnBuffer {
		t.Errorf("got %d streams with %d of %d bytes, want %d with %d of %d",
			streams, ofStream, ofConnection, maxStreams, maxStreamBuffer, maxConnBuffer)
	}
	conn.Close()
	l.end(t)
}

// A server that stops responds to the first request of a connection that it has accepted.
func TestStopAwaitsFirstRequests(t *testing.T) {
	t.Parallel()
	l := listenTLS(t, "test.example")
	conn := dialTLS(t, l.address)
	defer conn.Close()
	l.stop()
	for { // until it accepts no connection
		refused, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.address)
		if err != nil {
			break
		}
		refused.Close()
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("first request: %v, want a response", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("first request: got status %d, want %d", response.StatusCode, http.StatusNotFound)
	}
	l.end(t)
}
