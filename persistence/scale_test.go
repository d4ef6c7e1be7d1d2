package persistence_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// However much has been delivered, the relay and the lists read only what they are about:
// counted by PostgreSQL itself, in rows of the table and entries of its indexes. All rows are
// one subscription's, which is what is worst.
func TestReadsStaySmallInLargeTables(t *testing.T) {
	t.Parallel()
	rows := 50_000
	if *long {
		rows = 1_000_000
	}
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	webhook := r.subscribe(t, database, 0, app.EventOrderCreated)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = database.Dispatch(t.Context(), noon, limits) // what opening the restaurant told of
	must(t, err)
	fill(t, owner, r.stores[0], webhook.ID, rows)
	vacuum(t, owner)

	// One connection of each role: what it has read can be told to the last row.
	db, err := persistence.Open(persistence.Config{URL: database.URL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer()})
	must(t, err)
	defer db.Close()
	deliveries := func(filter persistence.DeliveryFilter) func() (int, error) {
		return func() (int, error) {
			list, err := db.Deliveries(t.Context(), r.stores[0], filter, "", 20)
			return len(list), err
		}
	}
	middle := noon.Add(time.Duration(rows/2) * time.Second)
	claims := func(claims []app.Claim, err error) (int, error) { return len(claims), err }
	for _, query := range []struct {
		name string
		run  func() (found int, err error)
		want int // that it finds
		most int // rows and entries that it reads, a delivery's last attempt with it; those that it writes are read, too
	}{
		{"nothing to dispatch", func() (int, error) { d, err := db.Dispatch(t.Context(), middle, limits); return d.Events, err }, 0, 50},
		{"claim what is queued", func() (int, error) {
			return claims(db.ClaimQueued(t.Context(), middle, app.ClaimLimits{Batch: 5, Unproven: 64, Quick: 64, Lease: time.Minute}))
		}, 5, 300},
		{"nothing abandoned", func() (int, error) { return claims(db.ClaimAbandoned(t.Context(), middle, limits)) }, 0, 50},
		{"is anything due", func() (int, error) { due, err := db.HasDue(t.Context(), middle); return toInt(due), err }, 1, 50},
		{"load an attempt", func() (int, error) {
			o, err := db.Outgoing(t.Context(), numbered[app.DeliveryID]("dlv", 7), 1)
			return toInt(o.Recorded != nil), err
		}, 1, 50},
		{"webhooks with their last attempts", func() (int, error) {
			list, err := db.Subscriptions(t.Context(), r.stores[0])
			return len(list), err
		}, 1, 50},
		{"deliveries", deliveries(persistence.DeliveryFilter{}), 20, 100},
		{"deliveries of a webhook", deliveries(persistence.DeliveryFilter{SubscriptionID: webhook.ID}), 20, 100},
		{"deliveries of an event", deliveries(persistence.DeliveryFilter{EventID: numbered[app.EventID]("evt", 7)}), 1, 50},
		{"deliveries of an unknown event", deliveries(persistence.DeliveryFilter{EventID: "evt_unknown"}), 0, 50},
		{"deliveries of a type", deliveries(persistence.DeliveryFilter{EventType: app.EventOrderCreated}), 20, 100},
		{"deliveries that were delivered", deliveries(persistence.DeliveryFilter{Status: app.DeliveryDelivered}), 20, 100},
		{"deliveries that are queued", deliveries(persistence.DeliveryFilter{Status: app.DeliveryQueued}), min(rows/5000-5, 20), rows / 100},
		{"deliveries that are retried", deliveries(persistence.DeliveryFilter{Status: app.DeliveryRetrying}), 20, 100},
		{"dead letters", deliveries(persistence.DeliveryFilter{Status: app.DeliveryDeadLetter}), 20, 100},
		{"cancelled deliveries", deliveries(persistence.DeliveryFilter{Status: app.DeliveryCancelled}), 0, 50},
		{"deliveries under way", deliveries(persistence.DeliveryFilter{Status: app.DeliveryPending}), min(rows/5000+5, 20), rows / 100},
		{"one delivery", func() (int, error) {
			d, err := db.Delivery(t.Context(), r.stores[0], numbered[app.DeliveryID]("dlv", 7))
			return d.Attempts, err
		}, 1, 50},
	} {
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		found, err := query.run()
		must(t, err)
		must(t, db.FlushReads(t.Context()))
		read := reads(t, owner).minus(before)
		if found != query.want || read.sequential > 0 || read.fetched+read.entries > query.most {
			t.Errorf("%s: found %d, read %+v", query.name, found, read)
		}
	}
}

