package delivery_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// The relay and the lists read only the rows of their result, regardless of the size of the tables.
// The test uses PostgreSQL's counters of table rows and index entries. Nearly all rows belong to one
// subscription, which is the worst case.
func TestReadsStaySmallInLargeTables(t *testing.T) {
	t.Parallel()
	rows := 50_000
	if *long {
		rows = 1_000_000
	}
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	store := r.Stores[0]
	webhook, second := r.Subscribe(t, database, 0, app.EventOrderCreated).ID,
		r.Subscribe(t, database, 0, app.EventOrderCreated).ID
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = owner.Exec(t.Context(), "SET max_parallel_workers_per_gather = 0") // workers publish their reads late
	must(t, err)
	_, err = database.Dispatch(t.Context(), noon, 1000) // events of the new restaurant
	must(t, err)
	fill(t, owner, store, webhook, second, rows)
	vacuum(t, owner)

	// With one connection per role, the counters are exact.
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	counted := func(where string) (n int) {
		must(t, owner.QueryRow(t.Context(), "SELECT count(*) FROM "+where).Scan(&n))
		return n
	}
	checkReads := func(name string, run func() (found int, err error), want, most int) bool {
		t.Helper()
		_, err := owner.Exec(t.Context(), "SELECT pg_stat_force_next_flush()") // excludes the reads of this connection
		must(t, err)
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		found, err := run()
		must(t, err)
		must(t, db.FlushReads(t.Context()))
		read := reads(t, owner).minus(before)
		if found != want || read.sequential > 0 || read.fetched+read.entries > most {
			t.Errorf("%s: got %d reading %+v, want %d reading at most %d", name, found, read, want, most)
			return false
		}
		return true
	}

	pending := counted("deliveries WHERE status = 'pending'")
	middle := noon.Add(time.Duration(rows/2) * time.Second)
	claims := func(claims []app.Claim, err error) (int, error) { return len(claims), err }
	claimed := func(found app.Claimed, err error) (int, error) { return len(found.Claims), err }
	for _, query := range []struct {
		name string
		run  func() (found int, err error)
		want int // results
		most int // rows and entries that it reads, including those that it writes
	}{
		{"nothing to dispatch", func() (int, error) {
			d, err := db.Dispatch(t.Context(), middle, 1000)
			return d.Events, err
		}, 0, 50},
		{"claim queued deliveries", func() (int, error) {
			return claimed(db.Claim(t.Context(), middle,
				app.ClaimLimits{Batch: 5, Unproven: pending + 64, Quick: pending + 64, Lease: time.Minute}))
		}, 5, 300 + 4*pending},
		{"nothing abandoned", func() (int, error) { return claims(db.ClaimAbandoned(t.Context(), middle, limits)) }, 0,
			50},
		{"load an attempt", func() (int, error) {
			o, err := db.Outgoing(t.Context(), numbered[app.DeliveryID](7), 1)
			return toInt(o.Recorded != nil), err
		}, 1, 50},
		{"webhooks with their last attempts", func() (int, error) {
			list, err := db.Subscriptions(t.Context(), store)
			return len(list), err
		}, 2, 50},
		{"one delivery", func() (int, error) {
			d, err := db.Delivery(t.Context(), store, numbered[app.DeliveryID](7))
			return d.Attempts, err
		}, 1, 50},
		{"deliveries of an event", func() (int, error) {
			list, err := db.Deliveries(t.Context(), store, app.DeliveryFilter{EventID: numbered[app.EventID](7)}, "",
				20)
			return len(list), err
		}, 1, 50},
		{"deliveries of an unknown event", func() (int, error) {
			list, err := db.Deliveries(t.Context(), store, app.DeliveryFilter{EventID: "evt_unknown"}, "", 20)
			return len(list), err
		}, 0, 50},
	} {
		checkReads(query.name, query.run, query.want, query.most)
	}

	// Attempts are counted and skipped in their index, except those on pages that were in use during
	// the vacuum.
	all := counted("attempts WHERE subscription_id = '" + string(webhook) + "'")
	refunds := counted("attempts WHERE event_type = 'payment.refunded' AND subscription_id = '" + string(webhook) + "'")
	givenUp := counted("attempts WHERE status = 'dead_letter' AND subscription_id = '" + string(webhook) + "'")
	once := all + all/100 + 100
	hundred := app.At(noon.Add(101 * time.Second))
	for _, list := range []struct {
		filter app.AttemptFilter
		page   int
		want   int
		most   int
	}{
		{app.AttemptFilter{}, 1, all, once},
		{app.AttemptFilter{}, all / 20, all, 2 * once},
		{app.AttemptFilter{Status: app.AttemptDeadLetter}, 1, givenUp, 2 * once},
		{app.AttemptFilter{EventType: app.EventPaymentRefunded}, 1, refunds, 2 * once},
		{app.AttemptFilter{EventID: numbered[app.EventID](7)}, 1, 1, 50},
		{app.AttemptFilter{To: &hundred}, 1, 99, 400},
	} {
		checkReads(fmt.Sprintf("attempts %+v, page %d", list.filter, list.page), func() (int, error) {
			_, total, err := db.Attempts(t.Context(), store, webhook, list.filter, list.page, 20)
			return total, err
		}, list.want, list.most)
	}

	// Lists of deliveries with every combination of filters.
	const page = 20
	early, late := app.At(noon.Add(100*time.Second)), app.At(noon.Add(1100*time.Second))
	for _, webhook := range []app.SubscriptionID{"", webhook, second} {
		for _, eventType := range []app.EventType{"", app.EventOrderCreated, app.EventPaymentRefunded,
			app.EventProductCreated} {
			for _, status := range append([]app.DeliveryStatus{""}, app.DeliveryStatuses[:]...) {
				for _, span := range [][2]*app.Time{{}, {&early, &late}, {nil, &early}, {&late, nil}} {
					filter := app.DeliveryFilter{
						SubscriptionID: webhook, EventType: eventType, Status: status, From: span[0], To: span[1],
					}
					var want []app.DeliveryID
					must(t, owner.QueryRow(t.Context(), `SELECT coalesce(array_agg(id), '{}')
						FROM (SELECT id FROM deliveries
						WHERE ($1 = '' OR subscription_id = $1) AND ($2 = '' OR event_type = $2)
							AND ($3 = '' OR status = $3)
							AND created_at >= $4 AND created_at < $5 ORDER BY created_at DESC, id DESC LIMIT $6) d`,
						webhook, eventType, status, timeOr(span[0], noon), timeOr(span[1], noon.AddDate(1, 0, 0)),
						page).Scan(&want))
					var got []app.DeliveryID
					small := checkReads(fmt.Sprintf("deliveries of %q, %q, %q from %v to %v", webhook, eventType,
						status,
						span[0], span[1]), func() (int, error) {
						list, err := db.Deliveries(t.Context(), store, filter, "", page)
						for _, d := range list {
							got = append(got, d.ID)
						}
						return len(list), err
					}, len(want), 10*page+2*pending)
					if !small {
						plan, err := db.ExplainDeliveries(t.Context(), store, filter, page)
						must(t, err)
						t.Log(plan)
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("deliveries (-want +got):\n%s", diff)
					}
				}
			}
		}
	}

	// Counts of a period read at most all deliveries of the period.
	const ofTime = 2*1100 + 100
	checkReads("dead letters by reason", func() (int, error) {
		groups, err := db.DeadLetters(t.Context(), store, nil, &late)
		return len(groups), err
	}, 2, ofTime)
	replay := app.NewBulkReplay{
		SubscriptionID: second, DeliveryStatus: app.ReplayedDelivered, From: early, To: late, DryRun: true,
	}
	delivered := counted(fmt.Sprintf(`deliveries WHERE status = 'delivered' AND subscription_id = '%s'
		AND created_at >= '%s' AND created_at < '%s'`, second, early.Format(time.RFC3339), late.Format(time.RFC3339)))
	checkReads("a dry run of a bulk replay", func() (int, error) {
		counted, err := db.CreateBulkReplay(t.Context(), middle, store, app.Actor{}, replay, nil)
		return int(*counted.Matched), err
	}, delivered, ofTime)
	replay.DryRun, replay.DeliveryStatus, replay.To = false, app.ReplayedDeadLetters, app.At(middle)
	created, err := db.CreateBulkReplay(t.Context(), middle, store, app.Actor{}, replay, nil)
	must(t, err)
	limits := waiting(5)
	limits.List = 5
	checkReads("a step that lists deliveries of a bulk replay", func() (int, error) {
		step, err := db.ContinueBulkReplay(t.Context(), middle, store, created.ID, limits)
		return int(step.Matched), err
	}, 5, 300)
	_, err = db.ContinueBulkReplay(t.Context(), middle, store, created.ID, waiting(0)) // lists the others
	must(t, err)
	checkReads("a step that queues deliveries of a bulk replay", func() (int, error) {
		step, err := db.ContinueBulkReplay(t.Context(), middle, store, created.ID, limits)
		return int(step.Replayed), err
	}, 5, 300)
}

