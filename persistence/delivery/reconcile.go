package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

//go:embed queries/overdue.sql
var overdueStatement string

// reconcileLock is the advisory lock of the relay that reconciles.
const reconcileLock = "SELECT pg_try_advisory_xact_lock(hashtextextended('reconcile', 0))"

// Overdue takes deliveries that should have made progress: pending ones whose workflow started, and retrying ones whose
// next attempt was due, more than after ago. Those come first that were checked longest ago; none is taken twice within
// Policy.CheckEvery, or within after if that is shorter. Left counts the rest. Only one relay takes deliveries at a
// time; another gets none.
func (q *Queue) Overdue(ctx context.Context, now time.Time, after time.Duration, limit int) (app.OverdueBatch, error) {
	now = app.At(now).Time
	var batch app.OverdueBatch
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		batch = app.OverdueBatch{}
		var alone bool
		if err := tx.Tx.QueryRowContext(ctx, reconcileLock).Scan(&alone); err != nil || !alone {
			return err
		}
		var err error
		if batch.Claims, err = q.overdue(ctx, tx, now, after, limit); err != nil || len(batch.Claims) < limit {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT FROM deliveries
			WHERE status IN ('pending', 'retrying')
				AND coalesce(check_at, next_retry_at, started_at) <= $1::timestamptz - $2::interval
			LIMIT $3) due`, now, after, app.BacklogLimit).Scan(&batch.Left)
	})
	return batch, err
}

// Repaired notes that deliveries have been handed to workflows of their own: no burst is responsible for them any more.
func (q *Queue) Repaired(ctx context.Context, claims []app.Claim) error {
	ids, _ := claimKeys(claims)
	_, err := q.pg.System().DB.ExecContext(ctx,
		"UPDATE deliveries SET burst_id = NULL WHERE id = ANY ($1) AND burst_id IS NOT NULL", ids)
	return pg.Classify(err)
}

func (q *Queue) overdue(
	ctx context.Context, tx bun.Tx, now time.Time, after time.Duration, limit int,
) ([]app.Overdue, error) {
	rows, err := tx.Tx.QueryContext(ctx, overdueStatement, now, after, min(q.policy.CheckEvery, after), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []app.Overdue
	for rows.Next() {
		o := app.Overdue{Claim: app.Claim{Repair: true}}
		var next sql.NullTime
		err := rows.Scan(&o.ID, &o.StoreID, &o.EventID, &o.SubscriptionID, &o.EventType, &o.Attempts, &o.Place,
			&o.Generation, &o.Queue, &o.Replay, &o.BurstID, &o.Status, &next, &o.Quick)
		if err != nil {
			return nil, err
		}
		if next.Valid {
			o.NextRetryAt = &next.Time
		}
		found = append(found, o)
	}
	return found, rows.Err()
}
