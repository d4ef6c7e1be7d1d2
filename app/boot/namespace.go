package boot

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/workflows"
)

const (
	// namespaceEvery is the maximum time between two checks of Temporal's namespace. A check takes a few requests.
	namespaceEvery = time.Minute
	// namespaceTimeout limits one check. Search attributes can be used about a second after their registration.
	namespaceTimeout = 10 * time.Second
)

// keepNamespace restores the search attributes and the retention workflow in Temporal's namespace, once a minute until
// ctx is done. They are missing if Temporal's databases are replaced while the worker runs. Without the search
// attributes, no delivery can start.
func keepNamespace(
	ctx context.Context, config Config, temporal client.Client, deliveries *workflows.Client, log zerolog.Logger,
) {
	namespace := namespaceOf(config.temporal)
	tick := time.NewTicker(min(namespaceEvery, config.ReconcileAfter))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		checking, cancel := context.WithTimeout(ctx, namespaceTimeout)
		err := errors.Join(
			workflows.EnsureSearchAttributes(checking, temporal, namespace), deliveries.StartRetention(checking),
		)
		cancel()
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("cannot prepare Temporal's namespace; retrying")
		}
	}
}
