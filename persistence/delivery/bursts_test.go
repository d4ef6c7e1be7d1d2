package delivery_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// claimBurst queues n deliveries and claims them as one burst.
func claimBurst(t *testing.T, db *persistencetest.Database, r restaurant, n int) []app.Claim {
	t.Helper()
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, n)
	_, err := db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	bursts := limits
	bursts.Burst, bursts.BurstBatch = 32, 100
	claimed, err := db.Claim(t.Context(), noon, bursts)
	must(t, err)
	if len(claimed.Claims) != n || claimed.Claims[0].BurstID == "" {
		t.Fatalf("claims: got %+v, want %d in one burst", claimed.Claims, n)
	}
	return claimed.Claims
}

// The data of a burst is in the order of its deliveries, and nil for missing deliveries.
func TestOutgoingAll(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := claimBurst(t, db, open(t, db, "one.example"), 3)
	attempt(t, db, claims[1].ID, 1, app.AttemptRetrying, 0)
	loaded, err := db.OutgoingAll(t.Context(), []app.DeliveryID{claims[2].ID, "dlv_gone", claims[1].ID, claims[0].ID},
		1)
	must(t, err)
	if loaded[1] != nil || loaded[2].Recorded == nil || loaded[0].Recorded != nil {
		t.Fatalf("loaded: got %+v, want nil at 1 and a recorded attempt at 2 only", loaded)
	}
	got := []app.EventID{loaded[0].EventID, loaded[2].EventID, loaded[3].EventID}
	if diff := cmp.Diff([]app.EventID{claims[2].EventID, claims[1].EventID, claims[0].EventID}, got); diff != "" {
		t.Errorf("events of the loaded deliveries (-want +got):\n%s", diff)
	}
}

// A delivery has the id of the workflow that makes or made its attempt.
func TestWorkflowID(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	claims := claimBurst(t, db, r, 4)
	attempt(t, db, claims[0].ID, 1, app.AttemptDelivered, 0)
	attempt(t, db, claims[1].ID, 1, app.AttemptRetrying, 0)
	attempt(t, db, claims[2].ID, 1, app.AttemptDeadLetter, 0)
	check := func(name string, claim app.Claim, want string) {
		t.Helper()
		d, err := db.Delivery(t.Context(), claim.StoreID, claim.ID)
		must(t, err)
		if d.WorkflowID != want {
			t.Errorf("%s: got workflow %q, want %q", name, d.WorkflowID, want)
		}
	}
	burst := app.BurstWorkflowID(claims[0].BurstID)
	own := func(c app.Claim) string { return app.DeliveryWorkflowID(c.EventID, c.SubscriptionID) }
	check("delivered by the burst", claims[0], burst)
	check("failed once", claims[1], own(claims[1]))
	check("dead letter", claims[2], own(claims[2]))
	check("in progress", claims[3], burst)
	must(t, db.Repaired(t.Context(), claims[3:]))
	check("repaired", claims[3], own(claims[3]))
	_, err := db.Replay(t.Context(), noon, claims[0].StoreID, owner, claims[0].ID)
	must(t, err)
	check("queued for a replay", claims[0], "")
}

// A delivery that is cancelled during its first attempt has no retry.
func TestCancelledDeliveryHasNoRetry(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	claims := claimBurst(t, db, open(t, db, "one.example"), 2)
	must(t, db.EndDelivery(t.Context(), noon, claims[0].ID, app.DeliveryCancelled, app.ReasonDeleted))
	for _, c := range claims {
		attempt(t, db, c.ID, 1, app.AttemptRetrying, 0)
	}
	const recorded = "SELECT count(*) FROM attempts WHERE status = 'dead_letter' AND next_retry_at IS NULL"
	if n := count(t, db, recorded); n != 1 {
		t.Errorf("attempts with status dead_letter: got %d, want 1", n)
	}
	if n := count(t, db, `SELECT count(*) FROM attempts WHERE status = 'retrying'
		AND next_retry_at IS NOT NULL`); n != 1 {
		t.Errorf("attempts with a retry: got %d, want 1", n)
	}
}
