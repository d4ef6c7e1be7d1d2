package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// chosen is an item of an order with options, given as alternating ids and quantities; quantity 0 is omitted.
func chosen(dish app.Product, quantity int, options ...any) object {
	list := []any{}
	for i := 0; i < len(options); i += 2 {
		option := object{"optionId": options[i]}
		if options[i+1] != 0 {
			option["quantity"] = options[i+1]
		}
		list = append(list, option)
	}
	return object{"productId": dish.ID, "quantity": quantity, "options": list}
}

// ordering is the body of an order of items.
func (w *world) ordering(items ...any) map[string]any {
	return altered(w.orderBody("own"), object{"items": items})
}

// itemsOf returns the items of an order without their ids, which must be different.
func (w *world) itemsOf(order app.Order) (items []app.QuotedItem) {
	w.Helper()
	ids := map[app.OrderItemID]bool{}
	for _, item := range order.Items {
		items = append(items, item.QuotedItem)
		ids[item.ID] = strings.HasPrefix(string(item.ID), "itm_")
	}
	if len(ids) != len(items) || slices.Contains(slices.Collect(maps.Values(ids)), false) {
		w.Errorf("got the ids of items %v, want one id for each of %d items", ids, len(items))
	}
	return items
}

func TestOrderWithOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size(), extras())
	large, olives := dish.OptionGroups[0].Options[1], dish.OptionGroups[1].Options[0]
	body := altered(w.ordering(altered(chosen(dish, 3, olives.ID, 2, large.ID, 0), object{"note": "Well <done>"})),
		object{"discountMinor": 100})
	want := []app.QuotedItem{{
		ProductID: new(dish.ID), ProductName: "Lasagne", Quantity: 3, UnitPriceMinor: 1750, TotalMinor: 5250,
		TaxRatePPM: 70_000, Options: []app.OrderOption{
			{GroupID: dish.OptionGroups[0].ID, GroupName: "Size", OptionID: large.ID, Name: "Groß", Quantity: 1,
				PriceMinor: 200},
			{GroupID: dish.OptionGroups[1].ID, GroupName: "Extras", OptionID: olives.ID, Name: "Oliven", Quantity: 2,
				PriceMinor: 150},
		}, Note: "Well <done>",
	}}
	taxes := []app.Tax{{RatePPM: 70_000, BaseMinor: 4813, TaxMinor: 337}}
	var quote app.OrderQuote
	w.do("POST", "/orders/quote", w.tokens["OWNER"], body).ok(200, &quote)
	var placed orderOut
	w.do("POST", "/orders", w.tokens["OWNER"], body).ok(201, &placed)

	// Later changes of the product do not change the order.
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"],
		object{"optionGroups": []any{}, "sku": "L"}).ok(200, nil)
	var shown orderOut
	w.do("GET", "/orders/"+string(placed.ID), w.tokens["OWNER"], nil).ok(200, &shown)
	w.do("PATCH", "/orders/"+string(placed.ID)+"/status", w.tokens["OWNER"], object{"status": "COMPLETED"}).ok(200, nil)
	found := map[string][]app.QuotedItem{
		"quote": quote.Items, "placed": w.itemsOf(placed.Order), "GET": w.itemsOf(shown.Order),
	}
	rates := map[string][]app.Tax{"quote": quote.Taxes, "placed": placed.Taxes, "GET": shown.Taxes}
	for _, event := range []app.EventType{app.EventOrderCreated, app.EventOrderStatusUpdated, app.EventOrderCompleted} {
		for _, data := range w.eventData("own", event) {
			var order app.Order
			if w.read(data, &order); order.ID == placed.ID {
				found[string(event)], rates[string(event)] = w.itemsOf(order), order.Taxes
			}
		}
	}
	if len(found) != 6 {
		t.Errorf("got %v, want three responses and three events", slices.Collect(maps.Keys(found)))
	}
	for what, items := range found {
		if diff := cmp.Diff(want, items); diff != "" {
			t.Errorf("items of %s (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(taxes, rates[what]); diff != "" {
			t.Errorf("taxes of %s (-want +got):\n%s", what, diff)
		}
	}
	if placed.TotalMinor != 5150 || placed.TaxMinor != 337 || quote.TotalMinor != 5150 {
		t.Errorf("total and tax: got %d, %d and %d in the quote, want 5150, 337 and 5150", placed.TotalMinor,
			placed.TaxMinor, quote.TotalMinor)
	}
}

