package identity

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/persistence/pg"
)

// Budget is a limit on the number of requests in any window of time.
type Budget = pg.Budget

// TakeRateLimits is [pg.TakeRateLimits] with a connection for lookups.
func (db *DB) TakeRateLimits(ctx context.Context, window time.Duration, budgets ...Budget) error {
	return pg.Classify(pg.TakeRateLimits(ctx, db.lookups.System().DB, window, budgets...))
}
