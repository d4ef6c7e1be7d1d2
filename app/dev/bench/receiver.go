package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// receiver is an HTTPS server that notes what arrives when. It answers at once, unless it
// is told to hold what comes.
type receiver struct {
	server *httptest.Server
	url    string
	status int
	tick   func() // for each event, when it arrives for the first time

	lock            sync.Mutex
	arrived         map[app.OrderID][]time.Time
	expected        int
	first, complete chan struct{}
	released        chan struct{} // closed = answer
}

// newReceiver starts a receiver that accepts everything.
func (b *bench) newReceiver() (*receiver, error) {
	env := b.infra.Ready.Env
	certificate, err := tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"])
	if err != nil {
		return nil, err
	}
	r := &receiver{status: http.StatusNoContent, tick: func() { b.bar.Add(1) }, released: make(chan struct{})}
	close(r.released)
	r.expect(0)
	r.server = httptest.NewUnstartedServer(r)
	r.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.server.StartTLS()
	r.url = r.server.URL
	return r, nil
}

// ServeHTTP notes an arrival and answers it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	var event struct{ Data struct{ ID app.OrderID } }
	if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case <-r.note(event.Data.ID, now):
		w.WriteHeader(r.status)
	case <-request.Context().Done():
	}
}

func (r *receiver) note(id app.OrderID, at time.Time) (released <-chan struct{}) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.arrived[id] = append(r.arrived[id], at)
	if len(r.arrived[id]) > 1 {
		return r.released
	}
	r.tick()
	if len(r.arrived) == 1 {
		close(r.first)
	}
	if len(r.arrived) == r.expected {
		close(r.complete)
	}
	return r.released
}

// expect forgets what came, and waits for so many events.
func (r *receiver) expect(events int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.arrived, r.expected = map[app.OrderID][]time.Time{}, events
	r.first, r.complete = make(chan struct{}), make(chan struct{})
}

// hold keeps the answers of what comes from now on, until release.
func (r *receiver) hold() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.released = make(chan struct{})
}

// release answers what is held, and what comes from now on at once.
func (r *receiver) release() {
	r.lock.Lock()
	defer r.lock.Unlock()
	close(r.released)
}

func (r *receiver) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

func (r *receiver) wait(ctx context.Context, done chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Minute):
		return fmt.Errorf("only %d of %d events have arrived", r.count(), r.expected)
	}
}

// count returns how many events have arrived.
func (r *receiver) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.arrived)
}

// doubled returns how many requests came for events that had arrived before.
func (r *receiver) doubled() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	n := 0
	for _, times := range r.arrived {
		n += len(times) - 1
	}
	return n
}

// arrivals returns when the requests for an event came.
func (r *receiver) arrivals(id app.OrderID) []time.Time {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.arrived[id]
}
