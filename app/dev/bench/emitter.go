package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
)

const (
	// insertSize is the number of events in one INSERT.
	insertSize = 2000
	// noteSize makes the body of an event about as large as that of an order.
	noteSize = 800
)

// emitter commits events without orders, many in one transaction: more than 10,000 per second, so that it never limits
// a measurement. It has one PostgreSQL session, whose CPU time is measured separately.
type emitter struct {
	lock sync.Mutex // of the connection
	conn *pgx.Conn
}

func newEmitter(ctx context.Context, url string) (*emitter, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["role"] = "comanda_system"
	conn, err := pgx.ConnectConfig(ctx, config)
	return &emitter{conn: conn}, err
}

func (e *emitter) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	e.conn.Close(ctx)
}

// scan runs a query that returns one value.
func (e *emitter) scan(ctx context.Context, value any, query string, args ...any) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.conn.QueryRow(ctx, query, args...).Scan(value)
}

// event is an event to commit.
type event struct {
	subject  string // identifies the event at its receivers
	resource string // orders its deliveries to ordered webhooks
	to       *tenant
	app.Event
}

// sent is a committed event.
type sent struct {
	subject string
	to      *tenant
	at      time.Time // of the commit
}

// deliveries returns the deliveries of an event.
func (s sent) deliveries() []delivery {
	all := make([]delivery, len(s.to.webhooks))
	for i, w := range s.to.webhooks {
		all[i] = delivery{s.subject, w.number}
	}
	return all
}

// deliveriesOf counts the deliveries of events.
func deliveriesOf(events []event) (n int) {
	for _, e := range events {
		n += len(e.to.webhooks)
	}
	return n
}

// newEvents returns n events, of each tenant in turn.
func newEvents(of []*tenant, n int) []event {
	events := make([]event, n)
	for i := range events {
		events[i] = newEvent(of[i%len(of)])
	}
	return events
}

// newEvent returns an event of a new order.
func newEvent(of *tenant) event {
	return newEventOf(of, string(app.NewID[app.OrderID](time.Now())))
}

// newEventOf returns an event of an order.
func newEventOf(of *tenant, order string) event {
	now := time.Now()
	subject := string(app.NewID[app.OrderID](now))
	data := map[string]string{"id": subject, "note": strings.Repeat(".", noteSize)}
	made, err := app.NewEvent(app.EventOrderCreated, of.store, now, data)
	if err != nil {
		panic(err) // a map of strings can be encoded
	}
	return event{subject, order, of, made}
}

// newOrders returns perOrder events of each of n orders, of each tenant in turn. The next event of an order follows
// those of all other orders.
func newOrders(of []*tenant, n, perOrder int) (events []event) {
	orders := newEvents(of, n)
	for range perOrder {
		for _, first := range orders {
			events = append(events, newEventOf(first.to, first.resource))
		}
	}
	return events
}

// commit commits events in one transaction and calls ready, unless it is nil, immediately before the commit. The relays
// therefore see all events together, after all work to write them is done.
func (e *emitter) commit(ctx context.Context, events []event, ready func() error) (at time.Time, err error) {
	e.lock.Lock()
	defer e.lock.Unlock()
	tx, err := e.conn.Begin(ctx)
	if err != nil {
		return at, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	for rest := events; len(rest) > 0; {
		n := min(len(rest), insertSize)
		if err := insert(ctx, tx, rest[:n]); err != nil {
			return at, fmt.Errorf("emit events: %w", err)
		}
		rest = rest[n:]
	}
	if ready != nil {
		if err := ready(); err != nil {
			return at, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return at, err
	}
	at = time.Now()
	_, err = e.conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify('comanda_outbox', '')")
	return at, err
}

func insert(ctx context.Context, tx pgx.Tx, events []event) error {
	var ids, stores, resources, bodies []string
	var at []time.Time
	for _, e := range events {
		ids, stores = append(ids, string(e.ID)), append(stores, string(e.StoreID))
		resources = append(resources, e.resource)
		bodies, at = append(bodies, string(e.Body)), append(at, e.At.Time)
	}
	_, err := tx.Exec(ctx, `
		WITH event AS (
			INSERT INTO outbox (id, store_id, type, subject, body, occurred_at)
			SELECT e.id, e.store, $1, e.resource, e.body, e.at
			FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
				AS e (id, store, resource, body, at)
			RETURNING id, number, store_id, type, occurred_at
		)
		INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
		SELECT (SELECT queue_of(s) FROM stores s WHERE s.id = store_id), store_id, number, id, type, occurred_at
		FROM event`,
		app.EventOrderCreated, ids, stores, resources, bodies, at)
	return err
}
