package delivery_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A replay queues nothing for a subscription that is deleted after the replay began. The teardown of the subscription
// can have ended before the replay, so nothing would end these deliveries.
func TestReplaysDuringDeletion(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	for name, test := range map[string]struct {
		status app.DeliveryStatus
		of     app.ReplayedStatus // status of the deliveries that a bulk replay selects, "" = a single delivery
	}{
		"delivery":      {app.DeliveryDelivered, ""},
		"dead letters":  {app.DeliveryDeadLetter, app.ReplayedDeadLetters},
		"missed events": {"", app.ReplayedMissed},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, db, name+".example")
			store := r.Stores[0]
			if test.status == "" {
				emitAt(t, db, store, app.EventOrderCreated, noon)
				dispatchAll(t, db)
			}
			id := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
			if test.status != "" {
				emitAt(t, db, store, app.EventOrderCreated, noon)
				dispatchAll(t, db)
				change(t, db, "UPDATE deliveries SET status = $1, ended_at = $2 WHERE subscription_id = $3", test.status, noon, id)
			}
			replay := func() error {
				var delivery app.DeliveryID
				for _, d := range list(t, db, store, id) {
					delivery = d.ID
				}
				_, err := db.Replay(t.Context(), later, store, byOwner, delivery)
				return err
			}
			if test.of != "" {
				wanted := allOf(id)
				wanted.DeliveryStatus = test.of
				created := createReplay(t, db, store, wanted)
				replay = func() error {
					_, err := db.ContinueBulkReplay(t.Context(), later, store, created.ID, waiting(100))
					return err
				}
			}
			err := duringDeletion(t, db, id, replay)
			refusal, ok := errors.AsType[*app.Error](err)
			if conflict := ok && refusal.Code == app.CodeConflict; conflict != (test.of == "") || err != nil && !conflict {
				t.Errorf("replay: got error %v, want a conflict: %t", err, test.of == "")
			}
			for _, d := range list(t, db, store, id) {
				if d.Status != test.status {
					t.Errorf("delivery of a deleted subscription: got %s, want %s", d.Status, test.status)
				}
			}
		})
	}
}

func list(t *testing.T, db *persistencetest.Database, store app.StoreID, id app.SubscriptionID) []app.Delivery {
	t.Helper()
	found, err := db.Deliveries(t.Context(), store, app.DeliveryFilter{SubscriptionID: id}, "", 100)
	must(t, err)
	return found
}

// duringDeletion calls a function while a transaction deletes a subscription, and commits when the function waits.
func duringDeletion(t *testing.T, db *persistencetest.Database, id app.SubscriptionID, call func() error) error {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	deletion, err := owner.Begin(t.Context())
	must(t, err)
	_, err = deletion.Exec(t.Context(), "UPDATE subscriptions SET deleted_at = $1 WHERE id = $2", noon, id)
	must(t, err)
	called := make(chan error)
	go func() { called <- call() }()
	waitForLocks(t, db, 1)
	must(t, deletion.Commit(t.Context()))
	return <-called
}
