package delivery_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// endedDeliveries creates dead letters of the first store while the plan has no limit, and returns
// their ids.
func (r restaurant) endedDeliveries(t *testing.T, db *persistencetest.Database, n int) (ids []app.DeliveryID) {
	t.Helper()
	enqueue(t, db, app.EventOrderCreated, n, r.Stores[0])
	for _, c := range claimAll(t, db.Queue, noon, all) {
		ids = append(ids, c.ID)
	}
	if len(ids) != n {
		t.Fatalf("claims: got %d, want %d", len(ids), n)
	}
	change(t, db, "UPDATE deliveries SET status = 'dead_letter', attempts = 6, lease_until = NULL, ended_at = $1", noon)
	return ids
}

// replayAll replays each delivery in a separate, concurrent request.
func (r restaurant) replayAll(t *testing.T, db *persistencetest.Database, ids []app.DeliveryID) {
	t.Helper()
	waiting := make(chan app.DeliveryID, len(ids))
	for _, id := range ids {
		waiting <- id
	}
	close(waiting)
	var requests sync.WaitGroup
	for range 4 {
		requests.Go(func() {
			for id := range waiting {
				if _, err := db.Replay(t.Context(), noon, r.Stores[0], byOwner, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	requests.Wait()
}

func countReplays(claims []app.Claim) (n int) {
	for _, c := range claims {
		n += toInt(c.Replay)
	}
	return n
}

// Single and bulk replays take at most half of a window, with and without first deliveries, in claims
// of any size.
func TestReplaysTakeAtMostHalfOfAWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bulk          bool
		first, batch  int
		want, replays []int // starts, and starts of replays, in each window
	}{
		"single":                      {false, 0, 64, []int{250, 250, 100}, []int{250, 250, 100}},
		"bulk":                        {true, 0, 100_000, []int{250, 250, 100}, []int{250, 250, 100}},
		"single, in few claims":       {false, 1_000, 100_000, []int{500, 500, 500, 100}, []int{250, 250, 100, 0}},
		"bulk, in many claims":        {true, 1_000, 7, []int{500, 500, 500, 100}, []int{250, 250, 100, 0}},
		"beside few first deliveries": {true, 100, 20, []int{350, 250, 100}, []int{250, 250, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			s := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			ended := r.endedDeliveries(t, db, 600)
			setPlan(t, db, noon, r.Website, app.PlanStarter)
			if test.bulk {
				change(t, db, "UPDATE deliveries SET created_at = $1, id = 'dlv_' || uuidv7_hex($1, 1)", noon)
				replay := createReplay(t, db, r.Stores[0], allOf(s))
				if got := step(t, db, r.Stores[0], replay.ID, 1_000); got.Replayed != 600 {
					t.Fatalf("step: got %+v, want 600 replayed", got)
				}
			} else {
				r.replayAll(t, db, ended)
			}
			enqueue(t, db, app.EventOrderCreated, test.first, r.Stores[0])
			var got, replays []int
			for hour := range test.want {
				now := noon.Add(time.Duration(hour) * time.Hour)
				claims := claimAll(t, db.Queue, now, batches(test.batch))
				got, replays = append(got, len(claims)), append(replays, countReplays(claims))
				usage, err := db.PlanUsage(t.Context(), now, r.Stores[0])
				must(t, err)
				if usage.Taken != len(claims) || usage.ReplaysTaken != countReplays(claims) {
					t.Errorf("window %d: got %d claims with %d replays, want as counted: %+v", hour, len(claims),
						replays[hour], usage)
				}
				deliver(t, db)
			}
			if diff := cmp.Diff([][]int{test.want, test.replays}, [][]int{got, replays}); diff != "" {
				t.Errorf("starts and replays by hour (-want +got):\n%s", diff)
			}
		})
	}
}

// After replays have used up their half, other deliveries of the webhook still start, and Claim does
// not report the replays as More.
func TestExhaustedReplaysDelayNothing(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 300)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	r.replayAll(t, db, ended)
	if claims := claimAll(t, db.Queue, noon, batches(5)); len(claims) != 250 {
		t.Fatalf("claims of replays: got %d, want 250", len(claims))
	}
	found, err := db.Claim(t.Context(), noon, batches(5))
	must(t, err)
	if found.More {
		t.Error("More: got true, want false until the next window")
	}
	enqueue(t, db, app.EventOrderCreated, 240, r.Stores[0])
	if claims := claimAll(t, db.Queue, noon, batches(5)); len(claims) != 240 || countReplays(claims) > 0 {
		t.Errorf("claims: got %d with %d replays, want 240 first deliveries", len(claims), countReplays(claims))
	}
}

// Replays and first deliveries of a webhook take turns, regardless of the age of their events.
func TestReplaysAndFirstDeliveriesTakeTurns(t *testing.T) {
	t.Parallel()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanGrow} {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		ended := r.endedDeliveries(t, db, 100)
		setPlan(t, db, noon, r.Website, plan)
		r.replayAll(t, db, ended)
		enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
		few := batches(20)
		few.Unproven, few.Quick = 20, 20
		for range 3 {
			claims := claimOnce(t, db.Queue, noon, few)
			if len(claims) != 20 || countReplays(claims) != 10 {
				t.Errorf("%s: got %d claims with %d replays, want 20 with 10", plan, len(claims), countReplays(claims))
			}
			deliver(t, db)
		}
	}
}

// A replay restarts the schedule of a delivery. A repair continues it.
func TestReplayRestartsSchedule(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	ended := r.endedDeliveries(t, db, 1)
	claimed := func() app.Claim {
		t.Helper()
		claims := claimOnce(t, db.Queue, noon, all)
		if len(claims) != 1 {
			t.Fatalf("claims: got %+v, want one", claims)
		}
		return claims[0]
	}
	r.replayAll(t, db, ended)
	if c := claimed(); c.Attempts != 6 || c.Place != 0 || !c.Replay {
		t.Errorf("claim of a replay: got %+v, want 6 attempts and place 0", c)
	}
	change(t, db, "UPDATE deliveries SET attempts = 8, status = 'retrying', next_retry_at = $1", noon)
	batch, err := db.Overdue(t.Context(), noon.Add(time.Hour), time.Minute, 10)
	must(t, err)
	if len(batch.Claims) != 1 || batch.Claims[0].Attempts != 8 || batch.Claims[0].Place != 2 ||
		!batch.Claims[0].Replay {
		t.Errorf("overdue: got %+v, want 8 attempts and place 2", batch)
	}
	change(t, db, "UPDATE deliveries SET status = 'delivered', ended_at = $1", noon)
	r.replayAll(t, db, ended)
	if c := claimed(); c.Attempts != 8 || c.Place != 0 {
		t.Errorf("claim of a second replay: got %+v, want 8 attempts and place 0", c)
	}
}
