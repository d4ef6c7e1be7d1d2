package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// waitingSubscriptions finds the subscriptions for which something is queued, with the time
// of the first, in one look at the index for each of them, however much is queued.
const waitingSubscriptions = `waiting (subscription_id, scheduled_for) AS (
		(SELECT subscription_id, scheduled_for FROM deliveries WHERE status = 'queued' ORDER BY subscription_id, scheduled_for LIMIT 1)
		UNION ALL
		SELECT next.* FROM waiting w CROSS JOIN LATERAL (
			SELECT q.subscription_id, q.scheduled_for FROM deliveries q
			WHERE q.status = 'queued' AND q.subscription_id > w.subscription_id ORDER BY q.subscription_id, q.scheduled_for LIMIT 1
		) next
	)`

// ClaimQueued takes queued deliveries that are due, one subscription's after another's in
// turn, and makes them pending: a batch of healthy subscriptions and one of the others.
// Only a subscription's oldest are ever looked at, however many wait. The claim is not
// waited for on disk: a server that loses it finds the deliveries queued again, and starting
// them twice has no effect.
//
// Without a limited plan it is one statement. What a plan limits is claimed in a second one,
// in the order of its slots and as far as the present window lets it start: what could not
// start in its own window takes its place here. One relay at a time serves a queue; others
// do not wait.
//
// An error may come with claims that have been made all the same.
func (q *Queue) ClaimQueued(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	now = app.At(now).Time
	claims, limited, err := claim(ctx, q.pg.System().DB, claimUnlimited, claimArgs(now, limits)...)
	if err != nil || !limited {
		return claims, pg.Classify(err)
	}
	for _, c := range claims {
		if c.Healthy {
			limits.Batch--
		} else {
			limits.SlowBatch--
		}
	}
	var more []app.Claim
	err = pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		more = nil
		queues, err := lockQueues(ctx, tx, queuesDue, now)
		if err != nil || len(queues) == 0 {
			return err
		}
		window := app.PlanWindow(now, q.planWindow)
		more, _, err = claim(ctx, tx.Tx, claimLimited, append(claimArgs(now, limits), queues, window, planNames, planLimits)...)
		if err != nil {
			return err
		}
		return countStarts(ctx, tx, window, more)
	})
	if err == nil {
		claims = append(claims, more...)
	}
	return claims, err
}

func claimArgs(now time.Time, limits app.ClaimLimits) []any {
	return []any{now.Add(limits.Lease), now, limits.Slow, limits.Quick, limits.Batch, limits.SlowBatch, limits.Unproven}
}

// claimUnlimited reads of each subscription more than its share of the batch, for others may
// have less. It leaves what plans limit, and half of each batch to it, but says that there is some.
var claimUnlimited = `
	WITH RECURSIVE ` + waitingSubscriptions + `, due AS MATERIALIZED (` + dueSubscriptions + `
	), space AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, least(` + roomOf + `, ` + paceOf + `) AS places
		FROM (SELECT *, ` + claimAhead + ` + 2 * batch / count(*) OVER (PARTITION BY quick) AS wanted FROM due WHERE NOT limited) h
	), turn AS (
		SELECT d.id, d.scheduled_for, h.subscription_id, h.quick, row_number() OVER (PARTITION BY h.subscription_id ORDER BY d.scheduled_for, d.id) AS place
		FROM space h CROSS JOIN LATERAL (` + dueDeliveries + inTheirOrder + `) d
	), remaining AS MATERIALIZED (
		SELECT coalesce(bool_or(limited), false) AS limited, 1 + coalesce(max(limited::int), 0) AS parts FROM due
	), ` + claimTurns("(SELECT $5::bigint / parts FROM remaining)", "(SELECT $6::bigint / parts FROM remaining)") + `, claimed AS (
		UPDATE deliveries d SET status = 'pending', lease_until = $1
		FROM taken, set_config('synchronous_commit', 'off', true) WHERE d.id = taken.id
		RETURNING ` + claimColumns + `
	)
	SELECT remaining.limited, ` + claimedColumns + ` FROM remaining LEFT JOIN claimed c ON true`

// queuesDue are the queues of limited plans in which something is due at $1.
const queuesDue = `WITH RECURSIVE ` + waitingSubscriptions + `
	SELECT DISTINCT s.queue FROM waiting w CROSS JOIN LATERAL (
		SELECT q.queue FROM subscriptions s JOIN plan_queues q ON q.store_id = s.store_id
		WHERE s.id = w.subscription_id AND s.deleted_at IS NULL AND q.limited OFFSET 0
	) s WHERE w.scheduled_for <= $1`

