package delivery_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// bursting is the limits of production, without those of one subscription.
func bursting() app.ClaimLimits {
	limits := delivery.DefaultPolicy().Claim
	limits.Unproven, limits.Quick, limits.Slow = 10_000, 10_000, 10_000
	return limits
}

// waited is a time at which the events of noon have waited long enough.
var waited = noon.Add(250 * time.Millisecond)

// burstSizes returns the sizes of the bursts, the largest first, and the number of claims that are in none.
func burstSizes(claims []app.Claim) (sizes []int, single int) {
	bursts := map[app.BurstID]int{}
	for _, c := range claims {
		if c.BurstID == "" {
			single++
		} else {
			bursts[c.BurstID]++
		}
	}
	for _, size := range bursts {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes, single
}

// Deliveries that have waited are claimed as bursts, more of them in one claim. A burst has at least two.
func TestWaitingDeliveriesBecomeBursts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events int
		change func(*app.ClaimLimits)
		now    time.Time
		sizes  []int
		single int
	}{
		"nothing has waited":        {100, nil, waited.Add(-time.Millisecond), nil, 64},
		"bursts are off":            {100, func(l *app.ClaimLimits) { l.Burst = 0 }, waited, nil, 64},
		"bursts of one":             {100, func(l *app.ClaimLimits) { l.Burst = 1 }, waited, nil, 64},
		"one":                       {1, nil, waited, nil, 1},
		"two":                       {2, nil, waited, []int{2}, 0},
		"as many as the largest":    {32, nil, waited, []int{32}, 0},
		"one more than the largest": {33, nil, waited, []int{32}, 1},
		"two more than the largest": {34, nil, waited, []int{32, 2}, 0},
		"more than one claim takes": {1_000, nil, waited, slices.Repeat([]int{32}, 16), 0},
		"a smaller claim":           {100, func(l *app.ClaimLimits) { l.BurstBatch = 70 }, waited, []int{32, 32, 6}, 0},
		"bursts of two":             {5, func(l *app.ClaimLimits) { l.Burst = 2 }, waited, []int{2, 2}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.Subscribe(t, db, 0, app.EventOrderCreated)
			enqueue(t, db, app.EventOrderCreated, test.events, r.Stores[0])
			limits := bursting()
			if test.change != nil {
				test.change(&limits)
			}
			found, err := db.Claim(t.Context(), test.now, limits)
			must(t, err)
			sizes, single := burstSizes(found.Claims)
			if diff := cmp.Diff(test.sizes, sizes); diff != "" || single != test.single {
				t.Errorf("%d in no burst, want %d; %s", single, test.single, diff)
			}
			if want := test.now.Sub(noon); found.Waited != want {
				t.Errorf("waited %s, want %s", found.Waited, want)
			}
		})
	}
}

// Neither replays nor deliveries of failing or slow subscriptions are in a burst, and they do not cause one. A burst
// has deliveries of several websites.
func TestBurstsHaveFirstDeliveriesOfHealthyQuickSubscriptions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, other := open(t, db, "one.example"), open(t, db, "two.example")
	setPlan(t, db, noon, other.Website, app.PlanGrow)
	s := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	replays := r.endedDeliveries(t, db, 10)
	r.replayAll(t, db, replays)
	failing, slow := r.Subscribe(t, db, 0, app.EventOrderCancelled).ID, r.Subscribe(t, db, 0, app.EventOrderCancelled).ID
	change(t, db, "UPDATE subscription_health SET failure_count = 1 WHERE subscription_id = $1", failing)
	change(t, db, "UPDATE subscription_health SET slow_seen_at = $2 WHERE subscription_id = $1", slow, noon)
	enqueue(t, db, app.EventOrderCancelled, 10, r.Stores[0])
	for _, c := range claimAll(t, db.Queue, waited, bursting()) {
		if c.BurstID != "" {
			t.Errorf("in a burst: %+v", c)
		}
	}
	deliver(t, db)
	healthy := other.Subscribe(t, db, 0, app.EventOrderCreated).ID
	enqueue(t, db, app.EventOrderCreated, 20, r.Stores[0], other.Stores[0])
	r.replayAll(t, db, replays)
	enqueue(t, db, app.EventOrderCancelled, 10, r.Stores[0])
	got := map[app.SubscriptionID]int{}
	for _, c := range claimAll(t, db.Queue, waited, bursting()) {
		if c.BurstID != "" {
			got[c.SubscriptionID]++
		}
	}
	if diff := cmp.Diff(map[app.SubscriptionID]int{s: 10, healthy: 10}, got); diff != "" {
		t.Error(diff)
	}
	if n := count(t, db, "SELECT count(DISTINCT burst_id) FROM deliveries"); n != 1 {
		t.Errorf("%d bursts, want one of both websites", n)
	}
}

