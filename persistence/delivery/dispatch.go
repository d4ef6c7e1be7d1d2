package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Dispatch turns waiting events into deliveries, one for each active subscription that
// asks for the event's type, and claims of these what its limits allow; the others are
// queued. Two relays never take the same event, and a relay that dies took none.
//
// Without a limited plan it is one statement. What a plan limits takes slots (contract §4,
// Plan rate) in a second one, in the order of the events' ids: one relay at a time serves a
// queue, so that no relay's batch overtakes another's, and only an event that is committed
// after one with a later id has been served comes behind it. Other relays do not wait.
//
// An error may come with claims that have been made all the same.
func (q *Queue) Dispatch(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Dispatched, error) {
	now = app.At(now).Time
	d, limited, err := dispatch(ctx, q.pg.System().DB, dispatchUnlimited, now, limits)
	if err != nil || !limited {
		return d, pg.Classify(err)
	}
	limits.Batch -= len(d.Claims)
	var more app.Dispatched
	err = pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		more = app.Dispatched{}
		queues, err := lockQueues(ctx, tx, queuesWaiting, limits.Events)
		if err != nil || len(queues) == 0 {
			return err
		}
		window := app.PlanWindow(now, q.planWindow)
		more, _, err = dispatch(ctx, tx.Tx, dispatchLimited, now, limits, queues, window, q.planWindow, planNames, planLimits)
		if err != nil {
			return err
		}
		return countStarts(ctx, tx, window, more.Claims)
	})
	if err == nil {
		d.Events += more.Events
		d.Queued += more.Queued
		d.Claims = append(d.Claims, more.Claims...)
	}
	return d, err
}

// dispatchUnlimited takes the oldest events and leaves those whose deliveries need slots,
// but says that there are some. Everything that it makes is due.
const dispatchUnlimited = `
	WITH head AS MATERIALIZED (
		SELECT id, store_id, type, (SELECT q.limited FROM plan_queues q WHERE q.store_id = outbox.store_id) AS limited
		FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
	), event AS MATERIALIZED (
		SELECT id, store_id, type, NULL::text AS queue, NULL::text AS plan FROM head WHERE limited IS NOT TRUE
	), remaining AS (
		SELECT coalesce(bool_or(limited), false) AS limited FROM head
	), ` + matchEvents + `, scheduled AS (
		SELECT *, $2::timestamptz AS scheduled_for FROM match
	), ` + insertDeliveries

// queuesWaiting are the queues of limited plans to which the oldest events belong.
const queuesWaiting = `
	SELECT DISTINCT q.queue FROM (SELECT store_id FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1) event
	JOIN plan_queues q ON q.store_id = event.store_id WHERE q.limited`

// dispatchLimited takes of the oldest events those of the queues in $8, which the
// transaction must have locked in a statement before. It waits for relays that just look
// at one of them: to skip it would change the order.
const dispatchLimited = `
	WITH event AS MATERIALIZED (
		SELECT e.id, e.store_id, e.type, q.queue, q.plan FROM outbox e JOIN plan_queues q ON q.store_id = e.store_id
		WHERE e.id IN (SELECT id FROM outbox WHERE dispatched_at IS NULL ORDER BY id LIMIT $1)
			AND e.dispatched_at IS NULL AND q.queue = ANY ($8::text[])
		ORDER BY e.id FOR UPDATE OF e
	), remaining AS (
		SELECT false AS limited
	), ` + matchEvents + `, turn AS MATERIALIZED (
		SELECT *, row_number() OVER (PARTITION BY queue ORDER BY overall) AS turn FROM match
	), slot AS MATERIALIZED (
		SELECT wanted.queue, s.place AS turn, s.scheduled_for
		FROM (SELECT queue, plan, count(*) AS deliveries FROM turn GROUP BY queue, plan ORDER BY queue) wanted,
			take_plan_slots(wanted.queue, wanted.deliveries, ($12::bigint[])[array_position($11::text[], wanted.plan)], false, $2, $9, $10, NULL) s
	), scheduled AS (
		SELECT turn.*, slot.scheduled_for FROM turn JOIN slot USING (queue, turn)
	), ` + insertDeliveries

