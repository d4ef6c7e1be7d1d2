package delivery

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// attemptKey identifies an attempt.
type attemptKey struct {
	delivery app.DeliveryID
	number   int
}

// sentBody is the body of event e for delivery d. A replay does not send erased data.
const sentBody = `CASE WHEN e.erasing IS NULL OR d.ended_at IS NULL THEN e.body END`

// Outgoing loads the data of an attempt, NOT_FOUND if there is no such delivery. Concurrent calls
// share a query. It does not load a large body, see [Queue.OutgoingBody].
func (q *Queue) Outgoing(ctx context.Context, delivery app.DeliveryID, number int) (app.Outgoing, error) {
	o, err := q.loader.do(ctx, attemptKey{delivery, number})
	if err == nil && o == nil {
		return app.Outgoing{}, app.NotFound()
	}
	if err != nil {
		return app.Outgoing{}, pg.Classify(err)
	}
	return *o, nil
}

// OutgoingAll loads the data of attempts with the same number, in the order of the deliveries. The
// result is nil for a delivery that does not exist. It does not share its query.
func (q *Queue) OutgoingAll(ctx context.Context, deliveries []app.DeliveryID, number int) ([]*app.Outgoing, error) {
	keys := make([]attemptKey, len(deliveries))
	for i, id := range deliveries {
		keys[i] = attemptKey{id, number}
	}
	loaded, err := q.outgoing(ctx, keys)
	return loaded, pg.Classify(err)
}

