package boot

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// unusedAddress returns a local address on which no process listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// A worker that waits for Temporal is alive but not ready.
func TestHealthWhileWaitingForTemporal(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	address := unusedAddress(t)
	environ := with("DATABASE_URL", db.URL, "COMANDA_ADMIN_LISTEN", address, "TEMPORAL_ADDRESS", unusedAddress(t))
	config, err := Load(environ, Worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, config, zerolog.Nop(), func() { t.Error("Run called ready without Temporal") })
	}()
	status := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for status("/healthz") == 0 {
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v, want it to wait for Temporal", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	alive, ready := status("/healthz"), status("/readyz")
	if alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("/healthz: %d, /readyz: %d, want 200 and 503", alive, ready)
	}
	stop()
	<-ended
}

// Run fails immediately if the database rejects the login role.
func TestRunDatabaseLoginRejected(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	unknown, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	unknown.User = url.UserPassword("comanda_unknown", "wrong")
	config, err := Load(with("DATABASE_URL", unknown.String(), "COMANDA_ADMIN_LISTEN", unusedAddress(t)), Worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), startTimeout)
	defer stop()
	err = Run(ctx, config, zerolog.Nop(), nil)
	if err == nil || ctx.Err() != nil || !strings.HasPrefix(err.Error(), "DATABASE_URL: ") ||
		!strings.Contains(err.Error(), "comanda_unknown") {
		t.Errorf("Run returned %v, want an error about DATABASE_URL and comanda_unknown without waiting", err)
	}
}