const matchEvents = `match AS MATERIALIZED (
		SELECT event.id AS event_id, event.store_id, event.type, event.queue, event.plan, s.id AS subscription_id,
			row_number() OVER (PARTITION BY s.id ORDER BY event.id) AS place, row_number() OVER (ORDER BY event.id, s.id) AS overall
		FROM event JOIN subscriptions s ON s.store_id = event.store_id
			AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
	)`

// roomOf says how many more of the deliveries of a subscription h, of the h.wanted at most,
// may be pending: h.most in all, and no more than $7 beyond its attempts that have ended and
// began in the last five seconds before $2. So a receiver that hangs gets few before that is
// known, and one that answers many. No more attempts are counted than that needs.
const roomOf = `(SELECT least(h.wanted, least(h.most, $7::bigint + (SELECT count(*) FROM (SELECT FROM attempts a
			WHERE a.subscription_id = h.subscription_id AND a.attempted_at > $2::timestamptz - ` + recentTime + `
			ORDER BY a.attempted_at DESC LIMIT greatest(0, pending + h.wanted - $7::bigint)) recent)) - pending)
		FROM (SELECT count(*) AS pending FROM deliveries p WHERE p.store_id = h.store_id AND p.subscription_id = h.subscription_id AND p.status = 'pending') p)`

// insertDeliveries claims nothing past what is queued and due already, nothing of failing or
// slow subscriptions, and of one of the others only a few: the next one's are not to wait
// behind its burst.
const insertDeliveries = `room AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, CASE WHEN NOT h.quick
				OR EXISTS (SELECT FROM deliveries q WHERE q.subscription_id = h.subscription_id AND q.status = 'queued' AND q.scheduled_for <= $2) THEN 0
			ELSE ` + roomOf + ` END AS free
		FROM (SELECT subscription_id, store_id, failure_count = 0 AND slow_seen_at IS NULL AS quick, $4::bigint AS most, $5::bigint AS wanted FROM subscription_health) h
		WHERE h.subscription_id IN (SELECT subscription_id FROM match)
	), delivery AS (
		INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, scheduled_for, created_at, status, lease_until)
		SELECT 'dlv_' || uuidv7_hex($2, m.overall), m.store_id, m.event_id, m.subscription_id, m.type, m.scheduled_for, $2,
			CASE WHEN claimed THEN 'pending' ELSE 'queued' END, CASE WHEN claimed THEN $3::timestamptz END
		FROM scheduled m JOIN room USING (subscription_id),
			LATERAL (SELECT m.scheduled_for <= $2 AND m.place <= room.free AND m.overall <= $6 AS claimed) claim
		ORDER BY m.overall
		ON CONFLICT (event_id, subscription_id) DO NOTHING
		RETURNING id, store_id, event_id, subscription_id, event_type, status, scheduled_for
	), dispatched AS (
		UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
	), count AS (
		SELECT (SELECT count(*) FROM dispatched) AS events,
			(SELECT count(*) FROM delivery WHERE status = 'queued' AND scheduled_for <= $2) AS queued
	)
	SELECT remaining.limited, count.events, count.queued, d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, room.quick
	FROM count CROSS JOIN remaining LEFT JOIN (delivery d JOIN room USING (subscription_id)) ON d.status = 'pending'`

// dispatch runs one of the two statements. It reports whether events with a limit are left.
func dispatch(ctx context.Context, q pg.Queryer, statement string, now time.Time, limits app.ClaimLimits, more ...any) (d app.Dispatched, limited bool, err error) {
	args := append([]any{limits.Events, now, now.Add(limits.Lease), limits.Quick, limits.Turn, limits.Batch, limits.Unproven}, more...)
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return d, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var id *app.DeliveryID // null in the one row that comes when nothing was claimed
		var c struct {
			store        *app.StoreID
			event        *app.EventID
			subscription *app.SubscriptionID
			kind         *app.EventType
			quick        *bool
		}
		if err := rows.Scan(&limited, &d.Events, &d.Queued, &id, &c.store, &c.event, &c.subscription, &c.kind, &c.quick); err != nil {
			return app.Dispatched{}, false, err
		}
		if id != nil {
			d.Claims = append(d.Claims, app.Claim{
				ID: *id, StoreID: *c.store, EventID: *c.event, SubscriptionID: *c.subscription, EventType: *c.kind, Quick: *c.quick, Healthy: *c.quick,
			})
		}
	}
	return d, limited, rows.Err()
}
