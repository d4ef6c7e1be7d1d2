package boot

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/workflows"
)

// Pauses between two readings of the namespace's retention.
const (
	retentionEvery = time.Hour   // an operator rarely changes it
	retentionAgain = time.Minute // after an error
)

// followRetention returns a function that returns how long Temporal keeps a closed workflow, 0
// until that is known. It is read in the background, because the API works without Temporal.
func followRetention(
	ctx context.Context, group *errgroup.Group, config Config, client *workflows.Client,
) func() time.Duration {
	var current atomic.Int64
	if config.TemporalUIURL != "" { // only links need it
		group.Go(func() error {
			for ctx.Err() == nil {
				pause := retentionEvery
				if retention, err := client.NamespaceRetention(ctx, namespaceOf(config.temporal)); err == nil {
					current.Store(int64(retention))
				} else {
					pause = retentionAgain
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
			return nil
		})
	}
	return func() time.Duration { return time.Duration(current.Load()) }
}
