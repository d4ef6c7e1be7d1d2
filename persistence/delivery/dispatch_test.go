package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// chains creates websites with stores, webhooks of each store, and undispatched events of each store. prefix starts the
// ids of the websites and of the stores.
func (r restaurant) chains(t *testing.T, db *persistencetest.Database, prefix string,
	websites, stores, webhooks, events int,
) {
	t.Helper()
	seed(t, db, `INSERT INTO websites SELECT (jsonb_populate_record(w, jsonb_build_object(
			'id', $1::text || n, 'domain', $1::text || n || '.example'))).*
		FROM websites w, generate_series(1, $2::int) n WHERE w.id = $3`, prefix, websites, r.Website)
	seed(t, db, `INSERT INTO stores SELECT (jsonb_populate_record(s, jsonb_build_object(
			'id', $1::text || n || '_' || m, 'website_id', $1::text || n))).*
		FROM stores s, generate_series(1, $2::int) n, generate_series(1, $3::int) m WHERE s.id = $4`,
		prefix, websites, stores, r.Stores[0])
	seed(t, db, `INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
		SELECT 'sub_' || s.id || '_' || n, s.id, 'https://receiver.example', '{order.created}', '', now(), now()
		FROM stores s, generate_series(1, $2::int) n WHERE s.id LIKE $1::text || '%'`, prefix, webhooks)
	seed(t, db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_' || s.id || lpad(n::text, 9, '0'), s.id, 'order.created', '{}', $3
		FROM stores s, generate_series(1, $2::int) n WHERE s.id LIKE $1::text || '%'`), prefix, events, noon)
}

// dispatchedOf counts the dispatched events of each store whose id has a prefix.
func dispatchedOf(t *testing.T, db *persistencetest.Database, prefix string) map[app.StoreID]int {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(),
		"SELECT store_id, count(*) FROM event_log WHERE store_id LIKE $1 || '%' GROUP BY store_id", prefix)
	must(t, err)
	defer rows.Close()
	counts := map[app.StoreID]int{}
	for rows.Next() {
		var store app.StoreID
		var n int
		must(t, rows.Scan(&store, &n))
		counts[store] = n
	}
	must(t, rows.Err())
	return counts
}

// A store with a large backlog does not delay the events of other stores. One dispatch writes a bounded number of rows.
func TestQuietStoresAreDispatchedBesideABacklog(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	dispatchAll(t, db)
	r.chains(t, db, "noisy", 1, 1, app.MaxSubscriptions, 5000)
	r.chains(t, db, "quiet", 50, 1, 1, 1)
	const limit = 1000
	got, err := db.Dispatch(t.Context(), noon, limit)
	must(t, err)
	if n := len(dispatchedOf(t, db, "quiet")); n != 50 {
		t.Errorf("quiet stores with a dispatched event after one dispatch: got %d, want 50", n)
	}
	if rows := got.Events + got.Deliveries; rows > limit || !got.More {
		t.Errorf("dispatch: got %+v, want at most %d rows, and more", got, limit)
	}
	got, err = db.Dispatch(t.Context(), noon, limit)
	must(t, err)
	if want := (app.Dispatched{Events: 9, Deliveries: 900, More: true}); got != want {
		t.Errorf("dispatch of the remaining store: got %+v, want %+v", got, want)
	}
}

// Websites and their stores take turns also if one dispatch cannot read all of them, or not even dispatch their first
// events.
func TestDispatchTakesTurns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ queues, stores, websites, chain, webhooks, limit, dispatches int }{
		"one dispatch reads some stores of some websites": {2, 4, 5, 5, 0, 4, 8},
		"one dispatch reads some stores of a website":     {64, 4, 1, 11, 0, 100, 3},
		"the first events of some websites fill it":       {64, 256, 9, 1, 20, 50, 3},
		"the first events of some stores fill it":         {64, 256, 2, 9, 20, 50, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			dispatchAll(t, db)
			r.chains(t, db, "chain", test.websites, test.chain, test.webhooks, 200)
			q := withPolicy(t, db, func(p *delivery.Policy) {
				p.DispatchQueues, p.DispatchStores = test.queues, test.stores
			})
			for i := range test.dispatches {
				got, err := q.Dispatch(t.Context(), noon, test.limit)
				must(t, err)
				if most := 2*test.limit + test.webhooks + 1; got.Events+got.Deliveries > most || !got.More {
					t.Errorf("dispatch %d: got %+v, want at most %d rows, and more", i, got, most)
				}
			}
			if n := len(dispatchedOf(t, db, "chain")); n != test.websites*test.chain {
				t.Errorf("stores with a dispatched event: got %d, want %d", n, test.websites*test.chain)
			}
		})
	}
}

// A website with many stores gets as much of a dispatch as a website with one.
func TestWebsitesShareADispatch(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	dispatchAll(t, db)
	r.chains(t, db, "many", 1, 50, 1, 100)
	r.chains(t, db, "single", 1, 1, 1, 2000)
	_, err := db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	many := 0
	for _, n := range dispatchedOf(t, db, "many") {
		many += n
	}
	if single := dispatchedOf(t, db, "single")["single1_1"]; many != 250 || single != 250 {
		t.Errorf("events with one delivery each: got %d of fifty stores and %d of one, want 250 each", many, single)
	}
}

// A relay leaves the stores that another relay is dispatching to it, and dispatches all others. If that relay dies, its
// events are dispatched as if it had never begun.
func TestRelaysDispatchDifferentStores(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	dispatchAll(t, db)
	const stores, webhooks, limit = 6, 20, 30 // the first events of two stores fill a dispatch
	r.chains(t, db, "store", stores, 1, webhooks, 10)
	change(t, db, "INSERT INTO event_heads (store_id, position, previous, taken) VALUES ('store1_1', 0, 0, 0)")
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	blocking, err := owner.Begin(t.Context())
	must(t, err)
	_, err = blocking.Exec(t.Context(), "SELECT FROM event_heads WHERE store_id = 'store1_1' FOR UPDATE")
	must(t, err)
	first := make(chan error)
	go func() {
		_, err := db.Dispatch(t.Context(), noon, limit)
		first <- err
	}()
	waitForLocks(t, db, 1)
	second := withPolicy(t, db, func(*delivery.Policy) {})
	for got := (app.Dispatched{More: true}); got.More; {
		got, err = second.Dispatch(t.Context(), noon, limit)
		must(t, err)
	}
	if got := dispatchedOf(t, db, "store"); len(got) != stores-2 || got["store6_1"] != 10 {
		t.Errorf("events of the stores that no other relay dispatches: got %v, want 10 of each of %d", got, stores-2)
	}
	seed(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	if err := <-first; err == nil {
		t.Error("dispatch of the relay that dies: got no error, want one")
	}
	must(t, blocking.Rollback(t.Context()))
	for count(t, db, `SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
		WHERE datname = current_database() AND locktype = 'advisory'`) > 0 {
		time.Sleep(time.Millisecond)
	}
	for got := (app.Dispatched{More: true}); got.More; {
		got, err = second.Dispatch(t.Context(), noon, limit)
		must(t, err)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries"); n != stores*10*webhooks {
		t.Errorf("deliveries: got %d, want %d", n, stores*10*webhooks)
	}
	if got := dispatchedOf(t, db, "store"); len(got) != stores || got["store1_1"] != 10 {
		t.Errorf("dispatched events: got %v, want 10 of each of %d", got, stores)
	}
}

// Several relays dispatch a store while webhooks are created. An event has a delivery for each webhook that was created
// before it, and for no webhook without those that are older.
func TestWebhooksCreatedDuringDispatch(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	stop, relays := make(chan struct{}), make(chan error, 3)
	for range cap(relays) {
		q := withPolicy(t, db, func(*delivery.Policy) {})
		go func() {
			for {
				select {
				case <-stop:
					relays <- nil
					return
				default:
				}
				if _, err := q.Dispatch(t.Context(), noon, 20); err != nil {
					relays <- err
					return
				}
			}
		}()
	}
	var webhooks []string
	older := map[app.EventID]int{} // webhooks that were created before the event
	for range 15 {
		for range 8 {
			older[emitAt(t, db, store, app.EventOrderCreated, time.Now())] = len(webhooks)
		}
		webhooks = append(webhooks, string(r.Subscribe(t, db, 0, app.EventOrderCreated).ID))
	}
	for count(t, db, "SELECT count(*) FROM undispatched") > 0 {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	for range cap(relays) {
		must(t, <-relays)
	}
	for event, least := range older {
		var got string
		must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT coalesce(string_agg(d.subscription_id, ' '
				ORDER BY s.created_at, s.id), '') FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
			WHERE d.event_id = $1`, event).Scan(&got))
		received := strings.Fields(got)
		slices.Sort(received)
		if n := len(received); n < least || !slices.Equal(received, slices.Sorted(slices.Values(webhooks[:n]))) {
			t.Errorf("event %s: got deliveries to %v, want the first %d or more of %v", event, received, least,
				webhooks)
		}
	}
	if n := len(eventIDs(listed(t, db, store, app.EventFilter{Types: []app.EventType{app.EventOrderCreated}}, true,
		0))); n != len(older) {
		t.Errorf("events with a position: got %d, want %d", n, len(older))
	}
}

