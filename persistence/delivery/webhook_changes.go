package delivery

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// lockedSubscription holds the columns of a locked subscription that a change compares.
type lockedSubscription struct {
	URL         string `bun:"url"`
	Description string
	Events      []app.EventType `bun:",array"`
	Filter      *string
	Ordering    app.Ordering
	IsActive    bool
	Secret      []byte
	Headers     []byte
	HeaderNames []string `bun:",array"`
	Version     int64
}

// lockSubscription locks a subscription until the end of the transaction. It returns NOT_FOUND or
// VERSION_MISMATCH (version 0 matches every version).
func lockSubscription(
	ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID, version int64,
) (lockedSubscription, error) {
	var row lockedSubscription
	err := tx.NewRaw(`SELECT url, description, events, filter, ordering, is_active, secret, headers, header_names,
			version FROM subscriptions
		WHERE store_id = ? AND id = ? AND deleted_at IS NULL FOR NO KEY UPDATE`, store, id).Scan(ctx, &row)
	if err == nil {
		err = pg.CheckVersion(version, row.Version)
	}
	return row, err
}

// ChangeSubscription changes a subscription, effective from its next attempt. It writes nothing if
// change contains no difference. Reactivation resets the failures. It returns NOT_FOUND,
// VERSION_MISMATCH (version 0 matches every version), or VALIDATION_FAILED if the origin of the URL
// changes and the subscription has headers that the change does not replace.
func (q *Queue) ChangeSubscription(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID,
	change app.SubscriptionChange, version int64,
) (app.Subscription, error) {
	now = app.At(now).Time
	var changed app.Subscription
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		moved := change.URL != nil && !app.SameOrigin(row.URL, *change.URL)
		if len(row.HeaderNames) > 0 && change.Headers == nil && moved {
			return app.Invalid("headers",
				"must be sent again if the origin of url changes, so that no value goes to a host it was not meant for")
		}
		if err := q.applyChange(ctx, tx, now, store, by, id, row, change); err != nil {
			return err
		}
		changed, err = subscription(ctx, tx, store, id)
		return err
	})
	return changed, err
}

// applyDifferences applies a change to a row, except its active state. It returns the differences for the audit trail.
func (q *Queue) applyDifferences(
	row *lockedSubscription, id app.SubscriptionID, change app.SubscriptionChange,
) map[string]any {
	details := map[string]any{}
	differs := func(member string, from, to any) { details[member] = map[string]any{"from": from, "to": to} }
	if change.URL != nil && *change.URL != row.URL {
		differs("host", hostOf(row.URL), hostOf(*change.URL))
		row.URL = *change.URL
	}
	if change.Description != nil && *change.Description != row.Description {
		differs("description", row.Description, *change.Description)
		row.Description = *change.Description
	}
	if change.Events != nil && !slices.Equal(change.Events, row.Events) {
		differs("events", row.Events, change.Events)
		row.Events = change.Events
	}
	if change.Filter != nil && !equal(*change.Filter, row.Filter) {
		differs("filter", row.Filter, *change.Filter)
		row.Filter = *change.Filter
	}
	if change.Ordering != nil && *change.Ordering != row.Ordering {
		differs("ordering", row.Ordering, *change.Ordering)
		row.Ordering = *change.Ordering
	}
	if change.Headers != nil && !q.hasHeaders(*row, id, *change.Headers) {
		names := change.Headers.Names()
		differs("headers", row.HeaderNames, names)
		row.Headers, row.HeaderNames = q.sealHeaders(*change.Headers, id), names
	}
	return details
}

func (q *Queue) applyChange(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID,
	row lockedSubscription, change app.SubscriptionChange,
) error {
	details := q.applyDifferences(&row, id, change)
	if details["filter"] != nil {
		if err := clearFilterError(ctx, tx, store, id); err != nil {
			return err
		}
	}
	switched := change.IsActive != nil && *change.IsActive != row.IsActive
	if len(details) == 0 && !switched {
		return nil
	}
	if switched {
		row.IsActive = *change.IsActive
	}
	_, err := tx.NewRaw(`UPDATE subscriptions SET url = ?, description = ?, events = ?, is_active = ?,
			headers = ?, header_names = ?, filter = ?, ordering = ?, version = version + 1, updated_at = ?
		WHERE store_id = ? AND id = ?`,
		row.URL, row.Description, pgdialect.Array(row.Events), row.IsActive, row.Headers,
		pgdialect.Array(row.HeaderNames), row.Filter, row.Ordering, now, store, id).Exec(ctx)
	if err != nil {
		return err
	}
	if details["ordering"] != nil {
		if err := enqueueReordering(ctx, tx, now, store, id); err != nil {
			return err
		}
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
	if err := EnqueueJob(ctx, tx, now, store, app.JobDeactivation, string(id)); err != nil {
		return err
	}
	return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookDeactivated, string(id), nil)
}

