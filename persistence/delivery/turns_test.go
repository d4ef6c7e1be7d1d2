package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// subscribeOrdered creates a subscription whose deliveries of a resource are made one at a time.
func subscribeOrdered(
	t *testing.T, db *persistencetest.Database, r restaurant, events ...app.EventType,
) app.Subscription {
	t.Helper()
	s := r.Subscribe(t, db, 0, events...)
	change(t, db, "UPDATE subscriptions SET ordering = 'resource' WHERE id = $1", s.ID)
	return s
}

// emitOf writes an event of each of these resources, in their order, and dispatches them.
func emitOf(t *testing.T, db *persistencetest.Database, store app.StoreID, kind app.EventType, resources ...string) {
	t.Helper()
	change(t, db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), $1, $2, '{}', $3, resource
		FROM (SELECT count(*) AS base FROM outbox WHERE id LIKE 'evt_x%') b,
			unnest($4::text[]) WITH ORDINALITY AS r (resource, i)
		ORDER BY i`), store, kind, noon, resources)
	_, err := db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)
}

// events returns the events of claims, sorted.
func events(claims []app.Claim) (ids []app.EventID) {
	for _, c := range claims {
		ids = append(ids, c.EventID)
	}
	slices.Sort(ids)
	return ids
}

// x returns the ids of events of emit and emitOf, by their numbers.
func x(numbers ...int) (ids []app.EventID) {
	for _, n := range numbers {
		ids = append(ids, app.EventID(fmt.Sprintf("evt_x%012d", n)))
	}
	return ids
}

// wantClaims fails the test unless a claim returns these events.
func wantClaims(t *testing.T, db *persistencetest.Database, when string, numbers ...int) []app.Claim {
	t.Helper()
	claims := claimOnce(t, db.Queue, noon, all)
	if diff := gocmp.Diff(x(numbers...), events(claims)); diff != "" {
		t.Fatalf("claimed events %s (-want +got):\n%s", when, diff)
	}
	return claims
}

// The deliveries of a resource to an ordered webhook are claimed one after the other, in the order of their positions.
// Those of other resources, and to other webhooks, do not wait.
func TestDeliveriesOfAResourceTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "pizza.example")
	ordered := subscribeOrdered(t, db, r, app.EventOrderCreated)
	r.Subscribe(t, db, 0, app.EventProductUpdated)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1", "ord_2", "ord_1", "ord_2")
	emitOf(t, db, r.Stores[0], app.EventProductUpdated, "prd_1", "prd_1")
	wantClaims(t, db, "at first", 1, 3, 6, 7)
	wantClaims(t, db, "while they are pending")
	deliver(t, db)
	wantClaims(t, db, "after the end of the first", 2, 5)
	change(t, db, "UPDATE deliveries SET status = 'retrying' WHERE status = 'pending' AND resource = 'ord_1'")
	deliver(t, db)
	wantClaims(t, db, "while ord_1 is retrying")
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_2")
	wantClaims(t, db, "of another order", 8)
	change(t, db, `UPDATE deliveries SET status = 'dead_letter', ended_at = $1
		WHERE status IN ('retrying', 'pending')`, noon)
	wantClaims(t, db, "after a dead letter", 4)
	deliver(t, db)
	if n := count(t, db, "SELECT count(*) FROM turns WHERE subscription_id = $1", ordered.ID); n != 0 {
		t.Errorf("%d turns without a delivery, want 0", n)
	}
}

// A change of plan does not concern deliveries that are held back: they use no starts and wait for none. The next one
// in turn waits for a start as any other delivery does.
func TestPlanChangesWhileHeldBack(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	subscribeOrdered(t, db, r, app.EventOrderCreated)
	store := r.Stores[0]
	emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_1", "ord_1")
	first := wantClaims(t, db, "at first", 1)[0].ID
	limit, _ := app.PlanStarter.PerWindow()
	change(t, db, "UPDATE plan_windows SET started = $1", limit-1)
	emitOf(t, db, store, app.EventOrderCreated, "ord_2")
	wantClaims(t, db, "with the last start of the window", 5)
	emitOf(t, db, store, app.EventOrderCreated, "ord_3")
	wantClaims(t, db, "after the last start")
	setPlan(t, db, noon, r.Website, app.PlanEnterprise)
	wantClaims(t, db, "after the upgrade", 6)
	setPlan(t, db, noon, r.Website, app.PlanStarter)
	attempt(t, db, first, 1, app.AttemptDelivered, time.Second)
	wantClaims(t, db, "after the downgrade and the end of the first one")
	next := claimOnce(t, db.Queue, noon.Add(time.Hour), all)
	if diff := gocmp.Diff(x(2), events(next)); diff != "" {
		t.Errorf("claimed events in the next window (-want +got):\n%s", diff)
	}
}
