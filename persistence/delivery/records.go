package delivery

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// RecordAttempt writes down an attempt, what it means for its delivery, the attempt before
// it and the subscription's health. It is safe to repeat, and shares its statement with
// the attempts that end at the same moment. It reports whether the record is new.
func (q *Queue) RecordAttempt(ctx context.Context, record app.MadeAttempt) (bool, error) {
	recorded, err := q.recorder.do(ctx, record)
	return recorded, pg.Classify(err)
}

func (q *Queue) recordAttempts(ctx context.Context, records []app.MadeAttempt) ([]bool, error) {
	rows, err := q.pg.System().DB.QueryContext(ctx, recordStatement, columnsOf(records).args(q.policy)...)
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
			q.ended(status, 1)
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

func (c *recordColumns) args(policy Policy) []any {
	return []any{
		c.places, c.ids, c.stores, c.deliveries, c.subscriptions, c.events, c.types, c.numbers, c.statuses,
		c.codes, c.ms, c.errors, c.headers, c.bodies, c.nextRetries, c.at, app.SlowResponse.Milliseconds(), policy.SlowMemory,
		c.urls, c.sent, app.JobWatchdog, policy.WatchOverdue,
	}
}

// EndDelivery ends a delivery without an attempt: as a dead letter or cancelled, for a
// reason. An attempt of it that waits for its retry gets the status dead_letter. A
// delivery that was delivered stays so. What is cancelled once its subscription is deleted
// was cancelled for that.
func (q *Queue) EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string) error {
	var ended int
	err := q.pg.System().DB.QueryRowContext(ctx, `
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
		q.ended(status, ended)
	}
	return pg.Classify(err)
}
