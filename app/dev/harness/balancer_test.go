package harness

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBalancer checks that requests reach all APIs that are ready, and the other API if one does not accept them.
func TestBalancer(t *testing.T) {
	t.Parallel()
	serve := func(name string) *httptest.Server {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			io.WriteString(w, name)
		}))
		t.Cleanup(server.Close)
		return server
	}
	first, second := serve("first"), serve("second")
	roots := x509.NewCertPool()
	roots.AddCert(first.Certificate())
	avoided := ""
	b := &Balancer{
		Addresses: []string{first.Listener.Addr().String(), second.Listener.Addr().String()},
		TLS:       &tls.Config{RootCAs: roots, ServerName: "example.com"},
		Avoid:     func(address string) bool { return address == avoided },
	}
	client := b.Client(time.Minute)
	responses := func() string {
		t.Helper()
		got := map[string]bool{}
		for range 4 {
			response, err := client.Get("https://api.test")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			got[string(body)] = true
		}
		var names []string
		for _, name := range []string{"first", "second"} {
			if got[name] {
				names = append(names, name)
			}
		}
		return strings.Join(names, " and ")
	}
	if got := responses(); got != "first and second" {
		t.Errorf("both are ready: got responses of %s, want first and second", got)
	}
	avoided = b.Addresses[0]
	if got := responses(); got != "second" {
		t.Errorf("the first is not ready: got responses of %s, want second", got)
	}
	second.Close()
	if got := responses(); got != "first" {
		t.Errorf("the first is not ready, the second has ended: got responses of %s, want first", got)
	}
}