// outgoing loads the data of many attempts. The result is nil for a delivery that does not exist.
func (q *Queue) outgoing(ctx context.Context, keys []attemptKey) ([]*app.Outgoing, error) {
	deliveries, numbers := make([]app.DeliveryID, len(keys)), make([]int32, len(keys))
	for i, key := range keys {
		deliveries[i], numbers[i] = key.delivery, int32(key.number)
	}
	rows, err := q.attempts.System().DB.QueryContext(ctx, `
		SELECT k.place, d.status, d.replays,
			CASE WHEN d.ordered THEN `+othersWait+` ELSE false END,
			CASE WHEN octet_length(`+sentBody+`) <= $3 THEN e.body END,
			CASE WHEN octet_length(`+sentBody+`) > $3 THEN octet_length(e.body) ELSE 0 END,
			`+outgoingColumns+`
		FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS k (id, number, place)
			JOIN deliveries d ON d.id = k.id JOIN outbox e ON e.id = d.event_id
				JOIN subscriptions s ON s.id = d.subscription_id
			LEFT JOIN attempts a ON a.delivery_id = d.id AND a.number = k.number`, deliveries, numbers,
		q.policy.SmallBody)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	loaded := make([]*app.Outgoing, len(keys))
	stale := map[app.SubscriptionID]bool{}
	for rows.Next() {
		place, o, expired, err := q.scanOutgoing(rows)
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
	if len(stale) > 0 {
		return loaded, q.forgetSecrets(ctx, slices.Collect(maps.Keys(stale)))
	}
	return loaded, nil
}

// OutgoingBody loads the large body of an attempt, nil if it has been erased. Concurrent calls share a query.
func (q *Queue) OutgoingBody(ctx context.Context, delivery app.DeliveryID) ([]byte, error) {
	body, err := q.bodies.do(ctx, delivery)
	return body, pg.Classify(err)
}

func (q *Queue) outgoingBodies(ctx context.Context, deliveries []app.DeliveryID) ([][]byte, error) {
	rows, err := q.attempts.System().DB.QueryContext(ctx, `
		SELECT k.place, `+sentBody+` FROM unnest($1::text[]) WITH ORDINALITY AS k (id, place)
			JOIN deliveries d ON d.id = k.id JOIN outbox e ON e.id = d.event_id`, deliveries)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	bodies := make([][]byte, len(deliveries))
	for rows.Next() {
		var place int
		var body []byte
		if err := rows.Scan(&place, &body); err != nil {
			return nil, err
		}
		bodies[place-1] = body
	}
	return bodies, rows.Err()
}

// othersWait is the condition that other deliveries wait for the turn of an ordered one d. The bound on a row of
// columns keeps the planner from other indexes, as in candidates.sql.
const othersWait = `EXISTS (SELECT FROM (SELECT o.queue, o.subscription_id, o.resource FROM deliveries o
		WHERE o.status = 'queued' AND o.held
			AND (o.queue, o.subscription_id, o.resource) >= (d.queue, d.subscription_id, d.resource)
		ORDER BY o.queue, o.subscription_id, o.resource LIMIT 1) o
	WHERE o.queue = d.queue AND o.subscription_id = d.subscription_id AND o.resource = d.resource)`

// forgetSecrets erases the previous secrets of subscriptions whose overlap has ended. A later load erases those of
// locked rows: a wait would delay the attempts of other subscriptions.
func (q *Queue) forgetSecrets(ctx context.Context, ids []app.SubscriptionID) error {
	_, err := q.attempts.System().DB.ExecContext(ctx, `UPDATE subscriptions
		SET previous_secret = NULL, previous_secret_until = NULL
		WHERE id IN (SELECT id FROM subscriptions WHERE id = ANY ($1) AND previous_secret_until <= now()
			FOR NO KEY UPDATE SKIP LOCKED)`, ids)
	return err
}

// outgoingColumns are columns that scanOutgoing reads: of an event e, a subscription s and, if the
// attempt is already recorded, an attempt a.
const outgoingColumns = `e.store_id, e.type, e.id, e.occurred_at, e.trace_context, e.subject,
	coalesce((SELECT l.position FROM event_log l WHERE l.id = e.id AND l.store_id = e.store_id), 0),
	s.id, s.url, s.secret, s.is_active, s.deleted_at IS NOT NULL,
	CASE WHEN s.previous_secret_until > now() THEN s.previous_secret END,
	coalesce(s.previous_secret_until <= now(), false), s.headers,
	a.status, a.status_code, a.response_time_ms, a.error, a.attempted_at`

// scanOutgoing reads a row of place, status, replays, awaited, body, unloaded and outgoingColumns. expired
// reports whether the overlap of the subscription's previous secret has ended.
func (q *Queue) scanOutgoing(rows *sql.Rows) (place int, _ *app.Outgoing, expired bool, err error) {
	var o app.Outgoing
	var body, trace, reason *string
	var subject string
	var sealed, previous, headers []byte
	var status *app.AttemptStatus
	var code, ms *int64
	var attemptedAt *time.Time
	err = rows.Scan(&place, &o.Status, &o.Replays, &o.Awaited, &body, &o.Unloaded,
		&o.StoreID, &o.EventType, &o.EventID, &o.EventAt, &trace, &subject, &o.Position,
		&o.SubscriptionID, &o.URL, &sealed, &o.Active, &o.Deleted, &previous, &expired,
		&headers, &status, &code, &ms, &reason, &attemptedAt)
	if err != nil {
		return place, nil, false, err
	}
	if body != nil {
		o.Body = []byte(*body)
	}
	if trace != nil {
		o.TraceContext = *trace
	}
	o.Resource = o.EventType.Resource(subject)
	if status != nil {
		o.Recorded = &app.Attempt{
			Status: *status, StatusCode: int(*code), ResponseTimeMs: *ms, Error: *reason,
			DeliveredAt: app.At(*attemptedAt),
		}
	}
	if o.Deleted { // its secret is erased
		return place, &o, false, nil
	}
	o.Secret, err = q.sealer.Open(sealed, string(o.SubscriptionID))
	if err == nil && previous != nil {
		o.PreviousSecret, err = q.sealer.Open(previous, string(o.SubscriptionID))
	}
	if err == nil && headers != nil {
		o.Headers, err = q.openHeaders(headers, o.SubscriptionID)
	}
	if err != nil { // only this subscription fails, not the other attempts of the group
		o.Unreadable, o.Secret, o.PreviousSecret, o.Headers = true, app.Secret{}, app.Secret{}, nil
	}
	return place, &o, expired, nil
}

func (q *Queue) openHeaders(sealed []byte, id app.SubscriptionID) (app.WebhookHeaders, error) {
	opened, err := q.sealer.Open(sealed, string(id))
	if err != nil {
		return nil, err
	}
	return app.DecodeWebhookHeaders(opened)
}
