package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// setOrdering changes the ordering of a subscription of the first store.
func (r restaurant) setOrdering(
	t *testing.T, db *persistencetest.Database, id app.SubscriptionID, ordering app.Ordering,
) {
	t.Helper()
	change := app.SubscriptionChange{Ordering: &ordering}
	_, err := db.ChangeSubscription(t.Context(), noon, r.Stores[0], owner, id, change, 0)
	must(t, err)
}

// reorder runs the batches of a change of ordering from a position on, at most n, and returns the end of the last one.
func (r restaurant) reorder(
	t *testing.T, db *persistencetest.Database, id app.SubscriptionID, from app.Reordering, n, limit int,
) app.Reordering {
	t.Helper()
	for ; n > 0 && !from.Done; n-- {
		var err error
		from, err = db.Reorder(t.Context(), noon, r.Stores[0], id, from, limit)
		must(t, err)
	}
	return from
}

// reorderAll runs a change of ordering to its end.
func (r restaurant) reorderAll(t *testing.T, db *persistencetest.Database, id app.SubscriptionID, limit int) {
	t.Helper()
	if end := r.reorder(t, db, id, app.Reordering{}, 1000, limit); !end.Done {
		t.Fatalf("a change of ordering did not end: %+v", end)
	}
}

// A subscription that becomes ordered claims nothing until the job is done. Then deliveries that have started block
// those of their resources, and the others take turns in the order of their positions. Batches of each size, and a
// repeated batch, give the same result.
func TestSubscriptionBecomesOrdered(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"batches of one": 1, "batches of three": 3, "one batch": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "pizza.example")
			s, other := r.Subscribe(t, db, 0, app.EventOrderCreated), r.Subscribe(t, db, 0, app.EventOrderCreated)
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1", "ord_2")
			wantClaims(t, db, "before the change", 1, 1, 2, 2, 3, 3)
			change(t, db, "UPDATE deliveries SET status = 'retrying', attempts = 1 WHERE resource = 'ord_2'")
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_2", "ord_3", "ord_3", "ord_3")
			r.setOrdering(t, db, s.ID, app.OrderingResource)
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_4", "ord_4")
			takesJob(t, db, "reordering/"+string(s.ID))
			wantClaims(t, db, "of the other webhook", 4, 5, 6, 7, 8, 9, 10)
			end := app.Reordering{}
			for !end.Done {
				r.reorder(t, db, s.ID, end, 1, batch) // its result is lost
				end = r.reorder(t, db, s.ID, end, 1, batch)
				if !end.Done {
					wantClaims(t, db, "before the end of the job")
				}
			}
			wantClaims(t, db, "after the job", 6, 9)
			deliverOf(t, db, s.ID, "ord_1") // one of two in progress
			wantClaims(t, db, "while the other is in progress")
			deliverOf(t, db, s.ID, "ord_1")
			wantClaims(t, db, "after both", 4)
			deliverOf(t, db, s.ID, "ord_2")
			deliverOf(t, db, s.ID, "ord_3")
			wantClaims(t, db, "after a retry and the first of ord_3", 5, 7)
			n := count(t, db, "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND ordered", other.ID)
			if n != 0 {
				t.Errorf("ordered deliveries of the other webhook: got %d, want 0", n)
			}
		})
	}
}

// takesJob fails the test unless exactly this job is enqueued.
func takesJob(t *testing.T, db *persistencetest.Database, want string) {
	t.Helper()
	if diff := cmp.Diff([]string{want}, takeJobs(t, db, later)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

// deliverOf marks the delivery in progress of a resource, the one with the smallest position, as delivered.
func deliverOf(t *testing.T, db *persistencetest.Database, s app.SubscriptionID, resource string) {
	t.Helper()
	change(t, db, `UPDATE deliveries SET status = 'delivered', attempts = attempts + 1, ended_at = $3
		WHERE id = (SELECT id FROM deliveries WHERE subscription_id = $1 AND resource = $2
			AND status IN ('pending', 'retrying') ORDER BY position LIMIT 1)`, s, resource, noon)
}

// If a subscription is no longer ordered, its deliveries are released, except those of a bulk replay.
func TestSubscriptionBecomesUnordered(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"batches of one": 1, "batches of three": 3, "one batch": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "pizza.example")
			s := subscribeOrdered(t, db, r, app.EventOrderCreated)
			store := r.Stores[0]
			emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_1", "ord_2")
			change(t, db, "UPDATE deliveries SET status = 'dead_letter', ended_at = $1", noon)
			emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_2", "ord_3", "ord_3")
			wantClaims(t, db, "while ordered", 5, 7, 8)
			replay := createReplay(t, db, store, allOf(s.ID))
			step(t, db, store, replay.ID, 100)
			wantClaims(t, db, "while first deliveries are in progress")
			r.setOrdering(t, db, s.ID, app.OrderingNone)
			r.reorderAll(t, db, s.ID, batch)
			wantClaims(t, db, "after the change: the rest, and one replay of each order", 1, 4, 6, 9)
			emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1")
			wantClaims(t, db, "new ones", 10, 11)
			deliverOf(t, db, s.ID, "ord_1") // the replay
			wantClaims(t, db, "the next of the bulk replay", 2)
			deliver(t, db)
			wantClaims(t, db, "and its last", 3)
			deliver(t, db)
			if n := count(t, db, "SELECT count(*) FROM turns"); n != 0 {
				t.Errorf("turns at the end: got %d, want 0", n)
			}
		})
	}
}

