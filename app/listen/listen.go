// Package listen is a webhook receiver to watch deliveries with: it verifies them, prints
// a line about each, and can pass them on.
package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app/webhook"
)

// patience is how long a sender waits for an answer (spec, Retry policy).
const patience = 10 * time.Second

// Options says how requests are verified and where they are printed.
type Options struct {
	Verifier *webhook.Verifier
	Out      io.Writer    // gets one line per request
	JSON     bool         // prints lines of JSON, see [Line]
	Next     http.Handler // answers what is verified; nil answers 204
}

// Line is what is printed as JSON about one request.
type Line struct {
	ReceivedAt time.Time       `json:"receivedAt"`
	Status     int             `json:"status"`          // what was answered
	Event      json.RawMessage `json:"event,omitempty"` // the body, of verified requests only
	Error      string          `json:"error,omitempty"` // why it was refused, or not passed on
}

// Handler receives POSTs at any path. What does not verify is answered with its
// [webhook.Status] and goes no further.
func Handler(o Options) http.Handler {
	if o.Next == nil {
		o.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	}
	mux := http.NewServeMux()
	mux.Handle("POST /", &handler{Options: o})
	return mux
}

type handler struct {
	Options
	mu sync.Mutex // one line at a time
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	line := Line{ReceivedAt: h.Verifier.Now().UTC()}
	event, err := h.Verifier.Verify(r)
	if err != nil {
		line.Status, line.Error = webhook.Status(err), strings.TrimPrefix(err.Error(), "webhook: ")
		h.print(line, "✗ "+printable(line.Error))
		http.Error(w, line.Error, line.Status)
		return
	}
	if line.Event, err = io.ReadAll(r.Body); err != nil { // from memory, where Verify put it
		panic(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(line.Event))
	answer := &answer{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		line.Status, line.Error = answer.status, answer.err
		text := describe(event) + "  ✓ verified"
		if line.Status != http.StatusNoContent {
			text += fmt.Sprintf(", answered %d", line.Status)
		}
		if line.Error != "" {
			text += ": " + printable(line.Error)
		}
		h.print(line, text)
	}()
	h.Next.ServeHTTP(answer, r)
}

func (h *handler) print(line Line, text string) {
	var out bytes.Buffer
	if h.JSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(line); err != nil { // the event has been decoded before
			panic(err)
		}
	} else {
		fmt.Fprintf(&out, "%s  %s\n", line.ReceivedAt.Local().Format(time.TimeOnly), text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Out.Write(out.Bytes()) //nolint:errcheck // whoever closed the pipe does not want to read it
}

// answer remembers what was answered.
type answer struct {
	http.ResponseWriter
	status int
	err    string
}

// WriteHeader sends the status.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK { // others only announce it
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Forward passes requests on to an address, with the body's very bytes and the headers,
// and their answers back. An address that gives none within 10 s makes a 502.
func Forward(target *url.URL) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil               // the address is near
	transport.DisableKeepAlives = true  // it may be started anew between requests
	transport.DisableCompression = true // the headers are the sender's
	transport.ResponseHeaderTimeout = patience
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *target
			r.Out.URL, r.Out.Host = &to, ""
		},
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0), // it is printed in the request's line
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if a, ok := w.(*answer); ok {
				a.err = err.Error()
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

// Serve answers until the context ends, and then finishes what is under way. Without a
// certificate it speaks plain HTTP. It takes the listener over.
func Serve(ctx context.Context, listener net.Listener, certificate *tls.Certificate, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: patience,
		ReadTimeout:       patience,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // what clients do wrong in TLS is theirs to see
	}
	serve := server.Serve
	if certificate != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	failed := make(chan error, 1)
	go func() { failed <- serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	finishing, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	if err := server.Shutdown(finishing); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
