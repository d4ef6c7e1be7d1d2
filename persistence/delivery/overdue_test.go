package delivery_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// late is the delay from which a delivery is overdue in these tests.
const late = 3 * time.Minute

// overdue returns at most limit deliveries that are overdue at a time.
func overdue(t *testing.T, db *persistencetest.Database, now time.Time, limit int) app.OverdueBatch {
	t.Helper()
	batch, err := db.Overdue(t.Context(), now, late, limit)
	must(t, err)
	return batch
}

func idsOf(claims []app.Overdue) (ids []app.DeliveryID) {
	for _, c := range claims {
		ids = append(ids, c.ID)
	}
	return ids
}

// A pending delivery is overdue some time after its start, a retrying delivery some time after its
// next attempt was due. Other deliveries are never overdue.
func TestOverdueDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 12, r.Stores[0])
	claims := claimOnce(t, db.Queue, noon, all)
	for i, state := range []string{
		"started_at = '2026-03-14 12:00Z'", // overdue from 12:03 on
		"started_at = '2026-03-14 12:05Z'",
		"started_at = NULL", // covered by the lease
		"status = 'retrying', started_at = '2026-03-14 09:00Z', next_retry_at = '2026-03-14 12:01Z'",
		"status = 'retrying', started_at = '2026-03-14 09:00Z', next_retry_at = '2026-03-14 18:00Z'",
		"status = 'dead_letter', started_at = '2026-03-14 09:00Z', ended_at = '2026-03-14 10:00Z'",
		"status = 'delivered', started_at = '2026-03-14 09:00Z', ended_at = '2026-03-14 10:00Z'",
		"status = 'cancelled', started_at = '2026-03-14 09:00Z', ended_at = '2026-03-14 10:00Z'",
		"status = 'queued', lease_until = NULL, started_at = NULL, replays = replays + 1",
	} {
		change(t, db, "UPDATE deliveries SET "+state+" WHERE id = $1", claims[i].ID)
	}
	for _, step := range []struct {
		at   time.Duration // after noon
		want []int
	}{
		{late - time.Millisecond, nil},
		{late, []int{0}},
		{late + 59*time.Second, nil},
		{late + time.Minute, []int{0, 3}},
		{late + 90*time.Second, nil},
		{late + 5*time.Minute, []int{0, 3, 1}}, // ordered by the last check or the time when they became overdue
		{late + 5*time.Minute, nil},
	} {
		var want []app.DeliveryID
		for _, i := range step.want {
			want = append(want, claims[i].ID)
		}
		got := idsOf(overdue(t, db, noon.Add(step.at), 10).Claims)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("overdue deliveries after %s (-want +got): %s", step.at, diff)
		}
	}
}

// An overdue delivery contains the data for its repair.
func TestOverdueDeliveryData(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	first := claim(t, db)[0]
	attempt(t, db, first.ID, 1, app.AttemptRetrying, 0)
	change(t, db, "UPDATE deliveries SET burst_id = 'bst_1'")
	got := overdue(t, db, noon.Add(2*time.Hour), 2)
	due := noon.Add(time.Hour + 30*time.Second)
	want := app.OverdueBatch{Claims: []app.Overdue{{Status: app.DeliveryRetrying, Claim: app.Claim{
		ID: first.ID, Generation: 1, StoreID: r.Stores[0], Queue: string(r.Website), EventID: first.EventID,
		SubscriptionID: s.ID, EventType: app.EventOrderCreated, Attempts: 1, Place: 1, NextRetryAt: &due, Repair: true,
		Quick: true, BurstID: "bst_1",
	}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overdue deliveries (-want +got):\n%s", diff)
	}
	must(t, db.Repaired(t.Context(), []app.Claim{first}))
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE burst_id IS NOT NULL"); n != 0 {
		t.Errorf("deliveries of a burst after Repaired: got %d, want 0", n)
	}
}

// If more deliveries of a website are overdue than a batch can contain, those come first that became overdue first or
// whose last check is oldest. Left counts the others. Each is returned once a minute.
func TestOverdueDeliveriesTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
	claims := claimOnce(t, db.Queue, noon, all)
	for i, c := range claims { // in the order of their claims
		change(t, db, `UPDATE deliveries SET started_at = $2
			WHERE id = $1`, c.ID, noon.Add(time.Duration(i)*time.Second))
	}
	now := noon.Add(time.Hour)
	for _, step := range []struct {
		at             time.Duration // later
		from, to, left int           // of the claims
	}{
		{0, 0, 4, 6}, {time.Second, 4, 8, 2}, {2 * time.Second, 8, 10, 0}, {3 * time.Second, 0, 0, 0},
		{time.Minute, 0, 4, 0}, {time.Minute + 2*time.Second, 4, 8, 2},
	} {
		got := overdue(t, db, now.Add(step.at), 4)
		var want []app.DeliveryID
		for _, c := range claims[step.from:step.to] {
			want = append(want, c.ID)
		}
		ids := idsOf(got.Claims)
		slices.Sort(ids)
		slices.Sort(want)
		if diff := cmp.Diff(want, ids); diff != "" || got.Left != step.left {
			t.Errorf("after %s: got %d left, want %d; claims (-want +got): %s", step.at, got.Left, step.left, diff)
		}
	}
}

