package delivery_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// While another sees to a queue, a relay goes on with the others.
func TestRelaysDoNotWaitForALockedQueue(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	locked, other := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{locked, other} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
		setPlan(t, db, noon, r.Website, app.PlanStarter)
	}
	emit(t, db, 20, locked.Stores[0], other.Stores[0])
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(plan_lock(?))", locked.Website)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := db.Dispatch(ctx, noon, all)
	must(t, err)
	if len(d.Claims) != 10 || d.Claims[0].StoreID != other.Stores[0] {
		t.Errorf("%d of the other website's 10 start", len(d.Claims))
	}
	must(t, tx.Commit())
	if d := dispatch(t, db, noon); len(d.Claims) != 10 || d.Claims[0].StoreID != locked.Stores[0] {
		t.Errorf("%d of 10 start when the lock is gone", len(d.Claims))
	}
}

// However much is due of a website without limit, one with a limit has its turn, and the reverse.
func TestLimitedAndUnlimitedTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
	}
	setPlan(t, db, noon, limited.Website, app.PlanStarter)
	emit(t, db, 400, limited.Stores[0], unlimited.Stores[0])
	few := all
	few.Batch = 0
	_, err := db.Dispatch(t.Context(), noon, few)
	must(t, err)
	few.Batch = 64
	for range 2 {
		claims, err := db.ClaimQueued(t.Context(), noon, few)
		must(t, err)
		of := map[app.StoreID]int{}
		for _, c := range claims {
			of[c.StoreID]++
		}
		if diff := cmp.Diff(map[app.StoreID]int{limited.Stores[0]: 32, unlimited.Stores[0]: 32}, of); diff != "" {
			t.Error(diff)
		}
	}
}

// When no slots can be had, what needs none starts all the same.
func TestDispatchReturnsWhatItClaimedBeforeAFault(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	limited, unlimited := open(t, db, "one.example"), open(t, db, "two.example")
	for _, r := range []restaurant{limited, unlimited} {
		r.Subscribe(t, db, 0, app.EventOrderCreated)
	}
	setPlan(t, db, noon, limited.Website, app.PlanProfessional)
	emit(t, db, 10, limited.Stores[0], unlimited.Stores[0])
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	_, err = owner.ExecContext(t.Context(), "ALTER TABLE plan_windows RENAME TO gone")
	must(t, err)
	d, err := db.Dispatch(t.Context(), noon, all)
	if err == nil || len(d.Claims) != 5 {
		t.Errorf("%d claims, %v", len(d.Claims), err)
	}
	_, err = owner.ExecContext(t.Context(), "ALTER TABLE gone RENAME TO plan_windows")
	must(t, err)
	if d := dispatch(t, db, noon); len(d.Claims) != 5 {
		t.Errorf("%d of 5 start when the fault is mended", len(d.Claims))
	}
}
