package delivery_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Four relays at once dispatch 10,000 events and claim what is due, while the clock goes
// on whenever there is nothing to do, and in the first minutes with each batch.
func TestStarterNeverExceedsItsWindows(t *testing.T) {
	t.Parallel()
	const events = 10_000
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.emitOnStarter(t, db, events)
	started := startAll(t, db, events, func(from, to time.Time) time.Time { return to })

	planned := slots(t, db, "true")
	if len(planned) != events || !slices.IsSortedFunc(planned, time.Time.Compare) {
		t.Errorf("%d deliveries, not in the order of their arrival", len(planned))
	}
	want := map[string]int{}
	for i := range events / 500 {
		want[noon.Add(time.Duration(i)*time.Hour).Format("02 15")] = 500
	}
	if diff := cmp.Diff(want, perHour(planned)); diff != "" {
		t.Error("slots:", diff)
	}
	r.checkStarts(t, db, started)
}

// After an outage what has missed its slot starts with what has not, the first first, and
// no window lets more of them start than it does without an outage.
func TestAnOutageDoesNotFillAWindowTwice(t *testing.T) {
	t.Parallel()
	const events = 10_000
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.emitOnStarter(t, db, events)
	begin, end := noon.Add(3*time.Hour+time.Minute), noon.Add(5*time.Hour+31*time.Minute)
	started := startAll(t, db, events, func(from, to time.Time) time.Time {
		if from.Before(begin) && to.After(begin) {
			return end
		}
		return to
	})
	starts := r.checkStarts(t, db, started)
	interrupted := starts[begin.Format("02 15")]
	if interrupted == 0 || interrupted == 500 {
		t.Fatalf("%d started in the hour in which the outage began", interrupted)
	}
	want, left := map[string]int{}, events
	for hour := noon; left > 0; hour = hour.Add(time.Hour) {
		most := 500
		switch hour {
		case noon.Add(3 * time.Hour):
			most = interrupted
		case noon.Add(4 * time.Hour): // all of it was an outage
			continue
		}
		n := min(most, left)
		want[hour.Format("02 15")], left = n, left-n
	}
	if diff := cmp.Diff(want, starts); diff != "" {
		t.Error(diff)
	}
}

// emitOnStarter lets events happen in a website whose plan is STARTER.
func (r restaurant) emitOnStarter(t *testing.T, db *persistencetest.Database, events int) {
	t.Helper()
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Subscribe(t, db, 1, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, events, r.Stores...)
}

// startAll lets four relays work until they have claimed so many, and returns when they did.
// When nothing is left to do the clock goes on, to where advance lets it.
func startAll(t *testing.T, db *persistencetest.Database, events int64, advance func(from, to time.Time) time.Time) map[app.DeliveryID]time.Time {
	t.Helper()
	few := app.ClaimLimits{Events: 100, Batch: 150, Turn: 100, Unproven: 100_000, Quick: 100_000, Slow: 100_000, Lease: 1000 * time.Hour}
	var clock, claimed, taken atomic.Int64
	clock.Store(noon.Add(59 * time.Minute).UnixMilli())
	var lock sync.Mutex
	started := map[app.DeliveryID]time.Time{}
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			for claimed.Load() < events && t.Context().Err() == nil && !t.Failed() {
				now := time.UnixMilli(clock.Load()).UTC()
				dispatched, err := db.Dispatch(t.Context(), now, few)
				if err != nil {
					t.Error(err)
				}
				queued, err := db.ClaimQueued(t.Context(), now, few)
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				for _, c := range append(dispatched.Claims, queued...) {
					if _, again := started[c.ID]; again {
						t.Errorf("%s was claimed twice", c.ID)
					}
					started[c.ID] = now
					claimed.Add(1)
				}
				lock.Unlock()
				taken.Add(int64(dispatched.Events))
				switch {
				case dispatched.Events > 0:
					clock.Add(1000)
				case len(queued) == 0 && taken.Load() >= events && nothingStarts(t, db, now):
					clock.CompareAndSwap(now.UnixMilli(), advance(now, now.Add(3*time.Minute)).UnixMilli())
				}
			}
		})
	}
	relays.Wait()
	return started
}

// nothingStarts reports whether nothing is due, or the window is full: what another relay is
// about to claim is still due.
func nothingStarts(t *testing.T, db *persistencetest.Database, now time.Time) bool {
	due, err := db.HasDue(t.Context(), now)
	if err != nil {
		t.Error(err)
	}
	if !due {
		return true
	}
	var full bool
	err = db.System().DB.QueryRowContext(t.Context(), "SELECT coalesce(bool_or(started >= 500), false) FROM plan_windows WHERE starts_at = $1",
		app.PlanWindow(now, time.Hour)).Scan(&full)
	if err != nil {
		t.Error(err)
	}
	return full
}

