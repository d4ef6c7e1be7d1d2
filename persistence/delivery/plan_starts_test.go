package delivery_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Eight relays dispatch and claim concurrently, in small batches, for two stores and a sandbox.
func TestNoWindowStartsMoreThanThePlanAllows(t *testing.T) {
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
	queues := []string{string(r.Website), string(twin)}

	var lock sync.Mutex
	seen := map[app.DeliveryID]bool{}
	for hour, want := range []int{perWindow, perWindow, events - 2*perWindow} {
		now := noon.Add(time.Duration(hour) * time.Hour)
		var started atomic.Int64
		var relays sync.WaitGroup
		for range 8 {
			relays.Go(func() {
				for idle := 0; idle < 20 && !t.Failed(); idle++ {
					if _, err := db.Dispatch(t.Context(), now, 100); err != nil {
						t.Error(err)
					}
					found, err := db.Claim(t.Context(), now, batches(40))
					if err != nil {
						t.Error(err)
					}
					lock.Lock()
					for _, c := range found.Claims {
						if seen[c.ID] {
							t.Errorf("%s was claimed twice", c.ID)
						}
						seen[c.ID], idle = true, 0
					}
					lock.Unlock()
					started.Add(int64(len(found.Claims)))
				}
			})
		}
		relays.Wait()
		claimAll(t, db.Queue, now, all) // a relay leaves a queue that another has locked
		for _, queue := range queues {
			if n := startedIn(t, db, queue, now); n != want {
				t.Errorf("%s started %d deliveries in window %d, want %d", queue, n, hour, want)
			}
		}
		deliver(t, db)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'delivered'"); n != 2*events {
		t.Errorf("%d of %d deliveries have started", n, 2*events)
	}
}

// subscribe creates a subscription of a store that is not in the kit's restaurant.
func subscribe(t *testing.T, db *persistencetest.Database, store app.StoreID) app.SubscriptionID {
	t.Helper()
	r := persistencetest.Restaurant{Stores: []app.StoreID{store}}
	return r.Subscribe(t, db, 0, app.EventOrderCreated).ID
}

// startedIn returns the starts that are counted in the window of a time.
func startedIn(t *testing.T, db *persistencetest.Database, queue string, now time.Time) int {
	t.Helper()
	return count(t, db, "SELECT coalesce(sum(started), 0) FROM plan_windows WHERE queue = $1 AND starts_at = $2", queue,
		app.PlanWindow(now, time.Hour))
}

func TestAPlanWithoutLimitHoldsNothingBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 3_000, r.Stores[0])
	if claims := claimOnce(t, db.Queue, noon, all); len(claims) != 3_000 {
		t.Errorf("%d of 3000 start", len(claims))
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 0 {
		t.Errorf("%d windows are counted", n)
	}
	usage, err := db.PlanUsage(t.Context(), noon, r.Stores[0])
	must(t, err)
	want := app.PlanUsage{Plan: app.PlanEnterprise, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour))}
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Error(diff)
	}
}

// Five thousand deliveries wait while the plan is raised and lowered. Each change applies to the next claim.
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
			t.Errorf("step %d, %s: %d start, want %d", i, step.plan, len(claims), step.want)
		}
	}
}

// A relay that finds a queue locked claims from the others and does not wait.
func TestALockedQueueIsLeftToItsRelay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	locked, other, unlimited := open(t, db, "one.example"), open(t, db, "two.example"), open(t, db, "three.example")
	for _, r := range []restaurant{locked, other, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
	}
	setPlan(t, db, noon, locked.Website, app.PlanStarter)
	setPlan(t, db, noon, other.Website, app.PlanStarter)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(plan_lock(?))", locked.Website)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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
	if diff := cmp.Diff(map[string]int{string(other.Website): 10, string(unlimited.Website): 10}, perQueue()); diff != "" {
		t.Error("while a queue is locked:", diff)
	}
	must(t, tx.Commit())
	if diff := cmp.Diff(map[string]int{string(locked.Website): 10}, perQueue()); diff != "" {
		t.Error("afterwards:", diff)
	}
	if n := startedIn(t, db, string(unlimited.Website), noon); n != 0 {
		t.Errorf("%d starts of an unlimited queue are counted", n)
	}
}

// Windows before the previous one are deleted: the clock of another server may still be in that.
func TestPastWindowsAreDeleted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for hour := range 4 {
		enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
		claimOnce(t, db.Queue, noon.Add(time.Duration(hour)*time.Hour), all)
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 2 {
		t.Errorf("%d windows are kept, want 2", n)
	}
}
