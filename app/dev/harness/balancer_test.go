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

// TestBalancer checks that requests reach all APIs, and the other API if one does not accept them.
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
	b := &Balancer{
		Addresses: []string{first.Listener.Addr().String(), second.Listener.Addr().String()},
		TLS:       &tls.Config{RootCAs: roots, ServerName: "example.com"},
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
		t.Errorf("both run: got responses of %s, want first and second", got)
	}
	second.Close()
	if got := responses(); got != "first" {
		t.Errorf("the second has ended: got responses of %s, want first", got)
	}
}
