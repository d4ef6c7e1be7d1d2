package persistence

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// attemptRow is an attempt as lists show it.
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
}

func (r attemptRow) attempt() app.Attempt {
	return app.Attempt{
		ID: r.ID, DeliveryID: r.DeliveryID, EventID: r.EventID, EventType: r.EventType, Status: r.Status, StatusCode: r.StatusCode,
		ResponseTimeMs: r.ResponseTimeMs, AttemptNumber: r.Number, Error: r.Error, NextRetryAt: pg.TimeOrNil(r.NextRetryAt),
		DeliveredAt: app.At(r.AttemptedAt),
	}
}

// attemptFilter adds to a query what [app.AttemptFilter] says.
type attemptFilter app.AttemptFilter

// of selects the subscription's attempts that pass the filter, in a store. Those of an event
// are found by its delivery, or as its test.
func (f attemptFilter) of(tx bun.Tx, store app.StoreID, id app.SubscriptionID) *bun.SelectQuery {
	q := tx.NewSelect().TableExpr("attempts AS a").Column("a.id").Where("a.store_id = ? AND a.subscription_id = ?", store, id)
	if f.Status != "" {
		q.Where("a.status = ?", f.Status)
	}
	if f.EventType != "" {
		q.Where("a.event_type = ?", f.EventType)
	}
	if f.EventID != "" {
		q.Where(`a.id IN (
			SELECT made.id FROM deliveries d JOIN attempts made ON made.delivery_id = d.id WHERE d.event_id = ?0 AND d.subscription_id = ?1
			UNION ALL SELECT test.id FROM attempts test WHERE test.event_id = ?0 AND test.delivery_id IS NULL)`, f.EventID, id)
	}
	if f.From != nil {
		q.Where("a.attempted_at >= ?", f.From.Time)
	}
	if f.To != nil {
		q.Where("a.attempted_at < ?", f.To.Time)
	}
	return q
}

// Attempts returns one page of a subscription's attempts that pass a filter, the newest
// first, and how many there are in all. Pages count from 1. NOT_FOUND if the store has no
// such subscription.
func (db *DB) Attempts(ctx context.Context, store app.StoreID, id app.SubscriptionID, filter app.AttemptFilter, page, limit int) ([]app.Attempt, int, error) {
	var rows []attemptRow
	var total int
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		var exists int
		err := tx.NewRaw("SELECT 1 FROM subscriptions WHERE store_id = ? AND id = ? AND deleted_at IS NULL", store, id).Scan(ctx, &exists)
		if err != nil {
			return err
		}
		// To count many, and to skip them, an index is enough: rows are read of this page only.
		if _, err := tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		all, err := attemptFilter(filter).of(tx, store, id).Count(ctx)
		if err != nil {
			return err
		}
		total = int(all)
		const newest = "a.attempted_at DESC, a.id DESC"
		ids := attemptFilter(filter).of(tx, store, id).OrderExpr(newest).Limit(int64(limit)).Offset(int64((page - 1) * limit))
		return tx.NewSelect().Model(&rows).Where("a.store_id = ? AND a.id IN (?)", store, ids).OrderExpr(newest).Scan(ctx)
	})
	attempts := make([]app.Attempt, len(rows))
	for i, row := range rows {
		attempts[i] = row.attempt()
	}
	return attempts, total, err
}

// attemptDetailRow is an attempt with all that is kept of it.
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
	d.Response = &app.ReceivedAnswer{StatusCode: r.StatusCode, Headers: r.ResponseHeaders, Encoding: app.BodyText}
	if r.BodyKept {
		text := string(r.ResponseBody)
		if !utf8.ValidString(text) {
			text, d.Response.Encoding = base64.StdEncoding.EncodeToString(r.ResponseBody), app.BodyBase64
		}
		d.Response.Body = &text
	}
	return d
}

// AttemptDetail returns an attempt in full; NOT_FOUND if the store has no such subscription,
// or that has no such attempt.
func (db *DB) AttemptDetail(ctx context.Context, store app.StoreID, subscription app.SubscriptionID, id app.AttemptID) (app.AttemptDetail, error) {
	var row attemptDetailRow
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(`SELECT a.id, a.delivery_id, a.event_id, a.event_type, a.status, a.status_code, a.response_time_ms, a.number, a.error,
				a.next_retry_at, a.attempted_at, a.request_url, a.request_headers, e.body AS request_body, a.response_headers,
				a.response_body, a.response_body IS NOT NULL AS body_kept
			FROM attempts a JOIN subscriptions s ON s.id = a.subscription_id AND s.store_id = a.store_id AND s.deleted_at IS NULL
				LEFT JOIN outbox e ON e.id = a.event_id AND e.store_id = a.store_id
			WHERE a.store_id = ? AND a.subscription_id = ? AND a.id = ?`, store, subscription, id).Scan(ctx, &row)
	})
	return row.detail(), err
}

