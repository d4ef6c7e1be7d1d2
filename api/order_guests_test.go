package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// customerRows returns the number of customers of the own store.
func (w *world) customerRows() string {
	return w.text(fmt.Sprintf("SELECT count(*)::text FROM customers WHERE store_id = '%s'", w.stores["own"].id))
}

// Orders without a guest, and those of a guest without email and phone number, keep no customer.
func TestOrderWithoutCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept, created := w.customerRows(), len(w.events(w.stores["own"].id, app.EventCustomerCreated))
	for name, change := range map[string]object{
		"": {"customer": nil}, "Ada": {"customer": object{"name": "Ada"}},
		" at a table": {"customer": nil, "fulfillmentType": "DINE_IN", "tableLabel": "12"},
		" (null)":     {"customer": json.RawMessage("null")},
	} {
		placed, path := w.place(change)
		want := app.OrderCustomer{Name: map[string]string{"Ada": "Ada"}[name]}
		if diff := cmp.Diff(want, placed.Customer); diff != "" {
			t.Errorf("%v: customer (-want +got): %s", change, diff)
		}
		a := w.do("GET", path, w.tokens["STAFF"], nil)
		var shown orderOut
		a.ok(200, &shown)
		if !strings.Contains(a.Body.String(), `"customer":{"id":null,`) {
			t.Errorf("%v: got %s, want the customer id null", change, a.Body)
		}
		w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).ok(200, nil)
		w.do("POST", path+"/payments", w.tokens["STAFF"], paymentBody()).ok(201, nil)
	}
	if rows := w.customerRows(); rows != kept {
		t.Errorf("got %s customers, want %s", rows, kept)
	}
	if n := len(w.events(w.stores["own"].id, app.EventCustomerCreated)); n != created {
		t.Errorf("got %d customer.created, want %d", n, created)
	}
	for _, body := range w.events(w.stores["own"].id, app.EventOrderCompleted) {
		if !strings.Contains(body, `"customer":{"id":null,`) {
			t.Errorf("order.completed: got %s, want the customer id null", body)
		}
	}
	var counts app.CustomerCounts
	w.do("GET", "/analytics/customers?from=2026-03-14&to=2026-03-14", w.tokens["OWNER"], nil).ok(200, &counts)
	// The fixture has an order of a guest with a phone number.
	if want := (app.CustomerCounts{NewCustomers: 1, GuestOrders: 5}); counts != want {
		t.Errorf("customers of the day: got %+v, want %+v", counts, want)
	}
	if numbers := w.numbers("/orders?q=ada", w.tokens["STAFF"]); len(strings.Fields(numbers)) != 2 {
		t.Errorf("search: got orders %q, want the guest and the walk-in of this name", numbers)
	}
}

func TestDeliveryRequiresGuest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delivery := altered(w.orderBody("own"), object{
		"fulfillmentType": "DELIVERY", "customer": nil,
		"deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"},
	})
	w.do("POST", "/orders", w.tokens["STAFF"], delivery).refused(app.CodeValidationFailed)
	w.do("POST", "/orders/quote", w.tokens["STAFF"], delivery).refused(app.CodeValidationFailed)
	delivery["customer"] = json.RawMessage("null")
	w.do("POST", "/orders", w.tokens["STAFF"], delivery).refused(app.CodeValidationFailed, "customerId")
	var placed orderOut
	delivery["customer"] = object{"name": "Ada"}
	w.do("POST", "/orders", w.tokens["STAFF"], delivery).ok(201, &placed)
	w.amend(placed, w.tokens["STAFF"], object{"customer": nil}).refused(app.CodeValidationFailed)
}

// A change of an order gives it to nobody, and to a guest again. The counts follow.
func TestAmendedToNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := object{"name": "Ada", "email": "ada@example.com"}
	placed, path := w.place(object{"customer": ada})
	former := *placed.Customer.ID
	w.amend(placed, w.tokens["STAFF"], object{"customer": nil}).ok(200, &placed)
	if placed.Customer != (app.OrderCustomer{}) {
		t.Errorf("got customer %+v, want none", placed.Customer)
	}
	version := placed.Version
	w.amend(placed, w.tokens["STAFF"], object{"customer": nil}).ok(200, &placed)
	if placed.Version != version {
		t.Errorf("nobody again: got version %d, want %d", placed.Version, version)
	}
	orders := func() int64 {
		t.Helper()
		var customer app.Customer
		w.do("GET", "/customers/"+string(former), w.tokens["OWNER"], nil).ok(200, &customer)
		return customer.TotalOrders
	}
	if n := orders(); n != 0 {
		t.Errorf("the former guest has %d orders, want 0", n)
	}
	w.amend(placed, w.tokens["STAFF"], object{"customer": object{"name": "Walk-in"}}).ok(200, &placed)
	w.amend(placed, w.tokens["STAFF"], object{"customer": ada}).ok(200, &placed)
	if n := orders(); n != 1 || *placed.Customer.ID != former {
		t.Errorf("the guest again: got customer %v with %d orders, want %s with 1", *placed.Customer.ID, n, former)
	}
	w.do("PATCH", path+"/status", w.tokens["MANAGER"],
		object{"status": "CANCELLED", "cancellationReason": "closed"}).ok(200, nil)
	if n := orders(); n != 0 {
		t.Errorf("after the cancellation, the guest has %d orders, want 0", n)
	}
	updated := w.events(w.stores["own"].id, app.EventOrderUpdated)
	if len(updated) != 3 || !slices.ContainsFunc(updated, func(body string) bool {
		return strings.Contains(body, `"customer":{"id":null,"name":"",`)
	}) {
		t.Errorf("got order.updated %q, want 3, one without a customer", updated)
	}
}
