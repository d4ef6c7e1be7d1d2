package delivery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Eight relays of two workers dispatch and claim concurrently, in small batches, for two stores and a sandbox of a
// limited website and a store of an unlimited one. No delivery is claimed twice.
func TestConcurrentClaimsKeepPlan(t *testing.T) {
	t.Parallel()
	const perWindow, events = 500, 1_200
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	twin := r.Key(t, db, 0, app.KeyTest).StoreID
	for store := range r.Stores {
		r.Subscribe(t, db, store, app.EventOrderCreated)
	}
	subscribe(t, db, twin)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, app.EventOrderCreated, events, r.Stores...)
	emit(t, db, app.EventOrderCreated, events, twin)
	unlimited := open(t, db, "two.example")
	unlimited.Subscribe(t, db, 0, app.EventOrderCreated)
	workers := []*delivery.Queue{db.Queue, withPolicy(t, db, func(*delivery.Policy) {})}
	queues := []string{string(r.Website), string(r.Website) + "/test:" + string(twin)}

	var lock sync.Mutex
	seen := map[app.DeliveryID]bool{}
	for hour, want := range []int{perWindow, perWindow, events - 2*perWindow} {
		now := noon.Add(time.Duration(hour) * time.Hour)
		emit(t, db, app.EventOrderCreated, perWindow, unlimited.Stores[0])
		var relays sync.WaitGroup
		for i := range 8 {
			relays.Go(func() {
				worker := workers[i%len(workers)]
				for idle := 0; idle < 20 && !t.Failed(); idle++ {
					if _, err := worker.Dispatch(t.Context(), now, 1000); err != nil {
						t.Error(err)
					}
					found, err := worker.Claim(t.Context(), now, batches(40))
					if err != nil {
						t.Error(err)
					}
					lock.Lock()
					for _, c := range found.Claims {
						if seen[c.ID] {
							t.Errorf("%s was claimed twice, want once", c.ID)
						}
						seen[c.ID], idle = true, 0
					}
					lock.Unlock()
				}
			})
		}
		relays.Wait()
		claimAll(t, db.Queue, now, all) // a relay skips a queue that another relay has locked
		for _, queue := range queues {
			if n := startedIn(t, db, queue, now); n != want {
				t.Errorf("starts of %s in window %d: got %d, want %d", queue, hour, n, want)
			}
		}
		deliver(t, db)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'delivered'"); n != 2*events+3*perWindow {
		t.Errorf("started deliveries: got %d, want %d", n, 2*events+3*perWindow)
	}
}

// subscribe creates a subscription of a store outside the restaurant of the test kit.
func subscribe(t *testing.T, db *persistencetest.Database, store app.StoreID) app.SubscriptionID {
	t.Helper()
	r := persistencetest.Restaurant{Stores: []app.StoreID{store}}
	return r.Subscribe(t, db, 0, app.EventOrderCreated).ID
}

// startedIn returns the counted starts of a queue in the window of a time.
func startedIn(t *testing.T, db *persistencetest.Database, queue string, now time.Time) int {
	t.Helper()
	return count(t, db, "SELECT coalesce(sum(started), 0) FROM plan_windows WHERE queue = $1 AND starts_at = $2", queue,
		app.PlanWindow(now, time.Hour))
}

func TestUnlimitedPlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 3_000, r.Stores[0])
	if claims := claimOnce(t, db.Queue, noon, all); len(claims) != 3_000 {
		t.Errorf("claims: got %d, want 3000", len(claims))
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 0 {
		t.Errorf("rows of plan_windows: got %d, want 0", n)
	}
	usage, err := db.PlanUsage(t.Context(), noon, r.Stores[0])
	must(t, err)
	want := app.PlanUsage{Plan: app.PlanEnterprise, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour))}
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Errorf("plan usage (-want +got):\n%s", diff)
	}
}

// Each change of the plan applies to the next claim of 5,000 queued deliveries.
func TestPlanChangesApplyToTheNextClaim(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 5_000, r.Stores[0])
	next := noon.Add(time.Hour)
	for i, step := range []struct {
		now  time.Time
		plan app.Plan
		want int // starts
	}{
		{noon, app.PlanStarter, 500},
		{noon, app.PlanStarter, 0},
		{noon, app.PlanGrow, 1_500},
		{noon, app.PlanStarter, 0},
		{next, app.PlanStarter, 500},
		{next, app.PlanGrow, 1_500},
		{next, app.PlanStarter, 0},
		{next, app.PlanEnterprise, 1_000},
	} {
		setPlan(t, db, step.now, r.Website, step.plan)
		if claims := claimAll(t, db.Queue, step.now, all); len(claims) != step.want {
			t.Errorf("step %d, %s: got %d claims, want %d", i, step.plan, len(claims), step.want)
		}
	}
}

