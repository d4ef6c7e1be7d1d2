package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// sandboxes adds stores to the website, each with a sandbox that has a webhook, and returns the sandboxes.
func (r restaurant) sandboxes(t *testing.T, db *persistencetest.Database, n int) (sandboxes []app.StoreID) {
	t.Helper()
	const insert = `INSERT INTO stores SELECT (jsonb_populate_record(s, $1)).* FROM stores s WHERE id = $2`
	for i := range n {
		live, sandbox := fmt.Sprintf("%s_live%d", r.Website, i), fmt.Sprintf("%s_test%d", r.Website, i)
		seed(t, db, insert, map[string]string{"id": live}, r.Stores[0])
		seed(t, db, insert, map[string]string{"id": sandbox, "sandbox_of": live}, r.Stores[0])
		subscribe(t, db, app.StoreID(sandbox))
		sandboxes = append(sandboxes, app.StoreID(sandbox))
	}
	return sandboxes
}

// The sandboxes of a website take the turns of one website, however many there are: in dispatches, claims, takeovers
// and claims of jobs. They share these turns equally.
func TestSandboxesOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	busy, quiet := open(t, db, "busy.example"), open(t, db, "quiet.example")
	dispatchAll(t, db)
	sandboxes := busy.sandboxes(t, db, 20)
	quiet.Subscribe(t, db, 0, app.EventOrderCreated)
	setPlan(t, db, noon, quiet.Website, app.PlanEnterprise)
	emit(t, db, app.EventOrderCreated, 2_000, sandboxes...)
	emit(t, db, app.EventOrderCreated, 1_000, quiet.Stores[0])

	_, err := db.Dispatch(t.Context(), noon, 200)
	must(t, err)
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE store_id = $1", quiet.Stores[0]); n != 50 {
		t.Errorf("dispatched deliveries of the other website: got %d, want 50 of 100", n)
	}
	_, err = db.Dispatch(t.Context(), noon, 100_000)
	must(t, err)

	tests := string(busy.Website) + "/test"
	shares := func(batch int) map[string]int {
		return map[string]int{tests: batch / 2, string(quiet.Website): batch / 2}
	}
	for _, batch := range []int{10, 64, 512} {
		claims := claimOnce(t, db.Queue, noon, batches(batch))
		if diff := cmp.Diff(shares(batch), perQueue(claims)); diff != "" {
			t.Errorf("claims by queue in a batch of %d (-want +got): %s", batch, diff)
		}
		if batch < 512 {
			continue
		}
		perStore := map[app.StoreID]int{}
		for _, c := range claims {
			perStore[c.StoreID]++
		}
		for _, sandbox := range sandboxes {
			if n := perStore[sandbox]; n != 12 && n != 13 {
				t.Errorf("claims of sandbox %s: got %d, want 12 or 13", sandbox, n)
			}
		}
	}
	claims, err := db.ClaimAbandoned(t.Context(), noon.Add(2*time.Minute), batches(40))
	must(t, err)
	if diff := cmp.Diff(shares(40), perQueue(claims)); diff != "" {
		t.Errorf("takeover by queue (-want +got): %s", diff)
	}

	for _, store := range append(sandboxes, quiet.Stores[0]) {
		must(t, db.EnqueueJob(t.Context(), noon, store, app.JobSoldOut, string(store)))
	}
	jobs := claimJobs(t, db, app.JobClaim{Limit: 20, PerQueue: 4})
	if len(jobs) != 5 {
		t.Errorf("claim of jobs: got %q, want 4 of the sandboxes and one of the other website", jobs)
	}
}
