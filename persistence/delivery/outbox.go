package delivery

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"
	"go.opentelemetry.io/otel/propagation"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// outboxChannel is the notification channel for new work of the relays.
const outboxChannel = "comanda_outbox"

// Emit writes an event in the transaction of the reported change. The transaction must have locked or inserted the row
// of the event's resource, so that positions follow the commits. The commit wakes the relays.
func Emit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType, data any) error {
	_, err := Emitted(ctx, tx, now, store, t, data)
	return err
}

// Emitted is [Emit] that returns the id of the event.
func Emitted(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType,
	data any,
) (app.EventID, error) {
	return emit(ctx, tx, now, store, t, app.SubjectOf(data), data)
}

// EmitPayment is [Emit] for an event about a payment of an order.
func EmitPayment(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType,
	order app.OrderID, data any,
) error {
	_, err := emit(ctx, tx, now, store, t, string(order), data)
	return err
}

var emitStatement = undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject, trace_context)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`)

// undispatched returns a statement that inserts events into the outbox and marks them as not dispatched.
func undispatched(insert string) string {
	return "WITH event AS (" + insert + ` RETURNING id, number, store_id, type, occurred_at)
		INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
		SELECT (SELECT queue_of(s) FROM stores s WHERE s.id = store_id), store_id, number, id, type, occurred_at
		FROM event`
}

// dispatchedEvent is the condition that an event e of the outbox does not wait for its dispatch.
const dispatchedEvent = `NOT EXISTS (SELECT FROM undispatched u
	WHERE u.queue = (SELECT queue_of(s) FROM stores s WHERE s.id = e.store_id)
		AND u.store_id = e.store_id AND u.number = e.number)`

func emit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, t app.EventType, subject string,
	data any,
) (app.EventID, error) {
	event, err := app.NewEvent(t, store, now, data)
	if err != nil {
		return "", err
	}
	_, err = tx.Tx.ExecContext(ctx, emitStatement, event.ID, store, event.Type, string(event.Body), event.At.Time,
		subject, traceContext(ctx))
	if err != nil {
		return "", err
	}
	return event.ID, wakeRelays(ctx)
}

// traceContext returns the current span of ctx as the header traceparent (W3C Trace Context), nil without one.
func traceContext(ctx context.Context) *string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if header, ok := carrier["traceparent"]; ok {
		return &header
	}
	return nil
}

// jobsPayload is the payload of notifications of jobs. Those of events and deliveries have none.
const jobsPayload = "jobs"

// wakeRelays notifies the relays after the transaction of ctx is committed. Relays also poll for work,
// see workflows.Relay.
func wakeRelays(ctx context.Context) error { return pg.Notify(ctx, outboxChannel, "") }

// wakeJobs is wakeRelays for jobs.
func wakeJobs(ctx context.Context) error { return pg.Notify(ctx, outboxChannel, jobsPayload) }

// relayLocks is the class of the advisory locks of relays. The session in which a relay listens has a lock on the key
// of its claims. If the relay dies, PostgreSQL ends the session, and other relays release the claims.
const relayLocks = 0x72656c61

// Listen listens to notifications of new work. It calls relay for events and deliveries, and jobs for jobs: both when
// it begins to receive notifications, and then one of them for each. It returns when the connection breaks or ctx is
// done. Other relays take over this relay's claims from then on.
func (q *Queue) Listen(ctx context.Context, relay, jobs func()) error {
	key := rand.Int32N(math.MaxInt32) + 1 //nolint:gosec // not a secret
	defer q.session.Store(0)
	q.filters.onReady(relay)
	began := func() {
		q.session.Store(key)
		relay()
		jobs()
	}
	return q.pg.Listen(ctx, pg.RoleSystem, outboxChannel, began, func(payload string) {
		if payload == jobsPayload {
			jobs()
		} else {
			relay()
		}
	}, fmt.Sprintf("SELECT pg_advisory_lock(%d, %d)", relayLocks, key))
}

// leasing returns the relay of new claims, or nil. Without it, they are taken over when their leases end.
func (q *Queue) leasing() *int32 {
	if key := q.session.Load(); key != 0 {
		return &key
	}
	return nil
}
