package delivery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// claimState is the state of a delivery's claim.
type claimState struct {
	Status     app.DeliveryStatus
	Started    bool
	LeaseUntil time.Time
}

func claimStateOf(t *testing.T, db *persistencetest.Database, id app.DeliveryID) (s claimState) {
	t.Helper()
	must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT status, started_at IS NOT NULL,
		coalesce(lease_until, 'epoch') FROM deliveries WHERE id = $1`, id).Scan(&s.Status, &s.Started, &s.LeaseUntil))
	s.LeaseUntil = s.LeaseUntil.UTC()
	return s
}

// MarkStarted and Unclaim of an earlier claim do not change the claim of a later replay.
func TestLateMarkKeepsNewerClaim(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	first := claimOnce(t, db.Queue, noon, all)
	deliver(t, db)
	r.replayAll(t, db, []app.DeliveryID{first[0].ID})
	second := claimOnce(t, db.Queue, noon.Add(time.Second), all)
	if len(second) != 1 || second[0].Generation != first[0].Generation+1 {
		t.Fatalf("claims: got %+v, then %+v, want the next generation", first, second)
	}
	id, untouched := first[0].ID, claimState{app.DeliveryPending, false, noon.Add(time.Minute + time.Second)}
	must(t, db.MarkStarted(t.Context(), noon, first))
	must(t, db.Unclaim(t.Context(), noon, first))
	if diff := cmp.Diff(untouched, claimStateOf(t, db, id)); diff != "" {
		t.Error("state after MarkStarted and Unclaim of the first claim (-want +got):", diff)
	}
	must(t, db.Unclaim(t.Context(), noon.Add(2*time.Second), second))
	returned := claimState{app.DeliveryPending, false, noon.Add(2 * time.Second)}
	if diff := cmp.Diff(returned, claimStateOf(t, db, id)); diff != "" {
		t.Error("state after Unclaim (-want +got):", diff)
	}
	must(t, db.MarkStarted(t.Context(), noon, second))
	if !claimStateOf(t, db, id).Started {
		t.Error("newest claim: got not started, want started")
	}
	must(t, db.Unclaim(t.Context(), noon, second))
	if got := claimStateOf(t, db, id); got.LeaseUntil.Equal(noon) {
		t.Errorf("lease of a started claim after Unclaim: got %s, want no change", got.LeaseUntil)
	}
}

// MarkStarted skips a delivery that a recorder has locked, and marks the others without waiting.
func TestMarkStartedSkipsLockedDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 2, r.Stores[0])
	claims := claimOnce(t, db.Queue, noon, all)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM deliveries WHERE id = ? FOR UPDATE", claims[0].ID)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must(t, db.MarkStarted(ctx, noon, claims))
	must(t, tx.Rollback())
	for i, c := range claims {
		if claimStateOf(t, db, c.ID).Started != (i == 1) {
			t.Errorf("delivery %d: got %+v, want started %v", i, claimStateOf(t, db, c.ID), i == 1)
		}
	}
}

// Relays claim each abandoned claim once, with the next generation, unless its delivery has started or
// ended.
func TestAbandonedClaimsAreClaimedOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 102, r.Stores[0])
	claims := claimOnce(t, db.Queue, noon, all)
	must(t, db.MarkStarted(t.Context(), noon, claims[:1]))
	must(t, db.EndDelivery(t.Context(), noon, claims[1].ID, app.DeliveryCancelled, app.ReasonCancelled))
	var lock sync.Mutex
	taken := map[app.DeliveryID]int{}
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			for range 10 {
				found, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), batches(7))
				if err != nil {
					t.Error(err)
				}
				lock.Lock()
				for _, c := range found {
					taken[c.ID]++
					if c.Generation != 2 || c.Queue != string(r.Website) || !c.Quick || !c.Healthy || c.Replay {
						t.Errorf("abandoned claim: got %+v, want generation 2, healthy and quick", c)
					}
				}
				lock.Unlock()
			}
		})
	}
	relays.Wait()
	for { // a relay skips the claims that others are claiming, so some can remain
		found, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), batches(7))
		must(t, err)
		if len(found) == 0 {
			break
		}
		for _, c := range found {
			taken[c.ID]++
		}
	}
	for _, c := range claims[2:] {
		if taken[c.ID] != 1 {
			t.Errorf("claims of abandoned %s: got %d, want 1", c.ID, taken[c.ID])
		}
	}
	if len(taken) != 100 {
		t.Errorf("abandoned claims: got %d, want 100", len(taken))
	}
}

// Websites take turns when claims are taken over, in which a burst counts once.
func TestAbandonedClaimsTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	flooding, quiet := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{flooding, quiet} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
	}
	claim := func(n int, store app.StoreID, lease time.Duration, limits app.ClaimLimits) {
		t.Helper()
		limits.Lease = lease
		enqueue(t, db, app.EventOrderCreated, n, store)
		if claims := claimAll(t, db.Queue, waited, limits); len(claims) != n {
			t.Fatalf("got %d claims, want %d", len(claims), n)
		}
	}
	claim(300, flooding.Stores[0], time.Minute, batches(300))
	claim(32, quiet.Stores[0], 2*time.Minute, bursting())
	claim(2, quiet.Stores[0], 2*time.Minute, batches(2))
	var got []map[string]int
	for range 2 {
		taken, err := db.ClaimAbandoned(t.Context(), noon.Add(time.Hour), batches(37))
		must(t, err)
		got = append(got, perQueue(taken))
	}
	one, two := string(flooding.Website), string(quiet.Website)
	if diff := cmp.Diff([]map[string]int{{one: 3, two: 34}, {one: 37}}, got); diff != "" {
		t.Errorf("claims taken over by website (-want +got):\n%s", diff)
	}
}

// A claim of a limited queue counts in the window of the claim. In that window, an abandoned claim is
// claimed again. Afterwards it is queued again, and the window counts it no longer.
func TestAbandonedClaimsStayInTheirWindow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
	}
	setPlan(t, db, noon, limited.Website, app.PlanStarter)
	lease := batches(100)
	lease.Lease = 10 * time.Second
	claims := claimOnce(t, db.Queue, noon, lease)
	for _, step := range []struct {
		after                  time.Duration
		takenOver, claimed     int
		startedHere, startedAt int // counted in the window of noon, and in that of the step
	}{
		{time.Second, 20, 0, 10, 10}, // in the first seconds of a window, too
		{2 * time.Second, 20, 0, 10, 10},
		{59*time.Minute + 58*time.Second, 20, 0, 10, 10},
		{time.Hour + time.Second, 10, 10, 0, 10},
		{time.Hour + 2*time.Second, 20, 0, 0, 10},
	} {
		now := noon.Add(step.after)
		must(t, db.Unclaim(t.Context(), now.Add(-time.Millisecond), claims))
		taken, err := db.ClaimAbandoned(t.Context(), now, lease)
		must(t, err)
		again := claimOnce(t, db.Queue, now, lease)
		if len(taken) != step.takenOver || len(again) != step.claimed {
			t.Errorf("after %s: got %d abandoned and %d new claims, want %+v", step.after, len(taken), len(again), step)
		}
		if n := startedIn(t, db, string(limited.Website), noon); n != step.startedHere {
			t.Errorf("after %s: got %d starts in the window of noon, want %d", step.after, n, step.startedHere)
		}
		if n := startedIn(t, db, string(limited.Website), now); n != step.startedAt {
			t.Errorf("after %s: got %d starts in the current window, want %d", step.after, n, step.startedAt)
		}
		claims = append(taken, again...)
	}
}
