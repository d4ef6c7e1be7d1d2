package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// bursting returns the limits of production without the limits of a subscription.
func bursting() app.ClaimLimits {
	limits := delivery.DefaultPolicy().Claim
	limits.Unproven, limits.Quick, limits.Slow = 10_000, 10_000, 10_000
	return limits
}

// waited is a time at which deliveries of noon have waited long enough for bursts.
var waited = noon.Add(bursting().BurstAfter)

// burstSizes returns the sizes of the bursts, largest first, and the number of claims without a burst.
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

// Deliveries that have waited are claimed as bursts, and a claim of bursts is larger. A burst has at
// least two deliveries.
func TestClaimBursts(t *testing.T) {
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
		"fewer than the least":      {9, func(l *app.ClaimLimits) { l.BurstLeast = 10 }, waited, nil, 9},
		"as many as the least":      {10, func(l *app.ClaimLimits) { l.BurstLeast = 10 }, waited, []int{10}, 0},
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
				t.Errorf("got %d without a burst, want %d; sizes of bursts (-want +got): %s", single, test.single, diff)
			}
			if want := test.now.Sub(noon); found.Waited != want {
				t.Errorf("Waited: got %s, want %s", found.Waited, want)
			}
		})
	}
}

// The ids of a burst's events, webhooks and stores fit into a search attribute, which holds 2 KiB: 52 ids. Deliveries
// to the same webhook share a burst.
func TestIDsOfABurstFit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		restaurants, hooks, events int // events of each restaurant, for all of its hooks
		most                       int // bursts
	}{
		"many websites with one delivery": {60, 1, 1, 4},
		"a few deliveries each":           {20, 1, 3, 3},
		"one event for many webhooks":     {1, 90, 1, 4},
		"many events for a few webhooks":  {1, 5, 40, 7},
		"one webhook":                     {1, 1, 96, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			for i := range test.restaurants {
				r := open(t, db, fmt.Sprintf("r%d.example", i))
				for range test.hooks {
					r.Subscribe(t, db, 0, app.EventOrderCreated)
				}
				enqueue(t, db, app.EventOrderCreated, test.events, r.Stores[0])
			}
			ids, claimed := map[app.BurstID]map[string]bool{}, 0
			for _, c := range claimOnce(t, db.Queue, waited, bursting()) {
				claimed++
				if ids[c.BurstID] == nil {
					ids[c.BurstID] = map[string]bool{}
				}
				for _, id := range []string{string(c.EventID), string(c.SubscriptionID), string(c.StoreID)} {
					ids[c.BurstID][id] = true
				}
			}
			for burst, ids := range ids {
				if len(ids) > 52 {
					t.Errorf("burst %s: got %d ids, want at most 52", burst, len(ids))
				}
			}
			if want := test.restaurants * test.hooks * test.events; claimed != want || len(ids) > test.most {
				t.Errorf("got %d claims in %d bursts, want %d in at most %d", claimed, len(ids), want, test.most)
			}
		})
	}
}

