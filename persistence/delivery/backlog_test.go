package delivery_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
		t.Errorf("backlog of empty tables (-want +got): %s", diff)
	}
	seed(t, db, `INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at) VALUES
		('web_1', 't', 3, 'evt_3', 'order.created', '2026-03-14 12:20Z'),
		('web_2', 's', 2, 'evt_2', 'order.created', '2026-03-14 12:10Z'),
		('web_2', 's', 4, 'evt_4', 'order.created', '2026-03-14 12:15Z')`)
	seed(t, db, `INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES ('web_1', 'One', 'one.example', 'ENTERPRISE', now())`)
	seed(t, db, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for,
		created_at, queue)
		SELECT 'dlv_' || n, 's', 'evt_' || n, w, 'order.created', status, at::timestamptz, now(), 'web_1' FROM unnest(
			ARRAY['b', 'b', 'b', 'a', 'c', 'c', 'a', 'b', 'b', 'd', 'd', 'a', 'd'],
			ARRAY['queued', 'queued', 'queued', 'queued', 'queued', 'pending', 'pending', 'retrying', 'dead_letter',
			'dead_letter', 'dead_letter', 'delivered', 'cancelled'],
			ARRAY['2026-03-14 12:25Z', '2026-03-14 12:30Z', '2026-03-14 14:00Z', '2026-03-14 12:40Z',
			'2026-03-14 15:00Z'] || array_fill('2026-03-14 10:00Z'::text, ARRAY[8]))
			WITH ORDINALITY AS x (w, status, at, n)`)
	seed(t, db, `INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for,
		created_at, queue, resource, class, position, ordered, held)
		SELECT 'dlv_held' || n, 's', 'evt_held' || n, 'a', 'order.created', 'queued', at::timestamptz, now(), 'web_1',
			resource, class, n, true, true FROM unnest(
			ARRAY['ord_1', 'ord_1', 'ord_1', 'ord_2', 'ord_3', 'ord_3'], ARRAY[0, 0, 2, 0, 0, 2],
			ARRAY['2026-03-14 12:20Z', '2026-03-14 12:21Z', '2026-03-14 12:15Z', '2026-03-14 12:25Z',
			'2026-03-14 12:22Z', '2026-03-14 12:05Z']) WITH ORDINALITY AS x (resource, class, at, n)`)
	event, due, held := noon.Add(10*time.Minute), noon.Add(25*time.Minute), noon.Add(5*time.Minute)
	want := app.Backlog{
		OldestEvent: &event, OldestDue: &due, OldestHeld: &held,
		Queued: 5, Held: 6, Pending: 2, Retrying: 1, DeadLetters: 3,
	}
	if diff := cmp.Diff(want, backlog()); diff != "" {
		t.Errorf("backlog (-want +got):\n%s", diff)
	}
}

// A delivery that its plan delays is not due. Any other delivery of a limited queue is due since the
// beginning of the window.
func TestBacklogOmitsDeliveriesDelayedByPlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
	early, now, next := noon.Add(-time.Hour), noon.Add(20*time.Minute), noon.Add(time.Hour)
	for name, test := range map[string]struct {
		plan             app.Plan
		class            int
		started, replays int // in the window of noon
		at               time.Time
		want             *time.Time
	}{
		"unlimited":                 {app.PlanEnterprise, 0, 0, 0, now, &early},
		"limited":                   {app.PlanStarter, 0, 499, 0, now, &noon},
		"used up":                   {app.PlanStarter, 0, 500, 0, now, nil},
		"in the next window":        {app.PlanStarter, 0, 500, 0, next, &next},
		"replay":                    {app.PlanStarter, 2, 250, 249, now, &noon},
		"replays used up":           {app.PlanStarter, 2, 250, 250, now, nil},
		"customer.* event":          {app.PlanStarter, 1, 399, 0, now, &noon},
		"fifth reserved for others": {app.PlanStarter, 1, 400, 0, now, nil},
	} {
		t.Run(name, func(t *testing.T) {
			setPlan(t, db, noon, r.Website, test.plan)
			seed(t, db, "DELETE FROM deliveries")
			seed(t, db, "DELETE FROM plan_windows")
			enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
			seed(t, db, "UPDATE deliveries SET class = $1, scheduled_for = $2", test.class, early)
			seed(t, db, `INSERT INTO plan_windows (queue, starts_at, started, replays_started)
			VALUES ($1, $2, $3, $4)`, r.Website, noon, test.started, test.replays)
			b, err := db.Backlog(t.Context(), test.at)
			must(t, err)
			if diff := cmp.Diff(test.want, b.OldestDue, cmpopts.EquateApproxTime(0)); diff != "" || b.Queued != 1 {
				t.Errorf("%s: got %d queued, want 1; oldest due (-want +got): %s", name, b.Queued, diff)
			}
		})
	}
}

// The cost of the backlog is independent of the size of the tables: it reads only partial indexes.
func TestBacklogUsesIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	seed(t, db, `INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status,
		scheduled_for, created_at)
		SELECT 'dlv_' || n, 's', 's', 'evt_' || n, 'whk_' || n % 100, 'order.created', CASE WHEN n % 20 < 4
			THEN (ARRAY['retrying', 'dead_letter', 'queued', 'pending'])[1 + n % 20] ELSE 'delivered' END, now(), now()
			FROM generate_series(1, 40000) n`)
	seed(t, db, `INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
		SELECT 's' || n % 5, 's', n, 'evt_' || n, 'order.created', now() FROM generate_series(1, 40000) n`)
	seed(t, db, "VACUUM ANALYZE deliveries")
	seed(t, db, "VACUUM ANALYZE undispatched")
	tx, err := db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), delivery.BacklogPlan)
	must(t, err)
	scans := map[string]bool{}
	var plan strings.Builder
	for statement, args := range map[string][]any{
		delivery.BacklogStatement: {app.BacklogLimit, 10_000},
		delivery.DueStatement:     {noon, 10_000, noon, `{"STARTER": 500}`},
	} {
		rows, err := tx.QueryContext(t.Context(), "EXPLAIN (COSTS OFF) "+statement, args...)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var line string
			must(t, rows.Scan(&line))
			fmt.Fprintln(&plan, line)
			if _, scan, ok := strings.Cut(line, "->  "); ok && strings.Contains(scan, " on ") {
				kind, relation, _ := strings.Cut(scan, " on ")
				scans[strings.Replace(kind, "Index Only", "Index", 1)+" on "+strings.Fields(relation)[0]] = true
			}
		}
		must(t, rows.Err())
	}
	want := map[string]bool{
		"CTE Scan on queueing": true, "WorkTable Scan on queueing": true, "Subquery Scan on d": true,
		"CTE Scan on strayed": true, "WorkTable Scan on strayed": true,
		"CTE Scan on held": true, "WorkTable Scan on held": true,
		"CTE Scan on waiting": true, "WorkTable Scan on waiting": true, `Subquery Scan on "*SELECT*`: true,
		"Index Scan using deliveries_claimable on deliveries": true,
		"Index Scan using deliveries_held on deliveries":      true,
		"Index Scan using deliveries_pending on deliveries":   true,
		"Index Scan using deliveries_strayed on deliveries":   true,
		"Index Scan using undispatched_pkey on undispatched":  true,
		"Index Scan using jobs_free on jobs":                  true,
		"Index Scan using websites_pkey on websites":          true,
		"Index Scan using plan_windows_pkey on plan_windows":  true,
		"Function Scan on generate_series":                    true,
	}
	if diff := cmp.Diff(want, scans); diff != "" {
		t.Errorf("scans (-want +got):\n%s\n%s", diff, plan.String())
	}
}

