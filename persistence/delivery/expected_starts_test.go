package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// expectedHours returns the expected starts of queued deliveries in hours after noon, in the order of
// their ids.
func (r restaurant) expectedHours(t *testing.T, db *persistencetest.Database, q *delivery.Queue, now time.Time,
	where string,
) (hours []int) {
	t.Helper()
	var deliveries []app.Delivery
	for _, store := range r.Stores {
		rows, err := db.System().DB.QueryContext(t.Context(), `SELECT id, status, scheduled_for FROM deliveries
			WHERE store_id = $1 AND status = 'queued' AND `+where+" ORDER BY event_id, id", store)
		must(t, err)
		defer rows.Close()
		var found []app.Delivery
		for rows.Next() {
			var d app.Delivery
			var at time.Time
			must(t, rows.Scan(&d.ID, &d.Status, &at))
			d.ScheduledFor = new(app.At(at))
			found = append(found, d)
		}
		must(t, rows.Err())
		must(t, q.ExpectStarts(t.Context(), now, store, found))
		deliveries = append(deliveries, found...)
	}
	for _, d := range deliveries {
		hours = append(hours, int(d.ScheduledFor.Sub(noon)/time.Hour))
	}
	return hours
}

// counted counts equal values.
func counted(values []int) map[int]int {
	counts := map[int]int{}
	for _, v := range values {
		counts[v]++
	}
	return counts
}

// A queued delivery is expected to start now, or at the beginning of the window of its place in the
// queue. The claims of the following hours confirm the estimates.
func TestExpectedStartsMatchClaims(t *testing.T) {
	t.Parallel()
	type perHour = map[int]int
	for name, test := range map[string]struct {
		started                    int // earlier in this window
		orders, customers, replays int
		want                       [3]perHour // of each class
		last                       int        // hours until the last start
	}{
		"all in this window": {0, 400, 0, 0, [3]perHour{{0: 400}, {}, {}}, 0},
		"orders":             {0, 1_200, 0, 0, [3]perHour{{0: 500, 1: 500, 2: 200}, {}, {}}, 2},
		"orders, later":      {450, 600, 0, 0, [3]perHour{{0: 50, 1: 500, 2: 50}, {}, {}}, 2},
		"replays":            {0, 0, 0, 600, [3]perHour{{}, {}, {0: 250, 1: 250, 2: 100}}, 2},
		"profile changes":    {0, 0, 900, 0, [3]perHour{{}, {0: 400, 1: 400, 2: 100}, {}}, 2},
		"both":               {0, 600, 600, 0, [3]perHour{{0: 400, 1: 200}, {0: 100, 1: 200, 2: 300}, {}}, 2},
		"both, later":        {250, 200, 900, 0, [3]perHour{{0: 200}, {0: 50, 1: 400, 2: 400, 3: 50}, {}}, 3},
		"orders beside replays": {0, 1_000, 0, 600, [3]perHour{
			{0: 250, 1: 250, 2: 400, 3: 100}, {}, {0: 250, 1: 250, 2: 100},
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
			ended := r.endedDeliveries(t, db, test.replays)
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			enqueue(t, db, app.EventOrderCreated, test.started, r.Stores[0])
			claimAll(t, db.Queue, noon, all)
			deliver(t, db)
			r.replayAll(t, db, ended)
			enqueue(t, db, app.EventOrderCreated, test.orders, r.Stores[0])
			enqueue(t, db, app.EventCustomerUpdated, test.customers, r.Stores[0])

			var expected [3]perHour
			for class := range expected {
				expected[class] = counted(r.expectedHours(t, db, db.Queue, noon, fmt.Sprint("class = ", class)))
			}
			usage, err := db.PlanUsage(t.Context(), noon, r.Stores[1])
			must(t, err)
			limit, last := 500, (*app.Time)(nil)
			if test.last > 0 {
				at := app.At(noon.Add(time.Duration(test.last) * time.Hour))
				last = &at
			}
			want := app.PlanUsage{
				Plan: app.PlanStarter, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour)), Limit: &limit,
				Taken: test.started, Queued: test.orders + test.customers + test.replays, LastScheduledFor: last,
			}
			if diff := cmp.Diff(want, usage); diff != "" {
				t.Errorf("plan usage (-want +got):\n%s", diff)
			}

			got := [3]perHour{{}, {}, {}}
			for hour := range test.last + 1 {
				for _, c := range claimAll(t, db.Queue, noon.Add(time.Duration(hour)*time.Hour), all) {
					got[classOf(c)][hour]++
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("claims by class and hour (-want +got):", diff)
			}
			if diff := cmp.Diff(test.want, expected); diff != "" {
				t.Error("expected starts by class and hour (-want +got):", diff)
			}
		})
	}
}

