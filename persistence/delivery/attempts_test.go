package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// If a subscription is deactivated, a retrying delivery becomes a dead letter without another attempt.
// Replays continue its attempt numbers, and the list of attempts keeps the earlier dead letter.
func TestAttemptsAfterDeactivationAndReplays(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	statuses := func(want ...string) {
		t.Helper()
		attempts, total, err := db.Attempts(t.Context(), r.Stores[0], s.ID, app.AttemptFilter{}, 1, 20)
		must(t, err)
		got := []string{}
		for _, a := range attempts {
			got = append(got, fmt.Sprintf("%d %s %v", a.AttemptNumber, a.Status, a.NextRetryAt != nil))
		}
		if diff := cmp.Diff(want, got); diff != "" || total != len(want) {
			t.Errorf("attempts (-want +got), got total %d, want %d: %s", total, len(want), diff)
		}
	}
	replay := func() {
		t.Helper()
		_, err := db.Replay(t.Context(), noon, r.Stores[0], owner, id)
		must(t, err)
		if claims := claim(t, db); len(claims) != 1 || !claims[0].Replay {
			t.Fatalf("claims: got %+v, want one replay", claims)
		}
	}
	attempt(t, db, id, 1, app.AttemptRetrying, 0)
	statuses("1 retrying true")
	must(t, db.EndDelivery(t.Context(), noon, id, app.DeliveryDeadLetter, app.ReasonInactive))
	statuses("1 dead_letter false")
	d, err := db.Delivery(t.Context(), r.Stores[0], id)
	must(t, err)
	if d.Status != app.DeliveryDeadLetter || d.Reason != app.ReasonInactive || d.Attempts != 1 ||
		d.NextRetryAt != nil || d.EndedAt == nil {
		t.Errorf("delivery: got %+v, want a dead letter with reason %q after 1 attempt", d, app.ReasonInactive)
	}
	replay()
	attempt(t, db, id, 2, app.AttemptRetrying, 0)
	attempt(t, db, id, 3, app.AttemptDelivered, 0)
	replay() // of a delivered delivery
	attempt(t, db, id, 4, app.AttemptDeadLetter, 0)
	statuses("4 dead_letter false", "3 delivered false", "2 failed false", "1 dead_letter false")
	shown, err := db.Subscription(t.Context(), r.Stores[0], s.ID)
	must(t, err)
	if shown.FailureCount != 1 || !shown.LastDeliveryAt.Equal(noon.Add(4*time.Hour)) {
		t.Errorf("subscription: got %d failures and last attempt at %s, want 1 at %s",
			shown.FailureCount, shown.LastDeliveryAt, noon.Add(4*time.Hour))
	}
}