// Dispatch does not wait for events that an erasure has locked, and keeps their order.
func TestDispatchOfLockedEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	dispatchAll(t, db)
	head, err := db.EventHead(t.Context(), store)
	must(t, err)
	var events []app.EventID
	for i := range 3 {
		events = append(events, emitAt(t, db, store, app.EventOrderCreated, noon.Add(time.Duration(i)*time.Second)))
	}
	erasure, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer erasure.Rollback()
	_, err = erasure.ExecContext(t.Context(), "UPDATE outbox SET erasing = 'cus_1' WHERE id = $1", events[0])
	must(t, err)
	dispatchAll(t, db)
	if diff := gocmp.Diff(events, eventIDs(listed(t, db, store, app.EventFilter{}, true, head))); diff != "" {
		t.Errorf("dispatched events (-want +got):\n%s", diff)
	}
}

// A dispatch reads the index entries of a store's dispatched events, which remain until the next vacuum, once.
func TestDispatchReadsDeletedEntriesOnce(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = owner.Exec(t.Context(), "ALTER TABLE undispatched SET (autovacuum_enabled = off)")
	must(t, err)
	emit(t, database, app.EventOrderCreated, 10_000, r.Stores[0])
	dispatchAll(t, database)
	emit(t, database, app.EventOrderCreated, 1, r.Stores[0])
	endOthers(t, owner)
	// With one connection per role, the counters contain all reads of the dispatch.
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	pages := func(statement string) (n int) {
		must(t, db.FlushReads(t.Context()))
		must(t, owner.QueryRow(t.Context(), statement).Scan(&n))
		return n
	}
	const read = "SELECT idx_blks_hit + idx_blks_read FROM pg_statio_user_tables WHERE relname = 'undispatched'"
	before := pages(read)
	got, err := db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	size := pages("SELECT pg_relation_size('undispatched_pkey') / 8192")
	// The statement also goes from the root of the index to a leaf several times.
	if n := pages(read) - before; got.Events != 1 || n >= 2*size {
		t.Errorf("dispatch of %d event: got %d pages of an index of %d, want one event and each page once",
			got.Events, n, size)
	}
}