// A window that comes again because the clock of the database was set back has no further starts.
func TestPlanAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1_500, r.Stores[0])
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for _, step := range []struct {
		after time.Duration
		want  int // starts
	}{{0, 500}, {2 * time.Hour, 500}, {0, 0}, {2 * time.Hour, 0}, {3 * time.Hour, 500}} {
		if claims := claimAll(t, db.Queue, noon.Add(step.after), all); len(claims) != step.want {
			t.Errorf("noon + %s: got %d claims, want %d", step.after, len(claims), step.want)
		}
	}
}

// A relay skips a queue that another one is claiming from, or whose window is locked, and claims from the others
// without waiting.
func TestClaimSkipsLockedQueues(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"queue":  "SELECT pg_advisory_xact_lock(plan_lock($1)), $2::timestamptz",
		"window": "SELECT FROM plan_windows WHERE queue = $1 AND starts_at = $2 FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			locked, other, unlimited := open(t, db, "one.example"), open(t, db, "two.example"), open(t, db, "three.example")
			for _, r := range []restaurant{locked, other, unlimited} {
				r.Subscribe(t, db, 0, app.EventOrderCreated)
				enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
			}
			setPlan(t, db, noon, locked.Website, app.PlanStarter)
			setPlan(t, db, noon, other.Website, app.PlanStarter)
			seed(t, db, "INSERT INTO plan_windows (queue, starts_at, started) VALUES ($1, $2, 2)", locked.Website, noon)
			tx, err := db.System().DB.BeginTx(t.Context(), nil)
			must(t, err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(), lock, locked.Website, noon)
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			perQueue := func() map[string]int {
				t.Helper()
				found, err := db.Claim(ctx, noon, all)
				must(t, err)
				counts := map[string]int{}
				for _, c := range found.Claims {
					counts[c.Queue]++
				}
				return counts
			}
			if diff := cmp.Diff(map[string]int{string(other.Website): 10, string(unlimited.Website): 10},
				perQueue()); diff != "" {
				t.Error("claims by queue during the lock (-want +got):", diff)
			}
			must(t, tx.Commit())
			if diff := cmp.Diff(map[string]int{string(locked.Website): 10}, perQueue()); diff != "" {
				t.Error("claims by queue after the lock (-want +got):", diff)
			}
			if n := startedIn(t, db, string(unlimited.Website), noon); n != 0 {
				t.Errorf("counted starts of an unlimited queue: got %d, want 0", n)
			}
		})
	}
}

// A change between the choice of deliveries and their claim is respected: deliveries that cannot start any more stay as
// they are, and a window that another relay has changed starts nothing beyond its limit.
func TestClaimChecksItsChoiceAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile  string
		claims     int // of ten
		startedNow int // in the window
	}{
		"nothing changes": {"SELECT 1", 10, 12},
		"another relay claims some": {
			"UPDATE deliveries SET status = 'pending' WHERE event_id > 'evt_x000000000004'", 4, 6,
		},
		"some become replays":            {"UPDATE deliveries SET class = 2 WHERE event_id > 'evt_x000000000004'", 4, 6},
		"the webhook is switched off":    {"UPDATE subscriptions SET is_active = false", 0, 2},
		"the webhook is deleted":         {"UPDATE subscriptions SET deleted_at = now()", 0, 2},
		"another relay fills the window": {"UPDATE plan_windows SET started = 495", 0, 495},
		"another relay starts replays":   {"UPDATE plan_windows SET replays_started = 1", 0, 2},
		"a start is not counted":         {"UPDATE plan_windows SET started = 1", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.Subscribe(t, db, 0, app.EventOrderCreated)
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
			seed(t, db, "INSERT INTO plan_windows (queue, starts_at, started) VALUES ($1, $2, 2)", r.Website, noon)
			claims, err := db.ClaimLate(t.Context(), noon, all, func() { seed(t, db, test.meanwhile) })
			must(t, err)
			if n := startedIn(t, db, string(r.Website), noon); len(claims) != test.claims || n != test.startedNow {
				t.Errorf("got %d claims and %d starts, want %d and %d", len(claims), n, test.claims, test.startedNow)
			}
		})
	}
}

// A burst that loses all deliveries but one to another relay is none.
func TestBurstOfOneIsNone(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 5, r.Stores[0])
	claims, err := db.ClaimLate(t.Context(), waited, bursting(), func() {
		change(t, db, "UPDATE deliveries SET status = 'pending' WHERE event_id <> 'evt_x000000000003'")
	})
	must(t, err)
	if len(claims) != 1 || claims[0].BurstID != "" {
		t.Errorf("claims: got %+v, want one without a burst", claims)
	}
}

// Windows before the previous one are deleted. The clock of another server may still be in the
// previous window.
func TestPastWindowsAreDeleted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for hour := range 30 {
		enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
		claimOnce(t, db.Queue, noon.Add(time.Duration(hour)*time.Hour), all)
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 25 { // the present one and 24 before it
		t.Errorf("windows: got %d, want 25", n)
	}
}
