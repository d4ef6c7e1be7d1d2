package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// endAndList ends the queued deliveries of a bulk replay and returns them.
func endAndList(t *testing.T, db *persistencetest.Database, replay app.ReplayID) (ended []app.DeliveryID) {
	t.Helper()
	must(t, db.System().NewRaw(`UPDATE deliveries SET status = 'delivered', ended_at = ?
		WHERE replay_id = ? AND status = 'queued' RETURNING id`, later.Add(time.Second), replay).
		Scan(t.Context(), &ended))
	return ended
}

// A bulk replay queues ended deliveries in the order of their positions, although their ids have another order.
func TestBulkReplayGoesByPosition(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 6)
	change(t, db, "UPDATE deliveries SET position = 9000000000000000 - position")
	var want, got []app.DeliveryID
	must(t, db.System().NewRaw("SELECT id FROM deliveries ORDER BY id DESC").Scan(t.Context(), &want))
	replay := createReplay(t, db, store, allOf(s))
	limits := waiting(1)
	limits.List = 4 // the list takes two steps
	for i := range 8 {
		step, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, limits)
		must(t, err)
		if i == 0 && (step.Matched != 4 || step.Replayed != 0) {
			t.Errorf("first step: got %+v, want 4 listed deliveries", step)
		}
		got = append(got, endAndList(t, db, replay.ID)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replayed deliveries (-want +got):\n%s", diff)
	}
}

// The list of a bulk replay that was cancelled, or whose webhook was deleted, is removed in steps.
func TestListOfEndedBulkReplayIsRemoved(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 5)
	cancelled, deleted := createReplay(t, db, store, allOf(s)), createReplay(t, db, store, allOf(s))
	for _, replay := range []app.BulkReplay{cancelled, deleted} {
		step(t, db, store, replay.ID, 0)
	}
	_, err := db.CancelBulkReplay(t.Context(), later, store, cancelled.ID, "enough")
	must(t, err)
	change(t, db, "UPDATE subscriptions SET deleted_at = now()")
	limits := app.DefaultReplayLimits()
	limits.List = 3
	for _, replay := range []app.BulkReplay{cancelled, deleted} {
		for i, want := range []int{2, 0} {
			got, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, limits)
			must(t, err)
			left := count(t, db, "SELECT count(*) FROM replay_items WHERE replay_id = $1", replay.ID)
			if got.Status != app.ReplayCancelled || got.Rest != (want > 0) || left != want {
				t.Errorf("step %d after the end: got %+v and %d rows, want cancelled with %d rows", i+1, got, left,
					want)
			}
		}
	}
}

// The rest of the list of an ended bulk replay, whose job was terminated, is erased long before the bulk replay, in
// batches. The list of a running one stays.
func TestListOfEndedBulkReplayIsErased(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	var replays []app.BulkReplay
	const n = 1001 // two batches and one that is not full
	for range 3 {
		replay := createReplay(t, db, store, allOf(s))
		replays = append(replays, replay)
		change(t, db, `INSERT INTO replay_items (replay_id, store_id, position, id)
			SELECT $1, $2, n, 'dlv_' || n FROM generate_series(1, $3) n`, replay.ID, store, n)
	}
	for _, i := range []int{0, 2} {
		_, err := db.CancelBulkReplay(t.Context(), later, store, replays[i].ID, "enough")
		must(t, err)
	}
	_, few := erase(t, db, later) // no bulk replay has ended before
	_, many := erase(t, db, later.Add(time.Minute))
	for i, want := range []int{0, n, 0} {
		if left := count(t, db, "SELECT count(*) FROM replay_items WHERE replay_id = $1", replays[i].ID); left != want {
			t.Errorf("list of bulk replay %d: %d rows are left, want %d", i, left, want)
		}
	}
	// Each ended list takes two batches more.
	if many != few+4 {
		t.Errorf("%d and %d transactions, want 4 more", few, many)
	}
}

// course are the events of an order, in their order.
var course = []app.EventType{
	app.EventOrderCreated, app.EventOrderStatusUpdated, app.EventOrderStatusUpdated, app.EventPaymentSucceeded,
	app.EventOrderCompleted,
}

