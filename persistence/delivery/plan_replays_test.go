package delivery_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// endedDeliveries makes deliveries without slots that can be replayed.
func (r restaurant) endedDeliveries(t *testing.T, db *persistencetest.Database, n int) (ids []app.DeliveryID) {
	t.Helper()
	emit(t, db, n, r.Stores[0])
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
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 600)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	var at []time.Time
	for _, id := range ended {
		d, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id)
		must(t, err)
		at = append(at, d.ScheduledFor.Time)
	}
	if diff := cmp.Diff(map[string]int{"14 12": 250, "14 13": 250, "14 14": 100}, perHour(at)); diff != "" {
		t.Error("replays:", diff)
	}
	emit(t, db, 1000, r.Stores[0])
	dispatch(t, db, noon)
	if diff := cmp.Diff(map[string]int{"14 12": 250, "14 13": 250, "14 14": 400, "14 15": 100}, perHour(slots(t, db, "replays = 0"))); diff != "" {
		t.Error("first deliveries:", diff)
	}
	usage, err := db.PlanUsage(t.Context(), noon, r.Stores[1])
	must(t, err)
	limit, last := 500, app.At(noon.Add(3*time.Hour+99*720*time.Millisecond))
	if diff := cmp.Diff(app.PlanUsage{
		Plan: app.PlanStarter, WindowStart: app.At(noon), WindowEnd: app.At(noon.Add(time.Hour)), Limit: &limit,
		Taken: 500, ReplaysTaken: 250, Queued: 1100, LastScheduledFor: &last,
	}, usage); diff != "" {
		t.Error(diff)
	}
}

// Replays take their slots one by one, in many requests at once and beside the relay.
func TestReplaysBesideTheRelayNeverExceedAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 280)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	emit(t, db, 600, r.Stores[0])
	var requests sync.WaitGroup
	for some := range slices.Chunk(ended, len(ended)/7) {
		requests.Go(func() {
			for _, id := range some {
				if _, err := db.Replay(t.Context(), noon, r.Stores[0], app.Actor{}, id); err != nil {
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
