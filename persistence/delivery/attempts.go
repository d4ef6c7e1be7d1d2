package delivery

import (
	"context"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// attemptRow holds the columns of an attempt in a list.
type attemptRow struct {
	bun.BaseModel `bun:"table:attempts,alias:a"`

	ID             app.AttemptID
	DeliveryID     app.DeliveryID
	EventID        app.EventID
	EventType      app.EventType
	Status         app.AttemptStatus
	StatusCode     int
	ResponseTimeMs int64
	Number         int
	Error          string
	NextRetryAt    *time.Time
	AttemptedAt    time.Time
	OrderID        app.OrderID `bun:",scanonly"`
}

// attemptColumns selects the columns of attemptRow from attempts a.
func attemptColumns(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("?TableColumns").ColumnExpr(orderOfEvent).
		Join("LEFT JOIN outbox e ON e.id = a.event_id AND e.store_id = a.store_id")
}

// orderOfEvent selects the order that an event e is about, or "".
const orderOfEvent = `CASE WHEN e.subject LIKE 'ord\_%' THEN e.subject ELSE '' END AS order_id`

func (r attemptRow) attempt() app.Attempt {
	return app.Attempt{
		ID: r.ID, DeliveryID: r.DeliveryID, EventID: r.EventID, EventType: r.EventType, OrderID: r.OrderID,
		Status: r.Status, StatusCode: r.StatusCode, ResponseTimeMs: r.ResponseTimeMs, AttemptNumber: r.Number, Error: r.Error,
		NextRetryAt: pg.TimeOrNil(r.NextRetryAt), DeliveredAt: app.At(r.AttemptedAt),
	}
}

// Attempts returns one page of a subscription's attempts that match a filter, newest first, and the
// total number of matching attempts. Pages are numbered from 1. It returns NOT_FOUND if the store has
// no such subscription.
func (q *Queue) Attempts(ctx context.Context, store app.StoreID, id app.SubscriptionID, filter app.AttemptFilter,
	page, limit int,
) ([]app.Attempt, int, error) {
	var rows []attemptRow
	var total int
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		if err := findSubscription(ctx, tx, store, id); err != nil {
			return err
		}
		// Counting and skipping read only an index. Rows are read for this page only.
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		all, err := attemptFilter(filter).of(tx, store, id).Count(ctx)
		if err != nil {
			return err
		}
		total = int(all)
		const newest = "a.attempted_at DESC, a.id DESC"
		ids := attemptFilter(filter).of(tx, store, id).OrderExpr(newest).Limit(int64(limit)).
			Offset(int64((page - 1) * limit))
		return attemptColumns(tx.NewSelect().Model(&rows)).Where("a.store_id = ? AND a.id IN (?)", store, ids).
			OrderExpr(newest).Scan(ctx)
	})
	attempts := make([]app.Attempt, len(rows))
	for i, row := range rows {
		attempts[i] = row.attempt()
	}
	return attempts, total, err
}

// attemptDetailRow is an attempt with its request and its response.
type attemptDetailRow struct {
	attemptRow

	RequestURL      string              `bun:"request_url"`
	RequestHeaders  map[string][]string `bun:"type:jsonb"`
	RequestBody     *string
	ResponseHeaders map[string][]string `bun:"type:jsonb"`
	ResponseBody    []byte
	BodyKept        bool
}

func (r attemptDetailRow) detail() app.AttemptDetail {
	d := app.AttemptDetail{
		Attempt: r.attempt(),
		Request: app.SentRequest{Method: "POST", URL: r.RequestURL, Headers: r.RequestHeaders, Body: r.RequestBody},
	}
	if r.StatusCode == 0 {
		return d
	}
	d.Response = &app.ReceivedResponse{StatusCode: r.StatusCode, Headers: r.ResponseHeaders, Encoding: app.BodyText}
	if r.BodyKept {
		text := string(r.ResponseBody)
		if !utf8.ValidString(text) {
			text, d.Response.Encoding = base64.StdEncoding.EncodeToString(r.ResponseBody), app.BodyBase64
		}
		d.Response.Body = &text
	}
	return d
}

// AttemptDetail returns an attempt with its request and its response. It omits headers and bodies of an event that is
// about an erased customer. It returns NOT_FOUND if the store has no such subscription, or the subscription has no such
// attempt.
func (q *Queue) AttemptDetail(ctx context.Context, store app.StoreID, subscription app.SubscriptionID,
	id app.AttemptID,
) (app.AttemptDetail, error) {
	var row attemptDetailRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`SELECT a.id, a.delivery_id, a.event_id, a.event_type, a.status, a.status_code,
				a.response_time_ms, a.number, a.error, a.next_retry_at, a.attempted_at, a.request_url, kept.*,
				kept.response_body IS NOT NULL AS body_kept, `+orderOfEvent+`
			FROM attempts a JOIN subscriptions s ON s.id = a.subscription_id AND s.store_id = a.store_id
					AND s.deleted_at IS NULL
				LEFT JOIN outbox e ON e.id = a.event_id AND e.store_id = a.store_id
				LEFT JOIN LATERAL (
					SELECT a.request_headers, e.body AS request_body, a.response_headers, a.response_body
					WHERE e.erasing IS NULL) kept ON true
			WHERE a.store_id = ? AND a.subscription_id = ? AND a.id = ?`, store, subscription, id).Scan(ctx, &row)
	})
	return row.detail(), err
}