var courseTypes = []app.EventType{course[0], course[1], course[3], course[4]}

// orders emits the courses of n orders. They overlap.
func orders(t *testing.T, db *persistencetest.Database, store app.StoreID, n int) {
	t.Helper()
	for i := range n + len(course) - 1 {
		for step, kind := range course {
			if order := i - step; order >= 0 && order < n {
				emitOf(t, db, store, kind, fmt.Sprint("ord_", order))
			}
		}
	}
}

// starts claims deliveries of a subscription and fails the test if more than one delivery of a resource is in progress,
// or one starts after a later one. last contains the position of the last start of each resource.
func starts(
	t *testing.T, db *persistencetest.Database, at time.Time, s app.SubscriptionID, last map[string]int64,
) (started int) {
	t.Helper()
	for _, c := range claimOnce(t, db.Queue, at, all) {
		if c.SubscriptionID != s {
			continue
		}
		var resource string
		var position int64
		must(t, db.System().DB.QueryRowContext(t.Context(),
			"SELECT resource, position FROM deliveries WHERE id = $1", c.ID).Scan(&resource, &position))
		if position <= last[resource] {
			t.Errorf("a delivery of %s at position %d started after position %d", resource, position, last[resource])
		}
		last[resource] = position
		started++
	}
	if n := count(t, db, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM deliveries
		WHERE subscription_id = $1 AND status IN ('pending', 'retrying') GROUP BY resource) line`, s); n > 1 {
		t.Errorf("deliveries of one resource in progress: got %d, want 1", n)
	}
	return started
}

// Bulk replays deliver the events of each order one at a time, in the order of their positions, under both orderings of
// the webhook: missed events, dead letters, and deliveries that were delivered.
func TestBulkReplayKeepsTheOrderOfEachResource(t *testing.T) {
	t.Parallel()
	for _, ordering := range app.Orderings {
		for _, status := range app.ReplayedStatuses {
			t.Run(fmt.Sprint(ordering, "/", status), func(t *testing.T) {
				t.Parallel()
				db := persistencetest.New(t)
				r := open(t, db, "one.example")
				store := r.Stores[0]
				var s app.SubscriptionID
				if status != app.ReplayedMissed {
					s = r.Subscribe(t, db, 0, courseTypes...).ID
				}
				orders(t, db, store, 6)
				if status == app.ReplayedMissed {
					s = r.Subscribe(t, db, 0, courseTypes...).ID
				}
				change(t, db, "UPDATE subscriptions SET ordering = $1", ordering)
				change(t, db, "UPDATE deliveries SET status = $1, ended_at = $2", status, noon)
				in := allOf(s)
				in.DeliveryStatus = status
				replay := createReplay(t, db, store, in)
				last, total := map[string]int64{}, 0
				for range 40 {
					// Four turns of orders are free at a time, so that orders wait in the list too.
					got := step(t, db, store, replay.ID, 4)
					total += starts(t, db, later, s, last)
					if got.Status == app.ReplayCompleted && total == 30 {
						break
					}
					deliver(t, db)
				}
				if total != 30 || len(last) != 6 {
					t.Errorf("started %d deliveries of %d orders, want 30 of 6", total, len(last))
				}
			})
		}
	}
}

// A bulk replay fills its limits: as many resources as may wait for their first attempt, and behind them as many
// deliveries as may be unfinished.
func TestBulkReplayLimits(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	orders(t, db, store, 6)
	s := r.Subscribe(t, db, 0, courseTypes...).ID
	in := allOf(s)
	in.DeliveryStatus = app.ReplayedMissed
	replay := createReplay(t, db, store, in)
	next := func(limits app.ReplayLimits, claimable, held int) {
		t.Helper()
		_, err := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, limits)
		must(t, err)
		got := [2]int{count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND NOT held"),
			count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'queued' AND held")}
		if want := [2]int{claimable, held}; got != want {
			t.Errorf("claimable and held-back deliveries: got %v, want %v", got, want)
		}
	}
	limits := waiting(2)
	limits.Unfinished = 3
	next(limits, 2, 1) // events 1 to 3 of the orders 0, 0 and 1
	next(limits, 2, 1)
	limits.Unfinished = 100
	next(limits, 2, 1) // two resources wait
	wantClaims(t, db, "of two orders", 1, 2)
	change(t, db, "UPDATE deliveries SET status = 'retrying' WHERE status = 'pending'")
	limits.Unfinished = 4
	next(limits, 1, 1) // the third order
	limits.Unfinished = 1000
	next(limits, 2, 6) // the fourth order, and the events of all four until the first of the fifth
}

// The sixth event of an order arrives during the bulk replay of the other five, while the plan is used up. With an
// ordered webhook it does not wait for the queued replay; the replay waits for it.
func TestBulkReplayWhileALaterEventArrives(t *testing.T) {
	t.Parallel()
	for ordering, want := range map[app.Ordering][][]int{
		app.OrderingNone:     {{1}, {2, 6}, {3}, {4}, {5}},
		app.OrderingResource: {{1}, {6}, {2}, {3}, {4}, {5}},
	} {
		t.Run(string(ordering), func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			change(t, db, "UPDATE subscriptions SET ordering = $1", ordering)
			emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_1", "ord_1", "ord_1")
			change(t, db, "UPDATE deliveries SET status = 'dead_letter', ended_at = $1", noon)
			replay := createReplay(t, db, store, allOf(s))
			step(t, db, store, replay.ID, 100)
			wantClaims(t, db, "at first", want[0]...)
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			change(t, db, `INSERT INTO plan_windows (queue, starts_at, started) VALUES ($1, $2, 500)`, r.Website, noon)
			emitOf(t, db, store, app.EventOrderCreated, "ord_1")
			deliver(t, db)
			wantClaims(t, db, "without plan")
			for i, events := range want[1:] {
				change(t, db, "UPDATE plan_windows SET started = 0, replays_started = 0")
				wantClaims(t, db, fmt.Sprint("in window ", i+1), events...)
				change(t, db, "UPDATE plan_windows SET started = 500, replays_started = 250")
				deliver(t, db)
			}
		})
	}
}

// Deletion and deactivation end the queued deliveries of a bulk replay, held back or not, and the turns go.
func TestBulkReplayOfSwitchedOffWebhook(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]func(*testing.T, *persistencetest.Database, restaurant, app.SubscriptionID){
		"deactivated": func(t *testing.T, db *persistencetest.Database, r restaurant, s app.SubscriptionID) {
			r.setActive(t, db, s, false)
			r.endQueued(t, db, s, 100)
		},
		"deleted": func(t *testing.T, db *persistencetest.Database, r restaurant, s app.SubscriptionID) {
			must(t, db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s, 0))
			_, err := db.CancelQueued(t.Context(), noon, r.Stores[0], s, 100)
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			orders(t, db, r.Stores[0], 3)
			s := r.Subscribe(t, db, 0, courseTypes...).ID
			in := allOf(s)
			in.DeliveryStatus = app.ReplayedMissed
			replay := createReplay(t, db, r.Stores[0], in)
			step(t, db, r.Stores[0], replay.ID, 2)
			claims := claimOnce(t, db.Queue, later, batches(1))
			off(t, db, r, s)
			must(t, db.EndDelivery(t.Context(), later, claims[0].ID, app.DeliveryCancelled, "test"))
			got := step(t, db, r.Stores[0], replay.ID, 100)
			if name == "deleted" && (got.Status != app.ReplayCancelled || got.Rest) {
				t.Errorf("step of a deleted webhook: got %+v, want cancelled", got)
			}
			if name == "deactivated" {
				r.endQueued(t, db, s, 100)
			}
			unfinished := count(t, db, `SELECT count(*) FROM deliveries
				WHERE subscription_id = $1 AND ended_at IS NULL`, s)
			turns := count(t, db, "SELECT count(*) FROM turns WHERE subscription_id = $1", s)
			if unfinished != 0 || turns != 0 {
				t.Errorf("got %d unfinished deliveries and %d turns, want none", unfinished, turns)
			}
		})
	}
}
