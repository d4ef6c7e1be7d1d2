package boot

import (
	"fmt"
	"log/slog"

	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
)

// temporalClient makes a client that connects when it is used first, and again whenever it
// has to: nobody who can do without Temporal for a while waits for it.
func temporalClient(config Config, log zerolog.Logger) (client.Client, error) {
	options := config.temporal
	// Temporal's own log is ours to read only when something is wrong.
	options.Logger = temporallog.NewStructuredLogger(slog.New(zerolog.NewSlogHandler(log.Level(max(log.GetLevel(), zerolog.WarnLevel)))))
	if options.ConnectionOptions.TLS == nil {
		// A server spoken to in plain text is near; compressing costs more than it saves.
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_ADDRESS: %w", err)
	}
	return temporal, nil
}