// A delivery reads only its own rows, even if the tables have grown since PostgreSQL planned the
// statements for empty tables.
func TestReadsStaySmallInFreshTables(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	webhook := r.Subscribe(t, database, 0, app.EventOrderCreated)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	// deliver delivers one order and returns its reads. Other queued deliveries belong to another
	// webhook.
	deliver := func() tableReads {
		r.Place(t, database, 1)
		_, err := owner.Exec(t.Context(), "SELECT pg_stat_force_next_flush()") // its own reads do not count
		must(t, err)
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		_, err = db.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		found, err := db.Claim(t.Context(), noon,
			app.ClaimLimits{Batch: 2, Unproven: 100, Quick: 100, Lease: time.Minute})
		must(t, err)
		claims := slices.DeleteFunc(found.Claims, func(c app.Claim) bool { return c.SubscriptionID != webhook.ID })
		if len(claims) != 1 {
			t.Fatalf("claims: got %+v, want one", claims)
		}
		outgoing, err := db.Outgoing(t.Context(), claims[0].ID, 1)
		must(t, err)
		_, err = db.RecordAttempt(t.Context(), app.MadeAttempt{
			DeliveryID: claims[0].ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200,
			At: noon,
		})
		must(t, err)
		must(t, db.MarkStarted(t.Context(), noon, claims))
		must(t, db.FlushReads(t.Context()))
		return reads(t, owner).minus(before)
	}
	elsewhere := open(t, database, "two.example").Stores[0]
	deliver()
	second := r.Subscribe(t, database, 0, app.EventPaymentRefunded)
	fill(t, owner, r.Stores[0], webhook.ID, second.ID, 4000)
	// Queued deliveries would be claimed first.
	_, err = owner.Exec(t.Context(), "UPDATE deliveries SET status = 'delivered'")
	must(t, err)
	if read := deliver(); read.sequential > 0 || read.fetched+read.entries > 300 {
		t.Errorf("reads of one delivery: got %+v, want at most 300", read)
	}
	for _, statement := range []string{
		`UPDATE deliveries SET status = 'queued', scheduled_for = created_at - interval '1 d',
			subscription_id = '` + string(second.ID) + "' WHERE ended_at > created_at - interval '1 s'",
		`INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
			SELECT 'sub_' || n, '` + string(elsewhere) + `', url, events, secret, created_at, updated_at
			FROM subscriptions s, generate_series(1, 2000) n WHERE s.id = '` + string(second.ID) + "'",
		`INSERT INTO subscription_health (subscription_id, store_id)
			SELECT 'sub_' || n, '` + string(elsewhere) + `' FROM generate_series(1, 2000) n`,
	} {
		changed, err := owner.Exec(t.Context(), statement)
		must(t, err)
		if changed.RowsAffected() < 2000 {
			t.Fatalf("changed rows: got %v, want at least 2000: %s", changed, statement)
		}
	}
	if read := deliver(); read.sequential > 0 || read.fetched+read.entries > 400 {
		t.Errorf("reads of one delivery beside thousands of queued ones: got %+v, want at most 400", read)
	}
}

