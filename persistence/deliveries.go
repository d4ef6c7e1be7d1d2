package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// deliveryRow is a delivery as its table holds it, as far as clients see it.
type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`

	ID             app.DeliveryID
	SubscriptionID app.SubscriptionID
	EventID        app.EventID
	EventType      app.EventType
	Status         app.DeliveryStatus
	Reason         string
	Attempts       int
	ScheduledFor   time.Time
	NextRetryAt    *time.Time
	CreatedAt      time.Time
	EndedAt        *time.Time
}

func (r deliveryRow) delivery() app.Delivery {
	return app.Delivery{
		ID: r.ID, SubscriptionID: r.SubscriptionID, EventID: r.EventID, EventType: r.EventType, Status: r.Status, Reason: r.Reason,
		Attempts: r.Attempts, ScheduledFor: app.At(r.ScheduledFor), NextRetryAt: timeOrNil(r.NextRetryAt),
		CreatedAt: app.At(r.CreatedAt), EndedAt: timeOrNil(r.EndedAt),
	}
}

// DeliveryFilter narrows a list of deliveries; zero values narrow nothing.
type DeliveryFilter struct {
	SubscriptionID app.SubscriptionID
	EventID        app.EventID
	EventType      app.EventType
	Status         app.DeliveryStatus
	Reason         string
	From, To       *app.Time // of their creation: From included, To not
}

// A dead letter that no more than its last attempt a made one has that one's error as its
// reason.
const (
	lastAttempt    = "LEFT JOIN attempts AS a ON d.status = 'dead_letter' AND d.reason = '' AND a.delivery_id = d.id AND a.number = d.attempts"
	deliveryReason = "coalesce(nullif(d.reason, ''), a.error, '')"
)

// selectDeliveries reads deliveryRow.
func selectDeliveries(tx bun.Tx, model any) *bun.SelectQuery {
	return tx.NewSelect().Model(model).ExcludeColumn("reason").ColumnExpr(deliveryReason + " AS reason").Join(lastAttempt)
}

// Deliveries lists a store's deliveries, the newest first, at most limit of them, from
// after the one named ("" = from the start). Ids sort by time.
func (db *DB) Deliveries(ctx context.Context, store app.StoreID, filter DeliveryFilter, after app.DeliveryID, limit int) ([]app.Delivery, error) {
	var rows []deliveryRow
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		q := selectDeliveries(tx, &rows).Where("d.store_id = ?", store).OrderExpr("d.id DESC").Limit(int64(limit))
		if after != "" {
			q.Where("d.id < ?", after)
		}
		if filter.SubscriptionID != "" {
			q.Where("d.subscription_id = ?", filter.SubscriptionID)
		}
		if filter.EventID != "" {
			q.Where("d.event_id = ?", filter.EventID)
		}
		if filter.EventType != "" {
			q.Where("d.event_type = ?", filter.EventType)
		}
		if filter.Status != "" {
			q.Where("d.status = ?", filter.Status)
		}
		if filter.Reason != "" {
			q.Where(deliveryReason+" = ?", filter.Reason)
		}
		if filter.From != nil {
			q.Where("d.created_at >= ?", filter.From.Time)
		}
		if filter.To != nil {
			q.Where("d.created_at < ?", filter.To.Time)
		}
		return q.Scan(ctx)
	})
	deliveries := make([]app.Delivery, len(rows))
	for i, row := range rows {
		deliveries[i] = row.delivery()
	}
	return deliveries, err
}

// Delivery returns one delivery of a store, NOT_FOUND if it has none of that id.
func (db *DB) Delivery(ctx context.Context, store app.StoreID, id app.DeliveryID) (app.Delivery, error) {
	var row deliveryRow
	err := db.inStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return selectDeliveries(tx, &row).Where("d.store_id = ? AND d.id = ?", store, id).Scan(ctx)
	})
	return row.delivery(), err
}

// Replay queues an ended delivery once more, in a slot of its plan, for the relay to hand to
// its workflow. It returns NOT_FOUND, DELIVERY_IN_PROGRESS while it has not ended,
// PAYLOAD_ERASED when its body is no longer kept, CONFLICT when its subscription is gone.
func (db *DB) Replay(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.DeliveryID) (app.Delivery, error) {
	now = app.At(now).Time
	var row deliveryRow
	err := runTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		var status app.DeliveryStatus
		var event app.EventID
		var orphaned bool
		err := tx.NewRaw(`SELECT d.status, d.event_id,
				NOT EXISTS (SELECT FROM subscriptions s WHERE s.id = d.subscription_id AND s.deleted_at IS NULL)
			FROM deliveries d WHERE d.store_id = ? AND d.id = ? FOR UPDATE`, store, id).Scan(ctx, &status, &event, &orphaned)
		if err != nil {
			return err
		}
		if !status.CanBeReplayed() {
			return app.Errorf(app.CodeDeliveryInProgress, "the delivery is still %s", status)
		}
		kept, err := keptEvents(ctx, tx, []app.EventID{event})
		switch {
		case err != nil:
			return err
		case !kept[event]:
			return app.Errorf(app.CodePayloadErased, "the event's body is no longer kept")
		case orphaned:
			return app.Errorf(app.CodeConflict, "the delivery's webhook has been deleted")
		}
		if err := audit(ctx, tx, now, store, by, app.AuditWebhookReplayed, string(id), nil); err != nil {
			return err
		}
		rows, err := db.requeue(ctx, tx, now, store, "", id)
		if err == nil {
			row = rows[0]
		}
		return err
	})
	return row.delivery(), err
}

const claimColumns = `d.id, d.store_id, d.event_id, d.subscription_id, d.event_type, d.attempts, d.replays > 0,
	EXISTS (SELECT FROM subscription_health h WHERE h.subscription_id = d.subscription_id
		AND h.failure_count = 0 AND h.slow_seen_at IS NULL)`

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
// Only a subscription's oldest are ever looked at, however many wait. The claim is not waited for on disk: a server that loses it finds the
// deliveries queued again, and starting them twice has no effect.
func (db *DB) ClaimQueued(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	return db.claim(ctx, claimQueued, now.Add(limits.Lease), now, limits.Slow, limits.Quick, limits.Batch, limits.SlowBatch, limits.Unproven)
}

// claimQueued reads of each subscription more than its share of the batch, for others may
// have less, and locks nothing that it does not take: another relay may want the same, and
// then finds others when it looks again.
const claimQueued = `
	WITH RECURSIVE ` + waitingSubscriptions + `, due AS MATERIALIZED (
		SELECT w.subscription_id, k.quick, CASE WHEN k.quick THEN $4::bigint ELSE $3::bigint END AS most,
			8 + 2 * CASE WHEN k.quick THEN $5::bigint ELSE $6::bigint END / count(*) OVER (PARTITION BY k.quick) AS wanted
		FROM waiting w
		JOIN (SELECT subscription_id, failure_count = 0 AND slow_seen_at IS NULL AS quick FROM subscription_health) k USING (subscription_id)
		JOIN subscriptions s ON s.id = w.subscription_id AND s.deleted_at IS NULL
		WHERE w.scheduled_for <= $2
	), room AS MATERIALIZED (
		SELECT h.subscription_id, h.quick, ` + roomOf + ` AS free FROM due h
	), turn AS (
		SELECT next.id, room.quick, row_number() OVER (PARTITION BY room.subscription_id ORDER BY next.scheduled_for, next.id) AS place
		FROM room CROSS JOIN LATERAL (
			SELECT q.id, q.scheduled_for FROM deliveries q
			WHERE q.subscription_id = room.subscription_id AND q.status = 'queued' AND q.scheduled_for <= $2
			ORDER BY q.scheduled_for, q.id LIMIT greatest(0, room.free)
		) next
	), batch AS (
		(SELECT id FROM turn WHERE quick ORDER BY place, id LIMIT $5::bigint)
		UNION ALL
		(SELECT id FROM turn WHERE NOT quick ORDER BY place, id LIMIT $6::bigint)
	), claimed AS MATERIALIZED (
		SELECT d.id FROM deliveries d JOIN batch USING (id) WHERE d.status = 'queued' FOR UPDATE OF d SKIP LOCKED
	)
	UPDATE deliveries d SET status = 'pending', lease_until = $1
	FROM claimed, set_config('synchronous_commit', 'off', true) WHERE d.id = claimed.id
	RETURNING ` + claimColumns

// ClaimAbandoned takes over what another relay claimed and did not start within its lease.
func (db *DB) ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	return db.claim(ctx, `
		WITH abandoned AS MATERIALIZED (
			SELECT id FROM deliveries WHERE status = 'pending' AND started_at IS NULL AND lease_until < $1
			ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
		)
		UPDATE deliveries d SET lease_until = $2 FROM abandoned WHERE d.id = abandoned.id
		RETURNING `+claimColumns, now, now.Add(limits.Lease), limits.Batch)
}

func (db *DB) claim(ctx context.Context, query string, args ...any) ([]app.Claim, error) {
	rows, err := db.System().DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var claims []app.Claim
	for rows.Next() {
		var c app.Claim
		if err := rows.Scan(&c.ID, &c.StoreID, &c.EventID, &c.SubscriptionID, &c.EventType, &c.Attempts, &c.Replay, &c.Quick); err != nil {
			return nil, err
		}
		claims = append(claims, c)
	}
	return claims, classify(rows.Err())
}

const hasDue = "WITH RECURSIVE " + waitingSubscriptions + " SELECT EXISTS (SELECT FROM waiting WHERE scheduled_for <= $1)"

// HasDue reports whether a delivery is queued although it is due.
func (db *DB) HasDue(ctx context.Context, now time.Time) (bool, error) {
	var due bool
	err := db.System().DB.QueryRowContext(ctx, hasDue, now).Scan(&due)
	return due, classify(err)
}

// MarkStarted notes that the workflows of these deliveries run, so that no relay starts
// them again. Those whose attempt has been recorded already need no mark.
func (db *DB) MarkStarted(ctx context.Context, now time.Time, ids []app.DeliveryID) error {
	_, err := db.System().DB.ExecContext(ctx, `UPDATE deliveries SET started_at = $1
		FROM set_config('synchronous_commit', 'off', true) WHERE id = ANY ($2) AND status = 'pending' AND started_at IS NULL`, now, ids)
	return classify(err)
}

// Unclaim gives back deliveries that could not be started, for any relay to try from then on.
func (db *DB) Unclaim(ctx context.Context, retryAt time.Time, ids []app.DeliveryID) error {
	_, err := db.System().DB.ExecContext(ctx, `UPDATE deliveries SET lease_until = $1
		WHERE id = ANY ($2) AND status = 'pending' AND started_at IS NULL`, retryAt, ids)
	return classify(err)
}
