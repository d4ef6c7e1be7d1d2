package delivery

import (
	"context"
	"database/sql"
	_ "embed" // for the statement
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// RecordAttempt records an attempt and updates its delivery, the previous attempt and the health of
// the subscription. It reports whether the record is new; a repeated call changes nothing, and neither
// does an attempt before a replay that is in progress. Concurrent calls share a statement.
func (q *Queue) RecordAttempt(ctx context.Context, record app.MadeAttempt) (bool, error) {
	recorded, err := q.recorder.do(ctx, record)
	return recorded, pg.Classify(err)
}

// recordOwner returns the subscription whose rows the record of an attempt locks: its health, a delivery and a turn.
func recordOwner(record app.MadeAttempt) string { return string(record.Outgoing.SubscriptionID) }

func (q *Queue) recordAttempts(ctx context.Context, records []app.MadeAttempt) ([]bool, error) {
	rows, err := q.attempts.System().DB.QueryContext(ctx, recordStatement, columnsOf(records).args(q.policy)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	recorded := make([]bool, len(records))
	var changed []changedEvent
	var passed bool
	for rows.Next() {
		var place int
		var moved, passes bool
		if err := rows.Scan(&place, &moved, &passes); err != nil {
			return nil, err
		}
		passed = passed || passes
		recorded[place] = true
		if out := records[place].Outgoing; moved {
			changed = append(changed, changedEvent{out.EventID, out.StoreID, out.EventType})
		}
		if status := app.DeliveryStatus(records[place].Status); moved && status != app.DeliveryRetrying {
			q.ended(status, 1)
		}
	}
	if err := rows.Err(); err != nil {
		return recorded, err
	}
	q.notifyOrders(changed...)
	if passed {
		q.turnPassed()
	}
	return recorded, nil
}

// recordStatement records a batch of attempts. The file documents its parameters.
//
//go:embed queries/record_attempts.sql
var recordStatement string

// recordColumns are the columns of a batch of attempts, one array each.
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
	replays       []int32
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
		c.replays = append(c.replays, int32(r.Outgoing.Replays))
	}
	return c
}

func (c *recordColumns) args(policy Policy) []any {
	return []any{
		c.places, c.ids, c.stores, c.deliveries, c.subscriptions, c.events, c.types, c.numbers, c.statuses,
		c.codes, c.ms, c.errors, c.headers, c.bodies, c.nextRetries, c.at, app.SlowResponse.Milliseconds(),
		policy.SlowMemory, c.urls, c.sent, app.JobWatchdog, policy.WatchOverdue, policy.QuickRelief,
		c.replays,
	}
}

// EndDelivery ends a delivery without an attempt, as a dead letter or cancelled. An attempt with a pending retry gets
// the status dead_letter. A delivered or cancelled delivery stays as it is, and so does one that a replay has queued:
// the end is that of an earlier run. If the subscription is deleted, a queued replay ends too, and the reason of a
// cancelled delivery is always [app.ReasonDeleted]. A claim that ends before its attempt is not counted for the plan.
func (q *Queue) EndDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus,
	reason string,
) error {
	return q.endDelivery(ctx, now, id, status, reason, sql.NullInt64{})
}

// EndLoaded is EndDelivery for a delivery that was loaded after a number of replays. After a further replay it changes
// nothing: a worker that was suspended must not end the replay.
func (q *Queue) EndLoaded(ctx context.Context, now time.Time, id app.DeliveryID, replays int,
	status app.DeliveryStatus, reason string,
) error {
	return q.endDelivery(ctx, now, id, status, reason, sql.NullInt64{Int64: int64(replays), Valid: true})
}

func (q *Queue) endDelivery(ctx context.Context, now time.Time, id app.DeliveryID, status app.DeliveryStatus,
	reason string, replays sql.NullInt64,
) error {
	var event changedEvent
	var ended int
	var ordered bool
	err := q.attempts.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		ended = 0
		var from app.DeliveryStatus
		var replay bool
		err := tx.Tx.QueryRowContext(ctx, `SELECT status, class = 2 AND NOT EXISTS (
				SELECT FROM subscriptions s WHERE s.id = deliveries.subscription_id AND s.deleted_at IS NOT NULL),
				event_id, store_id, event_type
			FROM deliveries WHERE id = $1 AND ($2::int IS NULL OR replays <= $2) FOR UPDATE`, id, replays).
			Scan(&from, &replay, &event.ID, &event.StoreID, &event.Type)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if from == app.DeliveryDelivered || from == app.DeliveryCancelled || from == app.DeliveryQueued && replay {
			return nil
		}
		// A separate statement sees the attempts that were committed before the delivery was locked.
		return tx.Tx.QueryRowContext(ctx, endStatement, id, status, reason, app.At(now).Time, app.ReasonDeleted,
			from == app.DeliveryPending).Scan(&ended, &ordered)
	})
	if err == nil && ended > 0 {
		if ordered {
			q.turnPassed()
		}
		q.ended(status, ended)
		q.notifyOrders(event)
	}
	return err
}

const endStatement = `WITH d AS (
		UPDATE deliveries SET status = $2, next_retry_at = NULL, ended_at = $4,
			reason = CASE WHEN $2 = 'cancelled' AND EXISTS (
				SELECT FROM subscriptions s WHERE s.id = deliveries.subscription_id AND s.deleted_at IS NOT NULL)
					THEN $5 ELSE $3 END
		WHERE id = $1 RETURNING id, class, queue, attempts, schedule_base, counted_in, ordered
	), retrying AS (
		UPDATE attempts a SET status = 'dead_letter', next_retry_at = NULL
		FROM d WHERE a.delivery_id = d.id AND a.status = 'retrying'
	), uncounted AS (
		UPDATE plan_windows w SET started = w.started - 1,
			replays_started = w.replays_started - CASE WHEN d.class = 2 THEN 1 ELSE 0 END
		FROM d WHERE $6 AND d.attempts = d.schedule_base AND w.queue = d.queue AND w.starts_at = d.counted_in
	)
	SELECT count(*), coalesce(bool_or(ordered), false) FROM d`
