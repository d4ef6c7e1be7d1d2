package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// place places an order in the store own and returns it with its path.
func (w *world) place(change object) (orderOut, string) {
	w.Helper()
	var placed orderOut
	w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), change)).ok(201, &placed)
	return placed, "/orders/" + string(placed.ID)
}

func delivery() object {
	return object{
		"fulfillmentType": "DELIVERY", "deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"},
	}
}

func statusBody(status app.OrderStatus) object {
	body := object{"status": status}
	if status == app.OrderCancelled {
		body["cancellationReason"] = "Out of dough"
	}
	return body
}

// orderSteps repeats, by hand, the next statuses of an order (docs/behaviour.md#order-status). D marks steps of
// deliveries only, M steps by managers and API keys only.
var orderSteps = map[app.OrderStatus]string{
	"RECEIVED":         "CONFIRMED PREPARING READY OUT_FOR_DELIVERY/D COMPLETED CANCELLED/M",
	"CONFIRMED":        "PREPARING READY OUT_FOR_DELIVERY/D COMPLETED CANCELLED/M",
	"PREPARING":        "READY OUT_FOR_DELIVERY/D COMPLETED CANCELLED/M",
	"READY":            "OUT_FOR_DELIVERY/D COMPLETED CANCELLED/M",
	"OUT_FOR_DELIVERY": "COMPLETED CANCELLED/M",
	"COMPLETED":        "",
	"CANCELLED":        "",
}

// Each kind of caller tries to set each status of an order in each status.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	callers := map[string]string{
		"STAFF": w.tokens["STAFF"], "MANAGER": w.tokens["MANAGER"], "a key": w.key("own", app.ScopeWriteOrders),
	}
	for _, kind := range []string{"DELIVERY", "PICKUP"} {
		order, path := w.place(map[string]object{"DELIVERY": delivery(), "PICKUP": {}}[kind])
		for from, list := range orderSteps {
			if kind == "PICKUP" && from == app.OrderOutForDelivery {
				continue
			}
			for caller, token := range callers {
				allowed := []string{}
				for step := range strings.FieldsSeq(list) {
					name, only, _ := strings.Cut(step, "/")
					if only != "D" && only != "M" || only == "D" && kind == "DELIVERY" ||
						only == "M" && caller != "STAFF" {
						allowed = append(allowed, name)
					}
				}
				for to := range orderSteps {
					_, err := w.db.System().DB.ExecContext(t.Context(), "UPDATE orders SET status = $1 WHERE id = $2",
						from, order.ID)
					w.must(err)
					a := w.do("PATCH", path+"/status", token, statusBody(to))
					a.what = fmt.Sprintf("%s from %s to %s by %s", kind, from, to, caller)
					var moved orderOut
					switch {
					case to == app.OrderCancelled && caller == "STAFF":
						a.refused(app.CodeInsufficientRole)
					case to == from:
						a.ok(200, &moved)
						if moved.Version != order.Version {
							t.Errorf("%s: got version %d, want %d", a.what, moved.Version, order.Version)
						}
					case slices.Contains(allowed, string(to)):
						a.ok(200, &moved)
						if moved.Status != to || *moved.PreviousStatus != from || moved.Version != order.Version+1 {
							t.Errorf("%s: got %+v, want version %d and %s after %s", a.what, moved.Order,
								order.Version+1, to, from)
						}
						order.Version++
					default:
						a.refused(app.CodeInvalidTransition)
						if diff := cmp.Diff(allowed, a.body.Error.AllowedTransitions); diff != "" ||
							!strings.Contains(a.Body.String(), `"allowedTransitions":[`) {
							t.Errorf("%s: allowed transitions (-want +got): %s", a.what, diff)
						}
					}
				}
			}
		}
	}
}

func TestOrderFromPlacingToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.place(delivery())
	key := w.key("own", app.ScopeWriteOrders)
	var order orderOut
	step := func(token string, body object) {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		w.do("PATCH", path+"/status", token, body, ifMatch(max(order.Version, 1))).ok(200, &order)
	}
	step(w.tokens["STAFF"], object{"status": "CONFIRMED"})
	if order.Status != app.OrderConfirmed || *order.PreviousStatus != app.OrderReceived || order.Version != 2 ||
		order.UpdatedAt != app.At(w.now) || len(order.AllowedTransitions) != 4 {
		t.Errorf("got %+v, want version 2, CONFIRMED after RECEIVED, with 4 transitions", order)
	}
	step(key, object{"status": "OUT_FOR_DELIVERY"})
	w.do("PATCH", path+"/status", key, object{"status": "CANCELLED", "cancellationReason": "x"}, ifMatch(2)).
		refused(app.CodeVersionMismatch)
	step(w.tokens["OWNER"], object{"status": "COMPLETED"})
	step(w.tokens["OWNER"], object{"status": "COMPLETED"}) // again: nothing
	var shown orderOut
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &shown)
	if diff := cmp.Diff(order, shown); diff != "" || len(order.AllowedTransitions) != 0 {
		t.Errorf("completed order (-want +got): %s; got the transitions %v, want none", diff, order.AllowedTransitions)
	}

	updates := w.eventData("own", app.EventOrderStatusUpdated)
	if len(updates) != 3 {
		t.Fatalf("got %d events order.status_updated, want 3", len(updates))
	}
	var update app.OrderStatusUpdated
	w.read(updates[2], &update)
	if diff := cmp.Diff(app.OrderStatusUpdated{Order: order.Order, NewStatus: app.OrderCompleted},
		update); diff != "" || *update.PreviousStatus != app.OrderOutForDelivery {
		t.Error("order.status_updated (-want +got):", diff)
	}
	completed := w.eventData("own", app.EventOrderCompleted)
	var whole app.Order
	w.read(completed[0], &whole)
	if diff := cmp.Diff(order.Order, whole); diff != "" || len(completed) != 1 ||
		len(w.eventData("own", app.EventOrderCancelled)) != 0 {
		t.Errorf("got %d events order.completed, want 1 and no order.cancelled (-want +got): %s", len(completed), diff)
	}

	var history []app.OrderChange
	w.do("GET", path+"/history", w.tokens["STAFF"], nil).ok(200, &history)
	ids := w.eventIDs(placed.ID)
	at := func(minutes int) app.Time { return app.At(noon.Add(time.Duration(minutes) * time.Minute)) }
	status := func(s app.OrderStatus) *app.OrderStatus { return &s }
	user := func(role string) app.OrderActor {
		return app.OrderActor{Realm: app.RealmTenant, ID: string(w.users[role].ID), Name: w.users[role].Name}
	}
	want := []app.OrderChange{
		{Actor: user("OWNER"), To: "RECEIVED", EventID: ids[0], At: at(0)},
		{Actor: user("STAFF"), From: status("RECEIVED"), To: "CONFIRMED", EventID: ids[1], At: at(1)},
		{
			Actor: app.OrderActor{Realm: app.RealmAPIKey, ID: history[2].Actor.ID, Name: "Test"},
			From:  status("CONFIRMED"), To: "OUT_FOR_DELIVERY", EventID: ids[2], At: at(2),
		},
		{Actor: user("OWNER"), From: status("OUT_FOR_DELIVERY"), To: "COMPLETED", EventID: ids[3], At: at(3)},
	}
	for i := range want {
		want[i].Type, want[i].Version = app.ChangeOfStatus, int64(i+1)
	}
	if diff := cmp.Diff(want, history); diff != "" || !strings.HasPrefix(history[2].Actor.ID, "key_") {
		t.Errorf("history (-want +got): %s", diff)
	}
}

// eventIDs returns the ids of order.created and order.status_updated of an order.
func (w *world) eventIDs(id app.OrderID) (ids []app.EventID) {
	w.Helper()
	w.must(w.db.System().NewRaw(`SELECT id FROM outbox WHERE type IN ('order.created', 'order.status_updated')
		AND body::jsonb->'data'->>'id' = ? ORDER BY id`, id).Scan(w.Context(), &ids))
	return ids
}

func TestCancelAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var counted app.Product
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"stockQuantity": 10})).ok(201, &counted)
	customer := w.addCustomer("own", "ada@example.com")
	items := []any{
		object{"productId": counted.ID, "quantity": 2}, object{"productId": w.stores["own"].product.ID, "quantity": 1},
		object{"productId": counted.ID, "quantity": 3},
	}
	of := func(items ...any) object {
		return object{"items": items, "customer": nil, "customerId": customer.Customer.ID}
	}
	_, path := w.place(of(items...))
	w.place(of(items...))
	state := func() (stock int64, orders int64) {
		t.Helper()
		w.must(w.db.System().DB.QueryRowContext(t.Context(),
			"SELECT p.stock_quantity, c.total_orders FROM products p, customers c WHERE p.id = $1 AND c.id = $2",
			counted.ID, customer.Customer.ID).Scan(&stock, &orders))
		return stock, orders
	}
	if stock, orders := state(); stock != 0 || orders != 2 {
		t.Errorf("after the order: got stock %d and %d orders, want 0 and 2", stock, orders)
	}
	reason := "The oven <broke> 🔥 " + strings.Repeat("字", 480)
	var order orderOut
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], object{"status": "CANCELLED", "cancellationReason": reason}).
		ok(200, &order)
	again := object{"status": "CANCELLED", "cancellationReason": "another"}
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], again).ok(200, &order)
	if order.CancellationReason != reason || order.Version != 2 {
		t.Errorf("cancelled twice: got %+v, want version 2 with the first reason", order)
	}
	if stock, orders := state(); stock != 5 || orders != 1 {
		t.Errorf("after cancelling: got stock %d and %d orders, want 5 and 1", stock, orders)
	}
	emitted := w.eventData("own", app.EventOrderCancelled)
	var event app.Order
	w.read(emitted[0], &event)
	if diff := cmp.Diff(order.Order, event); diff != "" || len(emitted) != 1 ||
		len(w.eventData("own", app.EventOrderStatusUpdated)) != 1 {
		t.Errorf("got %d events order.cancelled, want 1 (-want +got): %s", len(emitted), diff)
	}
	var history []app.OrderChange
	w.do("GET", path+"/history", customer.AccessToken, nil).ok(200, &history)
	if len(history) != 2 || history[1].Reason != reason ||
		history[1].Actor != (app.OrderActor{Realm: app.RealmTenant}) {
		t.Errorf("history for the customer: got %+v, want the reason without the name of the user", history)
	}
	other := w.addCustomer("own", "bob@example.com")
	w.do("GET", path+"/history", other.AccessToken, nil).refused(app.CodeNotFound)
	w.do("GET", path, other.AccessToken, nil).refused(app.CodeNotFound)

	// A cancellation returns no stock to products that no longer count it or that are deleted.
	_, path = w.place(of(items[0]))
	w.do("PATCH", "/products/"+string(counted.ID), w.tokens["OWNER"], object{"stockQuantity": json.RawMessage("null")}).
		ok(200, nil)
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], again).ok(200, nil)
	_, path = w.place(of(items[0])) // takes nothing
	w.do("PATCH", "/products/"+string(counted.ID), w.tokens["OWNER"], object{"stockQuantity": 1}).ok(200, nil)
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], again).ok(200, nil)
	if stock, _ := state(); stock != 1 {
		t.Errorf("cancelled before its stock was counted: got stock %d, want 1", stock)
	}
	_, path = w.place(of(object{"productId": counted.ID, "quantity": 1}))
	w.do("DELETE", "/products/"+string(counted.ID), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], again).ok(200, nil)
}

// The history of an order has pages. An order takes a limited number of changes, apart from those of its status.
func TestLongOrderHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	placed, path := w.place(nil)
	w.exec(`INSERT INTO order_history (order_id, store_id, version, reason, changed_fields, item_changes, actor_realm,
			actor_id, event_id, at)
		SELECT id, store_id, n, '', '["note"]', '[]', 'tenant', '', 'evt_' || n, created_at
		FROM orders, generate_series(2, 5001) n WHERE id = $1`, placed.ID)
	w.exec("UPDATE orders SET version = 5001 WHERE id = $1", placed.ID)
	read := func(query string) (versions []int64, next string) {
		t.Helper()
		var page []app.OrderChange
		a := w.do("GET", path+"/history?"+query, staff, nil).ok(200, &page)
		for _, change := range page {
			versions = append(versions, change.Version)
		}
		next, _ = a.body.Meta["nextCursor"].(string)
		return versions, next
	}
	first, next := read("limit=100")
	if len(first) != 100 || first[0] != 1 || first[99] != 100 || next == "" {
		t.Fatalf("first page: got %d versions from %d and the cursor %q, want 100 from 1 and a cursor", len(first),
			first[0], next)
	}
	if second, _ := read("limit=2&cursor=" + next); !slices.Equal(second, []int64{101, 102}) {
		t.Errorf("second page: got %v, want 101 and 102", second)
	}
	w.do("GET", path+"/history?cursor=x", staff, nil).refused(app.CodeValidationFailed, "cursor")
	rows, more, err := w.db.OrderHistory(t.Context(), placed.StoreID, placed.ID, "", 100,
		app.PageLimit{Rows: 3, Bytes: maxPage})
	if err != nil || len(rows) != 3 || !more {
		t.Errorf("rows read: got %d, more %t and the error %v, want 3, true and none", len(rows), more, err)
	}

	placed.Version = 5001
	change := object{"note": "one more"}
	w.amend(placed, staff, change).refused(app.CodeLimitReached)
	w.do("PATCH", path+"?dryRun=true", staff, change).refused(app.CodeLimitReached)
	w.amend(placed, staff, object{"note": ""}).ok(200, nil) // no change
	w.exec("DELETE FROM order_history WHERE order_id = $1 AND version > $2", placed.ID, app.MaxAmendments)
	w.amend(placed, staff, change).ok(200, &placed)
	w.amend(placed, staff, object{"note": "too many"}).refused(app.CodeLimitReached)
	w.do("PATCH", path+"/status", staff, statusBody(app.OrderConfirmed)).ok(200, nil)
}

func TestBadStatusChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/orders/" + string(w.stores["own"].order.ID) + "/status"
	null := json.RawMessage("null")
	for name, c := range map[string]struct {
		body any
		path string
	}{
		"nothing":           {object{}, "status"},
		"a null":            {object{"status": null}, "status"},
		"an unknown status": {object{"status": "EATEN"}, "status"},
		"in lower case":     {object{"status": "confirmed"}, "status"},
		"a list":            {object{"status": []any{"CONFIRMED"}}, "status"},
		"no reason":         {object{"status": "CANCELLED"}, "cancellationReason"},
		"an empty reason":   {object{"status": "CANCELLED", "cancellationReason": ""}, "cancellationReason"},
		"a blank reason":    {object{"status": "CANCELLED", "cancellationReason": " \t"}, "cancellationReason"},
		"a long reason": {
			object{"status": "CANCELLED", "cancellationReason": strings.Repeat("😀", 501)}, "cancellationReason",
		},
		"a reason with a NUL":   {object{"status": "CANCELLED", "cancellationReason": "a\x00b"}, "cancellationReason"},
		"a reason for the rest": {object{"status": "CONFIRMED", "cancellationReason": "why not"}, "cancellationReason"},
		"an unknown member":     {object{"status": "CONFIRMED", "notify": true}, "notify"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("PATCH", path, w.tokens["STAFF"], c.body).refused(app.CodeValidationFailed, c.path)
		})
	}
	w.do("PATCH", path, w.tokens["STAFF"], object{"status": "CONFIRMED"}, header("If-Match", "1")).
		refused(app.CodeValidationFailed, "If-Match")
	// before existence
	w.do("PATCH", "/orders/ord_none/status", w.tokens["STAFF"], statusBody("CANCELLED")).
		refused(app.CodeInsufficientRole)
	w.do("PATCH", "/orders/ord_none/status", w.tokens["STAFF"], statusBody("CONFIRMED")).refused(app.CodeNotFound)
	if emitted := w.eventData("own", app.EventOrderStatusUpdated); len(emitted) != 0 {
		t.Errorf("got %d events order.status_updated, want 0", len(emitted))
	}
}

// rows returns the number of rows of each table that an order writes to.
func (w *world) rows() string {
	w.Helper()
	var text string
	w.must(w.db.System().DB.QueryRowContext(w.Context(), `SELECT concat_ws(' ',
			(SELECT count(*) FROM orders), (SELECT count(*) FROM order_items), (SELECT count(*) FROM order_history),
			(SELECT count(*) FROM outbox), (SELECT count(*) FROM customers), (SELECT sum(last) FROM order_numbers),
			(SELECT count(*) FROM idempotency_keys))`).Scan(&text))
	return text
}

// Texts of all scripts are returned unchanged. Their limits count characters.
func TestTextsOfAllScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{
		"Zoë Müller-Lüdenscheidt", "山田太郎", "محمد", "שלמה", "Ольга", "Ελένη",
		"अमित", "ไอ", "👩‍👩‍👧‍👦", "e\u0301",
		"\u202eevil", "O'Brien; DROP TABLE orders; --", "<script>", strings.Repeat("😀", 200),
	} {
		note := name + "\n\t" + strings.Repeat("字", 790)
		order, path := w.place(object{"customer": object{"name": name}, "note": note})
		var shown orderOut
		w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &shown)
		if shown.Customer.Name != name || shown.Note != note || order.Note != note {
			t.Errorf("got name %q and notes %q and %q, want %q and %q", shown.Customer.Name, order.Note, shown.Note,
				name, note)
		}
	}
	ten := strings.Repeat("é", 5000)
	for path, change := range map[string]object{
		"customer.name": {"customer": object{"name": ten}}, "note": {"note": ten},
		"items[0].productId": {"items": []any{object{"productId": ten, "quantity": 1}}},
		"customer.email":     {"customer": object{"name": "A", "email": ten + "@example.com"}},
		"deliveryAddress.line1": altered(delivery(),
			object{"deliveryAddress": object{"line1": ten, "city": "B", "country": "DE"}}),
	} {
		w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), change)).
			refused(app.CodeValidationFailed, path)
	}
	w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), object{"note": "a\x00b"})).
		refused(app.CodeValidationFailed, "note")
}