// Changes back and forth while a job runs end in the last setting, in whichever batch they occur.
func TestOrderingChangesWhileItsJobRuns(t *testing.T) {
	t.Parallel()
	for before := range 8 {
		for _, last := range app.Orderings {
			db := persistencetest.New(t)
			r := open(t, db, "pizza.example")
			s := r.Subscribe(t, db, 0, app.EventOrderCreated)
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_2", "ord_1", "ord_2", "ord_1", "ord_2")
			first := app.OrderingResource
			if last == app.OrderingResource {
				r.setOrdering(t, db, s.ID, first)
				r.reorderAll(t, db, s.ID, 2)
				first = app.OrderingNone
			}
			r.setOrdering(t, db, s.ID, first)
			at := r.reorder(t, db, s.ID, app.Reordering{}, before, 1)
			r.setOrdering(t, db, s.ID, last)
			if end := r.reorder(t, db, s.ID, at, 100, 1); !end.Done {
				t.Fatalf("after %d batches, to %s: the job did not end: %+v", before, last, end)
			}
			r.reorderAll(t, db, s.ID, 1) // the job that the last change has enqueued
			claims := claimOnce(t, db.Queue, noon, all)
			want := map[app.Ordering]int{app.OrderingNone: 6, app.OrderingResource: 2}[last]
			if len(claims) != want {
				t.Errorf("claims after %d batches and a change to %s: got %d, want %d", before, last, len(claims), want)
			}
		}
	}
}

// A claim that began before the change, and commits after its stage, is found by the last step.
func TestClaimDuringAChangeOfOrdering(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "pizza.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1")
	r.setOrdering(t, db, s.ID, app.OrderingResource)
	at := r.reorder(t, db, s.ID, app.Reordering{}, 2, 1000) // in progress: none
	change(t, db, "UPDATE deliveries SET status = 'pending' WHERE event_id = $1", x(1)[0])
	r.reorder(t, db, s.ID, at, 100, 1000)
	wantClaims(t, db, "while the first is in progress")
	deliver(t, db)
	wantClaims(t, db, "after its end", 2)
}

// A claim that a relay gives back, or whose lease and plan window end, waits for the turn if a change of ordering has
// given it to another delivery.
func TestClaimQueuedAgainAfterAChangeOfOrdering(t *testing.T) {
	t.Parallel()
	next := noon.Add(90 * time.Minute)
	for name, queue := range map[string]func(*persistencetest.Database, app.Claim) error{
		"given back": func(db *persistencetest.Database, c app.Claim) error {
			return db.Requeue(t.Context(), []app.Claim{c})
		},
		"taken over": func(db *persistencetest.Database, _ app.Claim) error {
			_, err := db.ClaimAbandoned(t.Context(), next, all)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "pizza.example")
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			s := r.Subscribe(t, db, 0, app.EventOrderCreated)
			emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1", "ord_1")
			claims := claimOnce(t, db.Queue, noon, all)
			change(t, db, "UPDATE deliveries SET status = 'retrying', attempts = 1, started_at = $2 WHERE id = $1",
				claims[0].ID, noon)
			change(t, db, "UPDATE deliveries SET status = 'queued', lease_until = NULL WHERE id = $1", claims[2].ID)
			r.setOrdering(t, db, s.ID, app.OrderingResource)
			r.reorderAll(t, db, s.ID, 1000)
			change(t, db, "UPDATE turns SET delivery_id = $1", claims[0].ID) // it could be that of either
			must(t, queue(db, claims[1]))
			if got := events(claimOnce(t, db.Queue, next, all)); len(got) > 0 {
				t.Fatalf("claimed events %v while the first is retrying", got)
			}
			deliverOf(t, db, s.ID, "ord_1")
			if diff := cmp.Diff(x(2), events(claimOnce(t, db.Queue, next, all))); diff != "" {
				t.Errorf("claimed events after the end of the first (-want +got):\n%s", diff)
			}
		})
	}
}

