package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// receiver is an HTTPS server that records arrivals and responds immediately, except while it hangs.
// The path of a webhook is its number.
//
// It shares the processors with the measured programs, so it must be cheap: it reads only the form of request that
// the senders make, and finds the subject of the event in the body without decoding it.
type receiver struct {
	listener net.Listener
	arrivals *arrivals
	respond  func(nth int) int // returns the status of a delivery's n-th attempt
	hang     atomic.Pointer[chan struct{}]

	lock  sync.Mutex
	conns map[net.Conn]bool // nil = closed
}

// Responses of receivers.
func accept(int) int { return http.StatusNoContent }
func refuse(int) int { return http.StatusServiceUnavailable }

// acceptRetries rejects the first attempt of each delivery.
func acceptRetries(nth int) int {
	if nth == 1 {
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}

func newReceiver(certificate tls.Certificate, arrivals *arrivals, respond func(nth int) int) (*receiver, error) {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: listener, arrivals: arrivals, respond: respond, conns: map[net.Conn]bool{}}
	r.release()
	go r.accept()
	return r, nil
}

// url returns the address of a webhook.
func (r *receiver) url(webhook int) string {
	return fmt.Sprintf("https://%s/%d", r.listener.Addr(), webhook)
}

func (r *receiver) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		if r.keep(conn) {
			go r.serve(conn)
		}
	}
}

// keep registers a connection, unless the receiver is closed.
func (r *receiver) keep(conn net.Conn) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.conns == nil {
		conn.Close()
		return false
	}
	r.conns[conn] = true
	return true
}

// serve responds to the requests of a connection in order.
func (r *receiver) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		r.lock.Lock()
		defer r.lock.Unlock()
		delete(r.conns, conn)
	}()
	in := bufio.NewReaderSize(conn, 8<<10)
	var body []byte
	for {
		webhook, length, err := readHead(in)
		if err != nil {
			return
		}
		body = slices.Grow(body[:0], length)[:length]
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		status := http.StatusBadRequest
		if subject, found := subjectIn(body); found {
			d := delivery{subject, webhook}
			status = r.respond(r.arrivals.record(d, time.Now()))
			<-*r.hang.Load()
			if status/100 == 2 {
				r.arrivals.accept(d)
			}
		}
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 %d \r\nContent-Length: 0\r\n\r\n", status); err != nil {
			return
		}
	}
}

var errRequest = errors.New("not a request of a sender")

// readHead reads a request up to its body: the number in its path and the length of its body.
func readHead(in *bufio.Reader) (webhook, length int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	path, isPost := bytes.CutPrefix(line, []byte("POST /"))
	path, _, isHTTP := bytes.Cut(path, []byte(" HTTP/1.1"))
	if webhook, err = strconv.Atoi(string(path)); err != nil || !isPost || !isHTTP {
		return 0, 0, errRequest
	}
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return webhook, length, nil
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > 1<<20 {
				return 0, 0, errRequest
			}
		}
	}
}

// subjectIn returns the id of the object of an event's body.
func subjectIn(body []byte) (string, bool) {
	_, rest, _ := bytes.Cut(body, []byte(`"data":{"id":"`))
	id, _, found := bytes.Cut(rest, []byte{'"'})
	return string(id), found
}

// hold makes the receiver hang: requests get no response until release.
func (r *receiver) hold() {
	held := make(chan struct{})
	r.hang.Store(&held)
}

// release responds to the waiting requests, and to later ones immediately.
func (r *receiver) release() {
	released := make(chan struct{})
	close(released)
	if held := r.hang.Swap(&released); held != nil {
		select {
		case <-*held:
		default:
			close(*held)
		}
	}
}

// close closes the receiver and its connections.
func (r *receiver) close() {
	r.listener.Close()
	r.lock.Lock()
	for conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
	r.lock.Unlock()
	r.release()
}
