package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// channelBody is an order of an aggregator with its own price of a pizza, a line without a product and its own fee.
func (w *world) channelBody() object {
	return altered(w.orderBody("own"), altered(delivery(), object{
		"channel": "Uber Eats", "deliveryFeeMinor": 333, "items": []any{
			object{"productId": w.stores["own"].product.ID, "quantity": 2, "unitPriceMinor": 1234},
			object{"name": "Bag", "quantity": 3, "unitPriceMinor": 10, "taxRatePpm": 190_000, "note": "Paper"},
			object{"name": "Service", "quantity": 1, "unitPriceMinor": 0},
		},
	}))
}

func (w *world) pricing() string { return w.key("own", app.ScopePriceOrders) }

func TestChannelOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pizza := w.stores["own"].product
	body, key := w.channelBody(), w.pricing()
	want := []app.QuotedItem{
		{
			ProductID: &pizza.ID, ProductName: pizza.Name, SKU: "P1", Quantity: 2, UnitPriceMinor: 1234,
			TotalMinor: 2468, TaxRatePPM: 70_000, Options: []app.OrderOption{},
		},
		{
			ProductName: "Bag", Quantity: 3, UnitPriceMinor: 10, TotalMinor: 30, TaxRatePPM: 190_000,
			Options: []app.OrderOption{}, Note: "Paper",
		},
		{ProductName: "Service", Quantity: 1, TaxRatePPM: 70_000, Options: []app.OrderOption{}},
	}
	var quote app.OrderQuote
	w.do("POST", "/orders/quote", key, body).ok(200, &quote)
	var placed, shown orderOut
	w.now = w.now.Add(time.Second) // its event is the last one
	w.do("POST", "/orders", key, altered(body, object{"expectedTotalMinor": 2831})).ok(201, &placed)
	w.do("GET", "/orders/"+string(placed.ID), w.tokens["STAFF"], nil).ok(200, &shown)
	var event app.Order
	w.read(w.eventData("own", app.EventOrderCreated)[1], &event)
	for what, order := range map[string]app.Order{"response": placed.Order, "order": shown.Order, "event": event} {
		if diff := cmp.Diff(want, w.itemsOf(order)); diff != "" {
			t.Errorf("%s: items (-want +got):\n%s", what, diff)
		}
		taxes := []app.Tax{
			{RatePPM: 70_000, BaseMinor: 2618, TaxMinor: 183}, {RatePPM: 190_000, BaseMinor: 25, TaxMinor: 5},
		}
		if diff := cmp.Diff(taxes, order.Taxes); diff != "" {
			t.Errorf("%s: taxes (-want +got):\n%s", what, diff)
		}
		if order.Channel == nil || *order.Channel != "Uber Eats" || order.SubtotalMinor != 2498 ||
			order.DeliveryFeeMinor != 333 || order.TotalMinor != 2831 || order.TaxMinor != 188 {
			t.Errorf("%s: got %+v, want Uber Eats, subtotal 2498, fee 333, tax 188, total 2831", what, order)
		}
	}
	if diff := cmp.Diff(want, quote.Items); diff != "" || quote.TotalMinor != 2831 || quote.DeliveryFeeMinor != 333 {
		t.Errorf("quote: got total %d, want 2831; items (-want +got):\n%s", quote.TotalMinor, diff)
	}
	w.do("POST", "/orders", key, altered(body, object{"expectedTotalMinor": 2832})).
		refused(app.CodeTotalMismatch, "totalMinor")
	w.do("POST", "/orders/quote", key, altered(body, object{"expectedTotalMinor": 2832})).
		refused(app.CodeTotalMismatch, "totalMinor")
	w.do("POST", "/orders", key, altered(body, object{"items": slices.Repeat([]any{
		object{"name": "Bag", "quantity": 999, "unitPriceMinor": app.MaxPriceMinor},
	}, 10)})).refused(app.CodeAmountTooLarge)

	// A channel alone needs no scope, and an order without one is the store's own.
	var own orderOut
	w.do("POST", "/orders", w.tokens["STAFF"], altered(w.orderBody("own"), object{"channel": "Counter"})).ok(201, &own)
	if own.Channel == nil || *own.Channel != "Counter" || own.Items[0].UnitPriceMinor != 950 {
		t.Errorf("order of STAFF: got %+v, want the channel Counter and the price 950", own.Order)
	}
	if first := w.stores["own"].order; first.Channel != nil {
		t.Errorf("order without a channel: got %q, want null", *first.Channel)
	}
	// A fee is possible without a delivery, and 0 replaces the fee of the settings.
	w.do("POST", "/orders", key, altered(w.orderBody("own"), object{"deliveryFeeMinor": 99})).ok(201, &own)
	var free orderOut
	w.do("POST", "/orders", key, altered(body, object{"deliveryFeeMinor": 0})).ok(201, &free)
	if own.DeliveryFeeMinor != 99 || own.TotalMinor != 1999 || free.DeliveryFeeMinor != 0 || free.TotalMinor != 2498 {
		t.Errorf("got fees %d and %d, totals %d and %d; want 99 and 0, 1999 and 2498", own.DeliveryFeeMinor,
			free.DeliveryFeeMinor, own.TotalMinor, free.TotalMinor)
	}
}

