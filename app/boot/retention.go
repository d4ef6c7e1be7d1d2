package boot

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/workflows"
)

// Intervals between two reads of the namespace's retention.
const (
	retentionEvery = time.Hour   // operators rarely change it
	retentionAgain = time.Minute // after an error
)

// followRetention returns a function that returns Temporal's retention of closed workflows, 0 while it is unknown. The
// value is read in the background, because the API must work without Temporal.
func followRetention(
	ctx context.Context, group *errgroup.Group, config Config, client *workflows.Client,
) func() time.Duration {
	var current atomic.Int64
	if config.TemporalUIURL != "" { // only links to workflows depend on the retention
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