// queues are the tables whose rows wait for a worker, and the tests that one website does not delay others.
var queues = map[string]func(*testing.T){
	"undispatched": TestQuietStoresAreDispatchedBesideABacklog,
	"deliveries":   TestWebsitesTakeTurns,
	"jobs":         TestJobsOfWebsitesTakeTurns,
}

// Each queue has a column queue, the website or its sandboxes, and an index that begins with it, or with a class of
// rows and then it. A table with such a column, or with leases, is a queue.
func TestQueuesAreFair(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	others := []string{"plan_windows", "mails", "turns"} // counters, the subjects of jobs, and turns in deliveries
	var found []string
	rows, err := db.System().DB.QueryContext(t.Context(), `SELECT c.relname, EXISTS (
			SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum IN (i.indkey[0], i.indkey[1])
			WHERE i.indrelid = c.oid AND a.attname = 'queue')
		FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND EXISTS (
			SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('queue', 'lease_until'))`)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var table string
		var indexed bool
		must(t, rows.Scan(&table, &indexed))
		if slices.Contains(others, table) {
			continue
		}
		found = append(found, table)
		if queues[table] == nil {
			t.Errorf("queue %s: got no test that websites take turns", table)
		}
		if !indexed {
			t.Errorf("queue %s: got no index that begins with the column queue", table)
		}
	}
	must(t, rows.Err())
	if len(found) != len(queues) {
		t.Errorf("queues: got %v, want %s", found, fmt.Sprint(queues))
	}
}
