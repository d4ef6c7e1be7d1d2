package boot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// health checks whether a process is ready.
type health struct {
	started  atomic.Bool
	stopping atomic.Bool
	checks   []func(context.Context) error // not modified after started is set
}

// ready returns nil if the process can work, otherwise the reason.
func (h *health) ready(ctx context.Context) error {
	if !h.started.Load() {
		return errors.New("starting")
	}
	if h.stopping.Load() {
		return errors.New("stopping")
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

// Health returns nil if the process on this machine is ready. It serves as the health check of containers, whose image
// has neither a shell nor an HTTP client. Without COMANDA_ADMIN_LISTEN it checks the default addresses of the API and
// of a worker: at least one process must run, and each that runs must be ready.
func Health(ctx context.Context, environ map[string]string) error {
	if address := environ["COMANDA_ADMIN_LISTEN"]; address != "" {
		return healthOf(ctx, address)
	}
	return healthOfAny(ctx, defaultAdminListen, defaultWorkerAdminListen)
}

// healthOfAny returns nil if at least one of the processes runs and each that runs is ready.
func healthOfAny(ctx context.Context, addresses ...string) error {
	var absent []error
	for _, address := range addresses {
		switch err := healthOf(ctx, address); {
		case errors.Is(err, syscall.ECONNREFUSED):
			absent = append(absent, err)
		case err != nil:
			return err
		}
	}
	if len(absent) == len(addresses) {
		return fmt.Errorf("no process is running: %w", errors.Join(absent...))
	}
	return nil
}

// healthOf returns nil if the process with an admin listener at this address is ready.
func healthOf(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("COMANDA_ADMIN_LISTEN: %w", err)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	readyz := "http://" + net.JoinHostPort(host, port) + "/readyz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, readyz, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the process at %s is not ready: %s", address, response.Status)
	}
	return nil
}