func timeOr(at *app.Time, fallback time.Time) time.Time {
	if at == nil {
		return fallback
	}
	return at.Time
}

// numbered returns the id of the row that fill creates for n seconds after noon.
func numbered[T app.ID](n int) T {
	return T(fmt.Sprintf("%s7%019x", app.FirstID[T](noon.Add(time.Duration(n)*time.Second)), n))
}

// fill inserts one delivery per second, each with an event and an attempt. Nearly all are delivered; a
// few are queued, pending, retrying or dead letters. A few have the second type, and a few the second
// webhook.
func fill(t *testing.T, owner *pgx.Conn, store app.StoreID, webhook, second app.SubscriptionID, rows int) {
	t.Helper()
	// VACUUM marks only rows as visible to all whose commit is on disk.
	_, err := owner.Exec(t.Context(), `SET synchronous_commit = on;
		ALTER TABLE outbox SET (autovacuum_enabled = off);
		ALTER TABLE deliveries SET (autovacuum_enabled = off);
		ALTER TABLE attempts SET (autovacuum_enabled = off)`)
	must(t, err)
	const made = `FROM generate_series(1, $5::int) n, LATERAL (SELECT $4::timestamptz + n * interval '1 s' AS at,
		CASE WHEN n % 700 < 2 THEN 'payment.refunded' ELSE 'order.created' END AS type,
		CASE WHEN n % 900 IN (0, 3) THEN $3 ELSE $2 END AS webhook,
		CASE WHEN n % 5000 = 1 THEN 'queued' WHEN n % 5000 = 2 THEN 'pending' WHEN n % 100 = 3 THEN 'dead_letter'
			WHEN n % 1000 = 4 THEN 'retrying' ELSE 'delivered' END AS status) made,
		LATERAL (SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19,
			'0') AS id) hex`
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, body, occurred_at)
			SELECT 'evt_' || hex.id, $1, type, '{}', at ` + made,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, attempts,
			scheduled_for, created_at, started_at, ended_at, reason)
			SELECT 'dlv_' || hex.id, $1, (SELECT website_id FROM stores WHERE id = $1), 'evt_' || hex.id, webhook, type,
				status, 1, $4, at, $4,
				CASE WHEN status IN ('delivered', 'dead_letter') THEN at END,
				CASE WHEN status = 'dead_letter' THEN 'HTTP 503' ELSE '' END ` + made,
		`INSERT INTO attempts (id, store_id, delivery_id, subscription_id, event_id, event_type, number, status,
			status_code, response_time_ms, error, attempted_at)
			SELECT 'att_' || hex.id, $1, 'dlv_' || hex.id, webhook, 'evt_' || hex.id, type, 1,
				CASE WHEN status IN ('dead_letter', 'retrying') THEN status ELSE 'delivered' END, 200, 10, '',
				at ` + made,
	} {
		_, err := owner.Exec(t.Context(), statement, store, webhook, second, noon, rows)
		must(t, err)
	}
}

