package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/comanda-dev/comanda/app/dev/flags"
	"github.com/comanda-dev/comanda/app/freeport"
)

// use is the purpose of a port. The ports follow --port in the order of these constants.
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

var _ [flags.Ports]use = [portCount]use{} // the flags know the number of ports

func (u use) String() string {
	return [portCount]string{
		"the API", "health and metrics", "the webhook receiver", "Temporal", "Temporal's Web UI", "PostgreSQL",
		"Temporal's history service", "Temporal's matching service", "Temporal's worker service", "social login",
	}[u]
}

// ports are the ports of one run. A listener holds each port until its server takes it over, so that two runs that
// start concurrently with --port cannot use the same port.
type ports struct {
	numbers [portCount]int
	held    [portCount]net.Listener
}

// reservePorts holds the ports of the given uses. The ports start with first, or with a free port if first is 0.
func reservePorts(ctx context.Context, first int, uses ...use) (*ports, error) {
	var config net.ListenConfig
	p := &ports{}
	if first == 0 {
		var err error
		if first, err = freeport.Ports(int(portCount)); err != nil {
			return nil, err
		}
	}
	for u := range portCount {
		p.numbers[u] = first + int(u)
	}
	for _, u := range uses {
		listener, err := config.Listen(ctx, "tcp", p.address(u))
		if err != nil {
			p.release()
			return nil, fmt.Errorf("port %d for %v is in use; choose other ports with --port", p.numbers[u], u)
		}
		p.held[u] = listener
	}
	return p, nil
}

// address returns the address of a use, on the loopback interface.
func (p *ports) address(u use) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.numbers[u]))
}

// url returns the URL of a use for browsers. For plain HTTP it contains the IP address: the API's HSTS header applies
// to every port of the host localhost, so browsers would refuse Temporal's Web UI there.
func (p *ports) url(scheme string, u use) string {
	host := "localhost"
	if scheme == "http" {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(p.numbers[u]))
}

// take releases the port of a use for a server that opens it itself, and returns the port.
func (p *ports) take(u use) int {
	_ = p.listener(u).Close() // no client has connected
	return p.numbers[u]
}

// listener returns the listener of a use, which then belongs to the caller.
func (p *ports) listener(u use) net.Listener {
	listener := p.held[u]
	p.held[u] = nil
	return listener
}

// release closes the listeners that were not handed over.
func (p *ports) release() {
	for u := range portCount {
		if p.held[u] != nil {
			p.take(u)
		}
	}
}
