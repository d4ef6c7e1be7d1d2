// Package listen is a webhook receiver for development: it verifies requests, prints a line for each, and can forward
// them.
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

// senderTimeout is the time for which the sender waits for a response.
const senderTimeout = 10 * time.Second

// Options configures a [Handler].
type Options struct {
	Verifier *webhook.Verifier
	Out      io.Writer    // receives one line per request
	JSON     bool         // print each line as JSON, see [Line]
	Next     http.Handler // handles verified requests; nil responds with 204
}

// Line is the JSON output for one request.
type Line struct {
	ReceivedAt time.Time       `json:"receivedAt"`
	Status     int             `json:"status"`          // status of the response
	Event      json.RawMessage `json:"event,omitempty"` // body of a verified request
	Error      string          `json:"error,omitempty"` // why the request was refused or could not be forwarded
}

// Handler returns a handler for POST requests on any path. A request that cannot be verified gets the [webhook.Status]
// of its error and is not passed to o.Next.
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
	mu sync.Mutex // serializes writes to Out
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
	if line.Event, err = io.ReadAll(r.Body); err != nil {
		panic(err) // impossible: Verify has read the body into memory
	}
	r.Body = io.NopCloser(bytes.NewReader(line.Event))
	recorder := &responseRecorder{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		line.Status, line.Error = recorder.status, recorder.err
		text := describe(event) + "  ✓ verified"
		if line.Status != http.StatusNoContent {
			text += fmt.Sprintf(", response %d", line.Status)
		}
		if line.Error != "" {
			text += ": " + printable(line.Error)
		}
		h.print(line, text)
	}()
	h.Next.ServeHTTP(recorder, r)
}

func (h *handler) print(line Line, text string) {
	var out bytes.Buffer
	if h.JSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(line); err != nil {
			panic(err) // impossible: the event is valid JSON
		}
	} else {
		fmt.Fprintf(&out, "%s  %s\n", line.ReceivedAt.Local().Format(time.TimeOnly), text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Out.Write(out.Bytes()) //nolint:errcheck // a closed output must not fail the request
}

// responseRecorder records the status of a response and the error of forwarding.
type responseRecorder struct {
	http.ResponseWriter
	status int
	err    string
}

// WriteHeader records and sends the status. Informational statuses (1xx) are not recorded.
func (r *responseRecorder) WriteHeader(status int) {
	if status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the underlying writer for [http.ResponseController].
func (r *responseRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Forward returns a handler that sends requests to target with unchanged body and headers, and returns its responses.
// If target does not respond within 10 s, the response is 502.
func Forward(target *url.URL) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil               // the target is local
	transport.DisableKeepAlives = true  // the target may restart between requests
	transport.DisableCompression = true // the request keeps the sender's headers
	transport.ResponseHeaderTimeout = senderTimeout
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := *target
			r.Out.URL, r.Out.Host = &to, ""
		},
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0), // the line of the request contains the error
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if r, ok := w.(*responseRecorder); ok {
				r.err = err.Error()
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}

// Serve accepts requests until ctx is done. Then it waits for open requests, at most 10 s, and closes the listener. If
// certificate is nil, it serves plain HTTP.
func Serve(ctx context.Context, listener net.Listener, certificate *tls.Certificate, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: senderTimeout,
		ReadTimeout:       senderTimeout,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // TLS errors of clients are visible to the clients
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
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), senderTimeout)
	defer cancel()
	if err := server.Shutdown(shutdown); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
