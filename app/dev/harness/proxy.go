package harness

import (
	"io"
	"net"
	"sync"
)

// Proxy forwards TCP connections and can be cut, to make what is behind it go away.
type Proxy struct {
	Address  string
	listener net.Listener
	target   string

	lock  sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// NewProxy listens on the loopback address for connections to target.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Address: listener.Addr().String(), listener: listener, target: target, conns: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

// Cut breaks all connections and refuses new ones until Mend.
func (p *Proxy) Cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cut = true
	for conn := range p.conns {
		conn.Close()
	}
}

// Mend lets connections through again.
func (p *Proxy) Mend() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cut = false
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(conn)
	}
}

func (p *Proxy) forward(conn net.Conn) {
	defer conn.Close()
	behind, err := net.Dial("tcp", p.target)
	if err != nil || !p.keep(conn, behind) {
		return
	}
	defer p.forget(conn, behind)
	go func() {
		io.Copy(behind, conn)
		behind.Close()
	}()
	io.Copy(conn, behind)
}

// keep notes the two ends of a connection, unless the proxy is cut.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, conn := range conns {
		if p.cut {
			conn.Close()
			continue
		}
		p.conns[conn] = true
	}
	return !p.cut
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(p.conns, conn)
	}
}
