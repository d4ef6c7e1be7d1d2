package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A website whose plan window another session has locked does not stop the takeover of other websites. Its deliveries
// are taken over after the lock.
func TestTakeoverBesideALockedWindow(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]app.ClaimLimits{"single": all, "burst": bursting()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			locked, other := open(t, db, "one.example"), open(t, db, "two.example")
			for _, r := range []restaurant{locked, other} {
				r.Subscribe(t, db, 0, app.EventOrderCreated)
				setPlan(t, db, noon, r.Website, app.PlanStarter)
				enqueue(t, db, app.EventOrderCreated, 5, r.Stores[0])
				claimOnce(t, db.Queue, waited, limits)
			}
			worker, now := asWorker(t, db), noon.Add(time.Hour)
			tx, err := db.System().BeginTx(t.Context(), nil)
			must(t, err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(), "SELECT FROM plan_windows WHERE queue = ? FOR UPDATE", locked.Website)
			must(t, err)
			takeOver := func() {
				t.Helper()
				_, err := worker.ClaimAbandoned(t.Context(), now, limits)
				must(t, err)
			}
			left := func(r restaurant) int {
				return count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'pending' AND lease_until < '"+
					now.Format(time.RFC3339)+"' AND store_id = '"+string(r.Stores[0])+"'")
			}
			takeOver()
			if diff := cmp.Diff([]int{5, 0}, []int{left(locked), left(other)}); diff != "" {
				t.Error("abandoned deliveries of both websites during the lock (-want +got):", diff)
			}
			if n := startedIn(t, db, string(locked.Website), noon); n != 5 {
				t.Errorf("starts that the locked window counts: got %d, want 5", n)
			}
			must(t, tx.Commit())
			takeOver()
			if diff := cmp.Diff([]int{0, 0}, []int{left(locked), left(other)}); diff != "" {
				t.Error("abandoned deliveries of both websites after the lock (-want +got):", diff)
			}
			if n := startedIn(t, db, string(locked.Website), noon); n != 0 {
				t.Errorf("starts that the window counts after the takeover: got %d, want 0", n)
			}
		})
	}
}
