package pg

import (
	"context"
	"database/sql"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Budget is a limit on the number of requests, or of other actions, in any window of time.
type Budget struct {
	Key  []byte // identifies the budget; must not reveal personal data, for example a MAC
	Most int    // requests in a window, at least 1
}

// queryer is a *sql.DB or a *sql.Tx. Arrays of bytes are arguments of the driver, not of bun.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// TakeRateLimits counts a request against each of the budgets. If a budget is used up by requests of the last window,
// it returns RATE_LIMITED with the time until all budgets have room, and counts the request against none. The limits
// are exact by the database's clock, also for concurrent requests. A transaction holds the locks of the budgets until
// its end, and its rollback reverts the count. To avoid deadlocks, all callers pass the kinds of budgets in the same
// order. The role is that of the system.
func TakeRateLimits(ctx context.Context, tx queryer, window time.Duration, budgets ...Budget) error {
	keys, most := make([][]byte, len(budgets)), make([]int, len(budgets))
	for i, b := range budgets {
		keys[i], most[i] = b.Key, b.Most
	}
	var wait sql.NullInt64
	err := tx.QueryRowContext(ctx,
		`SELECT ceil(extract(epoch FROM take_rate_limits($1, $2, $3 * interval '1 microsecond')) * 1000000)::bigint`,
		keys, most, window.Microseconds()).Scan(&wait)
	if err != nil {
		return err
	}
	if wait.Valid {
		return app.RateLimited(time.Duration(wait.Int64) * time.Microsecond)
	}
	return nil
}
