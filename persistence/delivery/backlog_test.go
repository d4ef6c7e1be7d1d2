package delivery_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestBacklog(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	backlog := func() app.Backlog {
		b, err := db.Backlog(t.Context(), noon.Add(time.Hour))
		must(t, err)
		return b
	}
	if diff := cmp.Diff(app.Backlog{}, backlog()); diff != "" {
		t.Errorf("of nothing: %s", diff)
	}
	seed(t, db, `INSERT INTO outbox (id, store_id, type, occurred_at, dispatched_at) VALUES
		('evt_1', 's', 'order.created', '2026-03-14 11:00Z', now()), ('evt_2', 's', 'order.created', '2026-03-14 12:10Z', NULL), ('evt_3', 't', 'order.created', '2026-03-14 12:20Z', NULL)`)
	seed(t, db, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
		SELECT 'dlv_' || n, 's', 'evt_' || n, w, 'order.created', status, at::timestamptz, now() FROM unnest(
			ARRAY['b', 'b', 'b', 'a', 'c', 'c', 'a', 'b', 'b', 'd', 'd', 'a', 'd'],
			ARRAY['queued', 'queued', 'queued', 'queued', 'queued', 'pending', 'pending', 'retrying', 'dead_letter', 'dead_letter', 'dead_letter', 'delivered', 'cancelled'],
			ARRAY['2026-03-14 12:30Z', '2026-03-14 12:25Z', '2026-03-14 14:00Z', '2026-03-14 12:40Z', '2026-03-14 15:00Z'] || array_fill('2026-03-14 10:00Z'::text, ARRAY[8]))
			WITH ORDINALITY AS x (w, status, at, n)`)
	event, due := noon.Add(10*time.Minute), noon.Add(25*time.Minute)
	want := app.Backlog{OldestEvent: &event, OldestDue: &due, Queued: 5, Pending: 2, Retrying: 1, DeadLetters: 3}
	if diff := cmp.Diff(want, backlog()); diff != "" {
		t.Error(diff)
	}
}

// A delivery whose plan allows no more starts in this window is not late, and one that may start is late since the start
// of the window.
func TestBacklogKnowsPlans(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, app.EventOrderCreated, 10, r.Stores[0])
	_, err := db.Dispatch(t.Context(), noon, 100)
	must(t, err)
	seed(t, db, "UPDATE deliveries SET scheduled_for = '2026-03-14 10:00Z'")
	later := noon.Add(time.Hour)
	for started, want := range map[int]*time.Time{499: &later, 500: nil} {
		seed(t, db, fmt.Sprintf(`INSERT INTO plan_windows (queue, starts_at, taken, replays, last_at, started)
			VALUES ('%s', '2026-03-14 13:00Z', 0, 0, now(), %d) ON CONFLICT (queue, starts_at) DO UPDATE SET started = excluded.started`,
			r.Website, started))
		b, err := db.Backlog(t.Context(), noon.Add(90*time.Minute))
		must(t, err)
		if diff := cmp.Diff(want, b.OldestDue); diff != "" {
			t.Errorf("after %d starts: %s", started, diff)
		}
	}
}

// A scrape costs the same whatever the tables hold: only indexes of what waits are read.
func TestBacklogIsReadByIndex(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	seed(t, db, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
		SELECT 'dlv_' || n, 's', 'evt_' || n, 'whk_' || n % 100, 'order.created', CASE WHEN n % 20 < 4
			THEN (ARRAY['retrying', 'dead_letter', 'queued', 'pending'])[1 + n % 20] ELSE 'delivered' END, now(), now() FROM generate_series(1, 40000) n`)
	seed(t, db, `INSERT INTO outbox (id, store_id, type, occurred_at, dispatched_at)
		SELECT 'evt_' || n, 's', 'order.created', now(), CASE WHEN n % 100 > 0 THEN now() END FROM generate_series(1, 40000) n`)
	seed(t, db, "VACUUM ANALYZE deliveries")
	seed(t, db, "VACUUM ANALYZE outbox")
	tx, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), delivery.BacklogPlan)
	must(t, err)
	rows, err := tx.QueryContext(t.Context(), "EXPLAIN (COSTS OFF) "+delivery.BacklogStatement, noon, app.BacklogLimit, 10_000,
		noon, []string{"STARTER"}, []int64{500})
	must(t, err)
	defer rows.Close()
	scans := map[string]bool{}
	var plan strings.Builder
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		fmt.Fprintln(&plan, line)
		line = strings.ReplaceAll(line, "deliveries_claimable", "deliveries_queued") // both hold what is queued
		if _, scan, ok := strings.Cut(line, "->  "); ok && strings.Contains(scan, " on ") {
			how, what, _ := strings.Cut(scan, " on ")
			scans[strings.Replace(how, "Index Only", "Index", 1)+" on "+strings.Fields(what)[0]] = true
		}
	}
	must(t, rows.Err())
	want := map[string]bool{
		"CTE Scan on queueing": true, "WorkTable Scan on queueing": true, "CTE Scan on strayed": true, "WorkTable Scan on strayed": true,
		"Index Scan using deliveries_queued on deliveries": true, "Index Scan using deliveries_pending on deliveries": true,
		"Index Scan using deliveries_strayed on deliveries": true, "Index Scan using outbox_waiting on outbox": true,
		"Index Scan using jobs_free on jobs": true, "Index Scan using websites_pkey on websites": true,
		"Index Scan using plan_windows_pkey on plan_windows": true, "Subquery Scan on due": true,
	}
	if diff := cmp.Diff(want, scans); diff != "" {
		t.Errorf("%s\n%s", diff, plan.String())
	}
}

