package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// amend changes an order in its present version.
func (w *world) amend(o orderOut, token string, body object) *response {
	w.Helper()
	return w.do("PATCH", "/orders/"+string(o.ID), token, body, ifMatch(o.Version))
}

// kept is an item of a change that stays, with further members.
func kept(item app.OrderItem, change object) object { return altered(object{"id": item.ID}, change) }

func (w *world) createProduct(change object) (p app.Product) {
	w.Helper()
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), change)).ok(201, &p)
	return p
}

func (w *world) stockOf(p app.Product) int64 {
	w.Helper()
	var read app.Product
	w.do("GET", "/products/"+string(p.ID), w.tokens["OWNER"], nil).ok(200, &read)
	return *read.StockQuantity
}

func (w *world) changeProduct(p app.Product, body object) {
	w.Helper()
	w.do("PATCH", "/products/"+string(p.ID), w.tokens["OWNER"], body).ok(200, nil)
}

// A change keeps ids and prices of the items that stay, and the event, the history and the order say the same.
func TestAmendOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.createProduct(object{"priceMinor": 500}), w.createProduct(object{"priceMinor": 300})
	placed, path := w.place(object{"items": []any{
		object{"productId": first.ID, "quantity": 2, "note": "hot"}, object{"productId": second.ID, "quantity": 1},
	}})
	w.changeProduct(first, object{"priceMinor": 900, "name": "Renamed", "taxRatePpm": 1})
	var amended orderOut
	w.amend(placed, w.tokens["STAFF"], object{"note": "Ring", "items": []any{
		kept(placed.Items[0], object{"quantity": 3}), object{"productId": first.ID, "quantity": 1},
	}}).ok(200, &amended)
	item := amended.Items[0]
	if item.ID != placed.Items[0].ID || item.UnitPriceMinor != 500 || item.ProductName != placed.Items[0].ProductName ||
		item.TaxRatePPM != placed.Items[0].TaxRatePPM || item.Note != "hot" || item.Quantity != 3 {
		t.Errorf("got item %+v, want the former one with quantity 3", item)
	}
	if added := amended.Items[1]; added.UnitPriceMinor != 900 || added.ProductName != "Renamed" || added.ID == item.ID {
		t.Errorf("got new item %+v, want the current price and name, and an id of its own", added)
	}
	if amended.SubtotalMinor != 2400 || amended.Version != 2 || amended.Note != "Ring" {
		t.Errorf("got %+v, want subtotal 2400, version 2 and the note", amended.Order)
	}
	var event app.OrderUpdated
	events := w.eventData("own", app.EventOrderUpdated)
	w.read(events[0], &event)
	want := []app.ItemChange{
		{ItemID: item.ID, Action: app.ItemChanged, Before: &placed.Items[0], After: &item},
		{ItemID: placed.Items[1].ID, Action: app.ItemRemoved, Before: &placed.Items[1]},
		{ItemID: amended.Items[1].ID, Action: app.ItemAdded, After: &amended.Items[1]},
	}
	if diff := cmp.Diff(app.OrderUpdated{
		Order: amended.Order, ChangedFields: []string{"items", "note"}, ItemChanges: want,
	}, event); diff != "" || len(events) != 1 {
		t.Errorf("got %d events, want 1 (-want +got): %s", len(events), diff)
	}
	var history []app.OrderChange
	w.do("GET", path+"/history", w.tokens["STAFF"], nil).ok(200, &history)
	last := history[len(history)-1]
	if last.Type != app.Amendment || last.Actor.Name == "" || last.To != "" || last.Version != 2 || len(history) != 2 {
		t.Errorf("got history %+v, want an AMENDMENT as its second entry", history)
	}
	if diff := cmp.Diff(want, last.ItemChanges); diff != "" {
		t.Errorf("itemChanges of the history (-want +got): %s", diff)
	}
	var shown orderOut
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
	if diff := cmp.Diff(amended.Order, shown.Order); diff != "" {
		t.Errorf("order (-changed +read): %s", diff)
	}
	// The same again, and a dry run, change nothing.
	before := w.rows()
	var same, dry orderOut
	w.amend(amended, w.tokens["STAFF"], object{"note": "Ring", "items": []any{kept(item, nil), kept(amended.Items[1],
		object{"options": []any{}})}}).ok(200, &same)
	w.do("PATCH", path+"?dryRun=true", w.tokens["STAFF"], object{"items": []any{kept(item, nil)}}, ifMatch(2),
		header("Idempotency-Key", "dry")).ok(200, &dry)
	if after := w.rows(); after != before || same.Version != 2 || dry.SubtotalMinor != 1500 || dry.Version != 3 {
		t.Errorf("got rows %s, versions %d and %d, dry subtotal %d; want rows %s, 2, 3, 1500", after, same.Version,
			dry.Version, dry.SubtotalMinor, before)
	}
	var noted orderOut
	w.amend(same, w.tokens["STAFF"], object{"note": "Knock"}).ok(200, &noted)
	entries := w.do("GET", path+"/history", w.tokens["STAFF"], nil).ok(200, nil)
	if n := strings.Count(entries.Body.String(), `"itemChanges":[]`); n != 1 {
		t.Errorf("history after a change of the note: got %d entries with empty itemChanges, want 1", n)
	}
}

func TestAmendOrderRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sold := w.createProduct(nil)
	dish := w.stores["own"].product
	placed, path := w.place(object{"items": []any{
		object{"productId": dish.ID, "quantity": 2}, object{"productId": sold.ID, "quantity": 2},
	}})
	w.changeProduct(sold, object{"isAvailable": false})
	one, two := kept(placed.Items[0], nil), kept(placed.Items[1], nil)
	items := func(list ...any) object { return object{"items": list} }
	for name, c := range map[string]struct {
		body  object
		match int64 // 0 = without If-Match
		code  app.Code
		path  string
	}{
		"items without a version":    {items(one), 0, app.CodeValidationFailed, "If-Match"},
		"discount without a version": {object{"discountMinor": 1}, 0, app.CodeValidationFailed, "If-Match"},
		"customer without a version": {
			object{"customer": object{"name": "Bob"}}, 0, app.CodeValidationFailed, "If-Match",
		},
		"no items":        {items(), 1, app.CodeValidationFailed, "items"},
		"an id twice":     {items(one, one), 1, app.CodeValidationFailed, "items[1].id"},
		"no product":      {items(object{"quantity": 1}), 1, app.CodeValidationFailed, "items[0].productId"},
		"no quantity":     {items(object{"productId": dish.ID}), 1, app.CodeValidationFailed, "items[0].quantity"},
		"unknown member":  {object{"status": "READY"}, 1, app.CodeValidationFailed, "status"},
		"price":           {items(altered(one, object{"unitPriceMinor": 1})), 1, app.CodeInsufficientRole, ""},
		"fee":             {object{"deliveryFeeMinor": 1}, 1, app.CodeInsufficientRole, ""},
		"fee, no version": {object{"deliveryFeeMinor": 1}, 0, app.CodeValidationFailed, "If-Match"},
		"line without a product": {
			items(one, object{"name": "Fee", "quantity": 1, "unitPriceMinor": 1}), 1, app.CodeInsufficientRole, "",
		},
		"line without a price": {
			items(object{"name": "Fee", "quantity": 1}), 1, app.CodeValidationFailed, "items[0].unitPriceMinor",
		},
		"name beside a product": {
			items(altered(one, object{"productId": dish.ID, "name": "Fee"})), 1, app.CodeValidationFailed,
			"items[0].productId",
		},
		"options beside a name": {
			items(altered(one, object{"name": "Fee", "options": []any{}})), 1, app.CodeValidationFailed,
			"items[0].options",
		},
		"channel":             {object{"channel": "Uber Eats"}, 1, app.CodeValidationFailed, "channel"},
		"stale version first": {items(object{"id": "itm_none"}), 7, app.CodeVersionMismatch, ""},
		"unknown id before role": {
			altered(items(object{"id": "itm_none"}), object{"discountMinor": 1}), 1, app.CodeValidationFailed,
			"items[0].id",
		},
		"role before rules": {
			altered(items(one, object{"productId": sold.ID, "quantity": 1}), object{"discountMinor": 1}), 1,
			app.CodeInsufficientRole, "",
		},
		"address of a pickup": {object{"deliveryAddress": object{"city": "Bonn"}}, 1, app.CodeValidationFailed,
			"deliveryAddress"},
		"table of a pickup": {object{"tableLabel": "4"}, 1, app.CodeValidationFailed, "tableLabel"},
		"unknown customer":  {object{"customerId": "cus_none"}, 1, app.CodeValidationFailed, "customerId"},
		"customers": {object{"customerId": "cus_1", "customer": object{"name": "B"}}, 1,
			app.CodeValidationFailed, "customerId"},
		"sold out, new": {items(one, object{"productId": sold.ID, "quantity": 1}), 1,
			app.CodeProductUnavailable, "items[1].productId"},
		"sold out, raised": {items(altered(two, object{"quantity": 3})), 1, app.CodeProductUnavailable,
			"items[0].productId"},
		"option": {items(altered(one, object{"options": []any{object{"optionId": "opt_1"}}})), 1,
			app.CodeOptionInvalid, "items[0].options[0].optionId"},
		"past": {object{"requestedFor": app.At(w.now.Add(-time.Hour)).String()}, 1,
			app.CodeOutsideBookingWindow, "requestedFor"},
		"total": {object{"expectedTotalMinor": 1}, 1, app.CodeTotalMismatch, ""},
	} {
		w.run(name, func(*testing.T) {
			token, change := w.tokens["STAFF"], []func(*http.Request){}
			if c.match > 0 {
				change = append(change, ifMatch(c.match))
			}
			a := w.do("PATCH", path, token, c.body, change...)
			a.refused(c.code)
			if c.path != "" && (len(a.body.Error.Details) == 0 || a.body.Error.Details[0].Path != c.path) {
				w.Errorf("got details %v, want the path %s", a.body.Error.Details, c.path)
			}
			if c.path != "" && strings.Count(a.body.Error.Message, c.path) > 1 {
				w.Errorf("got message %q, want %s once", a.body.Error.Message, c.path)
			}
		})
	}
	w.amend(placed, w.tokens["MANAGER"], object{"discountMinor": 1 << 40}).refused(app.CodeValidationFailed)
	// A lower quantity, a note and a removal of a dish that is sold out are possible.
	for _, list := range [][]any{
		{one, altered(two, object{"quantity": 1})}, {one, altered(two, object{"note": "cold"})}, {one},
	} {
		w.amend(placed, w.tokens["STAFF"], object{"items": list}).ok(200, &placed)
	}
	w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("COMPLETED")).ok(200, nil)
	w.do("PATCH", path, w.tokens["STAFF"], object{"note": placed.Note}).refused(app.CodeInvalidTransition)
	_, path = w.place(object{
		"fulfillmentType": "DELIVERY", "customer": object{"name": "Ada", "phone": "+493012345"},
		"deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"},
	})
	w.do("PATCH", path+"/status", w.tokens["STAFF"], statusBody("OUT_FOR_DELIVERY")).ok(200, nil)
	for caller, want := range map[string][]string{"STAFF": {"COMPLETED"}, "MANAGER": {"COMPLETED", "CANCELLED"}} {
		refused := w.do("PATCH", path, w.tokens[caller], object{"note": "Ring"}).refused(app.CodeInvalidTransition)
		if diff := cmp.Diff(want, refused.body.Error.AllowedTransitions); diff != "" {
			t.Errorf("%s: allowed transitions (-want +got): %s", caller, diff)
		}
	}
}

