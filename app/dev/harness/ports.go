package harness

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports that FreePorts returns are below those that the kernel gives to connections, so that a program that is
// started again finds its port free.
const firstPort, endPort = 12_000, 32_000

// given are the ports that FreePorts has returned. None is returned twice: the program of a test that uses it may be
// killed at the moment and start again.
var given struct {
	sync.Mutex
	ports [endPort - firstPort]bool
}

// FreePorts returns the first of n consecutive free ports on the loopback interface.
func FreePorts(n int) (int, error) {
	given.Lock()
	defer given.Unlock()
	for range 1000 {
		first := rand.IntN(endPort - firstPort - n)
		if areFree(first, n) {
			for i := range n {
				given.ports[first+i] = true
			}
			return firstPort + first, nil
		}
	}
	return 0, errors.New("no consecutive free ports")
}

// areFree reports whether n ports, counted from firstPort, are neither given nor in use.
func areFree(first, n int) bool {
	for i := first; i < first+n; i++ {
		if given.ports[i] {
			return false
		}
		listener, err := net.Listen("tcp", loopback(firstPort+i))
		if err != nil {
			return false
		}
		defer listener.Close()
	}
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// FreeAddress returns a free address on the loopback interface.
func FreeAddress() (string, error) {
	port, err := FreePorts(1)
	return loopback(port), err
}
