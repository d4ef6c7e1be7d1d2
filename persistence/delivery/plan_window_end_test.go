package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// In the last second of a window, a limited queue is not claimed: the first attempts would be made in the next window,
// beyond its limit. Other queues are not affected.
func TestNoClaimAtTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		enqueue(t, db, app.EventOrderCreated, 30, r.Stores[0])
	}
	setPlan(t, db, noon, limited.Website, app.PlanStarter)
	next := noon.Add(time.Hour)
	for _, step := range []struct {
		now                time.Time
		limited, unlimited int
		before             time.Time // of the limited claims
	}{
		{next.Add(-time.Second - time.Millisecond), 10, 10, next.Add(-time.Second)},
		{next.Add(-time.Second), 0, 20, time.Time{}},
		{next.Add(-time.Millisecond), 0, 0, time.Time{}},
		{next, 20, 0, next.Add(time.Hour - time.Second)},
	} {
		got, want := map[string]int{}, map[string]int{}
		for _, c := range claimOnce(t, db.Queue, step.now, batches(20)) {
			got[fmt.Sprint(c.Queue, " before ", c.StartBefore, " in the window until ", c.WindowEnd)]++
		}
		if step.limited > 0 {
			end := step.before.Add(time.Second)
			want[fmt.Sprint(limited.Website, " before ", &step.before, " in the window until ", &end)] = step.limited
		}
		if step.unlimited > 0 {
			want[fmt.Sprint(unlimited.Website, " before <nil> in the window until <nil>")] = step.unlimited
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: claims by queue and end of their start (-want +got):\n%s", step.now, diff)
		}
	}
}

// A limited claim whose relay has died is not claimed again in the last second of a window, and is queued again in the
// next one.
func TestAbandonedClaimAtTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	claimOnce(t, db.Queue, noon, all)
	for _, step := range []struct {
		beforeEnd          time.Duration
		abandoned, claimed int
	}{{2 * time.Second, 10, 0}, {500 * time.Millisecond, 0, 0}, {-time.Second, 0, 10}} {
		now := noon.Add(time.Hour - step.beforeEnd)
		change(t, db, "UPDATE deliveries SET lease_until = $1", now.Add(-time.Second))
		taken, err := db.ClaimAbandoned(t.Context(), now, all)
		must(t, err)
		again := claimOnce(t, db.Queue, now, all)
		if len(taken) != step.abandoned || len(again) != step.claimed {
			t.Errorf("%s: got %d abandoned and %d new claims, want %+v", now, len(taken), len(again), step)
		}
		for _, c := range taken {
			if want := noon.Add(time.Hour - time.Second); c.StartBefore == nil || !c.StartBefore.Equal(want) {
				t.Errorf("%s: the abandoned claim starts before %v, want %s", now, c.StartBefore, want)
			}
		}
	}
}

// The window counts the starts of replays no longer, either.
func TestAbandonedReplaysAtTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.replayAll(t, db, r.endedDeliveries(t, db, 10))
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	if n := len(claimAll(t, db.Queue, noon, all)); n != 10 {
		t.Fatalf("claims: got %d, want 10", n)
	}
	_, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), all)
	must(t, err)
	if n := count(t, db, "SELECT sum(started) + sum(replays_started) FROM plan_windows"); n != 0 {
		t.Errorf("starts and replays that are counted without a claim: got %d, want 0", n)
	}
}

// Requeue moves claims that were not started from their window to that of their next claim. It skips a claim that has
// been started or is not the newest of its delivery.
func TestRequeue(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := burst(t, db, 30)
	queue := claims[0].Queue
	must(t, db.MarkStarted(t.Context(), noon, claims[:1]))
	stale := claims[1]
	stale.Generation--
	for range 2 { // the second call has no effect
		must(t, db.Requeue(t.Context(), append([]app.Claim{claims[0], stale}, claims[2:]...)))
		if n := startedIn(t, db, queue, noon); n != 2 {
			t.Errorf("counted in the window of the claim: got %d, want 2", n)
		}
	}
	next := noon.Add(time.Hour)
	again := claimAll(t, db.Queue, next, all)
	if n := startedIn(t, db, queue, next); len(again) != 28 || n != 28 {
		t.Errorf("in the next window: got %d claims, %d counted, want 28", len(again), n)
	}
	for _, c := range again {
		if c.BurstID != "" || c.Generation != 2 {
			t.Errorf("claim again: got %+v, want generation 2 without a burst", c)
		}
	}
}

// The starts of replays are moved, too.
func TestRequeueReplays(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.replayAll(t, db, r.endedDeliveries(t, db, 10))
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	windows := func() (got []int) {
		t.Helper()
		for _, column := range []string{"started", "replays_started"} {
			got = append(got, count(t, db, "SELECT coalesce(sum("+column+"), 0) FROM plan_windows"))
		}
		return got
	}
	claims := claimAll(t, db.Queue, noon, all)
	before := windows()
	must(t, db.Requeue(t.Context(), claims))
	if diff := cmp.Diff([][]int{{10, 10}, {0, 0}}, [][]int{before, windows()}); diff != "" {
		t.Errorf("starts and replays before and after Requeue (-want +got):\n%s", diff)
	}
	if n := countReplays(claimAll(t, db.Queue, noon, all)); n != 10 {
		t.Errorf("replays claimed again: got %d, want 10", n)
	}
}
