package ordering_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// An export consists of parts with few rows, in the order of the members, and shows one moment: it has all rows of its
// beginning, and none of a change that is committed meanwhile.
func TestExportsAreSnapshotsInParts(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	session, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	customer := session.Customer.ID
	at := noon
	place := func() app.Order {
		in := r.Order(t, db, 0)
		in.CustomerID = customer
		at = at.Add(time.Second)
		order, err := db.PlaceOrder(t.Context(), at, store, in, nil)
		must(t, err)
		return order
	}
	const orders = 2*pg.PageRows + 1
	var placed []app.OrderID
	for range orders {
		placed = append(placed, place().ID)
	}
	const changes = 4321
	exec(t, db, `INSERT INTO order_history
			(order_id, store_id, version, to_status, reason, actor_realm, actor_id, event_id, at)
		SELECT order_id, store_id, n, 'CONFIRMED', '', actor_realm, actor_id, event_id, at
		FROM order_history h, generate_series(2, $1 + 1 - (SELECT count(*) FROM order_history WHERE store_id = $2)) n
		WHERE order_id = $3`, changes, store, placed[0])

	var all app.CustomerExport
	parts, last := 0, -1
	must(t, db.ExportCustomer(t.Context(), store, customer, func(part app.CustomerExport) error {
		if parts++; parts == 1 {
			place() // after the beginning of the export
			exec(t, db, "UPDATE customers SET first_name = 'Eve'")
		}
		rows, lists := 0, 0
		for i := range reflect.TypeOf(part).NumField() {
			list := reflect.ValueOf(part).Field(i)
			if list.Kind() != reflect.Slice || list.Len() == 0 {
				continue
			}
			if i < last {
				t.Errorf("part %d: got a list that precedes the one of an earlier part", parts)
			}
			rows, lists, last = rows+list.Len(), lists+1, i
		}
		if rows > pg.PageRows || lists > 1 || parts == 1 && rows > 0 {
			t.Errorf("part %d: got %d rows in %d lists, want one page of one list, and none first", parts, rows, lists)
		}
		all.Orders = append(all.Orders, part.Orders...)
		all.StatusChanges = append(all.StatusChanges, part.StatusChanges...)
		return nil
	}))
	if len(all.Orders) != orders || len(all.StatusChanges) != changes {
		t.Fatalf("export: got %d orders and %d status changes, want %d and %d", len(all.Orders), len(all.StatusChanges),
			orders, changes)
	}
	for i, order := range all.Orders {
		if order.ID != placed[i] || len(order.Items) != 1 {
			t.Errorf("order %d: got %s with %d items, want %s with 1", i, order.ID, len(order.Items), placed[i])
		}
	}
	stop := errors.New("stop")
	err = db.ExportCustomer(t.Context(), store, customer, func(app.CustomerExport) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("export whose first part fails: got error %v, want that of the part", err)
	}
}
