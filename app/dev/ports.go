package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// use is what a port is for. The uses are in the order in which their ports follow --port.
type use int

const (
	apiPort use = iota
	adminPort
	receiverPort
	frontendPort
	uiPort
	postgresPort
	historyPort
	matchingPort
	workerPort
	socialPort
	portCount
)

func (u use) String() string {
	return [portCount]string{
		"the API", "health and metrics", "the webhook receiver", "Temporal", "Temporal's Web UI", "PostgreSQL",
		"Temporal's history service", "Temporal's matching service", "Temporal's worker service", "social login",
	}[u]
}

// ports are those of one run. Each is held by a listener until what it is for takes it over, so that two runs which
// start at once cannot choose the same.
type ports struct {
	numbers [portCount]int
	held    [portCount]net.Listener
}

// reservePorts holds the ports for the given uses: consecutive from first on or, if that is 0, whichever are free.
func reservePorts(ctx context.Context, first int, uses ...use) (*ports, error) {
	var config net.ListenConfig
	p := &ports{}
	for u := range portCount {
		if first != 0 {
			p.numbers[u] = first + int(u)
		}
	}
	for _, u := range uses {
		listener, err := config.Listen(ctx, "tcp", p.address(u))
		if err != nil {
			p.release()
			return nil, fmt.Errorf("port %d, meant for %v, is taken: choose other ports with --port", p.numbers[u], u)
		}
		p.held[u], p.numbers[u] = listener, listener.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// address is where a use listens: on this machine's loopback interface alone.
func (p *ports) address(u use) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.numbers[u]))
}

// url is where a browser finds what listens there. What speaks plain HTTP has no name: the API's demand for HTTPS holds
// for every port of its host, and would keep browsers from Temporal's Web UI.
func (p *ports) url(scheme string, u use) string {
	host := "localhost"
	if scheme == "http" {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(p.numbers[u]))
}

// take frees a use's port for a server that is about to listen on it, and returns it.
func (p *ports) take(u use) int {
	_ = p.listener(u).Close() // nobody has connected
	return p.numbers[u]
}

// listener hands a use's listener over.
func (p *ports) listener(u use) net.Listener {
	listener := p.held[u]
	p.held[u] = nil
	return listener
}

// release frees the ports that nobody took.
func (p *ports) release() {
	for u := range portCount {
		if p.held[u] != nil {
			p.take(u)
		}
	}
}