// Only deliveries of healthy, quick subscriptions cause bursts. Deliveries of failing, quick subscriptions then have
// separate bursts. Replays and deliveries of slow subscriptions belong to no burst. A burst can contain deliveries of
// several websites.
func TestBurstsOmitReplaysAndSlowSubscriptions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, other := open(t, db, "one.example"), open(t, db, "two.example")
	setPlan(t, db, noon, other.Website, app.PlanEnterprise)
	s := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	replays := r.endedDeliveries(t, db, 10)
	r.replayAll(t, db, replays)
	failing, slow := r.Subscribe(t, db, 0, app.EventOrderCancelled).ID,
		r.Subscribe(t, db, 0, app.EventOrderCancelled).ID
	change(t, db, "UPDATE subscription_health SET failure_count = 1 WHERE subscription_id = $1", failing)
	change(t, db, "UPDATE subscription_health SET slow_until = 'infinity' WHERE subscription_id = $1", slow)
	enqueue(t, db, app.EventOrderCancelled, 10, r.Stores[0])
	for _, c := range claimAll(t, db.Queue, waited, bursting()) {
		if c.BurstID != "" {
			t.Errorf("claim: got %+v, want no burst", c)
		}
	}
	deliver(t, db)
	healthy := other.Subscribe(t, db, 0, app.EventOrderCreated).ID
	enqueue(t, db, app.EventOrderCreated, 20, r.Stores[0], other.Stores[0])
	r.replayAll(t, db, replays)
	enqueue(t, db, app.EventOrderCancelled, 10, r.Stores[0])
	got := map[app.BurstID]map[app.SubscriptionID]int{}
	var ofHealthy, ofFailing app.BurstID
	for _, c := range claimAll(t, db.Queue, waited, bursting()) {
		switch {
		case c.BurstID == "":
			continue
		case c.SubscriptionID == failing:
			ofFailing = c.BurstID
		default:
			ofHealthy = c.BurstID
		}
		if got[c.BurstID] == nil {
			got[c.BurstID] = map[app.SubscriptionID]int{}
		}
		got[c.BurstID][c.SubscriptionID]++
	}
	want := map[app.BurstID]map[app.SubscriptionID]int{ofHealthy: {s: 10, healthy: 10}, ofFailing: {failing: 10}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims by burst (-want +got):\n%s", diff)
	}
}

// A claim of bursts contains no more replays than the starters can take beside the bursts.
func TestReplaysBesideBursts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.replayAll(t, db, r.endedDeliveries(t, db, 200))
	enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
	for _, want := range []struct {
		sizes  []int
		single int
	}{{[]int{32, 32, 32, 4}, 48}, {nil, 64}} {
		sizes, single := burstSizes(claimOnce(t, db.Queue, waited, bursting()))
		if diff := cmp.Diff(want.sizes, sizes); diff != "" || single != want.single {
			t.Errorf("got %d without a burst, want %d; sizes of bursts (-want +got): %s", single, want.single, diff)
		}
	}
}

// The waiting time of a delivery that its plan has delayed counts from the beginning of the window.
func TestWaitForWindowCausesNoBurst(t *testing.T) {
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
	}{
		{next.Add(waited.Sub(noon) - time.Millisecond), nil},
		{next.Add(waited.Sub(noon)), append(slices.Repeat([]int{32}, 7), 12)},
	} {
		sizes, _ := burstSizes(claimOnce(t, db.Queue, step.at, bursting()))
		if diff := cmp.Diff(step.sizes, sizes, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("sizes of bursts %s after the beginning of the window (-want +got): %s", step.at.Sub(next), diff)
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
		t.Fatalf("got bursts of %v and %d claims without one, want one burst of %d", sizes, single, n)
	}
	return claims
}

// An abandoned burst is claimed as a whole and keeps its id, even if the lease of only one of its
// deliveries has expired, and also in a later window. Its ended deliveries stay as they are.
func TestAbandonedBurstIsClaimedAsWhole(t *testing.T) {
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
			t.Fatalf("abandoned claims: got %d, want 29", len(taken))
		}
		for _, c := range taken {
			if c.BurstID != claims[0].BurstID || c.Generation != 2 || c.ID == claims[0].ID {
				t.Errorf("abandoned claim: got %+v, want generation 2 of burst %s", c, claims[0].BurstID)
			}
		}
	}
}

