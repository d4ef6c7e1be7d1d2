package persistence

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// outboxChannel is what commits that leave work for the relay notify.
const outboxChannel = "comanda_outbox"

// emit writes an event in the transaction of the change that it tells of, and wakes the
// relays when that commits.
func emit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType, data any) error {
	event, err := app.NewEvent(t, store, now, data)
	if err != nil {
		return err
	}
	_, err = tx.NewRaw(`WITH event AS (
			INSERT INTO outbox (id, store_id, type, body, occurred_at) VALUES (?, ?, ?, ?, ?) RETURNING id
		) SELECT pg_notify(?, '') FROM event`,
		event.ID, store, event.Type, string(event.Body), event.At.Time, outboxChannel).Exec(ctx)
	return err
}

// Dispatch turns waiting events into deliveries, one for each active subscription that
// asks for the event's type, and claims of these what its limits allow; the others are
// queued. It is one statement: two relays never take the same event, and a relay that dies
// took none.
func (db *DB) Dispatch(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Dispatched, error) {
	var d app.Dispatched
	rows, err := db.System().DB.QueryContext(ctx, `
		WITH event AS MATERIALIZED (
			SELECT id, store_id, type FROM outbox WHERE dispatched_at IS NULL
			ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
		), match AS MATERIALIZED (
			SELECT event.id AS event_id, event.store_id, event.type, s.id AS subscription_id,
				row_number() OVER (PARTITION BY s.id ORDER BY event.id) AS place, row_number() OVER (ORDER BY event.id, s.id) AS overall
			FROM event JOIN subscriptions s ON s.store_id = event.store_id
				AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
		), room AS MATERIALIZED (
			SELECT h.subscription_id, h.failure_count = 0 AND h.slow_seen_at IS NULL AS quick,
				CASE WHEN EXISTS (SELECT FROM deliveries q WHERE q.subscription_id = h.subscription_id AND q.status = 'queued') THEN 0
				ELSE CASE WHEN h.failure_count = 0 AND h.slow_seen_at IS NULL THEN $4::bigint ELSE $5::bigint END
					- (SELECT count(*) FROM deliveries p WHERE p.subscription_id = h.subscription_id AND p.status = 'pending') END AS free
			FROM subscription_health h WHERE h.subscription_id IN (SELECT subscription_id FROM match)
		), delivery AS (
			INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, scheduled_for, created_at, status, lease_until)
			SELECT 'dlv_' || uuidv7_hex(), m.store_id, m.event_id, m.subscription_id, m.type, $2, $2,
				CASE WHEN claimed THEN 'pending' ELSE 'queued' END, CASE WHEN claimed THEN $3::timestamptz END
			FROM match m JOIN room USING (subscription_id), LATERAL (SELECT m.place <= room.free AND m.overall <= $6 AS claimed) claim
			ORDER BY m.overall
			ON CONFLICT (event_id, subscription_id) DO NOTHING
			RETURNING id, store_id, event_id, subscription_id, event_type, status
		), dispatched AS (
			UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
		), count AS (
			SELECT (SELECT count(*) FROM dispatched) AS events, (SELECT count(*) FROM delivery WHERE status = 'queued') AS queued
		)
		SELECT count.events, count.queued, d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, room.quick
		FROM count LEFT JOIN (delivery d JOIN room USING (subscription_id)) ON d.status = 'pending'`,
		limits.Events, app.At(now).Time, now.Add(limits.Lease), limits.Quick, limits.Slow, limits.Batch)
	if err != nil {
		return d, classify(err)
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
		if err := rows.Scan(&d.Events, &d.Queued, &id, &c.store, &c.event, &c.subscription, &c.kind, &c.quick); err != nil {
			return d, err
		}
		if id != nil {
			d.Claims = append(d.Claims, app.Claim{
				ID: *id, StoreID: *c.store, EventID: *c.event, SubscriptionID: *c.subscription, EventType: *c.kind, Quick: *c.quick,
			})
		}
	}
	return d, classify(rows.Err())
}

// Listen calls wake for each notification that there is work for a relay, and once when it
// has begun to listen. It returns when the connection breaks or ctx is done.
func (db *DB) Listen(ctx context.Context, wake func()) error {
	config, err := pgx.ParseConfig(db.url)
	if err != nil {
		return err
	}
	config.RuntimeParams["role"] = roleSystem
	config.RuntimeParams["application_name"] = "comanda_relay"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return classify(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+outboxChannel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for wake(); ; wake() {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