// attemptKey names an attempt.
type attemptKey struct {
	delivery app.DeliveryID
	number   int
}

// Outgoing loads what an attempt needs; NOT_FOUND when the delivery's rows are gone. It
// shares its query with the attempts that begin at the same moment.
func (db *DB) Outgoing(ctx context.Context, delivery app.DeliveryID, number int) (app.Outgoing, error) {
	o, err := db.loader.do(ctx, attemptKey{delivery, number})
	if err == nil && o == nil {
		return app.Outgoing{}, app.NotFound()
	}
	if err != nil {
		return app.Outgoing{}, pg.Classify(err)
	}
	return *o, nil
}

// outgoing loads many; what is gone is nil.
func (db *DB) outgoing(ctx context.Context, keys []attemptKey) ([]*app.Outgoing, error) {
	deliveries, numbers := make([]app.DeliveryID, len(keys)), make([]int32, len(keys))
	for i, key := range keys {
		deliveries[i], numbers[i] = key.delivery, int32(key.number)
	}
	rows, err := db.System().DB.QueryContext(ctx, `
		SELECT k.place, d.status, `+outgoingColumns+`
		FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS k (id, number, place)
			JOIN deliveries d ON d.id = k.id JOIN outbox e ON e.id = d.event_id JOIN subscriptions s ON s.id = d.subscription_id
			LEFT JOIN attempts a ON a.delivery_id = d.id AND a.number = k.number`, deliveries, numbers)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	loaded := make([]*app.Outgoing, len(keys))
	stale := map[app.SubscriptionID]bool{}
	for rows.Next() {
		place, o, expired, err := db.scanOutgoing(rows)
		if err != nil {
			return nil, err
		}
		if expired {
			stale[o.SubscriptionID] = true
		}
		if o.Recorded != nil {
			o.Recorded.AttemptNumber = keys[place-1].number
		}
		loaded[place-1] = o
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for id := range stale {
		if err := db.forgetSecret(ctx, id); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// forgetSecret erases a replaced secret that is no longer good.
func (db *DB) forgetSecret(ctx context.Context, id app.SubscriptionID) error {
	_, err := db.System().DB.ExecContext(ctx, `UPDATE subscriptions SET previous_secret = NULL, previous_secret_until = NULL
		WHERE id = $1 AND previous_secret_until <= now()`, id)
	return err
}

// outgoingColumns reads what scanOutgoing takes, from an event e, a subscription s and the
// attempt a if it has been made.
const outgoingColumns = `e.store_id, e.type, e.id, e.occurred_at, e.body, s.id, s.url, s.secret, s.is_active, s.deleted_at IS NOT NULL,
	CASE WHEN s.previous_secret_until > now() THEN s.previous_secret END, coalesce(s.previous_secret_until <= now(), false),
	a.status, a.status_code, a.response_time_ms, a.error, a.attempted_at`

// scanOutgoing reads a row of place, status and outgoingColumns, and whether its subscription
// has a replaced secret that is no longer good.
func (db *DB) scanOutgoing(rows *sql.Rows) (place int, _ *app.Outgoing, expired bool, err error) {
	var o app.Outgoing
	var body, reason *string
	var sealed, previous []byte
	var status *app.AttemptStatus
	var code, ms *int64
	var attemptedAt *time.Time
	err = rows.Scan(&place, &o.Status, &o.StoreID, &o.EventType, &o.EventID, &o.EventAt, &body, &o.SubscriptionID, &o.URL, &sealed, &o.Active, &o.Deleted,
		&previous, &expired, &status, &code, &ms, &reason, &attemptedAt)
	if err != nil {
		return place, nil, false, err
	}
	if body != nil {
		o.Body = []byte(*body)
	}
	if status != nil {
		o.Recorded = &app.Attempt{
			Status: *status, StatusCode: int(*code), ResponseTimeMs: *ms, Error: *reason, DeliveredAt: app.At(*attemptedAt),
		}
	}
	if o.Deleted { // and its secret erased
		return place, &o, false, nil
	}
	if o.Secret, err = db.sealer.Open(sealed, string(o.SubscriptionID)); err == nil && previous != nil {
		o.PreviousSecret, err = db.sealer.Open(previous, string(o.SubscriptionID))
	}
	return place, &o, expired, err
}

// RecordAttempt writes down an attempt, what it means for its delivery, the attempt before
// it and the subscription's health. It is safe to repeat, and shares its statement with
// the attempts that end at the same moment. It reports whether the record is new.
func (db *DB) RecordAttempt(ctx context.Context, record app.MadeAttempt) (bool, error) {
	recorded, err := db.recorder.do(ctx, record)
	return recorded, pg.Classify(err)
}

// slowMemory is how long a subscription counts as slow after its last slow answer.
const slowMemory = time.Minute

func (db *DB) recordAttempts(ctx context.Context, records []app.MadeAttempt) ([]bool, error) {
	rows, err := db.System().DB.QueryContext(ctx, recordStatement, columnsOf(records).args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	recorded := make([]bool, len(records))
	for rows.Next() {
		var place int
		var moved bool
		if err := rows.Scan(&place, &moved); err != nil {
			return nil, err
		}
		recorded[place] = true
		if status := app.DeliveryStatus(records[place].Status); moved && status != app.DeliveryRetrying {
			db.ended(status, 1)
		}
	}
	return recorded, rows.Err()
}

// recordStatement takes one array per column of the new attempts. Health rows are locked
// in the order of their ids, and only those that change. A failure that no watchdog knows
// of orders one.
const recordStatement = `
	WITH r AS MATERIALIZED (
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[], $9::text[],
			$10::int[], $11::bigint[], $12::text[], $13::jsonb[], $14::bytea[], $15::timestamptz[], $16::timestamptz[], $19::text[], $20::jsonb[])
			AS r (place, id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
				status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at, request_url, request_headers)
	), attempt AS (
		INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at, request_url, request_headers)
		SELECT id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, response_headers, response_body, next_retry_at, attempted_at, request_url, request_headers
		FROM r ON CONFLICT (delivery_id, number) DO NOTHING
		RETURNING delivery_id, number
	), fresh AS MATERIALIZED (
		SELECT r.* FROM r JOIN attempt USING (delivery_id, number)
	), before AS (
		UPDATE attempts a SET status = 'failed', next_retry_at = NULL
		FROM fresh f WHERE f.number > 1 AND a.delivery_id = f.delivery_id AND a.number = f.number - 1 AND a.status = 'retrying'
	), delivery AS (
		UPDATE deliveries d SET status = f.status, reason = CASE WHEN f.status = 'dead_letter' THEN f.error ELSE '' END, attempts = greatest(d.attempts, f.number), next_retry_at = f.next_retry_at,
			ended_at = CASE WHEN f.status = 'retrying' THEN NULL ELSE f.attempted_at END
		FROM fresh f WHERE d.id = f.delivery_id AND d.status <> 'cancelled'
		RETURNING d.id
	), outcome AS (
		SELECT subscription_id, bool_or(status = 'delivered') AS succeeded, max(attempted_at) AS at,
			count(*) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failures,
			min(attempted_at) FILTER (WHERE status <> 'delivered' AND place > last_success) AS failing_since,
			bool_or(response_time_ms >= $17::bigint) AS slow
		FROM (SELECT f.*, coalesce(max(place) FILTER (WHERE status = 'delivered') OVER (PARTITION BY subscription_id), -1) AS last_success
			FROM fresh f) f
		GROUP BY subscription_id
	), changing AS MATERIALIZED (
		SELECT h.subscription_id, h.store_id, o.failures > 0 AND (h.watch_at IS NULL OR h.watch_at < o.at - $22::interval) AS unwatched
		FROM subscription_health h JOIN outcome o USING (subscription_id)
		WHERE o.failures > 0 OR o.slow OR h.failure_count > 0 OR h.slow_seen_at < o.at - $18::interval
		ORDER BY h.subscription_id FOR UPDATE OF h
	), health AS (
		UPDATE subscription_health h SET
			failure_count = o.failures + CASE WHEN o.succeeded THEN 0 ELSE h.failure_count END,
			failing_since = CASE WHEN o.failures = 0 AND o.succeeded THEN NULL
				WHEN o.succeeded THEN o.failing_since ELSE coalesce(h.failing_since, o.failing_since) END,
			slow_seen_at = CASE WHEN o.slow THEN o.at WHEN h.slow_seen_at < o.at - $18::interval THEN NULL ELSE h.slow_seen_at END,
			watch_at = CASE WHEN c.unwatched THEN o.at ELSE h.watch_at END
		FROM outcome o, changing c WHERE h.subscription_id = o.subscription_id AND c.subscription_id = h.subscription_id
	), watchdog AS (
		INSERT INTO jobs (id, store_id, kind, subject, created_at, lease_until)
		SELECT 'job_' || uuidv7_hex(), c.store_id, $21, c.subscription_id, o.at, o.at
		FROM changing c JOIN outcome o USING (subscription_id) WHERE c.unwatched
	)
	SELECT f.place, d.id IS NOT NULL FROM fresh f LEFT JOIN delivery d ON d.id = f.delivery_id`

// recordColumns turns records into one array per column.
type recordColumns struct {
	places        []int32
	ids           []app.AttemptID
	stores        []app.StoreID
	deliveries    []app.DeliveryID
	subscriptions []app.SubscriptionID
	events        []app.EventID
	types         []app.EventType
	numbers       []int32
	statuses      []app.AttemptStatus
	codes         []int32
	ms            []int64
	errors        []string
	headers       []*string
	bodies        [][]byte
	nextRetries   []pgtype.Timestamptz
	at            []time.Time
	urls          []string
	sent          []*string
}

func columnsOf(records []app.MadeAttempt) *recordColumns {
	c := &recordColumns{}
	for i, r := range records {
		at := app.At(r.At).Time
		next := pgtype.Timestamptz{}
		if r.Status == app.AttemptRetrying {
			next = pgtype.Timestamptz{Time: at.Add(r.Duration + r.RetryIn), Valid: true}
		}
		c.places = append(c.places, int32(i))
		c.ids = append(c.ids, app.NewID[app.AttemptID](r.At))
		c.stores = append(c.stores, r.Outgoing.StoreID)
		c.deliveries = append(c.deliveries, r.DeliveryID)
		c.subscriptions = append(c.subscriptions, r.Outgoing.SubscriptionID)
		c.events = append(c.events, r.Outgoing.EventID)
		c.types = append(c.types, r.Outgoing.EventType)
		c.numbers = append(c.numbers, int32(r.Number))
		c.statuses = append(c.statuses, r.Status)
		c.codes = append(c.codes, int32(r.StatusCode))
		c.ms = append(c.ms, r.Duration.Milliseconds())
		c.errors = append(c.errors, r.Error)
		c.headers = append(c.headers, jsonOrNil(r.Headers))
		c.bodies = append(c.bodies, r.Body)
		c.nextRetries = append(c.nextRetries, next)
		c.at = append(c.at, at)
		c.urls = append(c.urls, r.Outgoing.URL)
		c.sent = append(c.sent, jsonOrNil(r.Sent))
	}
	return c
}

// jsonOrNil encodes headers; none at all is null. A stranger wrote them, and PostgreSQL
// cannot keep a NUL.
func jsonOrNil(headers map[string][]string) *string {
	if headers == nil {
		return nil
	}
	kept := make(map[string][]string, len(headers))
	for name, values := range headers {
		name = strings.ReplaceAll(name, "\x00", "")
		for _, value := range values {
			kept[name] = append(kept[name], strings.ReplaceAll(value, "\x00", ""))
		}
	}
	encoded, _ := json.Marshal(kept) // never fails for strings
	text := string(encoded)
	return &text
}

func (c *recordColumns) args() []any {
	return []any{
		c.places, c.ids, c.stores, c.deliveries, c.subscriptions, c.events, c.types, c.numbers, c.statuses,
		c.codes, c.ms, c.errors, c.headers, c.bodies, c.nextRetries, c.at, app.SlowResponse.Milliseconds(), slowMemory,
		c.urls, c.sent, app.JobWatchdog, watchOverdue,
	}
}

// EndDelivery ends a delivery without an attempt: as a dead letter or cancelled, for a
// reason. An attempt of it that waits for its retry gets the status dead_letter. A
// delivery that was delivered stays so. What is cancelled once its subscription is deleted
// was cancelled for that.
func (db *DB) EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error {
	var ended int
	err := db.System().DB.QueryRowContext(ctx, `
		WITH d AS (
			UPDATE deliveries SET status = $2, next_retry_at = NULL, ended_at = $4,
				reason = CASE WHEN $2 = 'cancelled' AND EXISTS (
					SELECT FROM subscriptions s WHERE s.id = deliveries.subscription_id AND s.deleted_at IS NOT NULL) THEN $5 ELSE $3 END
			WHERE id = $1 AND status NOT IN ('delivered', 'cancelled') RETURNING id
		), retrying AS (
			UPDATE attempts a SET status = 'dead_letter', next_retry_at = NULL
			FROM d WHERE a.delivery_id = d.id AND a.status = 'retrying'
		)
		SELECT count(*) FROM d`, id, status, reason, app.At(now).Time, app.ReasonDeleted).Scan(&ended)
	if err == nil && ended > 0 {
		db.ended(status, ended)
	}
	return pg.Classify(err)
}
