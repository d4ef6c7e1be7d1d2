package ordering_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A change of an order does not keep it from the deadline, and the deadline does not lose units of a change: whichever
// is first, the order is cancelled and its stock returns.
func TestAmendmentRacesTheDeadline(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 0, 10)
	exec(t, db, "UPDATE products SET stock_quantity = 10 WHERE store_id = $1", r.Stores[0])
	raise := func(order app.Order) error {
		_, err := db.AmendOrder(t.Context(), noon, r.Stores[0], order.ID, app.OrderAmendment{
			Version: order.Version, Items: []app.AmendedItem{{ID: order.Items[0].ID, Quantity: new(int64(5))}},
			Caller: app.Principal{Realm: app.RealmAPIKey, Scopes: []app.Scope{app.ScopeWriteOrders}},
		}, nil)
		return err
	}
	run := map[string]func(amend, tick func()){
		"change first":   func(amend, tick func()) { amend(); tick() },
		"deadline first": func(amend, tick func()) { tick(); amend() },
	}
	for i := range 10 {
		run[fmt.Sprint("both at once ", i)] = func(amend, tick func()) {
			var racing sync.WaitGroup
			racing.Go(amend)
			racing.Go(tick)
			racing.Wait()
		}
	}
	for name, both := range run {
		order := r.byKey(t, db, nil)
		wait(t, db, order.ID, 10*time.Minute)
		var amended error
		var tick app.AcceptanceTick
		both(func() { amended = raise(order) }, func() { tick = r.evaluate(t, db.DB, order.ID) })
		read, err := db.Order(t.Context(), r.Stores[0], order.ID, "")
		must(t, err)
		wantVersion, wantQuantity, code := int64(3), int64(5), app.CodeOf(amended)
		if name == "deadline first" || name != "change first" && code != "" {
			wantVersion, wantQuantity = 2, order.Items[0].Quantity
		}
		if tick.State != app.AcceptanceCancelled || read.Status != app.OrderCancelled || read.Version != wantVersion ||
			read.Items[0].Quantity != wantQuantity || read.TotalMinor != wantQuantity*order.Items[0].UnitPriceMinor {
			t.Errorf("%s: got %s and %+v, want it cancelled in version %d with %d units", name, tick.State, read,
				wantVersion, wantQuantity)
		}
		if want := map[bool]app.Code{false: "", true: app.CodeVersionMismatch}[wantVersion == 2]; code != want {
			t.Errorf("%s: got error %v of the change, want code %q", name, amended, want)
		}
		if n := count(t, db, "SELECT min(stock_quantity) FROM products WHERE store_id = $1", r.Stores[0]); n != 10 {
			t.Errorf("%s: got stock %d, want 10", name, n)
		}
		if version := read.Version; code != "" {
			order.Version = version
			if err := raise(order); app.CodeOf(err) != app.CodeInvalidTransition {
				t.Errorf("%s: change of the cancelled order: got error %v, want INVALID_TRANSITION", name, err)
			}
		}
	}
	// Another requested time moves the deadline.
	order := r.byKey(t, db, nil)
	wait(t, db, order.ID, 10*time.Minute)
	later := new(app.At(noon.Add(time.Hour)))
	_, err := db.AmendOrder(t.Context(), noon, r.Stores[0], order.ID, app.OrderAmendment{RequestedFor: &later}, nil)
	must(t, err)
	if tick := r.evaluate(t, db.DB, order.ID); tick.State == app.AcceptanceCancelled {
		t.Errorf("after another requested time: got %s, want the order to wait", tick.State)
	}
}