// Without the scope, no price of a request counts: it is refused, wherever it is.
func TestPricesNeedTheScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pizza := w.stores["own"].product.ID
	item := object{"productId": pizza, "quantity": 1}
	placed, path := w.place(nil)
	callers := map[string]struct {
		token string
		code  app.Code
	}{
		"key":   {w.key("own", app.ScopeWriteOrders, app.ScopeWriteProducts), app.CodeInsufficientScope},
		"OWNER": {w.tokens["OWNER"], app.CodeInsufficientRole}, "STAFF": {w.tokens["STAFF"], app.CodeInsufficientRole},
	}
	before := w.rows()
	for name, change := range map[string]object{
		"price":          {"items": []any{item, altered(item, object{"unitPriceMinor": 950})}},
		"price of 0":     {"items": []any{item, altered(item, object{"unitPriceMinor": 0})}},
		"ad hoc line":    {"items": []any{item, object{"name": "Bag", "quantity": 1, "unitPriceMinor": 10}}},
		"rate":           {"items": []any{object{"name": "B", "quantity": 1, "unitPriceMinor": 0, "taxRatePpm": 0}}},
		"delivery fee":   altered(delivery(), object{"deliveryFeeMinor": 250}),
		"fee of nothing": {"deliveryFeeMinor": 0},
	} {
		for who, c := range callers {
			w.run(name+" of "+who, func(*testing.T) {
				w.do("POST", "/orders", c.token, altered(w.orderBody("own"), change)).refused(c.code)
				w.do("POST", "/orders/quote", c.token, altered(w.orderBody("own"), change)).refused(c.code)
				amended := altered(change, object{"fulfillmentType": nil, "deliveryAddress": nil})
				w.do("PATCH", path, c.token, amended, ifMatch(placed.Version)).refused(c.code)
				w.do("PATCH", path+"?dryRun=true", c.token, amended, ifMatch(placed.Version)).refused(c.code)
			})
		}
	}
	for _, c := range callers {
		for _, change := range []object{
			{"unitPriceMinor": 1}, {"name": "Bag", "unitPriceMinor": 1}, {"taxRatePpm": 1},
		} {
			w.do("PATCH", path, c.token, object{"items": []any{kept(placed.Items[0], change)}}, ifMatch(1)).
				refused(c.code)
		}
	}
	if after := w.rows(); after != before {
		t.Errorf("rows after the refusals: got %s, want %s", after, before)
	}
	// orders:price includes write:orders and read:orders, and nothing else.
	key := w.pricing()
	w.do("GET", path, key, nil).ok(200, nil)
	w.do("PATCH", path+"/status", key, statusBody("CONFIRMED")).ok(200, nil)
	w.do("GET", "/products", key, nil).refused(app.CodeInsufficientScope)
}

// The options of a line with a price are names: neither bounds nor availability nor prices count, but stock does.
func TestPricedLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, dish := w.pricing(), w.addDish(size(), extras())
	olives, chili := dish.OptionGroups[1].Options[0], dish.OptionGroups[1].Options[1]
	priced := altered(chosen(dish, 2, olives.ID, 9, chili.ID, 1), object{"unitPriceMinor": 2000})
	var placed orderOut
	w.do("POST", "/orders", key, w.ordering(priced)).ok(201, &placed)
	item := placed.Items[0]
	if item.UnitPriceMinor != 2000 || len(item.Options) != 2 || item.Options[0].Quantity != 9 ||
		item.Options[0].Name != "Oliven" || item.Options[0].PriceMinor != 150 || item.Options[1].Name != "Chili" {
		t.Errorf("got %+v, want the price 2000 with nine olives and chili", item)
	}
	w.do("POST", "/orders", key, w.ordering(altered(chosen(dish, 1, "opt_none", 1), object{"unitPriceMinor": 1}))).
		refused(app.CodeOptionInvalid, "items[0].options[0].optionId")
	w.do("POST", "/orders", key, w.ordering(altered(chosen(dish, 1, olives.ID, 1, olives.ID, 1),
		object{"unitPriceMinor": 1}))).refused(app.CodeOptionInvalid, "items[0].options[1].optionId")
	w.do("POST", "/orders", key, w.ordering(chosen(dish, 1, chili.ID, 1))).refused(app.CodeOptionInvalid)

	// The price also stands for a product without a price in the currency of the view.
	euros := w.createProduct(object{"stockQuantity": 3})
	abroad := altered(w.ordering(object{"productId": euros.ID, "quantity": 1, "unitPriceMinor": 700}),
		object{"storeViewId": w.viewIn("USD")})
	w.do("POST", "/orders", key, abroad).ok(201, &placed)
	if placed.Currency != "USD" || placed.TotalMinor != 700 {
		t.Errorf("got %s %d, want USD 700", placed.Currency, placed.TotalMinor)
	}
	if left := w.stockOf(euros); left != 2 {
		t.Errorf("stock after a priced line: got %d, want 2", left)
	}
	three := object{"productId": euros.ID, "quantity": 3, "unitPriceMinor": 1}
	for _, path := range []string{"/orders", "/orders/quote"} {
		w.do("POST", path, key, w.ordering(three)).refused(app.CodeProductUnavailable, "items[0].quantity")
		w.do("POST", path, key, w.ordering(object{"productId": "prd_none", "quantity": 1, "unitPriceMinor": 1})).
			refused(app.CodeProductUnavailable, "items[0].productId")
	}
	w.do("POST", "/products/"+string(euros.ID)+"/sold-out", w.tokens["OWNER"],
		object{"until": app.At(w.now.AddDate(0, 0, 1)).String()}).ok(200, nil)
	w.do("POST", "/orders", key, w.ordering(object{"productId": euros.ID, "quantity": 1, "unitPriceMinor": 1})).
		refused(app.CodeProductUnavailable, "items[0].productId")
}

