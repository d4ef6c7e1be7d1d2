package freeport

import (
	"net"
	"testing"
)

func TestPortsAreFreeAndReserved(t *testing.T) {
	t.Parallel()
	port, err := Ports(3)
	if err != nil {
		t.Fatal(err)
	}
	if port < first || port+3 > end {
		t.Errorf("got ports from %d, want them from %d to %d", port, first, end-1)
	}
	for i := range 3 {
		if reserve(port+i, 1) {
			t.Errorf("port %d was reserved twice", port+i)
		}
		listener, err := net.Listen("tcp", address(port+i))
		if err != nil {
			t.Fatalf("listen on a reserved port: %v", err)
		}
		defer listener.Close()
	}
}

func TestPortWithListenerIsNotReserved(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if port := listener.Addr().(*net.TCPAddr).Port; reserve(port, 1) {
		t.Errorf("port %d of a server was reserved", port)
	}
}
