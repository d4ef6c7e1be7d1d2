package delivery_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A dead letter of an ordered webhook that is replayed, by the API or by an operator's signal, waits while a later
// event of its order is retrying.
func TestReplayOfADeadLetterTakesTurns(t *testing.T) {
	t.Parallel()
	replays := map[string]func(t *testing.T, db *persistencetest.Database, store app.StoreID, id app.DeliveryID){
		"API": func(t *testing.T, db *persistencetest.Database, store app.StoreID, id app.DeliveryID) {
			_, err := db.Replay(t.Context(), later, store, byOwner, id)
			must(t, err)
		},
		"signal": func(t *testing.T, db *persistencetest.Database, _ app.StoreID, id app.DeliveryID) {
			for range 2 { // the activity can be repeated
				if began, err := db.BeginReplay(t.Context(), later, id); began || err != nil {
					t.Fatalf("BeginReplay: got %v and error %v, want it queued", began, err)
				}
			}
		},
	}
	for name, replay := range replays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			store := r.Stores[0]
			subscribeOrdered(t, db, r, app.EventOrderCreated)
			emitOf(t, db, store, app.EventOrderCreated, "ord_1", "ord_1", "ord_1")
			dead := wantClaims(t, db, "at first", 1)[0].ID
			must(t, db.EndDelivery(t.Context(), noon, dead, app.DeliveryDeadLetter, "test"))
			wantClaims(t, db, "after the first", 2)
			change(t, db, "UPDATE deliveries SET status = 'retrying' WHERE status = 'pending'")
			replay(t, db, store, dead)
			wantClaims(t, db, "while the second is retrying")
			change(t, db, "UPDATE deliveries SET status = 'delivered', ended_at = $1 WHERE status = 'retrying'", noon)
			wantClaims(t, db, "a first delivery does not wait for a queued replay", 3)
			deliver(t, db)
			if claims := wantClaims(t, db, "the replay", 1); !claims[0].Replay {
				t.Errorf("claim of the replay: got %+v, want a replay", claims[0])
			}
		})
	}
}

// An operator's replay whose turn is free begins without a claim. It does not count for the plan, and later events of
// its order wait for it.
func TestOperatorsReplayBegins(t *testing.T) {
	t.Parallel()
	for _, ordering := range app.Orderings {
		db := persistencetest.New(t)
		r := open(t, db, "one.example")
		setPlan(t, db, noon, r.Website, app.PlanStarter)
		s := r.Subscribe(t, db, 0, app.EventOrderCreated)
		change(t, db, "UPDATE subscriptions SET ordering = $1", ordering)
		emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
		dead := wantClaims(t, db, "at first", 1)[0].ID
		attempt(t, db, dead, 1, app.AttemptDeadLetter, time.Second)
		for range 2 { // the activity can be repeated
			if began, err := db.BeginReplay(t.Context(), later, dead); !began || err != nil {
				t.Fatalf("BeginReplay: got %v and error %v, want it to begin", began, err)
			}
		}
		emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
		if ordering == app.OrderingResource {
			wantClaims(t, db, "during the replay")
		} else {
			wantClaims(t, db, "during the replay", 2)
		}
		attempt(t, db, dead, 2, app.AttemptRetrying, time.Second)
		if n := count(t, db, "SELECT count(*) FROM deliveries WHERE id = $1 AND status = 'retrying'", dead); n != 1 {
			t.Error("the replay is not retrying")
		}
		attempt(t, db, dead, 3, app.AttemptDelivered, time.Second)
		if ordering == app.OrderingResource {
			wantClaims(t, db, "after the replay", 2)
		}
		if n := startedIn(t, db, string(r.Website), noon); n != 2 {
			t.Errorf("%s: counted starts: got %d, want 2: without the replay", ordering, n)
		}
		must(t, db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s.ID, 0))
		if began, err := db.BeginReplay(t.Context(), later, dead); !began || err != nil {
			t.Errorf("BeginReplay for a deleted webhook: got %v and error %v, want the attempt to end it", began, err)
		}
	}
}

// While a webhook becomes ordered, a delivery of the resource in progress may not have its turn yet. An operator's
// replay waits for the end of the change.
func TestOperatorsReplayDuringAChangeOfOrdering(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1", "ord_1")
	claims := wantClaims(t, db, "at first", 1, 2)
	attempt(t, db, claims[0].ID, 1, app.AttemptDeadLetter, time.Second)
	r.setOrdering(t, db, s.ID, app.OrderingResource)
	if began, err := db.BeginReplay(t.Context(), later, claims[0].ID); began || err != nil {
		t.Fatalf("BeginReplay during the change: got %v and error %v, want it to be queued", began, err)
	}
	r.reorderAll(t, db, s.ID, 1000)
	wantClaims(t, db, "while the second is in progress")
	attempt(t, db, claims[1].ID, 1, app.AttemptDelivered, time.Second)
	wantClaims(t, db, "after its end", 1)
}
