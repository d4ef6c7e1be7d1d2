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

// Dispatch turns up to limit waiting events into deliveries, one for each active
// subscription that asks for the event's type, and returns how many events it took. It is
// one statement: two relays never take the same event, and a relay that dies took none.
func (db *DB) Dispatch(ctx context.Context, now time.Time, limit int) (int, error) {
	var events int
	err := db.System().DB.QueryRowContext(ctx, `
		WITH event AS MATERIALIZED (
			SELECT id, store_id, type FROM outbox WHERE dispatched_at IS NULL
			ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
		), delivery AS (
			INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
			SELECT 'dlv_' || uuidv7_hex(), event.store_id, event.id, s.id, event.type, 'queued', $2, $2
			FROM event JOIN subscriptions s ON s.store_id = event.store_id
				AND s.deleted_at IS NULL AND s.is_active AND event.type = ANY (s.events)
			ORDER BY event.id
			ON CONFLICT (event_id, subscription_id) DO NOTHING
		), dispatched AS (
			UPDATE outbox SET dispatched_at = $2 FROM event WHERE outbox.id = event.id RETURNING 1
		)
		SELECT count(*) FROM dispatched`, limit, app.At(now).Time).Scan(&events)
	return events, classify(err)
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
