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

// StartUI serves the Web UI of a Temporal server on a free port of 127.0.0.1 and returns when it responds.
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
	go func() { _ = ui.server.Start() }() // returns nil after Stop; ends the process if the port is in use
	if err := awaitResponse(ctx, "http://"+address(port)+"/healthz"); err != nil {
		ui.Stop()
		return nil, fmt.Errorf("start Temporal's Web UI: %w", err)
	}
	return ui, nil
}

// Stop stops the UI.
func (ui *UI) Stop() { ui.server.Stop() }

// awaitResponse waits until a URL responds with 200.
func awaitResponse(ctx context.Context, url string) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if responds(ctx, url) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// responds reports whether a URL responds with 200.
func responds(ctx context.Context, url string) bool {
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
