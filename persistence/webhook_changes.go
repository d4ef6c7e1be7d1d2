package persistence

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// lockedSubscription is a subscription that is about to change.
type lockedSubscription struct {
	URL      string          `bun:"url"`
	Events   []app.EventType `bun:",array"`
	IsActive bool
	Secret   []byte
	Version  int64
}

// lockSubscription keeps a subscription from being changed by others. It returns NOT_FOUND,
// or VERSION_MISMATCH when version is not 0 and not the subscription's.
func lockSubscription(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID, version int64) (lockedSubscription, error) {
	var row lockedSubscription
	err := tx.NewRaw(`SELECT url, events, is_active, secret, version FROM subscriptions
		WHERE store_id = ? AND id = ? AND deleted_at IS NULL FOR NO KEY UPDATE`, store, id).Scan(ctx, &row)
	if err == nil {
		err = pg.CheckVersion(version, row.Version)
	}
	return row, err
}

// ChangeSubscription changes what is different in a subscription, from its next attempt on;
// nothing different changes nothing. Turned on again it starts without failures. It returns
// NOT_FOUND or VERSION_MISMATCH; version 0 is any.
func (db *DB) ChangeSubscription(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, change app.SubscriptionChange, version int64) (app.Subscription, error) {
	now = app.At(now).Time
	var changed app.Subscription
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		if err := row.apply(ctx, tx, now, store, by, id, change); err != nil {
			return err
		}
		changed, err = subscription(ctx, tx, store, id)
		return err
	})
	return changed, err
}

func (row lockedSubscription) apply(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, change app.SubscriptionChange) error {
	details := map[string]any{}
	if change.URL != nil && *change.URL != row.URL {
		details["host"] = map[string]any{"from": hostOf(row.URL), "to": hostOf(*change.URL)}
		row.URL = *change.URL
	}
	if change.Events != nil && !slices.Equal(change.Events, row.Events) {
		details["events"] = map[string]any{"from": row.Events, "to": change.Events}
		row.Events = change.Events
	}
	switched := change.IsActive != nil && *change.IsActive != row.IsActive
	if len(details) == 0 && !switched {
		return nil
	}
	if switched {
		row.IsActive = *change.IsActive
	}
	_, err := tx.NewRaw(`UPDATE subscriptions SET url = ?, events = ?, is_active = ?, version = version + 1, updated_at = ? WHERE store_id = ? AND id = ?`,
		row.URL, pgdialect.Array(row.Events), row.IsActive, now, store, id).Exec(ctx)
	if err != nil {
		return err
	}
	if len(details) > 0 {
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditWebhookChanged, string(id), details); err != nil {
			return err
		}
	}
	switch {
	case !switched:
		return nil
	case row.IsActive:
		if err := clearFailures(ctx, tx, store, id); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookReactivated, string(id), nil)
	}
	return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookDeactivated, string(id), nil)
}

// clearFailures forgets how a subscription has been failing.
func clearFailures(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) error {
	_, err := tx.NewRaw("UPDATE subscription_health SET failure_count = 0, failing_since = NULL WHERE store_id = ? AND subscription_id = ?", store, id).Exec(ctx)
	return err
}

// DeleteSubscription ends a subscription: from then on no attempt is begun for it, and a job
// cancels what waits. It returns NOT_FOUND or VERSION_MISMATCH; version 0 is any.
func (db *DB) DeleteSubscription(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, version int64) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		_, err = tx.NewRaw(`UPDATE subscriptions SET deleted_at = ?0, updated_at = ?0, version = version + 1,
				secret = '', previous_secret = NULL, previous_secret_until = NULL
			WHERE store_id = ?1 AND id = ?2`, now, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		if err := delivery.EnqueueJob(ctx, tx, now, store, app.JobTeardown, string(id)); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookDeleted, string(id), map[string]any{"host": hostOf(row.URL)})
	})
}

// RotateSecret replaces a subscription's secret; the one before stays good for overlap, the
// one before that no longer. The secret that it has already changes nothing, so that the
// request can be repeated. It returns NOT_FOUND or VERSION_MISMATCH; version 0 is any.
func (db *DB) RotateSecret(ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, secret app.Secret, overlap time.Duration, version int64) (app.Subscription, error) {
	now = app.At(now).Time
	var rotated app.Subscription
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		present, err := db.sealer.Open(row.Secret, string(id))
		if err != nil {
			return err
		}
		if present != secret {
			_, err = tx.NewRaw(`UPDATE subscriptions SET secret = ?0, version = version + 1, updated_at = ?1,
					previous_secret = CASE WHEN ?2 > ?1 THEN secret END, previous_secret_until = CASE WHEN ?2 > ?1 THEN ?2::timestamptz END
				WHERE store_id = ?3 AND id = ?4`, db.sealer.Seal(secret, string(id)), now, now.Add(overlap), store, id).Exec(ctx)
			if err != nil {
				return err
			}
			err = pg.Audit(ctx, tx, now, store, by, app.AuditWebhookSecretRotated, string(id), map[string]any{"overlapSeconds": int64(overlap.Seconds())})
			if err != nil {
				return err
			}
		}
		rotated, err = subscription(ctx, tx, store, id)
		return err
	})
	return rotated, err
}
