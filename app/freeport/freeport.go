// Package freeport chooses TCP ports for servers that open them later, or again. It serves tests and the development
// program.
package freeport

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below those that the kernel gives to connections and to listeners that ask for any port.
const first, end = 12_000, 32_000

// reserved holds the UDP sockets of all chosen ports until the process ends. A port whose UDP socket another process
// holds is not chosen, so two processes cannot choose the same port before their servers listen on it. The TCP port
// remains free.
var reserved struct {
	sync.Mutex
	sockets []io.Closer
}

// Ports returns the first of n consecutive ports that are free on 127.0.0.1. It never returns a port twice.
func Ports(n int) (int, error) {
	for range 1000 {
		port := first + rand.IntN(end-first-n+1) //nolint:gosec // not a secret
		if reserve(port, n) {
			return port, nil
		}
	}
	return 0, errors.New("no consecutive free ports")
}

// Address returns an address of 127.0.0.1 with a port that it never returns again.
func Address() (string, error) {
	port, err := Ports(1)
	return address(port), err
}

// reserve reserves n consecutive ports, or none. It reports whether it has reserved them.
func reserve(port, n int) bool {
	var sockets []io.Closer
	for i := range n {
		socket := reserveOne(port + i)
		if socket == nil {
			for _, socket := range sockets {
				_ = socket.Close() // nothing was sent
			}
			return false
		}
		sockets = append(sockets, socket)
	}
	reserved.Lock()
	defer reserved.Unlock()
	reserved.sockets = append(reserved.sockets, sockets...)
	return true
}

// reserveOne returns the UDP socket of a port, or nil if the port is reserved or in use.
func reserveOne(port int) io.Closer {
	var config net.ListenConfig
	ctx := context.Background() // a socket of a numeric address opens at once
	socket, err := config.ListenPacket(ctx, "udp", address(port))
	if err != nil {
		return nil
	}
	listener, err := config.Listen(ctx, "tcp", address(port))
	if err != nil {
		_ = socket.Close() // nothing was sent
		return nil
	}
	_ = listener.Close() // no client has connected
	return socket
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
