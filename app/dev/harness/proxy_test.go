package harness

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// A delayed proxy passes on everything in order, and nothing before its time.
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
		t.Errorf("there and back took %s, less than twice the delay of %s", took, delay)
	}
	if !bytes.Equal(sent, received) {
		t.Error("the bytes that came back are not those that were sent")
	}
}
