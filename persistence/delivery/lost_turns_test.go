package delivery_test

import (
	"fmt"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// The search for lost turns serves websites in turn: many of one website do not delay those of another one.
func TestLostTurnsAreRepaired(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	queue := withPolicy(t, db, func(p *delivery.Policy) { p.TurnQueues, p.TurnResources = 2, 8 })
	var orders []string
	for order := range 40 {
		orders = append(orders, fmt.Sprint("ord_", order), fmt.Sprint("ord_", order))
	}
	sizes := []int{40, 1, 1}
	for i, size := range sizes {
		r := open(t, db, fmt.Sprintf("%d.example", i))
		setPlan(t, db, noon, r.Website, app.PlanEnterprise)
		subscribeOrdered(t, db, r, app.EventOrderCreated)
		emitOf(t, db, r.Stores[0], app.EventOrderCreated, orders[:2*size]...)
	}
	seed(t, db, "DELETE FROM turns")
	seed(t, db, "UPDATE deliveries SET held = true")
	lost := func() int { return 42 - count(t, db, "SELECT count(*) FROM deliveries WHERE NOT held") }
	now := noon
	before := lost()
	for round := range 4 {
		_, err := queue.ClaimAbandoned(t.Context(), now, all)
		must(t, err)
		if round == 1 && count(t, db, "SELECT count(DISTINCT queue) FROM deliveries WHERE NOT held") != 3 {
			t.Error("a website has no turn after two rounds")
		}
		n := lost()
		if n > before || n < before-8 { // a round can visit only websites without lost turns
			t.Errorf("round %d: %d of %d turns are still lost, want at most 8 fewer", round, n, before)
		}
		before = n
		now = now.Add(delivery.DefaultPolicy().RepairTurns)
	}
	for range 20 {
		_, err := queue.ClaimAbandoned(t.Context(), now, all)
		must(t, err)
		now = now.Add(delivery.DefaultPolicy().RepairTurns)
	}
	if n := lost(); n != 0 {
		t.Errorf("%d turns are still lost", n)
	}
}

// A website with a locked turn does not stop the repair of the lost turns of other websites.
func TestLostTurnsAreRepairedBesideALock(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	worker := asWorker(t, db)
	var locked app.StoreID
	for i := range 9 {
		r := open(t, db, fmt.Sprintf("%d.example", i))
		subscribeOrdered(t, db, r, app.EventOrderCreated)
		emitOf(t, db, r.Stores[0], app.EventOrderCreated, "ord_1")
		locked = r.Stores[0]
	}
	seed(t, db, "UPDATE deliveries SET held = true")
	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM turns WHERE store_id = ? FOR UPDATE", locked)
	must(t, err)
	if _, err := worker.ClaimAbandoned(t.Context(), noon, all); !pg.IsLocked(err) {
		t.Errorf("repair beside a lock: got error %v, want one of a lock", err)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE NOT held"); n != 8 {
		t.Errorf("repaired turns: got %d, want those of the 8 other websites", n)
	}
}