// checkStarts checks that all have started, none before its slot, and not more in any hour
// than STARTER allows. It returns how many did in each.
func (r restaurant) checkStarts(t *testing.T, db *persistencetest.Database, started map[app.DeliveryID]time.Time) map[string]int {
	t.Helper()
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'pending'"); n != len(started) || n != count(t, db, "SELECT count(*) FROM deliveries") {
		t.Errorf("%d were claimed, %d are pending", len(started), n)
	}
	starts := []time.Time{}
	for id, at := range started {
		starts = append(starts, at)
		delivery, err := db.Delivery(t.Context(), r.Stores[0], id)
		if app.CodeOf(err) == app.CodeNotFound {
			delivery, err = db.Delivery(t.Context(), r.Stores[1], id)
		}
		must(t, err)
		if at.Before(delivery.ScheduledFor.Time) {
			t.Errorf("%s started at %v, before %v", id, at, delivery.ScheduledFor)
		}
	}
	hours := perHour(starts)
	for hour, n := range hours {
		if n > 500 {
			t.Errorf("%d started in the hour %s", n, hour)
		}
	}
	return hours
}

// Where there is room a delivery starts at once; later slots are spread over the first
// tenth of their window, and who comes then does not overtake them.
func TestSlotsOfALaterWindowAreSpread(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	now := noon.Add(20 * time.Minute)
	emit(t, db, 800, r.Stores[0])
	if d := dispatch(t, db, now); len(d.Claims) != 500 || d.Queued != 0 {
		t.Errorf("%d start at once, %d are held back though they are due", len(d.Claims), d.Queued)
	}
	want := slices.Repeat([]time.Time{now}, 500)
	next := noon.Add(time.Hour)
	for i := range 300 {
		want = append(want, next.Add(time.Duration(i)*720*time.Millisecond))
	}
	if diff := cmp.Diff(want, slots(t, db, "true")); diff != "" {
		t.Error(diff)
	}
	if due, err := db.HasDue(t.Context(), next.Add(-time.Millisecond)); due || err != nil {
		t.Errorf("due before its time, %v", err)
	}
	if due, err := db.HasDue(t.Context(), next); !due || err != nil {
		t.Errorf("not due at its time, %v", err)
	}
	emit(t, db, 10, r.Stores[0])
	if d := dispatch(t, db, next.Add(time.Second)); len(d.Claims) != 0 {
		t.Errorf("%d overtake what waits", len(d.Claims))
	}
	last := next.Add(299 * 720 * time.Millisecond)
	if got := slots(t, db, "true"); got[809] != last {
		t.Errorf("the last starts at %v, not %v", got[809], last)
	}
	claims, err := db.ClaimQueued(t.Context(), last, all)
	must(t, err)
	if len(claims) != 310 {
		t.Errorf("%d of 310 start", len(claims))
	}
	emit(t, db, 1, r.Stores[0])
	if d := dispatch(t, db, last.Add(time.Second)); len(d.Claims) != 1 {
		t.Errorf("%d start at once when none waits any more", len(d.Claims))
	}
	if d, err := db.Subscription(t.Context(), r.Stores[0], s.ID); err != nil || !d.IsActive {
		t.Errorf("%+v, %v", d, err)
	}
}

// What has missed its window starts in the next that has room, before what came later.
// Replays fill half of it, and hold back nothing else.
func TestWhatMissedItsWindowStartsFirst(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 250)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, 750, r.Stores[0])
	dispatch(t, db, noon) // 500 start, 250 have slots in the next window
	for _, id := range ended {
		_, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
		must(t, err)
	}
	three := noon.Add(3 * time.Hour)
	usage := func(now time.Time, want app.PlanUsage) {
		t.Helper()
		got, err := db.PlanUsage(t.Context(), now, r.Stores[0])
		must(t, err)
		limit := 500
		want.Plan, want.Limit, want.WindowStart, want.WindowEnd = app.PlanStarter, &limit, app.At(now), app.At(now.Add(time.Hour))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %v: %s", now, diff)
		}
	}
	usage(three, app.PlanUsage{Queued: 500})
	emit(t, db, 100, r.Stores[0])
	if d := dispatch(t, db, three); len(d.Claims) != 0 {
		t.Errorf("%d overtake what is late", len(d.Claims))
	}
	claims, err := db.ClaimQueued(t.Context(), three, all)
	must(t, err)
	replays := 0
	for _, c := range claims {
		if c.Replay {
			replays++
		}
		if c.EventID > "evt_x000000001000" {
			t.Errorf("%s is not late", c.EventID)
		}
	}
	if len(claims) != 500 || replays != 250 {
		t.Errorf("%d start, %d of them replays", len(claims), replays)
	}
	usage(three, app.PlanUsage{Taken: 500, ReplaysTaken: 250})
	if at := slots(t, db, "status = 'pending' AND scheduled_for = $1", three); len(at) != 500 {
		t.Errorf("%d have a slot of the window in which they started", len(at))
	}
	four := three.Add(time.Hour)
	claims, err = db.ClaimQueued(t.Context(), four, all)
	must(t, err)
	if len(claims) != 100 {
		t.Errorf("%d of 100 start an hour later", len(claims))
	}
}

