package temporaldev

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// UI is a running Temporal Web UI.
type UI struct{ server *server.Server }

// StartUI serves the Web UI of a Temporal server on a port of 127.0.0.1, which must be free, and returns once it
// answers.
func StartUI(ctx context.Context, port, frontendPort int, namespace string) (*UI, error) {
	ui := &UI{server.NewServer(server_options.WithConfigProvider(&uiconfig.Config{
		Host:                "127.0.0.1",
		Port:                port,
		TemporalGRPCAddress: address(frontendPort),
		DefaultNamespace:    namespace,
		EnableUI:            true,
		HideLogs:            true,
		DisableNewsFetch:    true,
		CORS:                uiconfig.CORS{CookieInsecure: true},
	}))}
	go func() { _ = ui.server.Start() }() // nil after Stop; it ends the process if the port is taken
	if err := awaitAnswer(ctx, "http://"+address(port)+"/healthz"); err != nil {
		ui.Stop()
		return nil, fmt.Errorf("start Temporal's Web UI: %w", err)
	}
	return ui, nil
}

// Stop ends the UI.
func (ui *UI) Stop() { ui.server.Stop() }

// awaitAnswer returns once a URL answers 200.
func awaitAnswer(ctx context.Context, url string) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// answers tells whether a URL answers 200.
func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