// TestOptionsInAView checks names and prices in another language and currency.
func TestOptionsInAView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size(), extras())
	small, olives := dish.OptionGroups[0].Options[0], dish.OptionGroups[1].Options[0]
	var placed orderOut
	english := w.inView("USD")
	w.do("POST", "/orders", english, w.ordering(chosen(dish, 1, small.ID, 0, olives.ID, 1))).ok(201, &placed)
	got := placed.Items[0]
	if got.UnitPriceMinor != 1460 || got.Options[0].GroupName != "Choose a size" || got.Options[0].Name != "Small" ||
		got.Options[1].GroupName != "Extras" || got.Options[1].Name != "Oliven" || got.Options[1].PriceMinor != 160 {
		t.Errorf("in US dollars: got %+v, want Small and Oliven for 1460", got)
	}
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": changedGroups(dish,
		func(groups []app.OptionGroup) { clear(groups[1].Options[0].Prices) })}).ok(200, nil)
	for _, path := range []string{"/orders", "/orders/quote"} {
		w.do("POST", path, english, w.ordering(chosen(dish, 1, small.ID, 0, olives.ID, 1))).
			refused(app.CodePriceNotSet, "items[0].options[1].optionId")
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish, other := w.addDish(size(), extras()), w.addDish(size())
	small, large := dish.OptionGroups[0].Options[0].ID, dish.OptionGroups[0].Options[1].ID
	olives, chili := dish.OptionGroups[1].Options[0].ID, dish.OptionGroups[1].Options[1].ID
	plain := object{"productId": w.stores["own"].product.ID, "quantity": 1}
	for name, c := range map[string]struct {
		item any
		path string
	}{
		"unknown": {chosen(dish, 1, small, 0, "opt_unknown", 0), "options[1].optionId"},
		"of another product": {
			chosen(dish, 1, other.OptionGroups[0].Options[0].ID, 0, small, 1), "options[0].optionId",
		},
		"a group's id":      {chosen(dish, 1, small, 0, dish.OptionGroups[1].ID, 0), "options[1].optionId"},
		"not available":     {chosen(dish, 1, small, 0, chili, 0), "options[1].optionId"},
		"twice":             {chosen(dish, 1, small, 0, olives, 1, olives, 1), "options[2].optionId"},
		"too often":         {chosen(dish, 1, small, 0, olives, 3), "options[1].quantity"},
		"999 times":         {chosen(dish, 1, olives, 999, small, 0), "options[0].quantity"},
		"below the minimum": {chosen(dish, 1, olives, 1), "options"},
		"no options":        {chosen(dish, 1), "options"},
		"options omitted":   {object{"productId": dish.ID, "quantity": 1}, "options"},
		"above the maximum": {chosen(dish, 1, small, 0, large, 0), "options"},
		"of no options": {
			altered(plain, object{"options": []any{object{"optionId": small}}}), "options[0].optionId",
		},
	} {
		for _, path := range []string{"/orders", "/orders/quote"} {
			a := w.do("POST", path, w.tokens["OWNER"], w.ordering(plain, c.item))
			a.what = path + ": " + name
			a.refused(app.CodeOptionInvalid, "items[1]."+c.path)
		}
	}
	for name, c := range map[string]struct {
		item any
		path string
	}{
		"an object": {altered(plain, object{"options": object{}}), "options"},
		"null":      {altered(plain, object{"options": json.RawMessage("null")}), "options"},
		"no id":     {altered(plain, object{"options": []any{object{}}}), "options[0].optionId"},
		"a bad id":  {chosen(dish, 1, "' OR 1=1", 0), "options[0].optionId"},
		"a price": {
			altered(plain, object{"options": []any{object{"optionId": small, "priceMinor": 1}}}),
			"options[0].priceMinor",
		},
		"quantity -1":   {chosen(dish, 1, small, -1), "options[0].quantity"},
		"quantity 1000": {chosen(dish, 1, small, 1000), "options[0].quantity"},
		"a long note":   {altered(plain, object{"note": strings.Repeat("é", 201)}), "note"},
		"a note of 1":   {altered(plain, object{"note": 1}), "note"},
		"2001 of them": {
			altered(plain, object{"options": slices.Repeat([]any{object{"optionId": small}}, 2001)}), "options",
		},
		"a quantity of 0": {
			altered(plain, object{"options": []any{object{"optionId": small, "quantity": 0}}}), "options[0].quantity",
		},
	} {
		a := w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(plain, c.item))
		a.what = name
		a.refused(app.CodeValidationFailed, "items[1]."+c.path)
	}
	// Two options of one group count together: the sum of the quantities meets the bounds.
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": changedGroups(dish,
		func(groups []app.OptionGroup) {
			groups[1].Options[1].IsAvailable = true
			groups[1].MinSelections, groups[1].MaxSelections = 3, 3
		})}).ok(200, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(chosen(dish, 1, small, 0, olives, 2, chili, 1))).ok(201, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(chosen(dish, 1, small, 0, olives, 2))).
		refused(app.CodeOptionInvalid, "items[0].options")
}