// viewIn returns a view of the store own with a currency.
func (w *world) viewIn(currency app.Currency) (id app.StoreViewID) {
	w.Helper()
	w.must(w.db.System().DB.QueryRowContext(w.Context(),
		"SELECT id FROM store_views WHERE store_id = $1 AND currency = $2", w.stores["own"].id, currency).Scan(&id))
	return id
}

// Lines with a price of their own keep it through changes by callers without the scope; only what they choose again
// takes the price of the menu.
func TestAmendChannelOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, staff, pizza := w.pricing(), w.tokens["STAFF"], w.stores["own"].product
	dish := w.addDish(extras())
	olives := dish.OptionGroups[0].Options[0]
	var o orderOut
	w.do("POST", "/orders", key, altered(w.channelBody(), object{"items": []any{
		object{"productId": pizza.ID, "quantity": 2, "unitPriceMinor": 1234},
		object{"name": "Bag", "quantity": 3, "unitPriceMinor": 10, "taxRatePpm": 190_000},
		altered(chosen(dish, 1, olives.ID, 5), object{"unitPriceMinor": 3000}),
	}})).ok(201, &o)
	items := func(changes ...object) object {
		var list []any
		for i, change := range changes {
			list = append(list, kept(o.Items[i], change))
		}
		return object{"items": list}
	}
	check := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, item := range o.Items {
			product := "-"
			if item.ProductID != nil {
				product = map[app.ProductID]string{pizza.ID: "pizza", dish.ID: "dish"}[*item.ProductID]
			}
			got = append(got, fmt.Sprintf("%s %s %d×%d %d", product, item.ProductName, item.Quantity,
				item.UnitPriceMinor, item.TaxRatePPM))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	w.changeProduct(pizza, object{"priceMinor": 111, "taxRatePpm": 1, "name": "Calzone"})
	w.tick(o, 1, true)
	w.amend(o, staff, items(object{"quantity": 3}, object{"note": "Paper"}, object{"quantity": 2})).ok(200, &o)
	check("quantities and notes by STAFF", "pizza "+pizza.Name+" 3×1234 70000", "- Bag 3×10 190000",
		"dish Lasagne 2×3000 70000")
	w.tick(o, 1, true)
	w.amend(o, staff, items(object{"productId": pizza.ID}, object{"quantity": 2}, object{"options": []any{
		object{"optionId": olives.ID, "quantity": 2},
	}})).ok(200, &o)
	check("other options by STAFF", "pizza "+pizza.Name+" 3×1234 70000", "- Bag 2×10 190000",
		"dish Lasagne 2×1550 70000")
	if o.Items[1].DoneAt == nil {
		t.Error("a lower quantity of a line without a product took its tick away")
	}
	w.amend(o, staff, items(nil, object{"productId": dish.ID}, nil)).ok(200, &o)
	check("a product by STAFF", "pizza "+pizza.Name+" 3×1234 70000", "dish Lasagne 2×1250 70000",
		"dish Lasagne 2×1550 70000")
	w.amend(o, key, items(object{"unitPriceMinor": 900}, object{"name": "Cup", "unitPriceMinor": 5},
		object{"productId": pizza.ID, "options": []any{}, "unitPriceMinor": 0})).ok(200, &o)
	check("prices by a key", "pizza "+pizza.Name+" 3×900 70000", "- Cup 2×5 70000", "pizza Calzone 2×0 1")
	w.amend(o, key, items(nil, object{"name": "Mug", "taxRatePpm": 50_000}, nil)).ok(200, &o)
	check("a name by a key", "pizza "+pizza.Name+" 3×900 70000", "- Mug 2×5 50000", "pizza Calzone 2×0 1")
	w.now = w.now.Add(time.Second) // its event is the last one
	w.amend(o, key, object{"deliveryFeeMinor": 50}).ok(200, &o)
	if o.DeliveryFeeMinor != 50 || o.TotalMinor != 2760 || o.Channel == nil || *o.Channel != "Uber Eats" {
		t.Errorf("got fee %d, total %d, channel %v; want 50, 2760, Uber Eats", o.DeliveryFeeMinor, o.TotalMinor,
			o.Channel)
	}
	var event app.OrderUpdated
	events := w.eventData("own", app.EventOrderUpdated)
	w.read(events[len(events)-1], &event)
	if diff := cmp.Diff([]string{"deliveryFeeMinor"}, event.ChangedFields); diff != "" || event.DeliveryFeeMinor != 50 {
		t.Errorf("event: got fee %d, changed fields (-want +got): %s", event.DeliveryFeeMinor, diff)
	}
	before := w.rows()
	same := altered(items(object{"unitPriceMinor": 900}, object{"name": "Mug", "taxRatePpm": 50_000}, nil),
		object{"deliveryFeeMinor": 50})
	w.amend(o, key, same).ok(200, nil)
	if after := w.rows(); after != before {
		t.Errorf("rows after a change to the same: got %s, want %s", after, before)
	}
	for _, c := range []struct {
		changes []object
		code    app.Code
		path    string
	}{
		{[]object{{"name": "Cup"}, nil, nil}, app.CodeValidationFailed, "items[0].unitPriceMinor"},
		{[]object{{"taxRatePpm": 1}, nil, nil}, app.CodeValidationFailed, "items[0].taxRatePpm"},
		{[]object{nil, {"options": []any{object{"optionId": olives.ID}}}, nil}, app.CodeValidationFailed,
			"items[1].options"},
		{[]object{nil, {"productId": dish.ID, "taxRatePpm": 1}, nil}, app.CodeValidationFailed, "items[1].taxRatePpm"},
		{[]object{nil, nil, {"options": []any{object{"optionId": olives.ID}}, "unitPriceMinor": 1}},
			app.CodeOptionInvalid, "items[2].options[0].optionId"},
	} {
		w.amend(o, key, items(c.changes...)).refused(c.code, c.path)
	}
	// The dish of a priced line is sold out: less of it is possible, more is not.
	w.changeProduct(pizza, object{"isAvailable": false})
	w.amend(o, key, items(object{"quantity": 4}, nil, nil)).refused(app.CodeProductUnavailable, "items[0].productId")
	w.amend(o, key, items(object{"quantity": 1, "unitPriceMinor": 950}, object{"quantity": 9}, nil)).ok(200, &o)
	check("fewer units, and more of a line without a product", "pizza "+pizza.Name+" 1×950 70000", "- Mug 9×5 50000",
		"pizza Calzone 2×0 1")
}

