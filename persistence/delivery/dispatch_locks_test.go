package delivery_test

import (
	"fmt"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// asWorker opens the database of a test with the pools of a worker, and therefore with their limits.
func asWorker(t *testing.T, db *persistencetest.Database) *persistence.DB {
	t.Helper()
	worker, err := persistence.Open(persistence.Config{
		URL: db.URL, SystemURL: db.SystemURL, Pools: pg.WorkerPools(pg.MinConns),
		Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	t.Cleanup(func() { worker.Close() })
	return worker
}

// A website with a turn that another session holds does not keep the events of other websites from their dispatch.
func TestDispatchBesideALockedTurn(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	var sites []restaurant
	for i := range 3 {
		sites = append(sites, open(t, db, fmt.Sprint(i, ".example")))
		subscribeOrdered(t, db, sites[i], app.EventOrderCreated)
	}
	dispatchAll(t, db)
	emitOf(t, db, sites[1].Stores[0], app.EventOrderCreated, "ord_1")
	worker := asWorker(t, db)
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM turns FOR UPDATE")
	must(t, err)
	emitEach := func() {
		for _, site := range sites {
			change(t, db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject)
				SELECT 'evt_' || gen_random_uuid(), $1, $2, '{}', $3, 'ord_1'`), site.Stores[0], app.EventOrderCreated, noon)
		}
	}
	for round := range 3 {
		emitEach()
		got, err := worker.Dispatch(t.Context(), noon, 1000)
		if !pg.IsLocked(err) || got.Events != 2 || !got.More {
			t.Fatalf("dispatch %d beside a lock: got %+v and error %v, want two events, more and a lock", round, got, err)
		}
		for i, site := range sites {
			if n, want := undispatchedOf(t, db, site.Stores[0]), i%2*(round+1); n != want {
				t.Errorf("undispatched events of website %d in round %d: got %d, want %d", i, round, n, want)
			}
		}
	}
	must(t, tx.Rollback())
	for range 2 { // the second one dispatches the websites together again
		emitEach()
		if got, err := worker.Dispatch(t.Context(), noon, 1000); err != nil || got.Events < len(sites) {
			t.Errorf("dispatch after the lock: got %+v and error %v, want all events", got, err)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM undispatched"); n != 0 {
		t.Errorf("undispatched events after the lock: got %d, want 0", n)
	}
}
