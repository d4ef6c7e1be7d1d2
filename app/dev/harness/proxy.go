package harness

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// chunkSize is the largest number of bytes that a delayed connection reads at once.
	chunkSize = 32 << 10
	// delayLine is the number of chunks that a delayed connection holds in each direction.
	// It is far more than any client sends within the delay, so the delay costs no bandwidth.
	delayLine = 4096
)

// Proxy forwards TCP connections. It can be cut, which makes its target unreachable.
type Proxy struct {
	Address  string
	listener net.Listener
	target   string
	delay    time.Duration // in each direction

	lock  sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// NewProxy listens on the loopback address for connections to target.
func NewProxy(target string) (*Proxy, error) { return NewDelayedProxy(target, 0) }

// NewDelayedProxy is NewProxy for a target at a distance: each byte arrives after the delay,
// in both directions. The delay does not limit the bandwidth.
func NewDelayedProxy(target string, delay time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Address: listener.Addr().String(), listener: listener, target: target, delay: delay, conns: map[net.Conn]bool{}}
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
		p.copy(behind, conn)
		behind.Close()
	}()
	p.copy(conn, behind)
}

// copy copies from one connection to another until either breaks.
func (p *Proxy) copy(to, from net.Conn) {
	if p.delay == 0 {
		io.Copy(to, from)
		return
	}
	line := make(chan chunk, delayLine)
	go func() {
		defer close(line)
		buffer := make([]byte, chunkSize)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				line <- chunk{time.Now().Add(p.delay), bytes.Clone(buffer[:n])}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range line {
		time.Sleep(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			from.Close() // ends the reader, which may wait for room in the line
		}
	}
}

// chunk is a piece of a delayed connection.
type chunk struct {
	due  time.Time
	data []byte
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
