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
	proxy, conn := echoBehindProxy(t)
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

// TestHold checks that a held proxy forwards nothing until its release, and then everything.
func TestHold(t *testing.T) {
	t.Parallel()
	proxy, conn := echoBehindProxy(t)
	proxy.Hold()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	echoed := make(chan error)
	go func() {
		_, err := io.ReadFull(conn, make([]byte, 1))
		echoed <- err
	}()
	select {
	case err := <-echoed:
		t.Fatalf("a held proxy: got an echo and error %v, want none", err)
	case <-time.After(100 * time.Millisecond):
	}
	proxy.Release()
	if err := <-echoed; err != nil {
		t.Errorf("after the release: got error %v, want the echo", err)
	}
}

// TestHoldKeepsEnds checks that the target of a held proxy does not see the end of a connection before the release.
func TestHoldKeepsEnds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan error), make(chan struct{})
	proxy := NewProxyOn(listener, func() (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_, err := io.ReadFull(far, make([]byte, 1))
			began <- err
			io.Copy(io.Discard, far)
			close(ended)
		}()
		return near, nil
	}, 0)
	defer proxy.Close()
	conn, err := net.Dial("tcp", proxy.Address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	proxy.Hold()
	conn.Close()
	select {
	case <-ended:
		t.Error("a held proxy: the target saw the end of the connection, want it to wait for the release")
	case <-time.After(100 * time.Millisecond):
	}
	proxy.Release()
	<-ended
}

// echoBehindProxy returns a delayed proxy without a delay, and a connection through it to a target that sends all bytes
// back.
func echoBehindProxy(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := NewProxyOn(listener, func() (net.Conn, error) {
		near, far := net.Pipe()
		go io.Copy(far, far)
		return near, nil
	}, 0)
	t.Cleanup(proxy.Close)
	conn, err := net.Dial("tcp", proxy.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return proxy, conn
}