// vacuum updates the statistics of the tables that deliveries fill, and freezes all rows. Without FREEZE, it skips
// pages that another process uses, for example to write them to disk, and index-only scans then read these pages. While
// a snapshot exists that cannot see the rows, such as that of a process that is connecting, no page counts as visible
// to all. Therefore vacuum is repeated until all pages are visible. At its end, PostgreSQL publishes what vacuum has
// read: otherwise it could do so a second later, in the middle of a measurement.
func vacuum(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	for _, table := range []string{"outbox", "deliveries", "attempts"} {
		for visible := false; !visible; {
			_, err := owner.Exec(t.Context(), "VACUUM (FREEZE, ANALYZE, INDEX_CLEANUP ON) "+table)
			must(t, err)
			must(t, owner.QueryRow(t.Context(), "SELECT relallvisible >= relpages FROM pg_class WHERE relname = $1",
				table).Scan(&visible))
		}
	}
	_, err := owner.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
	must(t, err)
}

// tableReads counts the rows and index entries that were read of the tables that grow with deliveries
// and webhooks.
type tableReads struct {
	sequential int // rows by sequential scans
	fetched    int // rows by indexes
	entries    int // index entries
}

func (r tableReads) minus(before tableReads) tableReads {
	return tableReads{r.sequential - before.sequential, r.fetched - before.fetched, r.entries - before.entries}
}

func reads(t *testing.T, owner *pgx.Conn) (r tableReads) {
	t.Helper()
	must(t, owner.QueryRow(t.Context(), `SELECT sum(seq_tup_read), sum(idx_tup_fetch),
			(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
				WHERE relname IN ('outbox', 'deliveries', 'attempts', 'subscriptions', 'subscription_health',
					'event_log', 'event_heads'))
		FROM pg_stat_user_tables WHERE relname IN ('outbox', 'deliveries', 'attempts', 'subscriptions',
			'subscription_health', 'event_log', 'event_heads')`).Scan(&r.sequential, &r.fetched, &r.entries))
	return r
}
