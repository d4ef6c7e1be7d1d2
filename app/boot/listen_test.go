package boot

import (
	"io"
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