// claimLimited claims of the queues in $8, which the transaction must have locked in a
// statement before. A slot of a window before the present one, $9, becomes one that is now.
var claimLimited = `
	WITH RECURSIVE ` + waitingSubscriptions + `, due AS MATERIALIZED (` + dueSubscriptions + ` AND s.queue = ANY ($8::text[])
	), space AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, h.queue, least(` + roomOf + `, ` + paceOf + `) AS places FROM (SELECT *, batch AS wanted FROM due) h
	), room AS MATERIALIZED (
		SELECT q.queue, greatest(q.most, coalesce(w.taken, 0)) - coalesce(w.started, 0) AS free,
			greatest(q.most / 2, coalesce(w.replays, 0)) - coalesce(w.replays_started, 0) AS free_for_replays
		FROM (SELECT DISTINCT queue, ($11::bigint[])[array_position($10::text[], plan)] AS most FROM due) q
			LEFT JOIN plan_windows w ON w.queue = q.queue AND w.starts_at = $9
	), candidate AS MATERIALIZED (
		SELECT d.*, h.subscription_id, h.quick, room.* FROM space h JOIN room ON room.queue = h.queue AND room.free > 0
			CROSS JOIN LATERAL (` + dueDeliveries + ` AND (q.replays = 0 OR room.free_for_replays > 0)` + inTheirOrder + `) d
	), fitting AS (
		SELECT *, row_number() OVER (PARTITION BY queue ORDER BY scheduled_for, id) AS arrival
		FROM (SELECT *, row_number() OVER (PARTITION BY queue, replays > 0 ORDER BY scheduled_for, id) AS arrival_of_kind FROM candidate) c
		WHERE replays = 0 OR arrival_of_kind <= free_for_replays
	), turn AS (
		SELECT id, scheduled_for, subscription_id, quick, row_number() OVER (PARTITION BY subscription_id ORDER BY scheduled_for, id) AS place
		FROM fitting WHERE arrival <= free
	), ` + claimTurns("$5::bigint", "$6::bigint") + `, claimed AS (
		UPDATE deliveries d SET status = 'pending', lease_until = $1, scheduled_for = CASE WHEN d.scheduled_for < $9 THEN $2 ELSE d.scheduled_for END
		FROM taken, set_config('synchronous_commit', 'off', true) WHERE d.id = taken.id
		RETURNING ` + claimColumns + `
	)
	SELECT false, ` + claimedColumns + ` FROM claimed c`

// dueSubscriptions are those for which something is due, with the queue of their plan: how
// many of each may be pending, and of how many the batch is. OFFSET 0 keeps PostgreSQL from
// reading all subscriptions there are to find these.
const dueSubscriptions = `
		SELECT w.subscription_id, s.*, CASE WHEN s.quick THEN $4::bigint ELSE $3::bigint END AS most, CASE WHEN s.quick THEN $5::bigint ELSE $6::bigint END AS batch
		FROM waiting w CROSS JOIN LATERAL (
			SELECT s.store_id, h.failure_count = 0 AND h.slow_seen_at IS NULL AS quick, h.slow_seen_at IS NOT NULL AS slow, q.queue, q.plan, q.limited
			FROM subscriptions s JOIN subscription_health h ON h.subscription_id = s.id JOIN plan_queues q ON q.store_id = s.store_id
			WHERE s.id = w.subscription_id AND s.deleted_at IS NULL OFFSET 0
		) s
		WHERE w.scheduled_for <= $2`

// paceOf spreads over time what goes to a slow subscription h: all that is claimed at once is
// timed out at once and tried again at once, which others would feel. In a second it gets
// two that are pending still, and half as many as have begun and ended in the last five. It
// is null for others.
const paceOf = `CASE WHEN h.slow THEN greatest(0, ` + paceStarts + ` + (SELECT count(*) FROM (SELECT FROM attempts a
			WHERE a.subscription_id = h.subscription_id AND a.attempted_at > $2::timestamptz - ` + recentTime + ` LIMIT 2 * h.most) recent) / 2
		- (SELECT count(*) FROM deliveries p
			WHERE p.store_id = h.store_id AND p.subscription_id = h.subscription_id AND p.status = 'pending' AND p.lease_until > $1::timestamptz - ` + paceTime + `)) END`

// dueDeliveries reads what may be claimed of a subscription h, and inTheirOrder as many of
// them as there are places.
const (
	dueDeliveries = `
			SELECT q.id, q.scheduled_for, q.replays FROM deliveries q
			WHERE q.subscription_id = h.subscription_id AND q.status = 'queued' AND q.scheduled_for <= $2`
	inTheirOrder = `
			ORDER BY q.scheduled_for, q.id LIMIT greatest(0, h.places)`
)

