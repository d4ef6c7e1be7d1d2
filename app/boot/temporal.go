package boot

import (
	"fmt"
	"log/slog"

	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
)

// temporalClient returns a client that connects at its first use and reconnects when needed, so that the process can
// start while Temporal is unreachable.
func temporalClient(config Config, log zerolog.Logger) (client.Client, error) {
	options := config.temporal
	// The SDK's messages below the level warn are of no use to operators.
	level := max(log.GetLevel(), zerolog.WarnLevel)
	options.Logger = temporallog.NewStructuredLogger(slog.New(zerolog.NewSlogHandler(log.Level(level))))
	if options.ConnectionOptions.TLS == nil {
		// A server without TLS is on the same network, where compression costs more than it saves.
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_ADDRESS: %w", err)
	}
	return temporal, nil
}

// namespaceOf returns the namespace of the options, or the default one.
func namespaceOf(options client.Options) string {
	if options.Namespace == "" {
		return client.DefaultNamespace
	}
	return options.Namespace
}
