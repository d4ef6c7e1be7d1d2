// Package receiver is the webhook receiver of the development stack: it verifies and prints what it gets, and can be
// asked to misbehave.
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
	"time"

	"github.com/comanda-dev/comanda/app/listen"
)

// Path is where events are received. Its query may ask for trouble: "?fail=503" answers that status, "?hang=20s" waits
// before it answers.
const Path = "/hook"

// Receiver is a running HTTPS server.
type Receiver struct {
	server *http.Server
	failed chan error
}

// Start serves the receiver on a listener with a certificate and its key in PEM files. It takes the listener over.
func Start(listener net.Listener, certFile, keyFile string, o listen.Options) *Receiver {
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
func Handler(o listen.Options) http.Handler {
	o.Next = http.HandlerFunc(misbehave)
	mux := http.NewServeMux()
	mux.Handle(Path, listen.Handler(o))
	return mux
}

// misbehave answers as the query asks for. It ends early when the sender hangs up.
func misbehave(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Has("hang") {
		wait, err := time.ParseDuration(query.Get("hang"))
		if err != nil {
			http.Error(w, "hang wants a duration such as 20s", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	status := http.StatusNoContent
	if query.Has("fail") {
		var err error
		if status, err = strconv.Atoi(query.Get("fail")); err != nil || status < 200 || status > 599 {
			http.Error(w, "fail wants a status from 200 to 599", http.StatusBadRequest)
			return
		}
	}
	w.WriteHeader(status)
}
