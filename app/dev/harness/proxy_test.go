package harness

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// TestDelayedProxy checks that a delayed proxy forwards all bytes in order, and none before the delay.
func TestDelayedProxy(t *testing.T) {
	t.Parallel()
	const delay = 20 * time.Millisecond
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.Copy(conn, conn)
	}()
	proxy, err := NewDelayedProxy(echo.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	conn, err := net.Dial("tcp", proxy.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := make([]byte, 3*chunkSize+1)
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	began := time.Now()
	go conn.Write(sent)
	received := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, received); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*delay {
		t.Errorf("the round trip took %s, want at least twice the delay of %s", took, delay)
	}
	if !bytes.Equal(sent, received) {
		t.Error("the received bytes differ from the sent bytes")
	}
}

// TestSetDelay checks that a new delay holds for connections that are open.
func TestSetDelay(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := NewProxyOn(listener, func() (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(far, far)
		return near, nil
	}, 0)
	defer proxy.Close()
	conn, err := net.Dial("tcp", proxy.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	roundTrip := func() time.Duration {
		t.Helper()
		began := time.Now()
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	roundTrip()
	proxy.SetDelay(delay)
	if took := roundTrip(); took < 2*delay {
		t.Errorf("the round trip took %s, want at least twice the delay of %s", took, delay)
	}
}
