package boot

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/comanda-dev/comanda/api"
)

// maxConnections is the maximum number of connections of a listener: twice the maximum number of streams. An idle one
// takes about 30 KiB with TLS.
const maxConnections = 10_000

// connections is a listener that ends connections beyond a number. One client network has at most half of the free
// ones, except the networks of proxies, whose clients share the addresses of the proxies.
type connections struct {
	net.Listener
	most    int
	proxies []netip.Prefix

	lock sync.Mutex
	all  int
	of   map[string]int // by client network
}

func limitConnections(listener net.Listener, most int, proxies []netip.Prefix) *connections {
	return &connections{Listener: listener, most: most, proxies: proxies, of: map[string]int{}}
}

// Accept returns the next connection. It counts from its first read: only then is the client of a load balancer's
// connection known.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, listener: l}, nil
}

// enter counts a connection of a network. It returns false if there is no free one.
func (l *connections) enter(network string, proxy bool) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	if free := l.most - l.all; free <= 0 || !proxy && l.of[network] >= free {
		return false
	}
	l.all++
	l.of[network]++
	return true
}

func (l *connections) leave(network string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.all--
	if l.of[network]--; l.of[network] == 0 {
		delete(l.of, network)
	}
}

// connection is a connection of [connections].
type connection struct {
	net.Conn
	listener *connections

	lock    sync.Mutex
	known   bool
	network string // "" = not counted
}

// Read returns the end of the connection if there are too many.
func (c *connection) Read(p []byte) (int, error) {
	if !c.enter() {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// enter counts the connection at its first call. It returns false if it is not counted.
func (c *connection) enter() bool {
	client := c.RemoteAddr().String() // waits for the header of a load balancer
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.known {
		c.known = true
		if peer, err := netip.ParseAddrPort(client); err == nil {
			address := peer.Addr().Unmap().WithZone("")
			network := api.ClientNetwork(address)
			proxy := slices.ContainsFunc(c.listener.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
			if c.listener.enter(network, proxy) {
				c.network = network
			}
		}
	}
	return c.network != ""
}

// Close closes the connection, which then no longer counts.
func (c *connection) Close() error {
	c.lock.Lock()
	c.known = true
	if c.network != "" {
		c.listener.leave(c.network)
		c.network = ""
	}
	c.lock.Unlock()
	return c.Conn.Close()
}