// TestOptionsChangeAfterTheQuote removes an option, and changes its price, between the quote and the order.
func TestOptionsChangeAfterTheQuote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(extras())
	body := w.ordering(chosen(dish, 1, dish.OptionGroups[0].Options[0].ID, 1))
	var quote app.OrderQuote
	w.do("POST", "/orders/quote", w.tokens["STAFF"], body).ok(200, &quote)
	body["expectedTotalMinor"] = quote.TotalMinor
	change := func(change func(*app.Option)) {
		w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": changedGroups(dish,
			func(groups []app.OptionGroup) { change(&groups[0].Options[0]) })}).ok(200, nil)
	}
	change(func(o *app.Option) { o.PriceMinor++ })
	w.do("POST", "/orders", w.tokens["STAFF"], body).refused(app.CodeTotalMismatch)
	change(func(o *app.Option) { o.IsAvailable = false })
	w.do("POST", "/orders", w.tokens["STAFF"], body).refused(app.CodeOptionInvalid, "items[0].options[0].optionId")
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": []any{}}).ok(200, nil)
	w.do("POST", "/orders", w.tokens["STAFF"], body).refused(app.CodeOptionInvalid, "items[0].options[0].optionId")
}

// TestMostOptionsOfAnOrder orders the largest product with all options, and with the highest prices.
func TestMostOptionsOfAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options := make([]any, 100)
	for i := range options {
		options[i] = object{"name": fmt.Sprint("Option ", i), "priceMinor": 1, "maxQuantity": 999}
	}
	dish := w.addDish(slices.Repeat([]any{object{"name": "All", "options": options, "maxSelections": 999}}, 20)...)
	var all []any
	for _, group := range dish.OptionGroups {
		for _, option := range group.Options {
			all = append(all, option.ID, 1)
		}
	}
	var placed orderOut
	w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(chosen(dish, 1, all...))).ok(201, &placed)
	if item := placed.Items[0]; len(item.Options) != 2000 || item.UnitPriceMinor != 1250+2000 {
		t.Errorf("got %d options for %d, want 2000 for 3250", len(item.Options), item.UnitPriceMinor)
	}
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": changedGroups(dish,
		func(groups []app.OptionGroup) {
			for _, group := range groups {
				for i := range group.Options {
					group.Options[i].PriceMinor = app.MaxPriceMinor
				}
			}
		})}).ok(200, nil)
	var most []any
	for _, group := range dish.OptionGroups {
		most = append(most, group.Options[0].ID, 999)
	}
	for _, path := range []string{"/orders", "/orders/quote"} {
		w.do("POST", path, w.tokens["OWNER"], w.ordering(chosen(dish, 999, most...))).refused(app.CodeAmountTooLarge)
	}
}

// TestTaxesByRate checks the sums of the rates, with prices that include tax and that do not.
func TestTaxesByRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(extras())
	var drink app.Product
	w.do("POST", "/products", w.tokens["OWNER"],
		altered(productBody(), object{"priceMinor": 333, "taxRatePpm": 190_000, "sku": "D-1"})).ok(201, &drink)
	body := altered(w.ordering(chosen(dish, 1, dish.OptionGroups[0].Options[0].ID, 1), chosen(drink, 3)), delivery())
	for included, want := range map[bool][]app.Tax{
		true: {
			{RatePPM: 70_000, BaseMinor: 1542, TaxMinor: 108}, // (1250 + 150 + 250) / 1.07
			{RatePPM: 190_000, BaseMinor: 839, TaxMinor: 160}, // 999 / 1.19
		},
		false: {{RatePPM: 70_000, BaseMinor: 1650, TaxMinor: 116}, {RatePPM: 190_000, BaseMinor: 999, TaxMinor: 190}},
	} {
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{"taxIncluded": included, "taxDeliveryFee": true}).ok(200,
			nil)
		var placed orderOut
		w.do("POST", "/orders", w.tokens["OWNER"], body).ok(201, &placed)
		if diff := cmp.Diff(want, placed.Taxes); diff != "" || placed.TaxMinor != want[0].TaxMinor+want[1].TaxMinor {
			t.Errorf("tax included %t: got tax %d and taxes (-want +got):\n%s", included, placed.TaxMinor, diff)
		}
		if got := placed.Items[1]; got.SKU != "D-1" || got.TaxRatePPM != 190_000 || placed.Items[0].SKU != "" {
			t.Errorf("items: got %+v, want the SKU D-1 and the rate 190000", placed.Items)
		}
		var shown orderOut
		w.do("GET", "/orders/"+string(placed.ID), w.tokens["OWNER"], nil).ok(200, &shown)
		if diff := cmp.Diff(want, shown.Taxes); diff != "" {
			t.Errorf("stored taxes, tax included %t (-want +got):\n%s", included, diff)
		}
	}
}