// A changed channel order takes and returns the stock of its priced lines. Lines without a product have none.
func TestStockOfChannelOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, scarce := w.pricing(), w.createProduct(object{"stockQuantity": 5})
	line := object{"productId": scarce.ID, "quantity": 2, "unitPriceMinor": 1}
	bag := object{"name": "Bag", "quantity": 9, "unitPriceMinor": 1}
	var o orderOut
	w.do("POST", "/orders", key, w.ordering(line, bag)).ok(201, &o)
	change := func(want int64, items ...any) {
		t.Helper()
		w.amend(o, key, object{"items": items}).ok(200, &o)
		if left := w.stockOf(scarce); left != want {
			t.Errorf("stock: got %d, want %d", left, want)
		}
	}
	change(1, kept(o.Items[0], object{"quantity": 4}), kept(o.Items[1], nil))
	w.amend(o, key, object{"items": []any{kept(o.Items[0], object{"quantity": 6})}}).
		refused(app.CodeProductUnavailable, "items[0].quantity")
	change(5, kept(o.Items[0], object{"name": "Other", "unitPriceMinor": 1}), kept(o.Items[1], nil))
	change(4, kept(o.Items[0], nil), kept(o.Items[1], object{"productId": scarce.ID, "quantity": 1}))
	w.do("PATCH", "/orders/"+string(o.ID)+"/status", key, statusBody("CANCELLED")).ok(200, nil)
	if left := w.stockOf(scarce); left != 5 {
		t.Errorf("stock after the cancellation: got %d, want 5", left)
	}
}