// classOf returns the class of a claimed delivery.
func classOf(c app.Claim) int {
	switch {
	case c.Replay:
		return 2
	case c.EventType == app.EventCustomerUpdated:
		return 1
	}
	return 0
}

// A change of the plan changes the estimates immediately. Without a limit, the start stays the time of
// the event.
func TestExpectedStartsFollowThePlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	twin := r.Key(t, db, 0, app.KeyTest).StoreID
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	subscribe(t, db, twin)
	enqueue(t, db, app.EventOrderCreated, 3_000, r.Stores[0])
	enqueue(t, db, app.EventOrderCreated, 600, twin)
	sandbox := restaurant{persistencetest.Restaurant{Stores: []app.StoreID{twin}}}
	now := noon.Add(20 * time.Minute)
	for _, step := range []struct {
		plan app.Plan
		want map[int]int
	}{
		{app.PlanStarter, map[int]int{0: 500, 1: 500, 2: 500, 3: 500, 4: 500, 5: 500}},
		{app.PlanGrow, map[int]int{0: 2_000, 1: 1_000}},
		{app.PlanEnterprise, map[int]int{0: 3_000}},
		{app.PlanStarter, map[int]int{0: 500, 1: 500, 2: 500, 3: 500, 4: 500, 5: 500}},
	} {
		setPlan(t, db, now, r.Website, step.plan)
		if diff := cmp.Diff(step.want, counted(r.expectedHours(t, db, db.Queue, now, "true"))); diff != "" {
			t.Errorf("expected starts by hour with plan %s (-want +got): %s", step.plan, diff)
		}
		got := counted(sandbox.expectedHours(t, db, db.Queue, now, "true"))
		if diff := cmp.Diff(map[int]int{0: 500, 1: 100}, got); diff != "" {
			t.Error("expected starts of the sandbox by hour (-want +got):", diff)
		}
	}
}

// The queued deliveries of an inactive webhook delay no others, and count as queued no longer.
func TestInactiveWebhooksDelayNoExpectedStarts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	off := r.Subscribe(t, db, 0, app.EventOrderCreated)
	on := r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 600, r.Stores[0])
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	for _, step := range []struct {
		active       bool
		queued, last int
		want         map[int]int // starts of the other webhook by hour
	}{
		{true, 1_200, 2, map[int]int{0: 250, 1: 250, 2: 100}},
		{false, 600, 1, map[int]int{0: 500, 1: 100}},
	} {
		r.setActive(t, db, off.ID, step.active)
		usage, err := db.PlanUsage(t.Context(), noon, r.Stores[0])
		must(t, err)
		if want := noon.Add(time.Duration(step.last) * time.Hour); usage.Queued != step.queued ||
			usage.LastScheduledFor == nil || !usage.LastScheduledFor.Equal(want) {
			t.Errorf("active %t: got usage %+v, want %d queued until %s", step.active, usage, step.queued, want)
		}
		got := counted(r.expectedHours(t, db, db.Queue, noon, fmt.Sprintf("subscription_id = '%s'", on.ID)))
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("active %t: expected starts by hour (-want +got): %s", step.active, diff)
		}
	}
}

// If a queue is longer than the part that is read, the estimates are lower bounds. Each delivery has
// an estimate.
func TestExpectedStartsOfLongQueues(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	enqueue(t, db, app.EventOrderCreated, 3_000, r.Stores[0])
	q := withPolicy(t, db, func(p *delivery.Policy) { p.EstimatedPlaces = 1_200 })
	hours := r.expectedHours(t, db, q, noon, "event_id > 'evt_x000000002990'")
	if diff := cmp.Diff(slices.Repeat([]int{2}, 10), hours); diff != "" {
		t.Errorf("expected starts by hour (-want +got):\n%s", diff)
	}
}