// A change of ordering ends with the subscription, and needs no active one.
func TestReorderingOfDeletedSubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "pizza.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1")
	r.setOrdering(t, db, s.ID, app.OrderingResource)
	r.setActive(t, db, s.ID, false)
	r.reorderAll(t, db, s.ID, 1)
	if n := r.endQueued(t, db, s.ID, 100); n != 2 {
		t.Errorf("ended deliveries of the inactive webhook: got %d, want 2", n)
	}
	r.setOrdering(t, db, s.ID, app.OrderingNone)
	must(t, db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s.ID, 0))
	if end := r.reorder(t, db, s.ID, app.Reordering{}, 1, 1); !end.Done {
		t.Errorf("batch of a deleted webhook: got %+v, want it done", end)
	}
}

// The reconciler enqueues the job of an unfinished change again.
func TestLostReordering(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "pizza.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.setOrdering(t, db, s.ID, app.OrderingResource)
	takesJob(t, db, "reordering/"+string(s.ID))
	const after = 3 * time.Minute
	for _, want := range []int{1, 0} {
		if n, err := db.EnqueueLostJobs(t.Context(), noon.Add(after), after); n != want || err != nil {
			t.Errorf("lost jobs: got %d and error %v, want %d", n, err, want)
		}
		takeJobs(t, db, later)
		r.reorderAll(t, db, s.ID, 10)
	}
}

// The bulk replay and the change of ordering of one website leave another one alone: its events are dispatched and
// claimed while a batch holds its locks, and the other website's queue is not longer than its limits.
func TestBulkWorkOfANeighbour(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	big, small := open(t, db, "big.example"), open(t, db, "small.example")
	idle := big.Subscribe(t, db, 0, app.EventOrderCancelled).ID
	resources := make([]string, 3_000)
	for i := range resources {
		resources[i] = fmt.Sprint("ord_", i%1_500)
	}
	emitOf(t, db, big.Stores[0], app.EventOrderCreated, resources...)
	s := big.Subscribe(t, db, 0, app.EventOrderCreated).ID
	in := allOf(s)
	in.DeliveryStatus = app.ReplayedMissed
	replay := createReplay(t, db, big.Stores[0], in)
	for range 3 {
		_, err := db.ContinueBulkReplay(t.Context(), later, big.Stores[0], replay.ID, app.DefaultReplayLimits())
		must(t, err)
	}
	limits := app.DefaultReplayLimits()
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND NOT held"); n != limits.Waiting {
		t.Errorf("claimable deliveries of the bulk replay: got %d, want %d", n, limits.Waiting)
	}
	subscribeOrdered(t, db, small, app.EventOrderCreated)
	big.setOrdering(t, db, idle, app.OrderingResource)
	big.setOrdering(t, db, s, app.OrderingResource)
	tx, err := db.System().DB.BeginTx(t.Context(), nil) // a batch, or the end of the change
	must(t, err)
	defer func() { must(t, tx.Rollback()) }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM subscriptions WHERE store_id = $1 FOR NO KEY UPDATE",
		big.Stores[0])
	must(t, err)
	_, err = tx.ExecContext(t.Context(), "SELECT FROM turns WHERE store_id = $1 FOR UPDATE", big.Stores[0])
	must(t, err)
	for _, store := range []app.StoreID{big.Stores[0], small.Stores[0]} {
		emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_2")
	}
	var claimed []app.StoreID
	for _, c := range claimOnce(t, db.Queue, noon, batches(10)) {
		claimed = append(claimed, c.StoreID)
	}
	if diff := cmp.Diff([]app.StoreID{small.Stores[0], small.Stores[0]}, claimed); diff != "" {
		t.Errorf("stores of the claims: want the other website, once for each order (-want +got):\n%s", diff)
	}
}