// Tables that PostgreSQL took to be empty when it planned a statement have filled since: a
// delivery still reads its own rows only.
func TestReadsStaySmallInFreshTables(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	webhook := r.subscribe(t, database, 0, app.EventOrderCreated)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	db, err := persistence.Open(persistence.Config{URL: database.URL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer()})
	must(t, err)
	defer db.Close()
	// deliver takes one order to its recorded attempt and returns what that reads.
	deliver := func() tableReads {
		r.place(t, database, 1)
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		dispatched, err := db.Dispatch(t.Context(), noon, app.ClaimLimits{Events: 1000, Batch: 100, Lease: time.Minute}) // all of it is queued
		must(t, err)
		claims, err := db.ClaimQueued(t.Context(), noon, limits)
		must(t, err)
		if len(dispatched.Claims) != 0 || len(claims) != 1 {
			t.Fatalf("claims %+v, then %+v", dispatched.Claims, claims)
		}
		outgoing, err := db.Outgoing(t.Context(), claims[0].ID, 1)
		must(t, err)
		_, err = db.RecordAttempt(t.Context(), app.MadeAttempt{
			DeliveryID: claims[0].ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: noon,
		})
		must(t, err)
		must(t, db.MarkStarted(t.Context(), noon, []app.DeliveryID{claims[0].ID}))
		must(t, db.FlushReads(t.Context()))
		return reads(t, owner).minus(before)
	}
	deliver()
	fill(t, owner, r.stores[0], webhook.ID, 4000)
	_, err = owner.Exec(t.Context(), "UPDATE deliveries SET status = 'delivered'") // what is queued came first
	must(t, err)
	if read := deliver(); read.sequential > 0 || read.fetched+read.entries > 300 {
		t.Errorf("one delivery reads %+v", read)
	}
}

// numbered returns the id that sorts as the n-th.
func numbered[T ~string](prefix string, n int) T { return T(fmt.Sprintf("%s_%09d", prefix, n)) }

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fill writes deliveries, one a second, with an event and an attempt each: nearly all have
// been delivered, a few wait or were given up.
func fill(t *testing.T, owner *pgx.Conn, store app.StoreID, webhook app.SubscriptionID, rows int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, body, occurred_at, dispatched_at)
			SELECT 'evt_' || to_char(n, 'FM000000000'), $1, 'order.created', '{}', $3::timestamptz + n * interval '1 s', $3::timestamptz + n * interval '1 s'
			FROM generate_series(1, $4::int) n WHERE $2::text <> ''`,
		`INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, attempts, scheduled_for, created_at, started_at)
			SELECT 'dlv_' || to_char(n, 'FM000000000'), $1, 'evt_' || to_char(n, 'FM000000000'), $2, 'order.created',
				CASE WHEN n % 5000 = 1 THEN 'queued' WHEN n % 5000 = 2 THEN 'pending' WHEN n % 100 = 3 THEN 'dead_letter' WHEN n % 1000 = 4 THEN 'retrying' ELSE 'delivered' END,
				1, $3::timestamptz, $3::timestamptz + n * interval '1 s', $3::timestamptz
			FROM generate_series(1, $4::int) n`,
		`INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status, status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || to_char(n, 'FM000000000'), $1, 'dlv_' || to_char(n, 'FM000000000'), $2, 'evt_' || to_char(n, 'FM000000000'), 'order.created',
				1, CASE WHEN n % 100 = 3 THEN 'dead_letter' WHEN n % 1000 = 4 THEN 'retrying' ELSE 'delivered' END, 200, 10, '', $3::timestamptz + n * interval '1 s'
			FROM generate_series(1, $4::int) n`,
	} {
		_, err := owner.Exec(t.Context(), statement, store, webhook, noon, rows)
		must(t, err)
	}
}

// vacuum lets PostgreSQL see how large the tables are that deliveries fill.
func vacuum(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	for _, statement := range []string{"VACUUM ANALYZE outbox", "VACUUM ANALYZE deliveries", "VACUUM ANALYZE attempts"} {
		_, err := owner.Exec(t.Context(), statement)
		must(t, err)
	}
}

// tableReads are rows of the large tables that have been read.
type tableReads struct {
	sequential int // from end to end
	fetched    int // by an index
	entries    int // of indexes
}

func (r tableReads) minus(before tableReads) tableReads {
	return tableReads{r.sequential - before.sequential, r.fetched - before.fetched, r.entries - before.entries}
}

func reads(t *testing.T, owner *pgx.Conn) (r tableReads) {
	t.Helper()
	must(t, owner.QueryRow(t.Context(), `SELECT sum(seq_tup_read), sum(idx_tup_fetch),
			(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('outbox', 'deliveries', 'attempts'))
		FROM pg_stat_user_tables WHERE relname IN ('outbox', 'deliveries', 'attempts')`).Scan(&r.sequential, &r.fetched, &r.entries))
	return r
}