// Another customer: the counts move, and the former one reads the order no longer.
func TestAmendedCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var login struct {
		AccessToken string
		Customer    app.Customer
	}
	w.do("POST", "/customer-auth/register", "",
		altered(registration(w.stores["own"].id), object{"email": "former@example.com"})).ok(201, &login)
	placed, path := w.place(object{"customer": nil, "customerId": login.Customer.ID})
	w.do("GET", path, login.AccessToken, nil).ok(200, nil)
	w.amend(placed, w.tokens["STAFF"], object{"customer": object{"name": "Bob", "email": "bob@example.com"}}).
		ok(200, &placed)
	w.do("GET", path, login.AccessToken, nil).refused(app.CodeNotFound)
	counts := map[app.CustomerID]int64{}
	for _, id := range []app.CustomerID{login.Customer.ID, *placed.Customer.ID} {
		var customer app.Customer
		w.do("GET", "/customers/"+string(id), w.tokens["OWNER"], nil).ok(200, &customer)
		counts[id] = customer.TotalOrders
	}
	if diff := cmp.Diff(map[app.CustomerID]int64{login.Customer.ID: 0, *placed.Customer.ID: 1}, counts); diff != "" {
		t.Errorf("orders of the customers (-want +got): %s", diff)
	}
	version := placed.Version
	w.amend(placed, w.tokens["STAFF"], object{"customer": object{"name": "Bob", "email": "bob@example.com"}}).
		ok(200, &placed)
	if placed.Version != version {
		t.Errorf("the same guest: got version %d, want %d", placed.Version, version)
	}
	// An erasure of the former customer erases the earlier events.
	w.do("DELETE", "/customers/"+string(login.Customer.ID), w.tokens["OWNER"], nil).ok(204, nil)
	var marked []string
	w.must(w.db.System().NewRaw(`SELECT type FROM outbox WHERE subject = ? AND erasing = ? ORDER BY id`, placed.ID,
		login.Customer.ID).Scan(t.Context(), &marked))
	if diff := cmp.Diff([]string{"order.created"}, marked); diff != "" {
		t.Errorf("events to erase (-want +got): %s", diff)
	}
}

