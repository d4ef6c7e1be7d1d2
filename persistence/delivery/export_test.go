package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// EnqueueJob enqueues a job in a transaction of its own.
func (q *Queue) EnqueueJob(ctx context.Context, now time.Time, store app.StoreID, kind app.JobKind, subject string) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return EnqueueJob(ctx, tx, now, store, kind, subject)
	})
}

// EnqueueMail enqueues mails about a webhook in a transaction of its own.
func (q *Queue) EnqueueMail(ctx context.Context, now time.Time, store app.StoreID, kind app.MailKind,
	subject app.SubscriptionID, details app.WebhookTrouble,
) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return q.enqueueMail(ctx, tx, now, store, kind, subject, details)
	})
}

// Statements are those of the relay that must not read whole tables, with the number of their arguments.
var Statements = map[string]struct {
	SQL  string
	Args int
}{
	"Dispatch":       {dispatchStatement, 2},
	"Claim":          {claimStatement, 22},
	"ClaimAbandoned": {claimAbandonedStatement, 4},
	"MarkStarted":    {markStartedStatement, 3},
	"Unclaim":        {unclaimStatement, 3},
	"Overdue":        {overdueStatement, 4},
	"EnqueueLost":    {enqueueLostStatement, 7},
	"PlanUsage":      {planUsageStatement, 2},
	"ExpectStarts":   {expectedStartsStatement, 6},
}

// Explain returns the plan that PostgreSQL makes for a statement, regardless of its arguments.
func (q *Queue) Explain(ctx context.Context, statement string, args int) (string, error) {
	conn, err := q.pg.System().DB.Conn(ctx)
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

// The way in which the backlog is read.
var (
	BacklogPlan      = alongIndexes
	BacklogStatement = backlogStatement
)

// ErasingStatements are the statements of an erasure, with arguments.
func ErasingStatements(before time.Time) map[string][]any {
	statements := map[string][]any{
		selectAgedEvents: {before, time.Time{}, ""},
		eraseBodiesOf:    {[]string{"evt_1", "evt_2"}, before},
	}
	for _, statement := range []string{
		eraseDeliveries, eraseEvents, eraseReplays, eraseSessions, eraseCustomerSessions, eraseInvitations, eraseMails,
		eraseIdempotencyKeys,
	} {
		statements[statement] = []any{"", before}
	}
	return statements
}

// Statements whose plans are checked.
const (
	AttemptStats   = attemptStats
	RetryingNow    = retryingNow
	OpenDeliveries = openDeliveries
	CancelQueued   = cancelQueued
	LastAttempt    = "SELECT max(a.attempted_at) FROM attempts a WHERE a.subscription_id = ?" // as in persistence/webhooks.go
	CountAttempts  = "SELECT count(*) FROM attempts a WHERE a.store_id = ? AND a.subscription_id = ?"
)

// ExplainInStore returns the plan of a statement of one store. Bitmap scans are disabled: which
// of them is cheaper depends on the time of the last vacuum.
func (q *Queue) ExplainInStore(ctx context.Context, store app.StoreID, statement string, args ...any) (string, error) {
	var lines []string
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_bitmapscan = off"); err != nil {
			return err
		}
		return tx.NewRaw("EXPLAIN "+statement, args...).Scan(ctx, &lines)
	})
	return strings.Join(lines, "\n"), err
}

// ExplainDeliveries returns PostgreSQL's plan for a page of deliveries.
func (q *Queue) ExplainDeliveries(ctx context.Context, store app.StoreID, filter app.DeliveryFilter, limit int) (plan string, err error) {
	err = q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN "+listDeliveries(tx, &[]deliveryRow{}, store, filter, "", limit).String()).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// FlushReads makes the number of rows that each pool has read visible to other connections.
func (q *Queue) FlushReads(ctx context.Context) error {
	for _, pool := range []*bun.DB{q.pg.App(), q.pg.System()} {
		if _, err := pool.ExecContext(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
			return err
		}
	}
	return nil
}

// RecordWith records attempts with another statement of the same parameters.
func (q *Queue) RecordWith(ctx context.Context, statement string, records ...app.MadeAttempt) error {
	_, err := q.pg.System().DB.ExecContext(ctx, statement, columnsOf(records).args(q.policy)...)
	return err
}