// hasHeaders reports whether a subscription already has these headers. Headers that cannot be opened differ.
func (q *Queue) hasHeaders(row lockedSubscription, id app.SubscriptionID, wanted app.WebhookHeaders) bool {
	if row.Headers == nil || len(wanted) == 0 {
		return row.Headers == nil && len(wanted) == 0
	}
	opened, err := q.sealer.Open(row.Headers, string(id))
	return err == nil && opened == wanted.Encode()
}

func equal(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// clearFilterError removes the error of a filter that is replaced.
func clearFilterError(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) error {
	_, err := tx.NewRaw(`UPDATE subscription_health
		SET filter_error = NULL, filter_error_event = NULL, filter_error_at = NULL
		WHERE store_id = ? AND subscription_id = ? AND filter_error IS NOT NULL`, store, id).Exec(ctx)
	return err
}

// clearFailures resets the failures of a subscription.
func clearFailures(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) error {
	_, err := tx.NewRaw(`UPDATE subscription_health SET failure_count = 0, failing_since = NULL
		WHERE store_id = ? AND subscription_id = ?`, store, id).Exec(ctx)
	return err
}

// DeleteSubscription deletes a subscription. No further attempt starts, and a job cancels its queued
// deliveries. It returns NOT_FOUND or VERSION_MISMATCH (version 0 matches every version).
func (q *Queue) DeleteSubscription(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, version int64,
) error {
	now = app.At(now).Time
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		_, err = tx.NewRaw(`UPDATE subscriptions SET deleted_at = ?0, updated_at = ?0, version = version + 1,
				secret = '', previous_secret = NULL, previous_secret_until = NULL, headers = NULL, header_names = '{}'
			WHERE store_id = ?1 AND id = ?2`, now, store, id).Exec(ctx)
		if err != nil {
			return err
		}
		if err := EnqueueJob(ctx, tx, now, store, app.JobTeardown, string(id)); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditWebhookDeleted, string(id),
			map[string]any{"host": hostOf(row.URL)})
	})
}

// RotateSecret replaces a subscription's secret. The replaced secret remains valid for overlap, unless
// no key opens it; an earlier one ends. It writes nothing if the subscription already has the secret,
// so that a request can be repeated. It returns NOT_FOUND or VERSION_MISMATCH (version 0 matches every
// version).
func (q *Queue) RotateSecret(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, id app.SubscriptionID, secret app.Secret,
	overlap time.Duration, version int64,
) (app.Subscription, error) {
	now = app.At(now).Time
	var rotated app.Subscription
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		row, err := lockSubscription(ctx, tx, store, id, version)
		if err != nil {
			return err
		}
		present, unreadable := q.sealer.Open(row.Secret, string(id))
		if unreadable != nil {
			overlap = 0
		}
		if unreadable != nil || present != secret {
			_, err = tx.NewRaw(`UPDATE subscriptions SET secret = ?0, version = version + 1, updated_at = ?1,
					previous_secret = CASE WHEN ?2 > ?1 THEN secret END,
					previous_secret_until = CASE WHEN ?2 > ?1 THEN ?2::timestamptz END
				WHERE store_id = ?3 AND id = ?4`,
				q.sealer.Seal(secret, string(id)), now, now.Add(overlap), store, id).Exec(ctx)
			if err != nil {
				return err
			}
			err = pg.Audit(ctx, tx, now, store, by, app.AuditWebhookSecretRotated, string(id),
				map[string]any{"overlapSeconds": int64(overlap.Seconds())})
			if err != nil {
				return err
			}
		}
		rotated, err = subscription(ctx, tx, store, id)
		return err
	})
	return rotated, err
}
