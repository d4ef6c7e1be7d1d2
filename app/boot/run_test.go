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

// unused returns an address of this machine at which nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// A worker that waits for Temporal lives, and is not ready.
func TestWhoWaitsCanBeAsked(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	address := unused(t)
	config, err := Load(with("DATABASE_URL", db.URL, "COMANDA_ADMIN_LISTEN", address, "TEMPORAL_ADDRESS", unused(t)), Worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, config, zerolog.Nop(), func() { t.Error("it is ready without Temporal") })
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
			t.Fatal("it has ended: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if alive, ready := status("/healthz"), status("/readyz"); alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("/healthz %d, /readyz %d", alive, ready)
	}
	stop()
	<-ended
}

// A database that does not let the login role in is not waited for.
func TestADatabaseThatRefusesUs(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	stranger, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	stranger.User = url.UserPassword("comanda_stranger", "wrong")
	config, err := Load(with("DATABASE_URL", stranger.String(), "COMANDA_ADMIN_LISTEN", unused(t)), Worker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := Run(ctx, config, zerolog.Nop(), nil); err == nil || ctx.Err() != nil || !strings.HasPrefix(err.Error(), "DATABASE_URL: ") || !strings.Contains(err.Error(), "comanda_stranger") {
		t.Errorf("it ran until %v", err)
	}
}
