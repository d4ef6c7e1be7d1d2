package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestDeadLettersByReason checks that dead letters are counted by the error of the last attempt, or by
// the reason for which the delivery ended without one.
func TestDeadLettersByReason(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 5)
	claims := claim(t, db)
	attempt(t, db, claims[0].ID, 1, app.AttemptRetrying, time.Second)
	attempt(t, db, claims[0].ID, 2, app.AttemptDeadLetter, time.Second)
	attempt(t, db, claims[1].ID, 1, app.AttemptDeadLetter, time.Second)
	attempt(t, db, claims[2].ID, 1, app.AttemptRetrying, time.Second)
	must(t, db.EndDelivery(t.Context(), noon, claims[2].ID, app.DeliveryDeadLetter, app.ReasonInactive))
	attempt(t, db, claims[3].ID, 1, app.AttemptRetrying, time.Second)
	attempt(t, db, claims[4].ID, 1, app.AttemptDelivered, time.Second)

	at := app.At(noon)
	want := []app.DeadLetters{
		{SubscriptionID: s.ID, Reason: "HTTP 503", Count: 2, OldestAt: at, NewestAt: at},
		{SubscriptionID: s.ID, Reason: app.ReasonInactive, Count: 1, OldestAt: at, NewestAt: at},
	}
	got, err := db.DeadLetters(t.Context(), r.Stores[0], &at, nil)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	for name, span := range map[string]struct {
		store    int
		from, to *app.Time
	}{"another store's": {1, nil, nil}, "older ones": {0, nil, &at}} {
		t.Run(name, func(t *testing.T) {
			if got, err := db.DeadLetters(t.Context(), r.Stores[span.store], span.from, span.to); err != nil ||
				len(got) > 0 {
				t.Errorf("%s: got %v and error %v, want none", name, got, err)
			}
		})
	}

	for _, group := range want {
		found, err := db.Deliveries(t.Context(), r.Stores[0], app.DeliveryFilter{Reason: group.Reason}, "", 10)
		must(t, err)
		for _, d := range found {
			if one, err := db.Delivery(t.Context(), r.Stores[0], d.ID); err != nil || one.Reason != group.Reason ||
				d.Reason != group.Reason {
				t.Errorf("reason: got %q in the list, %q of the delivery, error %v, want %q", d.Reason, one.Reason, err,
					group.Reason)
			}
		}
		if int64(len(found)) != group.Count {
			t.Errorf("deliveries with reason %s: got %d, want %d", group.Reason, len(found), group.Count)
		}
	}
	for _, c := range claims[3:] {
		if d, err := db.Delivery(t.Context(), r.Stores[0], c.ID); err != nil || d.Reason != "" {
			t.Errorf("%s delivery: got reason %q and error %v, want no reason", d.Status, d.Reason, err)
		}
	}
}
