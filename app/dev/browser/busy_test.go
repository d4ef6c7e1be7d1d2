package browser

import (
	"context"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// Busy is a webhook with thousands of attempts.
type Busy struct {
	StoreID   app.StoreID        `json:"storeId"`
	WebhookID app.SubscriptionID `json:"webhookId"`
	Attempts  int                `json:"attempts"`
	Failed    int                `json:"failed"` // of these; a delivered attempt followed each
}

// busy creates a webhook of a store, and records of one delivery per minute of the last days, with three event types in
// turn.
func busy(
	ctx context.Context, t testing.TB, env map[string]string, keyring app.Keyring, store app.StoreID, url string,
) Busy {
	t.Helper()
	db, err := persistence.Open(persistence.Config{
		URL: env["DATABASE_URL"], SystemURL: env["COMANDA_SYSTEM_DATABASE_URL"], MaxConns: 2, Sealer: keyring.Sealer(),
	})
	must(t, err)
	defer db.Close()
	now := time.Now()
	webhook, err := db.CreateSubscription(ctx, now, store, app.Actor{}, app.NewSubscription{
		URL: url, Secret: app.NewSecret("a secret of more than 32 characters"),
		Events: []app.EventType{app.EventOrderCreated, app.EventOrderCompleted, app.EventPaymentSucceeded},
	}, nil)
	must(t, err)
	const deliveries = 9_000
	_, err = db.System().DB.ExecContext(ctx, `
		WITH one AS (
			SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
					|| '7' || lpad(to_hex(n), 19, '0') AS n,
				at, 'evt_' || to_char(n, 'FM000000000') AS event,
				(ARRAY['order.created', 'order.completed', 'payment.succeeded'])[1 + n % 3] AS type,
				n % 9 = 0 AS failed
			FROM generate_series(1, $4::int) n, LATERAL (SELECT $3::timestamptz - n * interval '1 min' AS at) minute
		), events AS (
			INSERT INTO outbox (id, store_id, type, body, occurred_at)
			SELECT event, $1, type, '{"data":{}}', at FROM one
		), sent AS (
			INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, attempts,
				scheduled_for, created_at, started_at, ended_at)
			SELECT 'dlv_' || n, $1, $1, event, $2, type, 'delivered', 1 + failed::int,
				at, at, at, at + interval '30 s' FROM one
		)
		INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, attempted_at)
		SELECT 'att_' || n || '1', $1, 'dlv_' || n, $2, event, type, 1,
			CASE WHEN failed THEN 'failed' ELSE 'delivered' END,
			CASE WHEN failed THEN 503 ELSE 204 END, 12, CASE WHEN failed THEN 'HTTP 503' ELSE '' END, at FROM one
		UNION ALL
		SELECT 'att_' || n || '2', $1, 'dlv_' || n, $2, event, type, 2, 'delivered',
			204, 12, '', at + interval '30 s' FROM one WHERE failed`,
		store, webhook.ID, now, deliveries)
	must(t, err)
	return Busy{StoreID: store, WebhookID: webhook.ID, Attempts: deliveries + deliveries/9, Failed: deliveries / 9}
}
