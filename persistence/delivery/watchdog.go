package delivery

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// watchRow is the state of a subscription for its watchdog.
type watchRow struct {
	IsActive     bool
	Deleted      bool
	FailureCount int64
	FailingSince *time.Time
	WatchedSince *time.Time
	WatchedUntil *time.Time
	FailingDays  int
}

// watch returns the state of the current failing streak.
func (r watchRow) watch() app.Watch {
	if r.WatchedSince != nil && r.WatchedSince.Equal(*r.FailingSince) {
		return app.Watch{Since: *r.FailingSince, Until: *r.WatchedUntil, Days: r.FailingDays}
	}
	return app.Watch{Since: *r.FailingSince, Until: *r.FailingSince}
}

// end returns the reason for which the watchdog ends, "" if it continues.
func (r watchRow) end() app.WatchEnd {
	switch {
	case r.Deleted:
		return app.WatchDeleted
	case !r.IsActive:
		return app.WatchInactive
	case r.FailingSince == nil:
		return app.WatchHealthy
	}
	return ""
}

// TickWatchdog applies [app.WatchdogPolicy] to a failing subscription. It warns or deactivates, and
// writes the audit entry and the mail in the same transaction. It counts each day once. After the
// watchdog has ended, the next failed attempt enqueues another one.
func (q *Queue) TickWatchdog(ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID,
	policy app.WatchdogPolicy,
) (app.Watched, error) {
	var watched app.Watched
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		watched = app.Watched{}
		var row watchRow
		err := tx.NewRaw(`SELECT s.is_active, s.deleted_at IS NOT NULL AS deleted,
				h.failure_count, h.failing_since, h.watched_since, h.watched_until, h.failing_days
			FROM subscriptions s JOIN subscription_health h ON h.subscription_id = s.id
			WHERE s.store_id = ? AND s.id = ? FOR NO KEY UPDATE`, store, id).Scan(ctx, &row)
		if errors.Is(err, sql.ErrNoRows) {
			watched.Ended = app.WatchDeleted
			return nil
		}
		if err != nil {
			return err
		}
		if watched.Ended = row.end(); watched.Ended != "" {
			return endWatch(ctx, tx, store, id)
		}
		tick, err := policy.Tick(row.watch(), now, func(from time.Time) (time.Time, bool, error) {
			return firstFailure(ctx, tx, store, id, from)
		})
		if err != nil {
			return err
		}
		watched.Days, watched.Failures, watched.Since = tick.Watch.Days, row.FailureCount, tick.Watch.Since
		_, err = tx.NewRaw(`UPDATE subscription_health
			SET watch_at = ?, watched_since = ?, watched_until = ?, failing_days = ?
			WHERE store_id = ? AND subscription_id = ?`, tick.Next, tick.Watch.Since, tick.Watch.Until,
			tick.Watch.Days, store, id).Exec(ctx)
		switch {
		case err != nil:
			return err
		case tick.Deactivate:
			watched.Ended = app.WatchDeactivated
			return q.deactivate(ctx, tx, now, store, id, watched, policy.Days)
		case tick.Warn:
			watched.Warned = true
			err = q.enqueueMail(ctx, tx, now, store, app.MailWebhookWarning, id, watched.Streak(policy.Days))
		}
		watched.NextIn = tick.Next.Sub(now)
		return err
	})
	return watched, err
}

// endWatch records that a subscription has no watchdog.
func endWatch(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) error {
	_, err := tx.NewRaw("UPDATE subscription_health SET watch_at = NULL WHERE store_id = ? AND subscription_id = ?",
		store, id).Exec(ctx)
	return err
}

// firstFailure returns the time of a subscription's first failed attempt at or after from, without
// tests.
func firstFailure(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID,
	from time.Time,
) (time.Time, bool, error) {
	var at time.Time
	err := tx.NewRaw(`SELECT attempted_at FROM attempts
		WHERE store_id = ? AND subscription_id = ? AND attempted_at >= ? AND status <> 'delivered' AND NOT is_test
		ORDER BY attempted_at LIMIT 1`, store, id, from).Scan(ctx, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return at, false, nil
	}
	return at, err == nil, err
}

// deactivate deactivates a subscription because of its failures.
func (q *Queue) deactivate(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.SubscriptionID,
	watched app.Watched, days int,
) error {
	if err := endWatch(ctx, tx, store, id); err != nil {
		return err
	}
	_, err := tx.NewRaw(`UPDATE subscriptions SET is_active = false, version = version + 1, updated_at = ?
		WHERE store_id = ? AND id = ?`,
		app.At(now).Time, store, id).Exec(ctx)
	if err != nil {
		return err
	}
	if err := EnqueueJob(ctx, tx, now, store, app.JobDeactivation, string(id)); err != nil {
		return err
	}
	err = pg.Audit(ctx, tx, now, store, app.Actor{}, app.AuditWebhookDeactivated, string(id),
		map[string]any{
			"failingDays": watched.Days, "failures": watched.Failures, "failingSince": app.At(watched.Since),
		})
	if err != nil {
		return err
	}
	return q.enqueueMail(ctx, tx, now, store, app.MailWebhookDeactivated, id, watched.Streak(days))
}