// Late replays that fill their half of a window hold back nothing that came after them.
func TestLateReplaysHoldNothingElseBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 400)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for _, id := range ended {
		_, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
		must(t, err)
	}
	three := noon.Add(3 * time.Hour)
	emit(t, db, 100, r.Stores[0])
	dispatch(t, db, three)
	few := all
	few.Batch = 200
	var started, replays int
	for range 4 {
		claims, err := db.ClaimQueued(t.Context(), three, few)
		must(t, err)
		for _, c := range claims {
			started++
			if c.Replay {
				replays++
			}
		}
	}
	if started != 350 || replays != 250 {
		t.Errorf("%d start, %d of them replays", started, replays)
	}
}

// A claim that is given up is taken over in its own window, and queued again after it, where
// there is a limit.
func TestAbandonedClaimsStayInTheirWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
	}
	setPlan(t, db, noon, limited.Website, app.PlanStarter)
	emit(t, db, 20, limited.Stores[0], unlimited.Stores[0])
	dispatch(t, db, noon)
	for _, step := range []struct {
		after     time.Duration
		takenOver int
		started   int // in the window
	}{{10 * time.Minute, 20, 10}, {time.Hour, 10, 10}, {time.Hour + 30*time.Minute, 20, 10}} {
		now := noon.Add(step.after)
		claims, err := db.ClaimAbandoned(t.Context(), now, all)
		must(t, err)
		if len(claims) != step.takenOver {
			t.Errorf("after %v: %d are taken over", step.after, len(claims))
		}
		queued, err := db.ClaimQueued(t.Context(), now, all)
		must(t, err)
		if len(claims)+len(queued) != 20 {
			t.Errorf("after %v: %d of 20 go on", step.after, len(claims)+len(queued))
		}
		if w := limited.windows(t, db, app.PlanWindow(now, time.Hour)); len(w) != 1 || w[0].started != step.started {
			t.Errorf("after %v: %+v", step.after, w)
		}
	}
}

// What waits for a later window holds back neither its subscription nor another one.
func TestWhatIsNotDueHoldsNothingBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 251)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for _, id := range ended {
		_, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
		must(t, err)
	}
	claims, err := db.ClaimQueued(t.Context(), noon, all)
	must(t, err)
	if len(claims) != 250 {
		t.Errorf("%d replays start in a window of 500", len(claims))
	}
	emit(t, db, 300, r.Stores[0])
	if d := dispatch(t, db, noon); len(d.Claims) != 250 || d.Queued != 0 {
		t.Errorf("%d of 250 start beside as many replays, %d are due", len(d.Claims), d.Queued)
	}
	claims, err = db.ClaimQueued(t.Context(), noon.Add(time.Hour), all)
	must(t, err)
	if len(claims) != 1 || !claims[0].Replay {
		t.Errorf("at the next window's start: %+v", claims)
	}
}

// A sandbox has windows of its own, those of a starter, whatever its website pays for.
func TestASandboxHasItsOwnWindows(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanStarter, app.PlanEnterprise} {
		t.Run(string(plan), func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			twin := r
			twin.Stores = []app.StoreID{r.Key(t, db, 0, app.KeyTest).StoreID}
			r.Subscribe(t, db, 0, app.EventOrderCreated)
			twin.Subscribe(t, db, 0, app.EventOrderCreated)
			setPlan(t, db, noon, r.Website, plan)
			emit(t, db, 1200, r.Stores[0], twin.Stores[0])
			dispatch(t, db, noon)
			if diff := cmp.Diff(map[string]int{"14 12": 500, "14 13": 100}, perHour(slots(t, db, "store_id = $1", twin.Stores[0]))); diff != "" {
				t.Error("sandbox:", diff)
			}
			want := map[string]int{"14 12": 500, "14 13": 100}
			if plan == app.PlanEnterprise {
				want = map[string]int{"14 12": 600}
			}
			if diff := cmp.Diff(want, perHour(slots(t, db, "store_id = $1", r.Stores[0]))); diff != "" {
				t.Error("store:", diff)
			}
			setPlan(t, db, noon, r.Website, app.PlanEnterprise)
			moveAllUp(t, db, noon)
			if n := len(slots(t, db, "store_id = $1 AND scheduled_for > $2", twin.Stores[0], noon)); n != 100 {
				t.Errorf("%d of 100 still wait in the sandbox when its website's plan has improved", n)
			}
			usage, err := db.PlanUsage(t.Context(), noon, twin.Stores[0])
			must(t, err)
			if usage.Plan != app.PlanStarter || *usage.Limit != 500 || usage.Taken != 500 || usage.Queued != 100 {
				t.Errorf("%+v", usage)
			}
			usage, err = db.PlanUsage(t.Context(), noon, r.Stores[0])
			must(t, err)
			if usage.Plan != app.PlanEnterprise || usage.Limit != nil || usage.Queued != 0 || usage.LastScheduledFor != nil {
				t.Errorf("%+v", usage)
			}
		})
	}
}

func TestPlansWithoutLimitTakeNoSlots(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, 3000, r.Stores[0])
	if d := dispatch(t, db, noon); len(d.Claims) != 3000 {
		t.Errorf("%d of 3000 start", len(d.Claims))
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 0 {
		t.Errorf("%d windows are kept", n)
	}
}