// A repeated change gets the stored response, before the version is looked at.
func TestRepeatedAmendment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.place(nil)
	body := object{"items": []any{kept(placed.Items[0], object{"quantity": 5})}}
	var first, second orderOut
	w.do("PATCH", path, w.tokens["STAFF"], body, ifMatch(1), header("Idempotency-Key", "k")).ok(200, &first)
	w.do("PATCH", path, w.tokens["STAFF"], body, ifMatch(1), header("Idempotency-Key", "k")).ok(200, &second)
	if diff := cmp.Diff(first, second); diff != "" || len(w.eventData("own", app.EventOrderUpdated)) != 1 {
		t.Errorf("repeated change (-first +second): %s", diff)
	}
	w.do("PATCH", path, w.tokens["STAFF"], object{"note": "x"}, header("Idempotency-Key", "k")).
		refused(app.CodeIdempotencyKeyReused)
}

// Only another requestedFor moves the deadlines of an acceptance.
func TestAmendedAcceptance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"acceptance": object{"remindAfterMinutes": 5, "cancelAfterMinutes": 10},
	}).ok(200, nil)
	key := w.key("own", app.ScopeWriteOrders)
	var placed orderOut
	w.do("POST", "/orders", key, w.orderBody("own")).ok(201, &placed)
	since := func() (at time.Time) {
		t.Helper()
		w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT since FROM acceptances WHERE order_id = $1",
			placed.ID).Scan(&at))
		return at.UTC()
	}
	began := since()
	w.amend(placed, key, object{"note": "x"}).ok(200, &placed)
	if at := since(); !at.Equal(began) {
		t.Errorf("after a note: got deadlines from %s, want %s", at, began)
	}
	later := app.At(time.Now().Add(30 * time.Hour))
	w.now = time.Now() // requestedFor is compared with it, deadlines with the clock of the database
	w.amend(placed, key, object{"requestedFor": later.String()}).ok(200, &placed)
	if at, want := since(), later.Add(-20*time.Minute); !at.Equal(want) || !placed.PromisedAt.Equal(later.Time) {
		t.Errorf("for later: got deadlines from %s, promised at %s, want %s and %s", at, placed.PromisedAt, want, later)
	}
	w.amend(placed, key, object{"requestedFor": nil}).ok(200, &placed)
	if at := since(); !at.Before(later.Add(-time.Hour)) || at.Before(began) || placed.RequestedFor != nil {
		t.Errorf("as soon as possible: got deadlines from %s, want from now", at)
	}
}
