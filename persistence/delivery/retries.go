package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// retryRow is a delivery for a retry, with its newest attempt.
type retryRow struct {
	Status         app.DeliveryStatus
	EventID        app.EventID
	SubscriptionID app.SubscriptionID
	Attempts       int
	Kept           bool // the body of the event exists
	Active         bool
	Deleted        bool
	WaitsFor       *app.DeliveryID
	AttemptID      *app.AttemptID // of an attempt that ended after the request began
}

// refusal returns the error that refuses a retry, or nil.
func (r retryRow) refusal() error {
	switch {
	case r.Status == app.DeliveryPending:
		return app.Errorf(app.CodeDeliveryInProgress,
			"the first attempt is still due or in progress; wait for its result")
	case r.WaitsFor != nil:
		return app.Errorf(app.CodeConflict, "the delivery waits for %s, which has the turn; retry that one",
			*r.WaitsFor)
	case r.Status == app.DeliveryQueued:
		return app.Errorf(app.CodeConflict, "the delivery is still queued, so it has no attempt to retry")
	case r.Deleted:
		return app.Errorf(app.CodeConflict, "the webhook of the delivery is deleted")
	case r.Status != app.DeliveryRetrying && r.Kept:
		return app.Errorf(app.CodeConflict,
			"the delivery has ended as %s; deliver it again with POST /deliveries/{id}/replay", r.Status)
	case r.Status != app.DeliveryRetrying:
		return app.Errorf(app.CodeConflict, "the delivery has ended as %s", r.Status)
	case !r.Kept:
		return app.Errorf(app.CodePayloadErased, "the body of the event is erased, so it cannot be delivered again")
	case !r.Active:
		return app.Errorf(app.CodeConflict, "the webhook is switched off; switch it on with PATCH /webhooks/{id} first")
	}
	return nil
}

// RequestRetry checks and audits a request to make the next attempt of a delivery now. If an attempt
// has ended after the request began, the request shares that attempt. RequestRetry returns NOT_FOUND,
// DELIVERY_IN_PROGRESS if the delivery is pending, PAYLOAD_ERASED, or CONFLICT if the delivery waits
// for no retry or if its subscription is inactive or deleted.
func (q *Queue) RequestRetry(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.DeliveryID,
) (app.DeliveryRetry, error) {
	now = app.At(now).Time
	var retry app.DeliveryRetry
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := findRetry(ctx, tx, now, store, id)
		retry = app.DeliveryRetry{EventID: row.EventID, SubscriptionID: row.SubscriptionID, Number: row.Attempts + 1}
		if err != nil {
			return err
		}
		if row.AttemptID != nil {
			retry.Made, err = findAttempt(ctx, tx, store, *row.AttemptID)
			return err
		}
		if err := row.refusal(); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookRetried, string(id), nil)
	})
	return retry, err
}

// RetryResult returns the attempt of a retry. If it was not made, RetryResult returns the error that
// refuses a further retry. Without either, the result is nil.
func (q *Queue) RetryResult(ctx context.Context, now time.Time, store app.StoreID, id app.DeliveryID, number int,
) (*app.Attempt, error) {
	now = app.At(now).Time
	var made *app.Attempt
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		made = nil
		var attempts []app.AttemptID
		err := tx.NewSelect().Table("attempts").Column("id").
			Where("store_id = ? AND delivery_id = ? AND number = ?", store, id, number).Scan(ctx, &attempts)
		if err != nil {
			return err
		}
		if len(attempts) > 0 {
			made, err = findAttempt(ctx, tx, store, attempts[0])
			return err
		}
		row, err := findRetry(ctx, tx, now, store, id)
		if err != nil {
			return err
		}
		return row.refusal()
	})
	return made, err
}

// CheckSoon makes the reconciler look up the workflow of a retrying delivery in its next pass.
func (q *Queue) CheckSoon(ctx context.Context, store app.StoreID, id app.DeliveryID) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`UPDATE deliveries SET check_at = '-infinity'
			WHERE store_id = ? AND id = ? AND status = 'retrying'`, store, id).Exec(ctx)
		return err
	})
}

func findRetry(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.DeliveryID) (retryRow, error) {
	var row retryRow
	err := tx.NewRaw(`SELECT d.status, d.event_id, d.subscription_id, d.attempts,
			coalesce(e.body IS NOT NULL AND e.erasing IS NULL, false) AS kept, s.is_active AS active,
			s.deleted_at IS NOT NULL AS deleted, a.id AS attempt_id, `+waitsFor+` AS waits_for
		FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id AND s.store_id = d.store_id
			LEFT JOIN outbox e ON e.id = d.event_id AND e.store_id = d.store_id
			LEFT JOIN attempts a ON a.delivery_id = d.id AND a.store_id = d.store_id AND a.number = d.attempts
				AND a.attempted_at + a.response_time_ms * interval '1 ms' > ?2
		WHERE d.store_id = ?0 AND d.id = ?1`, store, id, now).Scan(ctx, &row)
	return row, err
}

func findAttempt(ctx context.Context, tx bun.Tx, store app.StoreID, id app.AttemptID) (*app.Attempt, error) {
	var row attemptRow
	err := attemptColumns(tx.NewSelect().Model(&row)).Where("a.store_id = ? AND a.id = ?", store, id).Scan(ctx)
	attempt := row.attempt()
	return &attempt, err
}
