package delivery_test

import (
	"context"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The claims of a relay whose session has ended are taken over before their leases end. Those of a living relay stay.
func TestClaimsOfDeadRelay(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	relay := func() *delivery.Queue {
		q := withPolicy(t, db, func(*delivery.Policy) {})
		ctx, end := context.WithCancel(t.Context())
		listening, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			_ = q.Listen(ctx, func() {
				select {
				case <-listening:
				default:
					close(listening)
				}
			}, func() {})
		}()
		<-listening
		t.Cleanup(func() {
			end()
			<-ended
		})
		return q
	}
	dead := relay()
	var session int
	must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT pid FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).
		Scan(&session))
	living := relay()
	limits := batches(2)
	enqueue(t, db, app.EventOrderCreated, 4, r.Stores[0])
	first := claimOnce(t, dead, noon, limits)
	claimOnce(t, living, noon, limits)
	if taken, err := living.ClaimAbandoned(t.Context(), noon, all); err != nil || len(taken) > 0 {
		t.Fatalf("taken from living relays: got %d deliveries and error %v, want none", len(taken), err)
	}

	seed(t, db, "SELECT pg_terminate_backend($1)", session)
	var taken []app.Claim
	for len(taken) == 0 { // until the session has ended
		var err error
		taken, err = living.ClaimAbandoned(t.Context(), noon, all)
		must(t, err)
	}
	if len(taken) != len(first) || len(first) != 2 || taken[0].Generation != first[0].Generation+1 {
		t.Errorf("taken from the dead relay: got %+v, want the next generation of %+v", taken, first)
	}
	must(t, dead.MarkStarted(t.Context(), noon, first))
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE started_at IS NOT NULL"); n != 0 {
		t.Errorf("starts recorded by the dead relay: got %d, want none", n)
	}
}
