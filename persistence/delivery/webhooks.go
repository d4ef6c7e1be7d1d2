package delivery

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// subscriptionRow holds the columns of a subscription that clients see, which excludes the secret.
type subscriptionRow struct {
	ID                  app.SubscriptionID
	URL                 string `bun:"url"`
	Description         string
	Events              []app.EventType `bun:",array"`
	Filter              *string
	Ordering            app.Ordering
	HeaderNames         []string `bun:",array"`
	IsActive            bool
	CreatedAt           time.Time
	LastDeliveryAt      *time.Time
	FailureCount        int64
	Version             int64
	UpdatedAt           time.Time
	PreviousSecretUntil *time.Time
	FailingSince        *time.Time
	FailingDays         int
	FilterError         *string
	FilterErrorEvent    app.EventID
	FilterErrorAt       *time.Time
}

func (r subscriptionRow) subscription() app.Subscription {
	s := app.Subscription{
		ID: r.ID, URL: r.URL, Description: r.Description, Events: r.Events, IsActive: r.IsActive,
		Filter: r.Filter, Ordering: r.Ordering,
		HeaderNames:    append([]string{}, r.HeaderNames...),
		CreatedAt:      app.At(r.CreatedAt),
		LastDeliveryAt: pg.TimeOrNil(r.LastDeliveryAt), FailureCount: r.FailureCount,
		FailingSince: pg.TimeOrNil(r.FailingSince), FailingDays: r.FailingDays,
		Version: r.Version, UpdatedAt: app.At(r.UpdatedAt),
		PreviousSecretExpiresAt: pg.TimeOrNil(r.PreviousSecretUntil),
	}
	if r.FilterError != nil {
		s.FilterError = &app.FilterError{
			Message: *r.FilterError, EventID: r.FilterErrorEvent, At: app.At(*r.FilterErrorAt),
		}
	}
	return s
}

// subscriptionColumns selects the columns of subscriptionRow. The time of the last attempt comes from the table
// attempts, so that an attempt does not also have to update the subscription. The erasure keeps it.
const subscriptionColumns = `s.id, s.url, s.description, s.events, s.filter, s.ordering, s.header_names, s.is_active,
	s.created_at, h.filter_error, coalesce(h.filter_error_event, '') AS filter_error_event, h.filter_error_at,
	h.failure_count, s.version, s.updated_at, s.previous_secret_until, h.failing_since,
	CASE WHEN h.watched_since = h.failing_since THEN h.failing_days ELSE 0 END AS failing_days,
	greatest(h.last_attempt_at, (SELECT max(a.attempted_at) FROM attempts a WHERE a.subscription_id = s.id))
		AS last_delivery_at
	FROM subscriptions s JOIN subscription_health h ON h.subscription_id = s.id
	WHERE s.store_id = ? AND s.deleted_at IS NULL`

// CreateSubscription adds a subscription to a store. It returns LIMIT_REACHED above
// app.MaxSubscriptions, and the errors of [pg.RunOnce].
func (q *Queue) CreateSubscription(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, in app.NewSubscription, once *pg.Once,
) (app.Subscription, error) {
	now = app.At(now).Time
	return pg.CreateOnce(ctx, q.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Subscription, error) {
		row := subscriptionRow{
			ID: app.NewID[app.SubscriptionID](now), URL: in.URL, Description: in.Description, Events: in.Events,
			Filter: in.Filter, Ordering: cmp.Or(in.Ordering, app.OrderingNone), HeaderNames: in.Headers.Names(),
			IsActive: true, CreatedAt: now, Version: 1, UpdatedAt: now,
		}
		var count int
		// The lock of the store's row prevents concurrent requests from exceeding the limit.
		err := tx.NewRaw(`SELECT count(*) FROM (SELECT id FROM stores WHERE id = ?0 FOR NO KEY UPDATE) store
			JOIN subscriptions s ON s.store_id = store.id AND s.deleted_at IS NULL`, store).Scan(ctx, &count)
		if err != nil {
			return app.Subscription{}, err
		}
		if count >= app.MaxSubscriptions {
			return app.Subscription{}, app.Errorf(app.CodeLimitReached,
				"a store can have at most %d webhooks; delete one first", app.MaxSubscriptions)
		}
		_, err = tx.NewRaw(`WITH s AS (
				INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at, description,
					headers, header_names, filter, ordering)
				VALUES (?0, ?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id, store_id
			) INSERT INTO subscription_health (subscription_id, store_id) SELECT id, store_id FROM s`,
			row.ID, store, row.URL, pgdialect.Array(in.Events), q.sealer.Seal(in.Secret, string(row.ID)), now,
			row.Description, q.sealHeaders(in.Headers, row.ID), pgdialect.Array(row.HeaderNames), row.Filter,
			row.Ordering).Exec(ctx)
		if err != nil {
			return app.Subscription{}, err
		}
		details := map[string]any{"host": hostOf(in.URL), "events": in.Events}
		if in.Filter != nil {
			details["filter"] = *in.Filter
		}
		if row.Ordering != app.OrderingNone {
			details["ordering"] = row.Ordering
		}
		if len(in.Headers) > 0 {
			details["headers"] = row.HeaderNames
		}
		return row.subscription(), pg.Audit(ctx, tx, now, store, by, app.AuditWebhookCreated, string(row.ID), details)
	})
}

// sealHeaders returns the value of the column headers: NULL if there are none.
func (q *Queue) sealHeaders(headers app.WebhookHeaders, id app.SubscriptionID) []byte {
	if len(headers) == 0 {
		return nil
	}
	return q.sealer.Seal(headers.Encode(), string(id))
}

// Subscriptions returns all subscriptions of a store, newest first.
func (q *Queue) Subscriptions(ctx context.Context, store app.StoreID) ([]app.Subscription, error) {
	var rows []subscriptionRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewRaw("SELECT "+subscriptionColumns+" ORDER BY s.created_at DESC, s.id DESC", store).Scan(ctx, &rows)
	})
	subscriptions := make([]app.Subscription, len(rows))
	for i, row := range rows {
		subscriptions[i] = row.subscription()
	}
	return subscriptions, err
}

// Subscription returns a subscription of a store, NOT_FOUND if there is no such subscription.
func (q *Queue) Subscription(ctx context.Context, store app.StoreID, id app.SubscriptionID) (app.Subscription, error) {
	var found app.Subscription
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		found, err = subscription(ctx, tx, store, id)
		return err
	})
	return found, err
}

func subscription(ctx context.Context, tx bun.Tx, store app.StoreID, id app.SubscriptionID) (app.Subscription, error) {
	var row subscriptionRow
	err := tx.NewRaw("SELECT "+subscriptionColumns+" AND s.id = ?", store, id).Scan(ctx, &row)
	return row.subscription(), err
}

// hostOf returns the host of a webhook's URL for the audit trail. The path and the query may contain
// credentials.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil { // app.CheckWebhookURL rejects such a URL
		return ""
	}
	return parsed.Host
}