// Config.Ended is called once for each ended delivery, also if an end is recorded twice or too late.
func TestEndedIsCalledOncePerDelivery(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	var mu sync.Mutex
	ended := map[app.DeliveryStatus]int{}
	counting, err := persistence.Open(persistence.Config{
		URL: db.URL, SystemURL: db.SystemURL, MaxConns: 2, Sealer: persistencetest.Keyring().Sealer(),
		Ended: func(status app.DeliveryStatus, n int) {
			mu.Lock()
			defer mu.Unlock()
			ended[status] += n
		},
	})
	must(t, err)
	t.Cleanup(func() { counting.Close() })
	counter := &persistencetest.Database{DB: counting, URL: db.URL, SystemURL: db.SystemURL, OwnerURL: db.OwnerURL}
	r := open(t, db, "one.example")
	webhook := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 5)
	claims := claim(t, db)
	delivered, retried, inactive, cancelled, late := claims[0].ID, claims[1].ID, claims[2].ID, claims[3].ID,
		claims[4].ID
	end := func(id app.DeliveryID, status app.DeliveryStatus) {
		must(t, counter.EndDelivery(t.Context(), noon, id, status, "test"))
	}
	attempt(t, counter, delivered, 1, app.AttemptDelivered, 0)
	attempt(t, counter, delivered, 1, app.AttemptDelivered, 0) // is already recorded
	end(delivered, app.DeliveryCancelled)                      // stays delivered
	attempt(t, counter, retried, 1, app.AttemptRetrying, 0)    // has not ended
	attempt(t, counter, retried, 2, app.AttemptDeadLetter, 0)
	end(inactive, app.DeliveryDeadLetter)
	end(cancelled, app.DeliveryCancelled)
	end(cancelled, app.DeliveryCancelled)
	end(late, app.DeliveryCancelled)
	attempt(t, counter, late, 1, app.AttemptDelivered, 0) // was running
	seed(t, db, `INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status,
		scheduled_for, created_at)
		SELECT 'dlv_' || n, $1, $1, 'evt_' || n, $2, 'order.created', 'queued', now(), now()
		FROM generate_series(1, 3) n`, r.Stores[0], webhook.ID)
	must(t, counting.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, webhook.ID, 0))
	_, err = counting.CancelQueued(t.Context(), noon, r.Stores[0], webhook.ID, 10)
	must(t, err)
	mu.Lock()
	defer mu.Unlock()
	want := map[app.DeliveryStatus]int{app.DeliveryDelivered: 1, app.DeliveryDeadLetter: 2, app.DeliveryCancelled: 5}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("ended deliveries (-want +got):\n%s", diff)
	}
}