// A burst that another relay takes over in a later window counts in that window, and not in the earlier one.
func TestAbandonedBurstCountsInItsWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := burst(t, db, 30)
	queue := claims[0].Queue
	for _, step := range []struct {
		after      time.Duration
		noon, then int // counted in the window of noon, and in that of the step
	}{
		{time.Minute, 30, 30}, {time.Hour, 0, 30}, {time.Hour + time.Minute, 0, 30}, {2 * time.Hour, 0, 30},
	} {
		now := noon.Add(step.after)
		taken, err := db.ClaimAbandoned(t.Context(), now, bursting())
		must(t, err)
		if len(taken) != 30 {
			t.Errorf("after %s: got %d abandoned claims, want 30", step.after, len(taken))
		}
		if n := count(t, db, "SELECT sum(started) FROM plan_windows"); n != 30 {
			t.Errorf("after %s: all windows count %d starts, want 30", step.after, n)
		}
		if n, m := startedIn(t, db, queue, noon), startedIn(t, db, queue, now); n != step.noon || m != step.then {
			t.Errorf("after %s: got %d starts in the window of noon and %d in the current one, want %d and %d",
				step.after, n, m, step.noon, step.then)
		}
	}
	enqueue(t, db, app.EventOrderCreated, 500, claims[0].StoreID)
	if n := len(claimAll(t, db.Queue, noon.Add(2*time.Hour), all)); n != 470 {
		t.Errorf("claims in the window of the burst: got %d, want 470", n)
	}
}

// A burst that is taken over in a later window starts at once, because it may contain deliveries of other websites. If
// its queue has no room in that window, or another relay is claiming from it, the burst counts in the next window.
func TestAbandonedBurstsCountWhereTheyFit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		locked      bool
		here, later int // counted in the present window and in the next one
	}{"room for one": {false, 490, 30}, "another relay is claiming": {true, 460, 60}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			claims := burst(t, db, 30)
			queue := claims[0].Queue
			enqueue(t, db, app.EventOrderCreated, 30, claims[0].StoreID)
			claimOnce(t, db.Queue, waited, bursting())
			enqueue(t, db, app.EventOrderCreated, 1_000, claims[0].StoreID)
			next := noon.Add(time.Hour)
			must(t, db.MarkStarted(t.Context(), next, claimOnce(t, db.Queue, next, batches(460))))
			if test.locked {
				claiming, err := db.System().BeginTx(t.Context(), nil)
				must(t, err)
				defer func() { _ = claiming.Rollback() }()
				_, err = claiming.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(plan_lock(?))", queue)
				must(t, err)
			}
			for _, after := range []time.Duration{time.Minute, 2 * time.Minute} { // counted once
				taken, err := db.ClaimAbandoned(t.Context(), next.Add(after), bursting())
				must(t, err)
				here, later := startedIn(t, db, queue, next), startedIn(t, db, queue, next.Add(time.Hour))
				if sizes, _ := burstSizes(taken); !slices.Equal(sizes, []int{30, 30}) || here != test.here ||
					later != test.later {
					t.Errorf("after %s: got bursts of %v, %d starts in this window and %d in the next, want %d and %d",
						after, sizes, here, later, test.here, test.later)
				}
			}
		})
	}
}

// One of several relays claims an abandoned burst; the others do not wait. A burst with a locked
// delivery, whose attempt is being recorded, is not abandoned.
func TestAbandonedBurstIsClaimedByOneRelay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := burst(t, db, 32)
	now := noon.Add(time.Minute)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM deliveries WHERE id = ? FOR UPDATE", claims[7].ID)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if taken, err := db.ClaimAbandoned(ctx, now, all); err != nil || len(taken) != 0 {
		t.Errorf("claims of a burst with a locked delivery: got %d and error %v, want 0", len(taken), err)
	}
	must(t, tx.Rollback())
	for round := range 20 {
		now = now.Add(time.Hour)
		var claimed atomic.Int64
		var relays sync.WaitGroup
		for range 8 {
			relays.Go(func() {
				taken, err := db.ClaimAbandoned(ctx, now, all)
				if err != nil {
					t.Error(err)
				}
				claimed.Add(int64(len(taken)))
			})
		}
		relays.Wait()
		if got := claimed.Load(); got != 32 {
			t.Fatalf("round %d: got %d claimed deliveries, want 32", round, got)
		}
	}
}
