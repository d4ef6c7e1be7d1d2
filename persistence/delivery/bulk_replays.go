package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// replayRow is a row of the table replays.
type replayRow struct {
	bun.BaseModel `bun:"table:replays,alias:r"`

	ID             app.ReplayID
	StoreID        app.StoreID
	SubscriptionID app.SubscriptionID `bun:",nullzero"`
	EventType      app.EventType      `bun:",nullzero"`
	DeliveryStatus app.ReplayedStatus
	DeliveryReason string `bun:",nullzero"`
	CreatedFrom    time.Time
	CreatedTo      time.Time
	Status         app.ReplayStatus
	Reason         string
	Matched        int64 // of the listed part of the period
	Replayed       int64
	Skipped        int64
	Listed         bool
	Cursor         string // of the list: last delivery, or last position
	Position       int64  // of the last queued row of the list
	CreatedAt      time.Time
	EndedAt        *time.Time
	InProgress     int64 `bun:",scanonly"`
}

func (r replayRow) replay() app.BulkReplay {
	replay := app.BulkReplay{
		ID: r.ID, SubscriptionID: r.SubscriptionID, EventType: r.EventType,
		DeliveryStatus: r.DeliveryStatus, DeliveryReason: r.DeliveryReason,
		From: app.At(r.CreatedFrom), To: app.At(r.CreatedTo), Status: r.Status, Reason: r.Reason,
		Replayed: r.Replayed, Skipped: r.Skipped, InProgress: r.InProgress,
		CreatedAt: app.At(r.CreatedAt), EndedAt: pg.TimeOrNil(r.EndedAt),
	}
	if r.Listed || r.Status == app.ReplayDryRun {
		replay.Matched = &r.Matched
	}
	return replay
}

// filter returns the filter of the deliveries to replay. The condition of ended applies in addition.
func (r replayRow) filter() deliveryFilter {
	from, to := app.At(r.CreatedFrom), app.At(r.CreatedTo)
	return deliveryFilter{
		SubscriptionID: r.SubscriptionID, EventType: r.EventType, Status: app.DeliveryStatus(r.DeliveryStatus),
		Reason: r.DeliveryReason, From: &from, To: &to,
	}
}

// ended restricts a query of deliveries d to the deliveries of the store that had ended when the bulk
// replay was created.
func (r replayRow) ended(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Where("d.store_id = ? AND d.ended_at <= ?", r.StoreID, r.CreatedAt)
}

// CreateBulkReplay creates a bulk replay of all deliveries that match; its job counts them. A dry run only counts
// them; it counts deliveries without a stored body as skipped. It returns NOT_FOUND if the store has no such
// subscription, LIMIT_REACHED if app.MaxRunningReplays are running, and the errors of [pg.RunOnce].
func (q *Queue) CreateBulkReplay(ctx context.Context, now time.Time, store app.StoreID, by app.Actor,
	in app.NewBulkReplay, once *pg.Once,
) (app.BulkReplay, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, q.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.BulkReplay, error) {
		row := replayRow{
			ID: app.NewID[app.ReplayID](now), StoreID: store, SubscriptionID: in.SubscriptionID,
			EventType: in.EventType, DeliveryStatus: in.DeliveryStatus, DeliveryReason: in.DeliveryReason,
			CreatedFrom: in.From.Time, CreatedTo: in.To.Time, Status: app.ReplayRunning, CreatedAt: now,
		}
		if err := mayReplay(ctx, tx, store, in); err != nil {
			return app.BulkReplay{}, err
		}
		if in.DryRun {
			row.ID, row.Status = "", app.ReplayDryRun
			err := row.count(ctx, tx)
			return row.replay(), err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return app.BulkReplay{}, err
		}
		target := string(in.SubscriptionID)
		if target == "" {
			target = string(row.ID)
		}
		details := map[string]any{
			"replayId": row.ID, "deliveryStatus": row.DeliveryStatus, "from": in.From, "to": in.To,
		}
		if row.DeliveryReason != "" {
			details["deliveryReason"] = row.DeliveryReason
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditWebhookReplayed, target, details); err != nil {
			return app.BulkReplay{}, err
		}
		return row.replay(), EnqueueJob(ctx, tx, now, store, app.JobReplay, string(row.ID))
	})
}

// count counts the deliveries that match, and those of them that have no stored body.
func (r *replayRow) count(ctx context.Context, tx bun.Tx) error {
	if r.DeliveryStatus == app.ReplayedMissed {
		return r.countMissed(ctx, tx)
	}
	count := tx.NewSelect().ColumnExpr("count(*)").ColumnExpr(`count(*) FILTER (WHERE NOT EXISTS (
		SELECT FROM outbox e WHERE e.id = d.event_id AND e.body IS NOT NULL))`)
	filter := r.filter()
	return filter.created(filter.matches(r.ended(count.TableExpr("deliveries AS d")))).
		// Bun writes arrays into the text, so that the planner can use a partial index.
		Where("d.status = ANY (?::text[]) AND d.event_type = ANY (?::text[])",
			pgdialect.Array([]app.DeliveryStatus{filter.Status}), pgdialect.Array(filter.types())).
		Scan(ctx, &r.Matched, &r.Skipped)
}

