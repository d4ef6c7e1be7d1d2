package delivery_test

import (
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// emitTypes writes events of a store, one of each type in turn. Their ids follow those of earlier events.
func emitTypes(t *testing.T, db *persistencetest.Database, events int, store app.StoreID, types ...app.EventType) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), $2, ($3::text[])[1 + i % cardinality($3::text[])], '{}', $4
		FROM (SELECT count(*) AS base FROM outbox WHERE id LIKE 'evt_x%') b, generate_series(1, $1::bigint) i`,
		events, store, types, noon)
	must(t, err)
}

// claimAt dispatches everything and claims once.
func claimAt(t *testing.T, db *persistencetest.Database, now time.Time, limits app.ClaimLimits) []app.Claim {
	t.Helper()
	_, err := db.Dispatch(t.Context(), now, 100_000)
	must(t, err)
	claimed, err := db.Claim(t.Context(), now, limits)
	must(t, err)
	return claimed.Claims
}

// Relays together start as many deliveries in a window as the plan allows, over all stores of the website. None is
// dropped, and an upgrade applies to the next claim.
func TestPlanLimitsStarts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Subscribe(t, db, 1, app.EventOrderCreated)
	emit(t, db, 3200, r.Stores[0], r.Stores[1])
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
	started := func(now time.Time) int {
		var lock sync.Mutex
		var relays sync.WaitGroup
		n := 0
		for range 4 {
			relays.Go(func() {
				for range 30 {
					few := all
					few.Batch = 64
					claimed, err := db.Claim(t.Context(), now, few)
					if err != nil {
						t.Error(err)
					}
					lock.Lock()
					n += len(claimed.Claims)
					lock.Unlock()
				}
			})
		}
		relays.Wait()
		for { // what relays have left that found the queue locked
			claimed, err := db.Claim(t.Context(), now, all)
			must(t, err)
			if n += len(claimed.Claims); len(claimed.Claims) == 0 {
				return n
			}
		}
	}
	if n := started(noon); n != 500 {
		t.Errorf("%d deliveries start in the first window of STARTER", n)
	}
	if n := started(noon.Add(time.Hour)); n != 500 {
		t.Errorf("%d deliveries start in the second window", n)
	}
	setPlan(t, db, noon, r.Website, app.PlanGrow)
	if n := started(noon.Add(time.Hour)); n != 1500 {
		t.Errorf("%d more deliveries start after an upgrade to GROW", n)
	}
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	if n := started(noon.Add(2 * time.Hour)); n != 500 {
		t.Errorf("%d deliveries start in a window after the downgrade", n)
	}
	setPlan(t, db, noon, r.Website, app.PlanEnterprise)
	if n := started(noon.Add(2 * time.Hour)); n != 200 {
		t.Errorf("%d of the last 200 deliveries start without a limit", n)
	}
}

// If a window has less room than deliveries wait, the oldest events of all webhooks start. Otherwise webhooks take turns.
func TestScarceStartsGoToTheOldestEvents(t *testing.T) {
	t.Parallel()
	for waiting, oldest := range map[int]bool{400: false, 600: true} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		setPlan(t, db, noon, r.Website, app.PlanStarter)
		early := r.Subscribe(t, db, 0, app.EventOrderCreated)
		r.Subscribe(t, db, 0, app.EventOrderCancelled)
		emitTypes(t, db, waiting/2, r.Stores[0], app.EventOrderCreated)
		emitTypes(t, db, waiting/2, r.Stores[0], app.EventOrderCancelled)
		few := all
		few.Batch = 100
		n := 0
		for _, c := range claimAt(t, db, noon, few) {
			if c.SubscriptionID == early.ID {
				n++
			}
		}
		if want := map[bool]int{false: 50, true: 100}[oldest]; n != want {
			t.Errorf("%d of 100 claims are of the webhook with the older events while %d wait, want %d", n, waiting, want)
		}
	}
}

// A flood of profile changes leaves room for an order in the same window, and one of five consecutive starts is for a
// profile change while both wait.
func TestOrdersPrecedeProfileChanges(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
	emitTypes(t, db, 3000, r.Stores[0], app.EventCustomerUpdated)
	few := all
	few.Batch = 64
	flood := 0
	for range 20 {
		flood += len(claimAt(t, db, noon, few))
	}
	if flood != 400 {
		t.Errorf("%d profile changes start alone in a window of 500", flood)
	}
	emitTypes(t, db, 1, r.Stores[0], app.EventOrderCreated)
	if claims := claimAt(t, db, noon, few); len(claims) != 1 || claims[0].EventType != app.EventOrderCreated {
		t.Errorf("after the flood, an order's claims are %+v", claims)
	}

	emitTypes(t, db, 300, r.Stores[0], app.EventOrderCreated)
	next := noon.Add(time.Hour)
	few.Batch = 50
	for batch := range 6 {
		kinds := map[app.EventType]int{}
		for _, c := range claimAt(t, db, next, few) {
			kinds[c.EventType]++
		}
		if kinds[app.EventOrderCreated] != 40 || kinds[app.EventCustomerUpdated] != 10 {
			t.Errorf("batch %d of the next window has %v", batch, kinds)
		}
	}
}

// Replays take at most half of a window.
func TestReplaysTakeHalfOfAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, 1000, r.Stores[0])
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
	change(t, db, `UPDATE deliveries SET class = 2, replays = 1 WHERE event_id <= 'evt_x' || lpad('600', 12, '0')`)
	for _, window := range []time.Time{noon, noon.Add(time.Hour)} {
		replays, first := 0, 0
		for _, c := range claimAt(t, db, window, all) {
			if c.Replay {
				replays++
			} else {
				first++
			}
		}
		if replays != 250 || replays+first > 500 {
			t.Errorf("%d replays and %d first attempts start in one window", replays, first)
		}
	}
}

// Websites take turns, then their webhooks, however many webhooks a website has.
func TestWebsitesTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	large, small := open(t, db, "large.example"), open(t, db, "small.example")
	for range 50 {
		large.Subscribe(t, db, 0, app.EventOrderCreated)
	}
	small.Subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, 40, large.Stores[0])
	emit(t, db, 40, small.Stores[0])
	few := all
	few.Batch = 40
	share := map[app.StoreID]int{}
	for _, c := range claimAt(t, db, noon, few) {
		share[c.StoreID]++
	}
	if share[large.Stores[0]] != 20 || share[small.Stores[0]] != 20 {
		t.Errorf("claims by store: %v", share)
	}
}

// A mark of an old claim does not touch a claim that has followed it.
func TestMarksKnowTheirClaim(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	old := claim(t, db)
	attempt(t, db, old[0].ID, 1, app.AttemptDelivered, 0)
	_, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, old[0].ID)
	must(t, err)
	newer := claim(t, db)
	if len(newer) != 1 || newer[0].Generation != old[0].Generation+1 {
		t.Fatalf("claims %+v, then %+v", old, newer)
	}
	must(t, db.MarkStarted(t.Context(), noon, old))
	must(t, db.Unclaim(t.Context(), noon.Add(time.Hour), old))
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE started_at IS NULL AND lease_until < '2026-03-14 12:30Z'"); n != 1 {
		t.Error("an old claim has changed the newer one")
	}
	must(t, db.MarkStarted(t.Context(), noon, newer))
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE started_at IS NOT NULL"); n != 1 {
		t.Error("the newer claim is not marked")
	}
}

// Deliveries that have waited are claimed as bursts, unless they are replays or their webhook fails.
func TestClaimsBecomeBurstsUnderLoad(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	failing := r.Subscribe(t, db, 0, app.EventOrderCancelled)
	change(t, db, "UPDATE subscription_health SET failure_count = 1 WHERE subscription_id = $1", failing.ID)
	emitTypes(t, db, 140, r.Stores[0], app.EventOrderCreated, app.EventOrderCancelled)
	burst := all
	burst.Burst, burst.BurstBatch, burst.BurstAfter = 32, 512, 250*time.Millisecond
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
	change(t, db, `UPDATE deliveries SET class = 2, replays = 1
		WHERE event_id = (SELECT min(event_id) FROM deliveries WHERE subscription_id = $1)`, s.ID)
	early := burst
	early.Batch, early.SlowBatch = 3, 0
	for _, c := range claimAt(t, db, noon.Add(100*time.Millisecond), early) {
		if c.BurstID != "" {
			t.Error("a burst although nothing has waited")
		}
	}
	sizes, single := map[app.BurstID]int{}, 0
	for _, c := range claimAt(t, db, noon.Add(time.Second), burst) {
		switch {
		case c.BurstID == "":
			single++
		case c.SubscriptionID == failing.ID || c.Replay:
			t.Errorf("%+v is in a burst", c)
		default:
			sizes[c.BurstID]++
		}
	}
	full := 0
	for _, n := range sizes {
		if n == 32 {
			full++
		}
	}
	if len(sizes) != 3 || full != 2 || single != 70+1-1 && single != 70 {
		t.Errorf("bursts of %v deliveries, and %d single ones", sizes, single)
	}
}

// A whole burst is taken over under its id, also by relays that see parts of it.
func TestBurstsAreTakenOverWhole(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, 20, r.Stores[0])
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
	change(t, db, "UPDATE deliveries SET status = 'pending', lease_until = $1, burst_id = 'bst_1'", noon.Add(time.Minute))
	change(t, db, "UPDATE deliveries SET lease_until = $1 WHERE event_id LIKE '%5'", noon)
	var relays sync.WaitGroup
	var lock sync.Mutex
	var taken [][]app.Claim
	for range 4 {
		relays.Go(func() {
			claims, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Second), limits)
			if err != nil {
				t.Error(err)
			}
			lock.Lock()
			defer lock.Unlock()
			if len(claims) > 0 {
				taken = append(taken, claims)
			}
		})
	}
	relays.Wait()
	if len(taken) == 0 {
		t.Fatal("nobody takes over the burst")
	}
	for _, claims := range taken {
		if len(claims) != 20 || claims[0].BurstID != "bst_1" {
			t.Errorf("%d of 20 deliveries are taken over, as %q", len(claims), claims[0].BurstID)
		}
	}
}

// The reconciler gets each delivery that makes no progress once a minute, and no other.
func TestOverdueDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 5)
	claims := claim(t, db)
	must(t, db.MarkStarted(t.Context(), noon, claims[:2]))
	attempt(t, db, claims[2].ID, 1, app.AttemptRetrying, 0) // the next at 13:00:30
	attempt(t, db, claims[3].ID, 1, app.AttemptDeadLetter, 0)
	attempt(t, db, claims[4].ID, 1, app.AttemptDelivered, 0)
	attempt(t, db, claims[1].ID, 1, app.AttemptDelivered, 0)
	for _, step := range []struct {
		after time.Duration
		want  []app.DeliveryID
	}{
		{2 * time.Minute, nil},
		{4 * time.Minute, []app.DeliveryID{claims[0].ID}},
		{4*time.Minute + 30*time.Second, nil},
		{5*time.Minute + time.Second, []app.DeliveryID{claims[0].ID}},
		{64 * time.Minute, []app.DeliveryID{claims[0].ID, claims[2].ID}},
	} {
		batch, err := db.Overdue(t.Context(), noon.Add(step.after), 3*time.Minute, 10)
		must(t, err)
		got := map[app.DeliveryID]app.Overdue{}
		for _, o := range batch.Claims {
			got[o.ID] = o
		}
		if len(got) != len(step.want) {
			t.Errorf("after %s: %+v", step.after, batch)
		}
		for _, id := range step.want {
			if _, ok := got[id]; !ok {
				t.Errorf("after %s, %s is missing", step.after, id)
			}
		}
		if o, ok := got[claims[2].ID]; ok && (o.Status != app.DeliveryRetrying || o.Place != 1 || o.NextRetryAt == nil || !o.Repair) {
			t.Errorf("the retrying delivery is %+v", o)
		}
	}
}
