package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const hookSecret = "whsec_of_the_end_to_end_tests_0123456789"

func slogDiscard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// hook is a receiver that verifies requests (docs/behaviour.md#signatures) and responds as the test specifies.
type hook struct {
	url     string
	respond func(n int, w http.ResponseWriter, r *http.Request) // writes the response to request n, from 1
	secret  atomic.Pointer[string]                              // of the signatures; nil = hookSecret
	open    atomic.Int64                                        // connections

	lock     sync.Mutex
	received []received
	arrived  chan int // the number of each request, as it arrives
}

type received struct {
	at       time.Time
	id       string
	position string // X-Webhook-Position
	resource string // X-Webhook-Resource
	body     string
	flaw     error // reason for which a receiver would reject the request; nil = none
}

// newHook starts a receiver. If respond is nil, it responds with 204.
func newHook(t *testing.T, respond func(n int, w http.ResponseWriter, r *http.Request)) *hook {
	t.Helper()
	if respond == nil {
		respond = func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	}
	h := &hook{respond: respond, arrived: make(chan int, 1000)}
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{worldOf(t).tls}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			h.open.Add(1)
		case http.StateClosed:
			h.open.Add(-1)
		}
	}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	h.url = server.URL + "/hook"
	return h
}

// ServeHTTP verifies and records a request and responds to it. A request whose sender ended before it was complete,
// like a worker that was killed, is none: no receiver can verify it.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	one := received{
		at: time.Now(), id: r.Header.Get("X-Webhook-Id"), position: r.Header.Get("X-Webhook-Position"),
		resource: r.Header.Get("X-Webhook-Resource"), body: string(body),
	}
	one.flaw = verify(r, body, one.at, h.signedWith())
	h.lock.Lock()
	h.received = append(h.received, one)
	n := len(h.received)
	h.lock.Unlock()
	h.arrived <- n
	h.respond(n, w, r)
}

// hang waits until the sender closes the connection, and does not respond. A response would race with the close.
func hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// signedWith returns the secret of the signatures.
func (h *hook) signedWith() string {
	if changed := h.secret.Load(); changed != nil {
		return *changed
	}
	return hookSecret
}

// verify checks the signature and the timestamp without the code under test.
func verify(r *http.Request, body []byte, now time.Time, secret string) error {
	timestamp, err := strconv.ParseInt(r.Header.Get("X-Webhook-Timestamp"), 10, 64)
	if err != nil {
		return err
	}
	if math.Abs(float64(now.Unix()-timestamp)) > 300 {
		return fmt.Errorf("timestamp %d is too far from now", timestamp)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", timestamp, body)
	want, got := hex.EncodeToString(mac.Sum(nil)), r.Header.Get("X-Webhook-Signature")
	if !hmac.Equal([]byte(want), []byte(got)) {
		return fmt.Errorf("signature %q, want %q", got, want)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		r.UserAgent() != "Comanda-Webhooks/1.0" {
		return fmt.Errorf("%s with headers %v", r.Method, r.Header)
	}
	return nil
}

// all returns the requests so far. It fails the test if the verification of one has failed.
func (h *hook) all(t *testing.T) []received {
	t.Helper()
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, one := range h.received {
		if one.flaw != nil {
			t.Errorf("verification of %s: got error %v, want none", one.id, one.flaw)
		}
	}
	return append([]received{}, h.received...)
}

// await waits for the next request and returns its number.
func (h *hook) await(t *testing.T) int {
	t.Helper()
	select {
	case n := <-h.arrived:
		return n
	case <-time.After(waitLimit):
		t.Fatalf("requests within %s: got none, want one", waitLimit)
		return 0
	}
}

// requestsOf returns the number of requests for an event.
func (h *hook) requestsOf(event string) (n int) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, one := range h.received {
		if one.id == event {
			n++
		}
	}
	return n
}

// events returns the number of distinct events, without the first requests.
func (h *hook) events(but int) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	ids := map[string]bool{}
	for _, one := range h.received[but:] {
		ids[one.id] = true
	}
	return len(ids)
}
