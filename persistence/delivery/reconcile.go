package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// overdue selects deliveries that should have made progress more than $2 before $1. Its expression is the key of an
// index: the time of the next check minus $2 or, before the first check, the time when progress was due.
const overdue = `status IN ('pending', 'retrying')
	AND coalesce(check_at, next_retry_at, started_at) <= $1::timestamptz - $2::interval`

// overdueStatement returns at most $4 overdue deliveries, the one with the oldest check first, and postpones their next
// check to $3 after $1.
const overdueStatement = `WITH due AS MATERIALIZED (
		SELECT id FROM deliveries WHERE ` + overdue + `
		ORDER BY coalesce(check_at, next_retry_at, started_at) LIMIT $4 FOR UPDATE SKIP LOCKED
	)
	UPDATE deliveries d SET check_at = $1::timestamptz + $3::interval - $2::interval FROM due WHERE d.id = due.id
	RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts,
		d.attempts - d.schedule_base AS place, d.generation, split_part(d.queue, ':', 1), d.class = 2 AS replay,
		coalesce(d.burst_id, ''), d.status, d.next_retry_at,
		EXISTS (SELECT FROM subscription_health h
			WHERE h.subscription_id = d.subscription_id AND h.slow_until <= $1) AS quick`

// reconcileLock takes the advisory lock that limits reconciliation to one relay.
const reconcileLock = "SELECT pg_try_advisory_xact_lock(hashtextextended('reconcile', 0))"

// Overdue returns deliveries whose next step was due longer ago than after: pending deliveries whose workflow has
// started, and retrying deliveries whose next attempt was due. The deliveries whose last check is oldest come first. A
// delivery is returned at most once within Policy.CheckEvery, or within after if that is shorter. Left counts the
// remaining deliveries. While another relay runs Overdue, it returns no deliveries.
func (q *Queue) Overdue(ctx context.Context, now time.Time, after time.Duration, limit int) (app.OverdueBatch, error) {
	now = app.At(now).Time
	var batch app.OverdueBatch
	err := q.relay.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		batch = app.OverdueBatch{}
		var alone bool
		if err := tx.Tx.QueryRowContext(ctx, reconcileLock).Scan(&alone); err != nil || !alone {
			return err
		}
		var err error
		if batch.Claims, err = q.overdue(ctx, tx, now, after, limit); err != nil || len(batch.Claims) < limit {
			return err
		}
		return tx.Tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT FROM deliveries WHERE "+overdue+" LIMIT $3) due",
			now, after, app.BacklogLimit).Scan(&batch.Left)
	})
	return batch, err
}

// Repaired records that deliveries have separate workflows and no longer belong to a burst.
func (q *Queue) Repaired(ctx context.Context, claims []app.Claim) error {
	ids, _ := claimKeys(claims)
	_, err := q.relay.System().DB.ExecContext(ctx,
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
