package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// setActive activates or deactivates a subscription of the first store.
func (r restaurant) setActive(t *testing.T, db *persistencetest.Database, id app.SubscriptionID, active bool) {
	t.Helper()
	change := app.SubscriptionChange{IsActive: &active}
	_, err := db.ChangeSubscription(t.Context(), noon, r.Stores[0], owner, id, change, 0)
	must(t, err)
}

// endQueued ends one batch of the queued deliveries of a subscription of the first store.
func (r restaurant) endQueued(t *testing.T, db *persistencetest.Database, id app.SubscriptionID, limit int) int {
	t.Helper()
	n, err := db.EndQueued(t.Context(), noon, r.Stores[0], id, limit)
	must(t, err)
	return n
}

// The queued deliveries of an inactive subscription use nothing of the plan: the deliveries of the website's other
// subscriptions start.
func TestInactiveSubscriptionUsesNoPlan(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	off := r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	enqueue(t, db, app.EventOrderCreated, 1_200, r.Stores[0])
	r.setActive(t, db, off.ID, false)
	on := r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 100, r.Stores[0])
	claims := perSubscription(claimAll(t, db.Queue, noon, all))
	if diff := cmp.Diff(map[app.SubscriptionID]int{on.ID: 100}, claims); diff != "" {
		t.Errorf("claims of subscriptions (-want +got):\n%s", diff)
	}
	if n := startedIn(t, db, string(r.Website), noon); n != 100 {
		t.Errorf("counted starts: got %d, want 100", n)
	}
}

// A deactivation enqueues the job that ends queued deliveries. It ends none of an active subscription, so that a
// reactivation keeps the rest.
func TestQueuedDeliveriesEndWhileInactive(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 10, r.Stores[0])
	if n := r.endQueued(t, db, s.ID, 100); n != 0 {
		t.Errorf("ended deliveries of an active subscription: got %d, want 0", n)
	}
	r.setActive(t, db, s.ID, false)
	if diff := cmp.Diff([]string{"deactivation/" + string(s.ID)}, takeJobs(t, db, later)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if n := r.endQueued(t, db, s.ID, 4); n != 4 {
		t.Errorf("ended deliveries: got %d, want 4", n)
	}
	if n := count(t, db, `SELECT count(*) FROM deliveries WHERE status = 'dead_letter' AND reason = $1
		AND ended_at = $2 AND attempts = 0`, app.ReasonInactive, noon); n != 4 {
		t.Errorf("dead letters: got %d, want 4", n)
	}
	r.setActive(t, db, s.ID, true)
	if n := r.endQueued(t, db, s.ID, 100); n != 0 {
		t.Errorf("ended deliveries after the reactivation: got %d, want 0", n)
	}
	if n := len(claimAll(t, db.Queue, noon, all)); n != 6 {
		t.Errorf("claims after the reactivation: got %d, want 6", n)
	}
}

// A replay to an inactive subscription is queued together with the job that ends it.
func TestReplayToInactiveSubscriptionEnds(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.deadLetters(t, db, 1)
	r.setActive(t, db, s.ID, false)
	takeJobs(t, db, later)
	var id app.DeliveryID
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM deliveries").Scan(&id))
	_, err := db.Replay(t.Context(), noon, r.Stores[0], owner, id)
	must(t, err)
	if diff := cmp.Diff([]string{"deactivation/" + string(s.ID)}, takeJobs(t, db, later)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if n := r.endQueued(t, db, s.ID, 100); n != 1 {
		t.Errorf("ended deliveries: got %d, want 1", n)
	}
}

// A delivery that was dispatched while its subscription was deactivated ends, too: the reconciler starts the job again.
func TestLostDeactivation(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.setActive(t, db, s.ID, false)
	takeJobs(t, db, later)
	const after = 3 * time.Minute
	if n, err := db.EnqueueLostJobs(t.Context(), noon.Add(after), after); n != 0 || err != nil {
		t.Errorf("lost jobs without queued deliveries: got %d and error %v, want 0", n, err)
	}
	change(t, db, "UPDATE subscriptions SET is_active = true")
	enqueue(t, db, app.EventOrderCreated, 1, r.Stores[0])
	change(t, db, "UPDATE subscriptions SET is_active = false")
	for at, want := range map[time.Duration]int{after - time.Second: 0, after: 1} {
		if n, err := db.EnqueueLostJobs(t.Context(), noon.Add(at), after); n != want || err != nil {
			t.Errorf("lost jobs after %s: got %d and error %v, want %d", at, n, err, want)
		}
		takeJobs(t, db, later)
	}
}

// A claim that ends before its attempt, because its subscription was deactivated or deleted, is not a start of the
// plan.
func TestClaimWithoutAttemptIsNotCounted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	enqueue(t, db, app.EventOrderCreated, 3, r.Stores[0])
	claims := claimAll(t, db.Queue, noon, all)
	attempt(t, db, claims[0].ID, 1, app.AttemptRetrying, time.Millisecond)
	for _, c := range claims {
		for range 2 { // a repeated end changes nothing
			must(t, db.EndDelivery(t.Context(), noon, c.ID, app.DeliveryDeadLetter, app.ReasonInactive))
		}
	}
	if n := startedIn(t, db, string(r.Website), noon); n != 1 {
		t.Errorf("counted starts: got %d, want 1: the one with an attempt", n)
	}
}
