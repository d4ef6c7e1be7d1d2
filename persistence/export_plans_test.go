package persistence

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Statements are those of the relay and of plans that must not read whole tables, with the
// number of their arguments.
var Statements = map[string]struct {
	SQL  string
	Args int
}{
	"Dispatch without limits": {dispatchUnlimited, 7},
	"Dispatch":                {dispatchLimited, 12},
	"ClaimQueued unlimited":   {claimUnlimited, 7},
	"ClaimQueued":             {claimLimited, 11},
	"ClaimAbandoned":          {claimAbandoned, 4},
	"Queues due":              {queuesDue, 1},
	"HasDue":                  {hasDue, 1},
	"MoveUp":                  {moveIntoRoom, 6},
	"MoveUp without limit":    {startNow, 4},
	"PlanUsage":               {planUsage, 3},
}

// Explain returns the plan that PostgreSQL makes for a statement whatever its arguments are.
func (db *DB) Explain(ctx context.Context, statement string, args int) (string, error) {
	conn, err := db.System().DB.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PREPARE explained AS "+statement); err != nil {
		return "", err
	}
	defer func() { _, _ = conn.ExecContext(ctx, "DEALLOCATE explained") }()
	nulls := strings.Join(slices.Repeat([]string{"NULL"}, args), ", ")
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE explained (%s)", nulls))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		fmt.Fprintln(&plan, line)
	}
	return plan.String(), rows.Err()
}
