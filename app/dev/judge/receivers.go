package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// receivers is one HTTPS server for the receivers of all webhooks. The path of a URL names the site and the receiver.
// A receiver records each request before it behaves.
type receivers struct {
	server *httptest.Server
	h      *history
	began  time.Time
	mended atomic.Bool // all receivers respond with 204

	lock   sync.Mutex
	byPath map[string]*receiver
}

// receiver is the receiver of a webhook.
type receiver struct {
	path     string // "/site/name"
	behavior *behavior

	lock    sync.Mutex
	webhook string   // id; "" = the response that creates the webhook has not arrived
	secrets []string // that the webhook has or had
	tries   map[string]int
}

// newReceivers starts the server.
func newReceivers(certificate tls.Certificate, h *history) *receivers {
	r := &receivers{h: h, began: time.Now(), byPath: map[string]*receiver{}}
	r.server = httptest.NewUnstartedServer(r)
	r.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.server.StartTLS()
	return r
}

// close ends the server and all requests.
func (r *receivers) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// add adds a receiver. Its URL is that of the server and its path.
func (r *receivers) add(site, name string, b *behavior, secrets ...string) *receiver {
	one := &receiver{path: "/" + site + "/" + name, behavior: b, secrets: secrets, tries: map[string]int{}}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.byPath[one.path] = one
	return one
}

func (r *receivers) url(one *receiver) string { return r.server.URL + one.path }

// receiver returns the receiver of a path or nil.
func (r *receivers) receiver(path string) *receiver {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.byPath[path]
}

// ServeHTTP records a request and behaves as its receiver. A request whose sender ended before it was complete is none.
func (r *receivers) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	one := r.receiver(q.URL.Path)
	if one == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	site, _, _ := strings.Cut(one.path[1:], "/")
	event := q.Header.Get("X-Webhook-Id")
	now := time.Now()
	try := one.try(event)
	b := one.behavior
	if r.mended.Load() {
		b = responds
	} else if b.choose != nil {
		b = b.choose(one.path, now.Sub(r.began))
	}
	record := request{
		At: now, Site: site, Webhook: one.id(), Receiver: one.path, Event: event, Header: q.Header.Clone(), Body: body,
		Behavior: b.name, Flaw: one.flaw(q.Header, body),
	}
	n := r.h.beginRequest(record)
	status := &recorded{ResponseWriter: w}
	defer func() { r.h.endRequest(n, status.code(), time.Now()) }()
	b.respond(&attempt{status, q, draw(one.path, event, try)})
}

// try counts the requests for an event.
func (r *receiver) try(event string) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.tries[event]++
	return r.tries[event]
}

func (r *receiver) id() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.webhook
}

// named sets the id of the webhook.
func (r *receiver) named(id string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.webhook = id
}

// rotate adds a secret, before the webhook has it.
func (r *receiver) rotate(secret string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.secrets = append(r.secrets, secret)
}

// all returns the secrets that the webhook has or had.
func (r *receiver) all() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.secrets)
}

// flaw returns the reason for which a receiver would reject a request, without the code under test.
func (r *receiver) flaw(header http.Header, body []byte) string {
	r.lock.Lock()
	defer r.lock.Unlock()
	got := header.Get("X-Webhook-Signature")
	for _, secret := range r.secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%s", header.Get("X-Webhook-Timestamp"), body)
		if hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(got)) {
			return ""
		}
	}
	return fmt.Sprintf("signature %q is that of no secret of the webhook", got)
}

// recorded is a response whose status is kept.
type recorded struct {
	http.ResponseWriter
	status int
}

// WriteHeader writes the status.
func (r *recorded) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorded) code() int { return r.status }

// connection returns the connection below TLS.
func (r *recorded) connection() net.Conn {
	conn, _, err := r.ResponseWriter.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if secured, ok := conn.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return conn
}

// draw returns a number from 0 to 99 that depends on the request only, so that a run with the same seed has the same
// behaviors for the same events.
func draw(path, event string, try int) int {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %s %d", path, event, try)
	return int(sum.Sum64() >> 8 % 100)
}