// A new overdue delivery is in the first batch beside many older ones of another website and of its sandboxes.
func TestOverdueDeliveriesOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	busy, quiet := open(t, db, "busy.example"), open(t, db, "quiet.example")
	busy.Subscribe(t, db, 0, app.EventOrderCreated)
	quiet.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 2_000, append(busy.sandboxes(t, db, 20), busy.Stores[0])...)
	must(t, db.MarkStarted(t.Context(), noon, claimOnce(t, db.Queue, noon, all)))
	enqueue(t, db, app.EventOrderCreated, 300, quiet.Stores[0])
	must(t, db.MarkStarted(t.Context(), noon.Add(time.Minute), claimOnce(t, db.Queue, noon, all)))
	got := overdue(t, db, noon.Add(time.Hour), 500)
	perQueue := map[string]int{}
	for _, o := range got.Claims {
		perQueue[o.Queue]++
	}
	want := map[string]int{string(busy.Website): 95, string(busy.Website) + "/test": 160, string(quiet.Website): 166}
	if diff := cmp.Diff(want, perQueue); diff != "" || got.Left != 2_300-95-160-166 {
		t.Errorf("got %d left; overdue deliveries by queue (-want +got):\n%s", got.Left, diff)
	}
}

// After a number of overdue deliveries, one of each further queue is counted. Its deliveries are found nevertheless.
func TestCountOfOverdueDeliveriesIsBounded(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	for _, domain := range []string{"one.example", "two.example", "three.example"} {
		r := open(t, db, domain)
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		enqueue(t, db, app.EventOrderCreated, 20, r.Stores[0])
	}
	must(t, db.MarkStarted(t.Context(), noon, claimOnce(t, db.Queue, noon, all)))
	rows, err := db.System().DB.QueryContext(t.Context(), delivery.Statements["Overdue"].SQL,
		noon.Add(time.Hour), late, late, 9, 8)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(any)
	}
	found := map[any]int{}
	for rows.Next() {
		must(t, rows.Scan(row...))
		found[*row[slices.Index(columns, "split_part")].(*any)]++
		if counted := *row[len(row)-1].(*any); counted != int64(8+1+1) {
			t.Errorf("overdue deliveries: counted %v, want 8 and one of each further website", counted)
		}
	}
	must(t, rows.Err())
	if len(found) != 3 {
		t.Errorf("overdue deliveries by website: got %v, want some of each of three", found)
	}
}

// Only one relay gets overdue deliveries at a time. Concurrent relays never get the same delivery.
func TestConcurrentRelaysShareOverdueDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 200, r.Stores[0])
	must(t, db.MarkStarted(t.Context(), noon, claimOnce(t, db.Queue, noon, all)))
	now := noon.Add(time.Hour)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('reconcile', 0))")
	must(t, err)
	if got := overdue(t, db, now, 10); len(got.Claims) != 0 || got.Left != 0 {
		t.Errorf("Overdue while another relay runs it: got %+v, want none", got)
	}
	must(t, tx.Rollback())
	var lock sync.Mutex
	seen := map[app.DeliveryID]int{}
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			for range 20 {
				batch, err := db.Overdue(t.Context(), now, late, 10)
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				for _, c := range batch.Claims {
					seen[c.ID]++
				}
				lock.Unlock()
			}
		})
	}
	relays.Wait()
	for got := overdue(t, db, now, 10); len(got.Claims) > 0; got = overdue(t, db, now, 10) {
		for _, c := range got.Claims {
			seen[c.ID]++
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was returned %d times, want once", id, n)
		}
	}
	if len(seen) != 200 {
		t.Errorf("overdue deliveries: got %d, want 200", len(seen))
	}
}

// Stuck pending deliveries prevent claims of their subscription until the reconciler finds them.
func TestStuckDeliveriesAreFound(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 20, r.Stores[0])
	few := batches(100)
	few.Unproven = 8
	stuck := claimOnce(t, db.Queue, noon, few)
	must(t, db.MarkStarted(t.Context(), noon, stuck))
	now := noon.Add(10 * time.Minute)
	if claims := claimOnce(t, db.Queue, now, few); len(stuck) != 8 || len(claims) != 0 {
		t.Fatalf("got %d stuck deliveries and %d new claims, want 8 and 0", len(stuck), len(claims))
	}
	if taken, err := db.ClaimAbandoned(t.Context(), now, few); err != nil || len(taken) != 0 {
		t.Errorf("abandoned claims: got %d and error %v, want none, because they have started", len(taken), err)
	}
	if got := overdue(t, db, now, 100); len(got.Claims) != 8 {
		t.Fatalf("overdue deliveries: got %d, want 8", len(got.Claims))
	}
	for _, c := range stuck { // their workflows continue
		attempt(t, db, c.ID, 1, app.AttemptRetrying, 0)
	}
	if claims := claimOnce(t, db.Queue, now, few); len(claims) != 12 {
		t.Errorf("claims without pending deliveries: got %d, want 12", len(claims))
	}
	// An attempt is progress: the next check is due when the next attempt is late.
	if got := overdue(t, db, noon.Add(time.Hour+30*time.Second), 100); len(got.Claims) != 0 {
		t.Errorf("overdue before the next attempt is late: got %d, want 0", len(got.Claims))
	}
	if got := overdue(t, db, noon.Add(time.Hour+30*time.Second+late), 100); len(got.Claims) != 8 {
		t.Errorf("overdue after the next attempt is late: got %d, want 8", len(got.Claims))
	}
}
