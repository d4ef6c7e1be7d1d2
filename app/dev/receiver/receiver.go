// Package receiver is a webhook receiver to watch deliveries with: it verifies what it gets, prints a line about each
// and can be asked to misbehave.
package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Path is where events are received. Its query may ask for trouble: "?fail=503" answers that status, "?hang=20s" waits
// before it answers.
const Path = "/hook"

// maxBody is how many bytes of a request are read.
const maxBody = 1 << 20

// Options says how a receiver verifies and where it prints.
type Options struct {
	// Secret is what senders sign with.
	Secret string
	// Out receives one line per request.
	Out io.Writer
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Receiver is a running HTTPS server.
type Receiver struct {
	server *http.Server
	failed chan error
}

// Start serves the receiver on a listener with a certificate and its key in PEM files. It takes the listener over.
func Start(listener net.Listener, certFile, keyFile string, o Options) *Receiver {
	r := &Receiver{
		server: &http.Server{
			Handler:           Handler(o),
			ReadHeaderTimeout: 10 * time.Second,
			ErrorLog:          log.New(io.Discard, "", 0), // what clients do wrong in TLS is theirs to see
		},
		failed: make(chan error, 1),
	}
	go func() {
		if err := r.server.ServeTLS(listener, certFile, keyFile); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- fmt.Errorf("webhook receiver: %w", err)
		}
	}()
	return r
}

// Failed yields an error if the receiver ends by itself.
func (r *Receiver) Failed() <-chan error { return r.failed }

// Stop ends the receiver. Requests that it was asked to hang on are cut off.
func (r *Receiver) Stop(context.Context) error { return r.server.Close() }

// Handler receives events at Path.
func Handler(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, &handler{Options: o})
	return mux
}

type handler struct {
	Options
	mu sync.Mutex // one line at a time
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		h.answer(w, http.StatusRequestEntityTooLarge, "a request without a readable body: "+err.Error())
		return
	}
	line := describe(body)
	if err := verify(r.Header, body, h.Secret, h.Now()); err != nil {
		h.answer(w, http.StatusUnauthorized, line+"  ✗ "+err.Error())
		return
	}
	line += "  ✓ verified"
	status, err := misbehave(r)
	switch {
	case err != nil:
		h.answer(w, http.StatusBadRequest, line+", but "+err.Error())
	case status != http.StatusNoContent:
		h.answer(w, status, line+", answered "+strconv.Itoa(status)+" as asked")
	default:
		h.answer(w, status, line)
	}
}

// answer prints the line and sends the status.
func (h *handler) answer(w http.ResponseWriter, status int, line string) {
	h.mu.Lock()
	fmt.Fprintf(h.Out, "%s  %s\n", h.Now().Local().Format(time.TimeOnly), line)
	h.mu.Unlock()
	w.WriteHeader(status)
}

// misbehave does what the query asks for and returns the status to answer with. It ends early when the sender hangs up.
func misbehave(r *http.Request) (int, error) {
	query := r.URL.Query()
	if query.Has("hang") {
		wait, err := time.ParseDuration(query.Get("hang"))
		if err != nil {
			return 0, errors.New("hang wants a duration such as 20s")
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	if !query.Has("fail") {
		return http.StatusNoContent, nil
	}
	status, err := strconv.Atoi(query.Get("fail"))
	if err != nil || status < 200 || status > 599 {
		return 0, errors.New("fail wants a status from 200 to 599")
	}
	return status, nil
}
