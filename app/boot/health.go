package boot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// health knows whether a process can do its work.
type health struct {
	started atomic.Bool
	checks  []func(context.Context) error // fixed before started is set
}

// ready returns why the process cannot do its work now.
func (h *health) ready(ctx context.Context) error {
	if !h.started.Load() {
		return errors.New("starting")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, check := range h.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Health asks the process on this machine whether it is ready, for a container's health
// check: an image without a shell has nothing else to ask with.
func Health(ctx context.Context, environ map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	address := environ["COMANDA_ADMIN_LISTEN"]
	if address == "" {
		address = defaultAdminListen
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("COMANDA_ADMIN_LISTEN: %w", err)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", response.Status)
	}
	return nil
}