// claimTurns takes the first of each subscription before the second of any. It locks nothing
// that it does not take: another relay may want the same, and then finds others when it looks
// again. Each is looked up by its whole key in the index of what is queued: a plan from the
// time when little was queued would read all of it for each claim.
func claimTurns(quick, slow string) string {
	return `batch AS (
		(SELECT * FROM turn WHERE quick ORDER BY place, id LIMIT ` + quick + `)
		UNION ALL
		(SELECT * FROM turn WHERE NOT quick ORDER BY place, id LIMIT ` + slow + `)
	), taken AS MATERIALIZED (
		SELECT d.id FROM batch CROSS JOIN LATERAL (
			SELECT q.id FROM deliveries q
			WHERE q.subscription_id = batch.subscription_id AND q.status = 'queued' AND q.scheduled_for = batch.scheduled_for AND q.id = batch.id
			FOR UPDATE SKIP LOCKED
		) d
	)`
}

const claimColumns = `d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.replays > 0 AS again,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.slow_seen_at IS NULL) AS quick,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id AND h.slow_seen_at IS NULL AND h.failure_count = 0) AS healthy`

const claimedColumns = `coalesce(c.id, ''), coalesce(c.store_id, ''), coalesce(c.event_id, ''), coalesce(c.subscription_id, ''),
	coalesce(c.event_type, ''), coalesce(c.attempts, 0), coalesce(c.again, false), coalesce(c.quick, false), coalesce(c.healthy, false)`

// claim runs a statement that claims. It reports whether some are left that plans limit.
func claim(ctx context.Context, q pg.Queryer, statement string, args ...any) (claims []app.Claim, limited bool, err error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var c app.Claim // without an id in the one row that comes when nothing was claimed
		if err := rows.Scan(&limited, &c.ID, &c.StoreID, &c.EventID, &c.SubscriptionID, &c.EventType, &c.Attempts, &c.Replay, &c.Quick, &c.Healthy); err != nil {
			return nil, false, err
		}
		if c.ID != "" {
			claims = append(claims, c)
		}
	}
	return claims, limited, rows.Err()
}

// ClaimAbandoned takes over what another relay claimed and did not start within its lease.
// What a plan limits and could not start in its window is queued once more.
func (q *Queue) ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	claims, _, err := claim(ctx, q.pg.System().DB, claimAbandoned, now, now.Add(limits.Lease), limits.Batch, app.PlanWindow(now, q.planWindow))
	return claims, pg.Classify(err)
}

const claimAbandoned = `
	WITH abandoned AS MATERIALIZED (
		SELECT id, scheduled_for < $4 AND (SELECT q.limited FROM plan_queues q WHERE q.store_id = deliveries.store_id) IS TRUE AS passed
		FROM deliveries WHERE status = 'pending' AND started_at IS NULL AND lease_until < $1
		ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
	), queued AS (
		UPDATE deliveries d SET status = 'queued', lease_until = NULL FROM abandoned a WHERE d.id = a.id AND a.passed
	), claimed AS (
		UPDATE deliveries d SET lease_until = $2 FROM abandoned a WHERE d.id = a.id AND NOT a.passed
		RETURNING ` + claimColumns + `
	)
	SELECT false, ` + claimedColumns + ` FROM claimed c`

const hasDue = "WITH RECURSIVE " + waitingSubscriptions + " SELECT EXISTS (SELECT FROM waiting WHERE scheduled_for <= $1)"

// HasDue reports whether a delivery is queued although it is due.
func (q *Queue) HasDue(ctx context.Context, now time.Time) (bool, error) {
	var due bool
	err := q.pg.System().DB.QueryRowContext(ctx, hasDue, now).Scan(&due)
	return due, pg.Classify(err)
}

// MarkStarted notes that the workflows of these deliveries run, so that no relay starts
// them again. Those whose attempt has been recorded already need no mark.
func (q *Queue) MarkStarted(ctx context.Context, now time.Time, ids []app.DeliveryID) error {
	_, err := q.pg.System().DB.ExecContext(ctx, `UPDATE deliveries SET started_at = $1
		FROM set_config('synchronous_commit', 'off', true) WHERE id = ANY ($2) AND status = 'pending' AND started_at IS NULL`, now, ids)
	return pg.Classify(err)
}

// Unclaim gives back deliveries that could not be started, for any relay to try from then on.
func (q *Queue) Unclaim(ctx context.Context, retryAt time.Time, ids []app.DeliveryID) error {
	_, err := q.pg.System().DB.ExecContext(ctx, `UPDATE deliveries SET lease_until = $1
		WHERE id = ANY ($2) AND status = 'pending' AND started_at IS NULL`, retryAt, ids)
	return pg.Classify(err)
}
