package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app/dev/localca"
)

// TestReceiver checks that a receiver records each attempt once with its webhook, responds with the configured status,
// and does not respond while it hangs.
func TestReceiver(t *testing.T) {
	t.Parallel()
	files, err := localca.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	log := newArrivals(func() {})
	r, err := newReceiver(certificate, log, acceptRetries)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	post := func(webhook int, body string) int {
		response, err := client.Post(r.url(webhook), "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	made := newEvent(&tenant{store: "sto_1"})
	for i, want := range []int{http.StatusServiceUnavailable, http.StatusNoContent} {
		if got := post(7, string(made.Body)); got != want {
			t.Errorf("attempt %d: got status %d, want %d", i+1, got, want)
		}
	}
	if got := post(7, "no event"); got != http.StatusBadRequest {
		t.Errorf("body without an object: got status %d, want 400", got)
	}
	r.hold()
	responded := make(chan int)
	go func() { responded <- post(8, string(made.Body)) }()
	for len(log.of(delivery{made.subject, 8})) == 0 {
		if err := pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case status := <-responded:
		t.Errorf("a receiver that hangs: got status %d, want no response", status)
	default:
	}
	r.release()
	if n := log.accepted(); n != 1 {
		t.Errorf("got %d accepted deliveries, want 1", n)
	}
	if got := <-responded; got != http.StatusServiceUnavailable {
		t.Errorf("after the release: got status %d, want 503", got)
	}
	if first := len(log.of(delivery{made.subject, 7})); first != 2 || log.beyond(1) != 1 {
		t.Errorf("got %d recorded attempts, %d repeated; want 2", first, log.beyond(1))
	}
}
