package api

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestOptionSales(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size(), extras())
	sizes, extra := dish.OptionGroups[0], dish.OptionGroups[1]
	small, large, olives := sizes.Options[0].ID, sizes.Options[1].ID, extra.Options[0].ID
	// Two of 1250 + 200 + 2 × 150 with a discount of 10 %, then one in US dollars, then a cancelled one.
	w.do("POST", "/orders", w.tokens["OWNER"],
		altered(w.ordering(chosen(dish, 2, large, 0, olives, 2)), object{"discountMinor": 350})).ok(201, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(chosen(dish, 1, small, 0), chosen(dish, 3, small, 0))).
		ok(201, nil)
	w.do("POST", "/orders", w.inView("USD"), w.ordering(chosen(dish, 3, small, 0, olives, 1))).ok(201, nil)
	var cancelled orderOut
	w.do("POST", "/orders", w.tokens["OWNER"], w.ordering(chosen(dish, 7, large, 0))).ok(201, &cancelled)
	w.do("PATCH", "/orders/"+string(cancelled.ID)+"/status", w.tokens["OWNER"],
		object{"status": "CANCELLED", "cancellationReason": "x"}).ok(200, nil)

	row := func(
		group app.OptionGroup, option app.OptionID, name string, currency app.Currency, quantity, net int64,
	) app.OptionSales {
		return app.OptionSales{
			ProductID: dish.ID, GroupID: group.ID, GroupName: group.Name, OptionID: option, Name: name,
			Currency: currency, Quantity: quantity, NetMinor: net,
		}
	}
	want := []app.OptionSales{
		row(extra, olives, "Oliven", "EUR", 4, 540), row(sizes, large, "Groß", "EUR", 2, 360),
		row(sizes, small, "Klein", "EUR", 4, 0),
		row(extra, olives, "Oliven", "USD", 3, 480), row(sizes, small, "Klein", "USD", 3, 0),
	}
	const march = "/analytics/options?from=2026-03-01&to=2026-03-31"
	var all, page []app.OptionSales
	w.do("GET", march, w.tokens["OWNER"], nil).ok(200, &all)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("options sold in March (-want +got):\n%s", diff)
	}
	all = nil
	for cursor := ""; ; {
		a := w.do("GET", march+"&limit=2"+cursor, w.key("own", app.ScopeReadAnalytics), nil).ok(200, &page)
		all = append(all, page...)
		next, more := a.body.Meta["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("in pages of two (-want +got):\n%s", diff)
	}
	w.do("GET", "/analytics/options?from=2026-03-15&to=2026-03-31", w.tokens["OWNER"], nil).ok(200, &page)
	if len(page) != 0 {
		t.Errorf("after the day of the orders: got %+v, want none", page)
	}
	w.do("GET", "/analytics/options?from=2026-03-15&to=2026-03-14", w.tokens["OWNER"], nil).
		refused(app.CodeValidationFailed, "to")
	w.do("GET", march, w.tokens["MANAGER"], nil).refused(app.CodeInsufficientRole)

	// An existing option has its current name, a removed one that of its last order.
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": changedGroups(dish,
		func(groups []app.OptionGroup) {
			groups[0].Name, groups[0].Options[0].Name = "Portion", "Mini"
			groups[1].Options = groups[1].Options[1:]
		})}).ok(200, nil)
	w.do("GET", march, w.tokens["OWNER"], nil).ok(200, &page)
	for _, i := range []int{1, 2, 4} {
		want[i].GroupName = "Portion"
	}
	want[2].Name, want[4].Name = "Mini", "Mini"
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("after changes of the options (-want +got):\n%s", diff)
	}

	// Staff read the texts of the default view (de-DE), including texts that exist for the language only.
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{
		"translations": object{"de": object{"name": "Auflauf"}, "fr": object{"name": "Gratin"}},
		"optionGroups": changedGroups(dish, func(groups []app.OptionGroup) {
			groups[0].Translations = map[string]app.OptionText{"de": {Name: "Größe"}, "fr": {Name: "Taille"}}
			groups[0].Options[0].Translations = map[string]app.OptionText{"de": {Name: "x"}, "de-DE": {Name: "Winzig"}}
			groups[1].Options = groups[1].Options[1:]
		}),
	}).ok(200, nil)
	w.do("GET", march, w.tokens["OWNER"], nil).ok(200, &page)
	for _, row := range page {
		if row.GroupID == sizes.ID && row.GroupName != "Größe" || row.OptionID == small && row.Name != "Winzig" {
			t.Errorf("in the default view: got %s of %s, want Winzig of Größe", row.Name, row.GroupName)
		}
	}
	var products []app.ProductSales
	w.do("GET", "/analytics/products?from=2026-03-01&to=2026-03-31", w.tokens["OWNER"], nil).ok(200, &products)
	for _, row := range products {
		if *row.ProductID == dish.ID && row.ProductName != "Auflauf" {
			t.Errorf("product in the default view: got %s, want Auflauf", row.ProductName)
		}
	}
}
