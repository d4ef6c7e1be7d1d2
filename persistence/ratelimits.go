package persistence

import (
	"context"
	"database/sql"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Budget allows so many requests in any window of time.
type Budget struct {
	Key  []byte // whose it is; must tell nothing about them
	Most int    // at least 1
}

// TakeRateLimits counts a request against each of the budgets, unless one of them has been
// used up by requests that were counted within the window: then it is RATE_LIMITED, with
// the time until all have room, and counted against none. All callers must name budgets of
// one kind before those of another in the same order. It is exact, by the database's clock,
// whoever else asks at the same time.
func (db *DB) TakeRateLimits(ctx context.Context, window time.Duration, budgets ...Budget) error {
	keys, most := make([][]byte, len(budgets)), make([]int, len(budgets))
	for i, b := range budgets {
		keys[i], most[i] = b.Key, b.Most
	}
	var wait sql.NullInt64
	err := db.System().DB.QueryRowContext(ctx,
		`SELECT ceil(extract(epoch FROM take_rate_limits($1, $2, $3 * interval '1 microsecond')) * 1000000)::bigint`,
		keys, most, window.Microseconds()).Scan(&wait)
	if err != nil {
		return pg.Classify(err)
	}
	if wait.Valid {
		return app.RateLimited(time.Duration(wait.Int64) * time.Microsecond)
	}
	return nil
}