// What ended is told once, whatever is recorded twice or too late.
func TestEndedDeliveriesAreTold(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	var mu sync.Mutex
	told := map[app.DeliveryStatus]int{}
	telling, err := persistence.Open(persistence.Config{
		URL: db.URL, MaxConns: 2, Sealer: persistencetest.Keyring().Sealer(),
		Ended: func(status app.DeliveryStatus, n int) {
			mu.Lock()
			defer mu.Unlock()
			told[status] += n
		},
	})
	must(t, err)
	t.Cleanup(func() { telling.Close() })
	teller := &persistencetest.Database{DB: telling, URL: db.URL, OwnerURL: db.OwnerURL}
	r := open(t, db, "one.example")
	webhook := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 5)
	claims := claim(t, db)
	delivered, retried, inactive, cancelled, late := claims[0].ID, claims[1].ID, claims[2].ID, claims[3].ID, claims[4].ID
	end := func(id app.DeliveryID, status app.DeliveryStatus) {
		must(t, teller.EndDelivery(t.Context(), noon, id, status, "test"))
	}
	attempt(t, teller, delivered, 1, app.AttemptDelivered, 0)
	attempt(t, teller, delivered, 1, app.AttemptDelivered, 0) // recorded already
	end(delivered, app.DeliveryCancelled)                     // stays delivered
	attempt(t, teller, retried, 1, app.AttemptRetrying, 0)    // has not ended
	attempt(t, teller, retried, 2, app.AttemptDeadLetter, 0)
	end(inactive, app.DeliveryDeadLetter)
	end(cancelled, app.DeliveryCancelled)
	end(cancelled, app.DeliveryCancelled)
	end(late, app.DeliveryCancelled)
	attempt(t, teller, late, 1, app.AttemptDelivered, 0) // was under way
	seed(t, db, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
		SELECT 'dlv_' || n, '`+string(r.Stores[0])+`', 'evt_' || n, '`+string(webhook.ID)+`', 'order.created', 'queued', now(), now() FROM generate_series(1, 3) n`)
	_, err = telling.CancelQueued(t.Context(), noon, r.Stores[0], webhook.ID, 10)
	must(t, err)
	mu.Lock()
	defer mu.Unlock()
	want := map[app.DeliveryStatus]int{app.DeliveryDelivered: 1, app.DeliveryDeadLetter: 2, app.DeliveryCancelled: 5}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// seed runs a statement as the owner of the database.
func seed(t *testing.T, db *persistencetest.Database, statement string) {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	_, err = owner.Exec(t.Context(), statement)
	must(t, err)
}