// A delivery that waited for its window has waited since the window began.
func TestWaitingForTheWindowIsNoBacklog(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	enqueue(t, db, app.EventOrderCreated, 800, r.Stores[0])
	claimAll(t, db.Queue, noon, all)
	next := noon.Add(time.Hour)
	for _, step := range []struct {
		at    time.Time
		sizes []int
	}{{next.Add(100 * time.Millisecond), nil}, {next.Add(300 * time.Millisecond), append(slices.Repeat([]int{32}, 7), 12)}} {
		sizes, _ := burstSizes(claimOnce(t, db.Queue, step.at, bursting()))
		if diff := cmp.Diff(step.sizes, sizes, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("at %s: %s", step.at.Sub(next), diff)
		}
	}
}

// burst claims deliveries of a limited website as one burst.
func burst(t *testing.T, db *persistencetest.Database, n int) []app.Claim {
	t.Helper()
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	enqueue(t, db, app.EventOrderCreated, n, r.Stores[0])
	claims := claimOnce(t, db.Queue, waited, bursting())
	if sizes, single := burstSizes(claims); len(sizes) != 1 || sizes[0] != n || single != 0 {
		t.Fatalf("bursts of %v, %d in none", sizes, single)
	}
	return claims
}

// A burst is taken over as a whole, under its own id, even if the lease of only one delivery has ended, and also in a
// later window. Deliveries of it that have ended stay as they are.
func TestBurstsAreTakenOverAsAWhole(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{noon.Add(time.Minute), noon.Add(2 * time.Hour)} {
		db := persistencetest.New(t)
		claims := burst(t, db, 30)
		must(t, db.MarkStarted(t.Context(), noon, claims[:20]))
		change(t, db, "UPDATE deliveries SET lease_until = $1", now.Add(time.Hour))
		change(t, db, "UPDATE deliveries SET lease_until = $2 WHERE id = $1", claims[29].ID, now.Add(-time.Second))
		must(t, db.EndDelivery(t.Context(), noon, claims[0].ID, app.DeliveryCancelled, app.ReasonCancelled))
		taken, err := db.ClaimAbandoned(t.Context(), now, batches(1))
		must(t, err)
		if len(taken) != 29 {
			t.Fatalf("%d of 29 are taken over", len(taken))
		}
		for _, c := range taken {
			if c.BurstID != claims[0].BurstID || c.Generation != 2 || c.ID == claims[0].ID {
				t.Errorf("taken over: %+v", c)
			}
		}
	}
}

// Two relays that see the same burst do not share it, and do not wait for each other. A burst of which a delivery is
// being recorded runs, and is left alone.
func TestBurstsAreTakenOverByOneRelay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := burst(t, db, 32)
	now := noon.Add(time.Minute)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM deliveries WHERE id = ? FOR UPDATE", claims[7].ID)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if taken, err := db.ClaimAbandoned(ctx, now, all); err != nil || len(taken) != 0 {
		t.Errorf("%d are taken over while one is being recorded, %v", len(taken), err)
	}
	must(t, tx.Rollback())
	var lock sync.Mutex
	var sizes []int
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			taken, err := db.ClaimAbandoned(ctx, now, all)
			if err != nil {
				t.Error(err)
			}
			lock.Lock()
			defer lock.Unlock()
			if len(taken) > 0 {
				sizes = append(sizes, len(taken))
			}
		})
	}
	relays.Wait()
	if diff := cmp.Diff([]int{32}, sizes); diff != "" {
		t.Error(diff)
	}
}
