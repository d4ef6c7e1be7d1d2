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

// standing is how a delivery stands with its relays.
type standing struct {
	Status     app.DeliveryStatus
	Started    bool
	LeaseUntil time.Time
}

func standingOf(t *testing.T, db *persistencetest.Database, id app.DeliveryID) (s standing) {
	t.Helper()
	must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT status, started_at IS NOT NULL,
		coalesce(lease_until, 'epoch') FROM deliveries WHERE id = $1`, id).Scan(&s.Status, &s.Started, &s.LeaseUntil))
	s.LeaseUntil = s.LeaseUntil.UTC()
	return s
}

// A relay that marks or returns a claim late does not touch the claim of a replay that was made meanwhile.
func TestALateMarkDoesNotTouchANewerClaim(t *testing.T) {
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
		t.Fatalf("claimed %+v, then %+v", first, second)
	}
	id, untouched := first[0].ID, standing{app.DeliveryPending, false, noon.Add(time.Minute + time.Second)}
	must(t, db.MarkStarted(t.Context(), noon, first))
	must(t, db.Unclaim(t.Context(), noon, first))
	if diff := cmp.Diff(untouched, standingOf(t, db, id)); diff != "" {
		t.Error("after a late mark and return:", diff)
	}
	must(t, db.Unclaim(t.Context(), noon.Add(2*time.Second), second))
	if diff := cmp.Diff(standing{app.DeliveryPending, false, noon.Add(2 * time.Second)}, standingOf(t, db, id)); diff != "" {
		t.Error("returned:", diff)
	}
	must(t, db.MarkStarted(t.Context(), noon, second))
	if !standingOf(t, db, id).Started {
		t.Error("the newest claim is not marked")
	}
	must(t, db.Unclaim(t.Context(), noon, second))
	if got := standingOf(t, db, id); got.LeaseUntil.Equal(noon) {
		t.Error("a started claim is returned")
	}
}

// Marking neither waits for a recorder that has locked a row, nor is held up by it.
func TestMarkingSkipsWhatARecorderHasLocked(t *testing.T) {
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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, db.MarkStarted(ctx, noon, claims))
	must(t, tx.Rollback())
	for i, c := range claims {
		if standingOf(t, db, c.ID).Started != (i == 1) {
			t.Errorf("delivery %d: %+v", i, standingOf(t, db, c.ID))
		}
	}
}

// Relays that die leave claims. Others take each of them over once, under a new generation, unless it has started or
// ended meanwhile.
func TestAbandonedClaimsAreTakenOverOnce(t *testing.T) {
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
						t.Errorf("taken over: %+v", c)
					}
				}
				lock.Unlock()
			}
		})
	}
	relays.Wait()
	for _, c := range claims[2:] {
		if taken[c.ID] != 1 {
			t.Errorf("%s was taken over %d times", c.ID, taken[c.ID])
		}
	}
	if len(taken) != 100 {
		t.Errorf("%d of 100 were taken over", len(taken))
	}
}

// A claim of a limited queue counts in the window in which it was made. It is taken over in that, however often starting
// it fails, and is queued again afterwards.
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
		{59*time.Minute + 59*time.Second, 20, 0, 10, 10},
		{time.Hour + time.Second, 10, 10, 10, 10},
		{time.Hour + 2*time.Second, 20, 0, 10, 10},
	} {
		now := noon.Add(step.after)
		must(t, db.Unclaim(t.Context(), now.Add(-time.Millisecond), claims))
		taken, err := db.ClaimAbandoned(t.Context(), now, lease)
		must(t, err)
		again := claimOnce(t, db.Queue, now, lease)
		if len(taken) != step.takenOver || len(again) != step.claimed {
			t.Errorf("after %s: %d are taken over and %d claimed, want %+v", step.after, len(taken), len(again), step)
		}
		if n := startedIn(t, db, string(limited.Website), noon); n != step.startedHere {
			t.Errorf("after %s: %d starts are counted at first", step.after, n)
		}
		if n := startedIn(t, db, string(limited.Website), now); n != step.startedAt {
			t.Errorf("after %s: %d starts are counted", step.after, n)
		}
		claims = append(taken, again...)
	}
}
