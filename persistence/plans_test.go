package persistence_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// all is a relay's limits that hold nothing back.
var all = app.ClaimLimits{Events: 100_000, Batch: 100_000, SlowBatch: 100_000, Turn: 100_000, Unproven: 100_000, Quick: 100_000, Slow: 100_000, Lease: time.Minute}

func setPlan(t *testing.T, db *persistencetest.Database, now time.Time, website app.WebsiteID, plan app.Plan) {
	t.Helper()
	_, err := db.ChangeWebsite(t.Context(), now, app.Actor{}, website, app.WebsiteChange{Plan: &plan})
	must(t, err)
}

func moveAllUp(t *testing.T, db *persistencetest.Database, now time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = db.MoveUp(t.Context(), now)
		must(t, err)
	}
}

// emit writes events, spread over the stores. Their ids go on from those before.
func emit(t *testing.T, db *persistencetest.Database, events int, stores ...app.StoreID) {
	t.Helper()
	_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), ($2::text[])[1 + i % cardinality($2::text[])], 'order.created', '{}', now()
		FROM (SELECT count(*) AS base FROM outbox WHERE id LIKE 'evt_x%') b, generate_series(1, $1::bigint) i`, events, stores)
	must(t, err)
}

// slots is when a website's deliveries start, in the order of their events.
func slots(t *testing.T, db *persistencetest.Database, where string, args ...any) (at []time.Time) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(), "SELECT scheduled_for FROM deliveries d WHERE "+where+" ORDER BY event_id", args...)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var one time.Time
		must(t, rows.Scan(&one))
		at = append(at, one.UTC())
	}
	must(t, rows.Err())
	return at
}

// slotted is a row of plan_windows.
type slotted struct {
	start          time.Time
	taken, replays int
}

// windows returns those of a website from some time on, in their order.
func (r restaurant) windows(t *testing.T, db *persistencetest.Database, from time.Time) (all []slotted) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(),
		"SELECT starts_at, taken, replays FROM plan_windows WHERE queue = $1 AND starts_at >= $2 ORDER BY starts_at", r.website, from)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var w slotted
		must(t, rows.Scan(&w.start, &w.taken, &w.replays))
		w.start = w.start.UTC()
		all = append(all, w)
	}
	must(t, rows.Err())
	return all
}

// perHour counts by the hour, as "14 12": 500.
func perHour(at []time.Time) map[string]int {
	counts := map[string]int{}
	for _, one := range at {
		counts[one.Format("02 15")]++
	}
	return counts
}

func dispatch(t *testing.T, db *persistencetest.Database, now time.Time) app.Dispatched {
	t.Helper()
	d, err := db.Dispatch(t.Context(), now, all)
	must(t, err)
	return d
}

// Four relays at once dispatch 10,000 events and claim what is due, while the clock goes
// on whenever there is nothing to do, and in the first minutes with each batch.
func TestStarterNeverExceedsItsWindows(t *testing.T) {
	t.Parallel()
	const events = 10_000
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	r.subscribe(t, db, 1, app.EventOrderCreated)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	emit(t, db, events, r.stores...)

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
				case len(queued) == 0 && taken.Load() >= events:
					// What another relay is about to claim is still due.
					if due, err := db.HasDue(t.Context(), now); err == nil && !due {
						clock.CompareAndSwap(now.UnixMilli(), now.Add(3*time.Minute).UnixMilli())
					}
				}
			}
		})
	}
	relays.Wait()

	if len(started) != events {
		t.Fatalf("%d of %d started", len(started), events)
	}
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
	starts := []time.Time{}
	for id, at := range started {
		starts = append(starts, at)
		delivery, err := db.Delivery(t.Context(), r.stores[0], id)
		if app.CodeOf(err) == app.CodeNotFound {
			delivery, err = db.Delivery(t.Context(), r.stores[1], id)
		}
		must(t, err)
		if at.Before(delivery.ScheduledFor.Time) {
			t.Errorf("%s started at %v, before %v", id, at, delivery.ScheduledFor)
		}
	}
	for hour, n := range perHour(starts) {
		if n > 500 {
			t.Errorf("%d started in the hour %s", n, hour)
		}
	}
}

// Where there is room a delivery starts at once; later slots are spread over the first
// tenth of their window, and who comes then does not overtake them.
func TestSlotsOfALaterWindowAreSpread(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	now := noon.Add(20 * time.Minute)
	emit(t, db, 800, r.stores[0])
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
	emit(t, db, 10, r.stores[0])
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
	emit(t, db, 1, r.stores[0])
	if d := dispatch(t, db, last.Add(time.Second)); len(d.Claims) != 1 {
		t.Errorf("%d start at once when none waits any more", len(d.Claims))
	}
	if d, err := db.Subscription(t.Context(), r.stores[0], s.ID); err != nil || !d.IsActive {
		t.Errorf("%+v, %v", d, err)
	}
}

// What waits for a later window holds back neither its subscription nor another one.
func TestWhatIsNotDueHoldsNothingBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 251)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	for _, id := range ended {
		_, err := db.Replay(t.Context(), noon, r.stores[0], app.Actor{}, id)
		must(t, err)
	}
	claims, err := db.ClaimQueued(t.Context(), noon, all)
	must(t, err)
	if len(claims) != 250 {
		t.Errorf("%d replays start in a window of 500", len(claims))
	}
	emit(t, db, 300, r.stores[0])
	if d := dispatch(t, db, noon); len(d.Claims) != 250 || d.Queued != 0 {
		t.Errorf("%d of 250 start beside as many replays, %d are due", len(d.Claims), d.Queued)
	}
	claims, err = db.ClaimQueued(t.Context(), noon.Add(time.Hour), all)
	must(t, err)
	if len(claims) != 1 || !claims[0].Replay {
		t.Errorf("at the next window's start: %+v", claims)
	}
}

// endedDeliveries makes deliveries without slots that can be replayed.
func (r restaurant) endedDeliveries(t *testing.T, db *persistencetest.Database, n int) (ids []app.DeliveryID) {
	t.Helper()
	emit(t, db, n, r.stores[0])
	for _, c := range dispatch(t, db, noon).Claims {
		ids = append(ids, c.ID)
	}
	if len(ids) != n {
		t.Fatalf("%d of %d deliveries", len(ids), n)
	}
	_, err := db.System().DB.ExecContext(t.Context(), "UPDATE deliveries SET status = 'dead_letter' WHERE id = ANY ($1)", ids)
	must(t, err)
	return ids
}

func TestReplaysTakeHalfOfAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 600)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	var at []time.Time
	for _, id := range ended {
		d, err := db.Replay(t.Context(), noon, r.stores[0], app.Actor{}, id)
		must(t, err)
		at = append(at, d.ScheduledFor.Time)
	}
	if diff := cmp.Diff(map[string]int{"14 12": 250, "14 13": 250, "14 14": 100}, perHour(at)); diff != "" {
		t.Error("replays:", diff)
	}
	emit(t, db, 1000, r.stores[0])
	dispatch(t, db, noon)
	if diff := cmp.Diff(map[string]int{"14 12": 250, "14 13": 250, "14 14": 400, "14 15": 100}, perHour(slots(t, db, "replays = 0"))); diff != "" {
		t.Error("first deliveries:", diff)
	}
	usage, err := db.PlanUsage(t.Context(), noon, r.stores[1])
	must(t, err)
	limit, last := 500, app.At(noon.Add(3*time.Hour+99*720*time.Millisecond))
	if diff := cmp.Diff(app.PlanUsage{
		Plan: app.PlanStarter, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour)), Limit: &limit,
		Taken: 500, ReplaysTaken: 250, Queued: 1100, LastScheduledFor: &last,
	}, usage); diff != "" {
		t.Error(diff)
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
			twin.stores = []app.StoreID{r.key(t, db, 0, app.KeyTest).StoreID}
			r.subscribe(t, db, 0, app.EventOrderCreated)
			twin.subscribe(t, db, 0, app.EventOrderCreated)
			setPlan(t, db, noon, r.website, plan)
			emit(t, db, 1200, r.stores[0], twin.stores[0])
			dispatch(t, db, noon)
			if diff := cmp.Diff(map[string]int{"14 12": 500, "14 13": 100}, perHour(slots(t, db, "store_id = $1", twin.stores[0]))); diff != "" {
				t.Error("sandbox:", diff)
			}
			want := map[string]int{"14 12": 500, "14 13": 100}
			if plan == app.PlanEnterprise {
				want = map[string]int{"14 12": 600}
			}
			if diff := cmp.Diff(want, perHour(slots(t, db, "store_id = $1", r.stores[0]))); diff != "" {
				t.Error("store:", diff)
			}
			setPlan(t, db, noon, r.website, app.PlanEnterprise)
			moveAllUp(t, db, noon)
			if n := len(slots(t, db, "store_id = $1 AND scheduled_for > $2", twin.stores[0], noon)); n != 100 {
				t.Errorf("%d of 100 still wait in the sandbox when its website's plan has improved", n)
			}
			usage, err := db.PlanUsage(t.Context(), noon, twin.stores[0])
			must(t, err)
			if usage.Plan != app.PlanStarter || *usage.Limit != 500 || usage.Taken != 500 || usage.Queued != 100 {
				t.Errorf("%+v", usage)
			}
			usage, err = db.PlanUsage(t.Context(), noon, r.stores[0])
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
	r.subscribe(t, db, 0, app.EventOrderCreated)
	emit(t, db, 3000, r.stores[0])
	if d := dispatch(t, db, noon); len(d.Claims) != 3000 {
		t.Errorf("%d of 3000 start", len(d.Claims))
	}
	if n := count(t, db, "SELECT count(*) FROM plan_windows"); n != 0 {
		t.Errorf("%d windows are kept", n)
	}
}

// The plan gets better, then worse, then better again, with a queue and events in between.
func TestTheQueueFollowsThePlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	check := func(what string, now time.Time, want map[string]int) {
		t.Helper()
		at := slots(t, db, "true")
		if diff := cmp.Diff(want, perHour(at)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if !slices.IsSortedFunc(at, time.Time.Compare) {
			t.Errorf("%s: not in the order of arrival", what)
		}
		// what the windows say is what the deliveries say
		taken := map[string]int{}
		for _, w := range r.windows(t, db, noon) {
			taken[w.start.Format("02 15")] = w.taken
		}
		if diff := cmp.Diff(want, taken); diff != "" {
			t.Errorf("%s: windows: %s", what, diff)
		}
	}
	setPlan(t, db, noon, r.website, app.PlanStarter)
	emit(t, db, 4000, r.stores[0])
	dispatch(t, db, noon)
	check("starter", noon, map[string]int{"14 12": 500, "14 13": 500, "14 14": 500, "14 15": 500, "14 16": 500, "14 17": 500, "14 18": 500, "14 19": 500})

	at := noon.Add(time.Minute)
	setPlan(t, db, at, r.website, app.PlanGrow)
	emit(t, db, 100, r.stores[0]) // while the queue moves up
	more, err := db.MoveUp(t.Context(), at)
	must(t, err)
	if d := dispatch(t, db, at); !more || len(d.Claims) != 0 {
		t.Errorf("%d overtake the queue while it moves up", len(d.Claims))
	}
	moveAllUp(t, db, at)
	check("grow", at, map[string]int{"14 12": 2000, "14 13": 2000, "14 14": 100})
	if n := count(t, db, "SELECT count(*) FROM plan_moves"); n != 0 {
		t.Error("the move does not end")
	}

	setPlan(t, db, at, r.website, app.PlanStarter)
	moveAllUp(t, db, at)
	emit(t, db, 500, r.stores[0])
	dispatch(t, db, at)
	check("starter again", at, map[string]int{"14 12": 2000, "14 13": 2000, "14 14": 500, "14 15": 100})

	setPlan(t, db, at, r.website, app.PlanEnterprise)
	emit(t, db, 1, r.stores[0])
	if d := dispatch(t, db, at); len(d.Claims) != 0 {
		t.Errorf("%d overtake the queue while it moves up without limit", len(d.Claims))
	}
	moveAllUp(t, db, at)
	emit(t, db, 1, r.stores[0])
	if d := dispatch(t, db, at); d.Events != 1 || d.Queued != 1 {
		t.Errorf("after the move: %+v", d)
	}
	planned := slots(t, db, "true")
	if len(planned) != 4602 || planned[4601] != at || !slices.IsSortedFunc(planned, time.Time.Compare) {
		t.Errorf("%d deliveries, the last at %v", len(planned), planned[len(planned)-1])
	}
	claims, err := db.ClaimQueued(t.Context(), at, all)
	must(t, err)
	if len(claims) != 4602-500 {
		t.Errorf("%d start when there is no limit any more", len(claims))
	}
}

// What cannot move to an earlier window gets its time in its own as the better plan has it,
// so that others can follow it there.
func TestABetterPlanSpreadsAWindowAnew(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.website, app.PlanGrow)
	emit(t, db, 2000, r.stores[0])
	dispatch(t, db, noon)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	emit(t, db, 700, r.stores[0])
	dispatch(t, db, noon)
	if diff := cmp.Diff(map[string]int{"14 12": 2000, "14 13": 500, "14 14": 200}, perHour(slots(t, db, "true"))); diff != "" {
		t.Error("before:", diff)
	}
	setPlan(t, db, noon, r.website, app.PlanGrow)
	moveAllUp(t, db, noon)
	want := slices.Repeat([]time.Time{noon}, 2000)
	for i := range 700 {
		want = append(want, noon.Add(time.Hour+time.Duration(i)*180*time.Millisecond))
	}
	if diff := cmp.Diff(want, slots(t, db, "true")); diff != "" {
		t.Error("after:", diff)
	}
}

// Random arrivals, replays, hours and plans, and what must hold after each of them.
func TestWindowsHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	for range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.subscribe(t, db, 0, app.EventOrderCreated)
			ended := r.endedDeliveries(t, db, 1500)
			plan, now := app.PlanStarter, noon
			setPlan(t, db, now, r.website, plan)
			most := map[time.Time]slotted{} // what a window had when another plan let it
			var log []string
			before := slots(t, db, "true")
			for range 25 {
				switch random.IntN(6) {
				case 0, 1:
					n := random.IntN(1500)
					log = append(log, fmt.Sprintf("%d events", n))
					emit(t, db, n, r.stores[0])
				case 2:
					n := min(random.IntN(400), len(ended))
					log = append(log, fmt.Sprintf("%d replays", n))
					for _, id := range ended[:n] {
						_, err := db.Replay(t.Context(), now, r.stores[0], app.Actor{}, id)
						must(t, err)
					}
					ended = ended[n:]
					before = nil
				case 3:
					now = now.Add(time.Duration(random.IntN(90)) * time.Minute)
					log = append(log, now.Format("15:04"))
				case 4:
					plan = app.Plans[random.IntN(3)]
					log = append(log, string(plan))
					setPlan(t, db, now, r.website, plan)
					if random.IntN(2) == 0 { // else others come between
						moveAllUp(t, db, now)
					}
				case 5:
					_, err := db.MoveUp(t.Context(), now)
					must(t, err)
				}
				dispatch(t, db, now)
				_, err := db.ClaimQueued(t.Context(), now, all)
				must(t, err)

				complain := func(format string, args ...any) {
					t.Helper()
					t.Errorf("after %s: %s", strings.Join(log, ", "), fmt.Sprintf(format, args...))
				}
				limit, _ := plan.PerWindow()
				after := slots(t, db, "true")
				for i := range before {
					if after[i].After(before[i]) {
						complain("delivery %d moved back from %v to %v", i, before[i], after[i])
						break
					}
				}
				before = after
				first := slots(t, db, "replays = 0")
				if !slices.IsSortedFunc(first, time.Time.Compare) {
					complain("not in the order of arrival")
				}
				again := slots(t, db, "replays > 0")
				current := app.PlanWindow(now, time.Hour)
				taken, replays := map[time.Time]int{}, map[time.Time]int{}
				for _, at := range append(slots(t, db, "replays = 0 AND event_id > 'evt_x000000001500'"), again...) {
					taken[app.PlanWindow(at, time.Hour)]++
				}
				for _, at := range again {
					replays[app.PlanWindow(at, time.Hour)]++
				}
				var room time.Time
				moving := count(t, db, "SELECT count(*) FROM plan_moves") > 0
				for _, w := range r.windows(t, db, current) {
					if w.taken != taken[w.start] || w.replays != replays[w.start] {
						complain("%+v, but %d deliveries with %d replays", w, taken[w.start], replays[w.start])
					}
					if had := most[w.start]; w.taken > max(limit, had.taken) || w.replays > max(limit/2, had.replays) {
						complain("%+v, of %d that are allowed, and before %+v", w, limit, had)
					}
					if w.taken > w.replays && !room.IsZero() && !moving {
						complain("%+v, though there is room at %v", w, room)
					}
					if w.taken < limit && room.IsZero() {
						room = w.start
					}
					delete(taken, w.start)
					most[w.start] = w
				}
				for start, n := range taken {
					if !start.Before(current) {
						complain("%d deliveries in the window %v, which has no slots", n, start)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// Replays take their slots one by one, in many requests at once and beside the relay.
func TestReplaysBesideTheRelayNeverExceedAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 280)
	setPlan(t, db, noon, r.website, app.PlanStarter)
	emit(t, db, 600, r.stores[0])
	var requests sync.WaitGroup
	for some := range slices.Chunk(ended, len(ended)/7) {
		requests.Go(func() {
			for _, id := range some {
				if _, err := db.Replay(t.Context(), noon, r.stores[0], app.Actor{}, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	few := all
	few.Events = 5
	for dispatched := 0; dispatched < 600 && !t.Failed(); {
		d, err := db.Dispatch(t.Context(), noon, few)
		must(t, err)
		dispatched += d.Events
	}
	requests.Wait()
	const slotted = "(replays > 0 OR event_id > 'evt_x000000000280')"
	if diff := cmp.Diff(map[string]int{"14 12": 500, "14 13": 380}, perHour(slots(t, db, slotted))); diff != "" {
		t.Error(diff)
	}
	if n := perHour(slots(t, db, "replays > 0"))["14 12"]; n > 250 {
		t.Errorf("%d replays in a window of 500", n)
	}
}

// While another sees to a queue, a relay goes on with the others.
func TestRelaysDoNotWaitForALockedQueue(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	locked, other := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{locked, other} {
		r.subscribe(t, db, 0, app.EventOrderCreated)
		setPlan(t, db, noon, r.website, app.PlanStarter)
	}
	emit(t, db, 20, locked.stores[0], other.stores[0])
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(plan_lock(?))", locked.website)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := db.Dispatch(ctx, noon, all)
	must(t, err)
	if len(d.Claims) != 10 || d.Claims[0].StoreID != other.stores[0] {
		t.Errorf("%d of the other website's 10 start", len(d.Claims))
	}
	must(t, tx.Commit())
	if d := dispatch(t, db, noon); len(d.Claims) != 10 || d.Claims[0].StoreID != locked.stores[0] {
		t.Errorf("%d of 10 start when the lock is gone", len(d.Claims))
	}
}

// When no slots can be had, what needs none starts all the same.
func TestDispatchReturnsWhatItClaimedBeforeAFault(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.subscribe(t, db, 0, app.EventOrderCreated)
	}
	setPlan(t, db, noon, limited.website, app.PlanProfessional)
	emit(t, db, 10, limited.stores[0], unlimited.stores[0])
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), "ALTER TABLE plan_windows RENAME TO gone")
	must(t, err)
	d, err := db.Dispatch(t.Context(), noon, all)
	if err == nil || len(d.Claims) != 5 {
		t.Errorf("%d claims, %v", len(d.Claims), err)
	}
	_, err = owner.ExecContext(t.Context(), "ALTER TABLE gone RENAME TO plan_windows")
	must(t, err)
	if d := dispatch(t, db, noon); len(d.Claims) != 5 {
		t.Errorf("%d of 5 start when the fault is mended", len(d.Claims))
	}
}

// However many deliveries there have been and however many wait, no table is read whole.
func TestPlansAndRelaysReadByIndex(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.subscribe(t, db, 0, app.EventOrderCreated)
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, occurred_at, dispatched_at)
			SELECT 'evt_x' || i, $2, 'order.created', now(), CASE WHEN i > 300 THEN now() END FROM generate_series(1, 50000) i WHERE $1 <> ''`,
		`INSERT INTO deliveries (id, store_id, event_id, subscription_id, event_type, status, scheduled_for, created_at)
			SELECT 'dlv_x' || i, $2, 'evt_x' || i, CASE WHEN i % 2 = 0 THEN $1 ELSE $1 || i % 100 END, 'order.created',
				CASE WHEN i % 4 = 0 THEN 'queued' ELSE 'delivered' END, now() + interval '1 s' * i, now() FROM generate_series(1, 50000) i`,
		`INSERT INTO plan_windows SELECT $1 || i % 100, now() + interval '1 h' * i, 500, 0, now() FROM generate_series(1, 10000) i WHERE $2 <> ''`,
	} {
		_, err := owner.ExecContext(t.Context(), statement, s.ID, r.stores[0])
		must(t, err)
	}
	_, err = owner.ExecContext(t.Context(), "ANALYZE")
	must(t, err)
	for name, statement := range persistence.Statements {
		plan, err := db.Explain(t.Context(), statement.SQL, statement.Args)
		must(t, err)
		for _, table := range []string{"deliveries", "outbox", "plan_windows"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
		if strings.HasPrefix(name, "MoveUp") || name == "PlanUsage" {
			if !strings.Contains(plan, "deliveries_waiting") {
				t.Errorf("%s does not look where deliveries wait:\n%s", name, plan)
			}
		}
	}
}
