package delivery_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A subscription to all events receives those of every type, also of types that this release does not have. Its bulk
// replays of missed events select the types that exist.
func TestAllEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	missed := emitAt(t, db, store, app.EventReservationCreated, noon.Add(time.Second))
	dispatchAll(t, db)
	s := r.Subscribe(t, db, 0, app.AllEvents)
	events := []app.EventID{
		emitAt(t, db, store, app.EventOrderCreated, noon.Add(2*time.Second)),
		emitAt(t, db, store, app.EventProductUpdated, noon.Add(3*time.Second)),
		emitAt(t, db, store, "invoice.created", noon.Add(4*time.Second)),
	}
	_, err := db.CreateTest(t.Context(), noon, store, s.ID)
	must(t, err)
	dispatchAll(t, db)
	received := func() (ids []app.EventID) {
		rows, err := db.System().DB.QueryContext(t.Context(),
			"SELECT event_id FROM deliveries WHERE subscription_id = $1 ORDER BY id", s.ID)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var id app.EventID
			must(t, rows.Scan(&id))
			ids = append(ids, id)
		}
		must(t, rows.Err())
		return ids
	}
	if diff := gocmp.Diff(events, received()); diff != "" {
		t.Errorf("delivered events (-want +got):\n%s", diff)
	}
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: s.ID, DeliveryStatus: app.ReplayedMissed, From: app.At(noon.Add(time.Second)),
		To: app.At(noon.Add(time.Minute)),
	})
	step(t, db, store, replay.ID, 100)
	if diff := gocmp.Diff(append(events, missed), received()); diff != "" {
		t.Errorf("events after a replay of missed ones (-want +got):\n%s", diff)
	}
}
