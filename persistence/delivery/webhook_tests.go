package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// CreateTest creates the event of a test. The event is never dispatched. CreateTest returns NOT_FOUND
// if the store has no such subscription.
func (q *Queue) CreateTest(
	ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID,
) (app.WebhookTest, error) {
	now = app.At(now).Time
	event, err := app.NewEvent(app.EventTestPing, store, now,
		app.TestPing{SubscriptionID: id, Message: "This is a test."})
	if err != nil {
		return app.WebhookTest{}, err
	}
	err = q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var made int
		return tx.NewRaw(`INSERT INTO outbox (id, store_id, type, body, occurred_at)
			SELECT ?0, s.store_id, ?1, ?2, ?3 FROM subscriptions s
			WHERE s.store_id = ?4 AND s.id = ?5 AND s.deleted_at IS NULL
			RETURNING 1`, event.ID, event.Type, string(event.Body), now, store, id).Scan(ctx, &made)
	})
	return app.WebhookTest{StoreID: store, SubscriptionID: id, EventID: event.ID}, err
}

// OutgoingTest loads the data of a test's attempt, also for an inactive subscription. It returns
// NOT_FOUND if the subscription is deleted.
func (q *Queue) OutgoingTest(ctx context.Context, test app.WebhookTest) (app.Outgoing, error) {
	var loaded app.Outgoing
	err := q.pg.InStore(ctx, test.StoreID, func(ctx context.Context, tx bun.Tx) error {
		rows, err := tx.Tx.QueryContext(ctx, `SELECT 0, 'pending', 0, false, e.body, 0, `+outgoingColumns+`
			FROM outbox e JOIN subscriptions s ON s.store_id = e.store_id AND s.id = $3 AND s.deleted_at IS NULL
				LEFT JOIN attempts a ON a.event_id = e.id AND a.delivery_id IS NULL
			WHERE e.store_id = $1 AND e.id = $2 AND e.body IS NOT NULL`,
			test.StoreID, test.EventID, test.SubscriptionID)
		if err != nil {
			return err
		}
		defer rows.Close()
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			return sql.ErrNoRows
		}
		_, outgoing, _, err := q.scanOutgoing(rows)
		if err != nil {
			return err
		}
		loaded = *outgoing
		return nil
	})
	return loaded, err
}

// RecordTest records the attempt of a test. It does not change the health of the subscription. A
// repeated call changes nothing.
func (q *Queue) RecordTest(ctx context.Context, made app.MadeAttempt) error {
	o := made.Outgoing
	return q.pg.InStore(ctx, o.StoreID, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.Tx.ExecContext(ctx, `INSERT INTO attempts (id, store_id, subscription_id, event_id, event_type,
				number, status, status_code, response_time_ms, error, response_headers, response_body, attempted_at,
				request_url, request_headers)
			VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10::jsonb, $11, $12, $13, $14::jsonb)
			ON CONFLICT (event_id) WHERE delivery_id IS NULL DO NOTHING`,
			app.NewID[app.AttemptID](made.At), o.StoreID, o.SubscriptionID, o.EventID, o.EventType, made.Status,
			made.StatusCode, made.Duration.Milliseconds(), made.Error, jsonOrNil(made.Headers), made.Body,
			app.At(made.At).Time,
			o.URL, jsonOrNil(made.Sent))
		return err
	})
}
