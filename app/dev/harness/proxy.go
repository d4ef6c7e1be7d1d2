package harness

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chunkSize is the largest number of bytes in one read of a delayed connection.
	chunkSize = 32 << 10
	// delayLine is the number of chunks that a delayed connection holds in each direction.
	// It is far more than any client sends within the delay, so the delay costs no bandwidth.
	delayLine = 4096
)

// Proxy forwards TCP connections to a target. Cut makes the target unreachable.
type Proxy struct {
	Address  string
	listener net.Listener
	dial     func() (net.Conn, error) // connects to the target
	delayed  bool
	delay    atomic.Int64 // time.Duration in each direction, of a delayed proxy

	lock  sync.Mutex
	cut   bool
	held  chan struct{} // nil = not held
	conns map[net.Conn]bool
}

// NewProxy returns a proxy to target that listens on the loopback interface.
func NewProxy(target string) (*Proxy, error) { return NewDelayedProxy(target, 0) }

// NewDelayedProxy is NewProxy with a network delay in each direction. The delay does not limit the bandwidth.
func NewDelayedProxy(target string, delay time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return newProxy(listener, func() (net.Conn, error) { return net.Dial("tcp", target) }, delay, delay > 0), nil
}

// NewProxyOn returns a delayed proxy that forwards the connections of a listener to connections of dial.
func NewProxyOn(listener net.Listener, dial func() (net.Conn, error), delay time.Duration) *Proxy {
	return newProxy(listener, dial, delay, true)
}

func newProxy(listener net.Listener, dial func() (net.Conn, error), delay time.Duration, delayed bool) *Proxy {
	p := &Proxy{
		Address: listener.Addr().String(), listener: listener, dial: dial, delayed: delayed,
		conns: map[net.Conn]bool{},
	}
	p.delay.Store(int64(delay))
	go p.accept()
	return p
}

// SetDelay changes the delay of a delayed proxy, also for open connections.
func (p *Proxy) SetDelay(delay time.Duration) { p.delay.Store(int64(delay)) }

// Hold makes a delayed proxy keep all bytes and the ends of connections until Release, as a network that loses all
// packets.
func (p *Proxy) Hold() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.held == nil {
		p.held = make(chan struct{})
	}
}

// Release forwards the bytes that Hold has kept, and the following ones.
func (p *Proxy) Release() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
}

// awaitRelease waits while the proxy is held.
func (p *Proxy) awaitRelease() {
	p.lock.Lock()
	held := p.held
	p.lock.Unlock()
	if held != nil {
		<-held
	}
}

// Cut closes all connections and refuses new ones until Mend.
func (p *Proxy) Cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cut = true
	for conn := range p.conns {
		conn.Close()
	}
}

// Mend accepts connections again after Cut.
func (p *Proxy) Mend() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.cut = false
}

// Close stops the proxy.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
	p.Release()
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
	behind, err := p.dial()
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
	if !p.delayed {
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
				line <- chunk{time.Now().Add(time.Duration(p.delay.Load())), bytes.Clone(buffer[:n])}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range line {
		time.Sleep(time.Until(c.due))
		p.awaitRelease()
		if _, err := to.Write(c.data); err != nil {
			from.Close() // ends the reader, which may wait for room in the line
		}
	}
	p.awaitRelease()
}

// chunk is a piece of a delayed connection.
type chunk struct {
	due  time.Time
	data []byte
}

// keep registers the two ends of a connection and reports whether the proxy forwards it. If the proxy is cut, keep
// closes both ends.
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