// mayReplay returns an error if a bulk replay cannot be created. An advisory lock prevents concurrent requests from
// exceeding the limit. The store's row stays free, because reservations and settings lock it.
func mayReplay(ctx context.Context, tx bun.Tx, store app.StoreID, in app.NewBulkReplay) error {
	if in.SubscriptionID != "" {
		if err := findSubscription(ctx, tx, store, in.SubscriptionID); err != nil {
			return err
		}
	}
	if in.DryRun {
		return nil
	}
	_, err := tx.NewRaw("SELECT pg_advisory_xact_lock(hashtextextended('replays/' || ?, 0))", store).Exec(ctx)
	if err != nil {
		return err
	}
	var running int
	// A separate statement sees the replays that were committed before the lock was granted.
	err = tx.NewRaw("SELECT count(*) FROM replays WHERE store_id = ? AND status = 'running'", store).Scan(ctx, &running)
	if err == nil && running >= app.MaxRunningReplays {
		return app.Errorf(app.CodeLimitReached,
			"a store can have at most %d running bulk replays; wait for one to end or cancel it", app.MaxRunningReplays)
	}
	return err
}

// inProgress counts the deliveries of a bulk replay r that are queued or have not finished their first
// attempt.
const inProgress = `(
	SELECT count(*) FROM deliveries d WHERE d.replay_id = r.id AND d.` + unattempted + `) AS in_progress`

// unattempted is the condition that a replayed delivery is queued or has not finished its first attempt.
const unattempted = "status IN ('queued', 'pending')"

// BulkReplays lists the bulk replays of a store or, with a subscription, of that subscription, newest
// first. The zero value of after is the start. It returns NOT_FOUND if the store has no such
// subscription.
func (q *Queue) BulkReplays(ctx context.Context, store app.StoreID, subscription app.SubscriptionID,
	after app.ReplayID, limit int,
) ([]app.BulkReplay, error) {
	var rows []replayRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		query := tx.NewSelect().Model(&rows).ColumnExpr("r.*").ColumnExpr(inProgress).Where("r.store_id = ?", store).
			OrderExpr("r.id DESC").Limit(int64(limit))
		if after != "" {
			query.Where("r.id < ?", after)
		}
		if subscription != "" {
			if err := findSubscription(ctx, tx, store, subscription); err != nil {
				return err
			}
			query.Where("r.subscription_id = ?", subscription)
		}
		return query.Scan(ctx)
	})
	replays := make([]app.BulkReplay, len(rows))
	for i, row := range rows {
		replays[i] = row.replay()
	}
	return replays, err
}

// BulkReplay returns a bulk replay of a store, NOT_FOUND if there is no such bulk replay. If
// subscription is not "", it must be the subscription for which the bulk replay was created.
func (q *Queue) BulkReplay(ctx context.Context, store app.StoreID, subscription app.SubscriptionID,
	id app.ReplayID,
) (app.BulkReplay, error) {
	var row replayRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		query := tx.NewSelect().Model(&row).ColumnExpr("r.*").ColumnExpr(inProgress).
			Where("r.store_id = ? AND r.id = ?", store, id)
		if subscription != "" {
			query.Where("r.subscription_id = ?", subscription)
		}
		return query.Scan(ctx)
	})
	return row.replay(), err
}

// BulkReplayOutcomes counts the deliveries of a bulk replay of a store by their status.
func (q *Queue) BulkReplayOutcomes(ctx context.Context, store app.StoreID, id app.ReplayID,
) (app.ReplayOutcomes, error) {
	var counts app.ReplayOutcomes
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.Tx.QueryRowContext(ctx, replayOutcomes, store, id).
			Scan(&counts.Delivered, &counts.Retrying, &counts.DeadLetters, &counts.Cancelled)
	})
	return counts, err
}

const replayOutcomes = `SELECT count(*) FILTER (WHERE status = 'delivered'),
		count(*) FILTER (WHERE status = 'retrying'), count(*) FILTER (WHERE status = 'dead_letter'),
		count(*) FILTER (WHERE status = 'cancelled')
	FROM deliveries WHERE store_id = $1 AND replay_id = $2`

// CancelBulkReplay ends a bulk replay. Deliveries that it has queued are still delivered. A cancelled
// bulk replay stays as it is. It returns CONFLICT if the bulk replay is completed, NOT_FOUND if there
// is no such bulk replay.
func (q *Queue) CancelBulkReplay(ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID,
	reason string,
) (app.BulkReplay, error) {
	now = app.At(now).Time
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var status app.ReplayStatus
		err := tx.NewRaw("SELECT status FROM replays WHERE store_id = ? AND id = ? FOR UPDATE", store, id).
			Scan(ctx, &status)
		switch {
		case err != nil:
			return err
		case status == app.ReplayCompleted:
			return app.Errorf(app.CodeConflict, "the bulk replay is already completed")
		case status == app.ReplayCancelled:
			return nil
		}
		_, err = tx.NewRaw(`UPDATE replays SET status = 'cancelled', reason = ?, ended_at = ?
			WHERE store_id = ? AND id = ?`, reason, now, store, id).Exec(ctx)
		return err
	})
	if err != nil {
		return app.BulkReplay{}, err
	}
	return q.BulkReplay(ctx, store, "", id)
}
