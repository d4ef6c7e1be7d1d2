package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

const (
	// progressDue is the time of the next check minus $2 or, before the first check, the time when progress was due.
	progressDue = `coalesce(check_at, next_retry_at, started_at)`
	// unfinishedDelivery is the condition of an index by queue and progressDue.
	unfinishedDelivery = `status IN ('pending', 'retrying') AND ` + progressDue + ` IS NOT NULL`
	// overdue selects deliveries that should have made progress more than $2 before $1.
	overdue = unfinishedDelivery + ` AND ` + progressDue + ` <= $1::timestamptz - $2::interval`
)

// overdueStatement returns at most $4 overdue deliveries and postpones their next check to $3 after $1. Websites with
// overdue deliveries share $4 equally, and so do the queues of a website. The deliveries of a queue with the oldest
// check come first. Each row contains the number of overdue deliveries. It counts at most $5 of them, then one per
// remaining queue, so that a lost Temporal database with millions of deliveries does not slow down each batch.
//
// The recursive query skips in an index from one queue with unfinished deliveries to the next.
const overdueStatement = `WITH RECURSIVE visited (queue, overdue, counted) AS (
		SELECT '', 0::bigint, 0::bigint
		UNION ALL
		SELECT next.queue, due.n, v.counted + due.n FROM visited v CROSS JOIN LATERAL (
			SELECT queue FROM deliveries WHERE ` + unfinishedDelivery + ` AND queue > v.queue ORDER BY queue LIMIT 1
		) next CROSS JOIN LATERAL (
			SELECT count(*) AS n FROM (SELECT FROM deliveries WHERE queue = next.queue AND ` + overdue + `
				LIMIT greatest(1, $5 - v.counted)) d
		) due
	), share AS MATERIALIZED (
		SELECT queue, greatest(1, $4::int / (SELECT count(DISTINCT split_part(queue, ':', 1)) FROM visited
			WHERE overdue > 0) / count(*) OVER (PARTITION BY split_part(queue, ':', 1))) AS n
		FROM visited WHERE overdue > 0
	), due AS MATERIALIZED (
		SELECT d.id FROM share s CROSS JOIN LATERAL (
			SELECT id FROM deliveries WHERE queue = s.queue AND ` + overdue + `
			ORDER BY ` + progressDue + ` LIMIT s.n FOR UPDATE SKIP LOCKED
		) d ORDER BY random() LIMIT $4
	)
	UPDATE deliveries d SET check_at = $1::timestamptz + $3::interval - $2::interval FROM due WHERE d.id = due.id
	RETURNING d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts,
		d.attempts - d.schedule_base AS place, d.generation, split_part(d.queue, ':', 1), d.class = 2 AS replay,
		coalesce(d.burst_id, ''), d.status, d.next_retry_at,
		EXISTS (SELECT FROM subscription_health h
			WHERE h.subscription_id = d.subscription_id AND h.slow_until <= $1) AS quick,
		(SELECT sum(overdue)::bigint FROM visited)`

// reconcileLock takes the advisory lock that limits reconciliation to one relay.
const reconcileLock = "SELECT pg_try_advisory_xact_lock(hashtextextended('reconcile', 0))"

// Overdue returns deliveries whose next step was due longer ago than after: pending deliveries whose workflow has
// started, and retrying deliveries whose next attempt was due. Websites take turns, each with the deliveries whose last
// check is oldest. A delivery is returned at most once within Policy.CheckEvery, or within after if that is shorter.
// Left counts the remaining deliveries. While another relay runs Overdue, it returns no deliveries.
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
		batch, err = q.overdue(ctx, tx, now, after, limit)
		return err
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
) (batch app.OverdueBatch, err error) {
	rows, err := tx.Tx.QueryContext(ctx, overdueStatement, now, after, min(q.policy.CheckEvery, after), limit,
		app.BacklogLimit)
	if err != nil {
		return batch, err
	}
	defer rows.Close()
	all := 0
	for rows.Next() {
		o := app.Overdue{Claim: app.Claim{Repair: true}}
		var next sql.NullTime
		err := rows.Scan(&o.ID, &o.StoreID, &o.EventID, &o.SubscriptionID, &o.EventType, &o.Attempts, &o.Place,
			&o.Generation, &o.Queue, &o.Replay, &o.BurstID, &o.Status, &next, &o.Quick, &all)
		if err != nil {
			return batch, err
		}
		if next.Valid {
			o.NextRetryAt = &next.Time
		}
		batch.Claims = append(batch.Claims, o)
	}
	batch.Left = max(0, all-len(batch.Claims))
	return batch, rows.Err()
}
