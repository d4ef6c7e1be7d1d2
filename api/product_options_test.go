package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// size and extras are option groups of requests.
func size() object {
	return object{
		"name": "Size", "translations": object{"en": object{"name": "Choose a size"}}, "minSelections": 1,
		"options": []any{
			object{"name": "Klein", "translations": object{"en": object{"name": "Small"}}, "prices": object{"USD": 0}},
			object{"name": "Groß", "priceMinor": 200, "prices": object{"USD": 250}},
		},
	}
}

func extras() object {
	return object{
		"name": "Extras", "maxSelections": 3,
		"options": []any{
			object{"name": "Oliven", "priceMinor": 150, "prices": object{"USD": 160}, "maxQuantity": 2},
			object{"name": "Chili", "priceMinor": 50, "isAvailable": false},
		},
	}
}

// addDish adds a product with option groups.
func (w *world) addDish(groups ...any) app.Product {
	w.Helper()
	var dish app.Product
	w.do("POST", "/products", w.tokens["OWNER"],
		altered(productBody(), object{"prices": object{"USD": 1300}, "optionGroups": groups})).ok(201, &dish)
	return dish
}

func TestOptionGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size(), extras())
	id := func(group, option int) app.OptionID { return dish.OptionGroups[group].Options[option].ID }
	none, noPrices := map[string]app.OptionText{}, map[app.Currency]int64{}
	want := []app.OptionGroup{
		{
			ID: dish.OptionGroups[0].ID, Name: "Size", Translations: map[string]app.OptionText{"en": {Name: "Choose a size"}},
			MinSelections: 1, MaxSelections: 1, Options: []app.Option{
				{ID: id(0, 0), Name: "Klein", Translations: map[string]app.OptionText{"en": {Name: "Small"}},
					Prices: map[app.Currency]int64{"USD": 0}, IsAvailable: true, MaxQuantity: 1},
				{ID: id(0, 1), Name: "Groß", Translations: none, PriceMinor: 200,
					Prices: map[app.Currency]int64{"USD": 250}, IsAvailable: true, MaxQuantity: 1},
			},
		},
		{
			ID: dish.OptionGroups[1].ID, Name: "Extras", Translations: none, MaxSelections: 3, Options: []app.Option{
				{ID: id(1, 0), Name: "Oliven", Translations: none, PriceMinor: 150,
					Prices: map[app.Currency]int64{"USD": 160}, IsAvailable: true, MaxQuantity: 2},
				{ID: id(1, 1), Name: "Chili", Translations: none, PriceMinor: 50, Prices: noPrices, MaxQuantity: 1},
			},
		},
	}
	if diff := cmp.Diff(want, dish.OptionGroups); diff != "" {
		t.Error("created (-want +got):", diff)
	}
	ids := map[string]bool{}
	for _, group := range dish.OptionGroups {
		ids[string(group.ID)] = strings.HasPrefix(string(group.ID), "opg_")
		for _, option := range group.Options {
			ids[string(option.ID)] = strings.HasPrefix(string(option.ID), "opt_")
		}
	}
	for id, prefixed := range ids {
		if !prefixed || len(ids) != 6 {
			t.Errorf("ids: got %s among %d, want six with the prefixes opg and opt", id, len(ids))
		}
	}
	path := "/products/" + string(dish.ID)
	var shown app.Product
	w.do("GET", path+"?own=true", w.tokens["STAFF"], nil).ok(200, &shown)
	if diff := cmp.Diff(dish, shown); diff != "" {
		t.Error("GET (-want +got):", diff)
	}
	var event app.Product
	for _, data := range w.eventData("own", app.EventProductCreated) { // of one millisecond, in any order
		if strings.Contains(string(data), string(dish.ID)) {
			w.read(data, &event)
		}
	}
	if diff := cmp.Diff(dish, event); diff != "" {
		t.Error("product.created (-want +got):", diff)
	}

	// In the view in US dollars, an option without a price in this currency cannot be ordered.
	w.do("PATCH", path, w.tokens["OWNER"], object{"optionGroups": changedGroups(dish, func(groups []app.OptionGroup) {
		groups[1].Options[1].IsAvailable = true
	})}).ok(200, &dish)
	english := w.inView("USD")
	w.do("GET", path, english, nil).ok(200, &shown)
	got := []string{}
	for _, group := range shown.OptionGroups {
		for _, o := range group.Options {
			got = append(got, fmt.Sprint(group.Name, "/", o.Name, " ", o.PriceMinor, " ", o.IsAvailable))
		}
	}
	if diff := cmp.Diff([]string{
		"Choose a size/Small 0 true", "Choose a size/Groß 250 true", "Extras/Oliven 160 true", "Extras/Chili 50 false",
	}, got); diff != "" {
		t.Error("in US dollars (-want +got):", diff)
	}
	// A product without a price in the currency of the view keeps its currency, and so do its options.
	w.do("PATCH", path, w.tokens["OWNER"], object{"prices": object{"USD": json.RawMessage("null")}}).ok(200, nil)
	w.do("GET", path, english, nil).ok(200, &shown)
	if o := shown.OptionGroups[1].Options[1]; shown.Currency != "EUR" || o.PriceMinor != 50 || !o.IsAvailable {
		t.Errorf("without a price in US dollars: got %s, %+v, want an available option for 50 EUR", shown.Currency, o)
	}
}

// TestListedProducts compares the products of lists, which contain stored JSON, with decoded products in several views.
func TestListedProducts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[app.ProductID]app.Product{w.stores["own"].product.ID: w.stores["own"].product}
	for _, p := range []app.Product{
		w.addDish(size(), extras()), w.addDish(extras()),
		w.addDish(object{"name": "Größe <1>", "options": []any{
			object{"name": `"en":`, "translations": object{"fr-CA": object{"name": "Petit"}}, "prices": object{"CAD": 1}},
		}}),
	} {
		want[p.ID] = p
	}
	// A product without a price in the currency of a view has the texts of the view.
	var unpriced app.Product
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{
		"prices": object{}, "translations": object{"en": object{"name": "Dish"}}, "optionGroups": []any{extras()},
	})).ok(201, &unpriced)
	want[unpriced.ID] = unpriced
	check := func(name, query string, shown func(app.Product) app.Product) {
		var page []app.Product
		w.do("GET", "/products?"+query, w.tokens["STAFF"], nil).ok(200, &page)
		for _, product := range page {
			if diff := cmp.Diff(shown(want[product.ID]), product); diff != "" {
				t.Errorf("%s (-want +got): %s", name, diff)
			}
		}
		if len(page) != len(want) {
			t.Errorf("%s: got %d products, want %d", name, len(page), len(want))
		}
	}
	check("own", "own=true", func(p app.Product) app.Product { return p })
	for _, view := range []app.StoreView{
		{Locale: "de-DE", Currency: "EUR"}, {Locale: "en-GB", Currency: "EUR"}, {Locale: "en", Currency: "EUR"},
		{Locale: "fr-CA", Currency: "EUR"}, {Locale: "fr-FR", Currency: "EUR"}, {Locale: "id-ID", Currency: "EUR"},
		{Locale: "de-DE", Currency: "USD"}, {Locale: "en-US", Currency: "USD"}, {Locale: "de-DE", Currency: "CAD"},
	} {
		code := strings.ToLower(strings.ReplaceAll(view.Locale, "-", "_") + "_" + string(view.Currency))
		body := object{"code": code, "locale": view.Locale, "currency": view.Currency}
		w.do("POST", "/store/views", w.tokens["ADMIN"], body).ok(201, &view)
		shown := func(p app.Product) app.Product { return p.In(view) }
		check(code, "storeViewId="+string(view.ID), shown)
		check(code+" again", "storeViewId="+string(view.ID), shown)
		var changed app.Product
		w.do("PATCH", "/products/"+string(unpriced.ID), w.tokens["OWNER"], object{
			"description": code, "prices": object{"USD": len(code)}, "translations": object{"en": object{"name": code}},
			"optionGroups": []any{altered(extras(), object{"name": code, "translations": object{}})},
		}).ok(200, &changed)
		want[changed.ID] = changed
		check(code+" after a change", "storeViewId="+string(view.ID), shown)
	}
}

func TestProductViewsAreLimited(t *testing.T) {
	t.Parallel()
	for name, large := range map[string]viewedProduct{
		"option groups":  {optionGroups: make([]byte, maxViewed/4)},
		"a description":  {description: strings.Repeat("x", maxViewed/4)},
		"a name as long": {name: strings.Repeat("x", maxViewed/4)},
	} {
		var views productViews
		for version := range int64(10) {
			views.add(viewedKey{version: version}, large)
			if _, ok := views.viewed[viewedKey{version: version}]; !ok || len(views.viewed) > 3 || views.size > maxViewed {
				t.Errorf("%s, after %d products: got %d with %d bytes, newest %t; want the newest of at most %d bytes",
					name, version+1, len(views.viewed), views.size, ok, maxViewed)
			}
		}
	}
}

// changedGroups returns the option groups of a product after a change, as in a request.
func changedGroups(p app.Product, change func([]app.OptionGroup)) []app.OptionGroup {
	var groups []app.OptionGroup
	text, err := json.Marshal(p.OptionGroups)
	must(err)
	must(json.Unmarshal(text, &groups))
	change(groups)
	return groups
}

func TestOptionGroupsAreReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size(), extras())
	path := "/products/" + string(dish.ID)
	before := len(w.eventData("own", app.EventProductUpdated))
	updates := func() []json.RawMessage { return w.eventData("own", app.EventProductUpdated)[before:] }

	var same app.Product
	w.do("PATCH", path, w.tokens["OWNER"], object{"optionGroups": dish.OptionGroups}).ok(200, &same)
	if diff := cmp.Diff(dish, same); diff != "" || len(updates()) != 0 {
		t.Errorf("the same groups: got %d events, want none; product (-want +got):\n%s", len(updates()), diff)
	}
	// A group without its id is new, also with the options of the former one. An option can change its group.
	var changed app.Product
	w.do("PATCH", path, w.tokens["OWNER"], object{"optionGroups": changedGroups(dish, func(groups []app.OptionGroup) {
		groups[0].ID, groups[0].Name = "", "Portion"
		groups[0].Options = append(groups[0].Options, groups[1].Options[0])
		groups[1].Options = groups[1].Options[1:]
		groups[1].Options[0].ID = ""
	})}).ok(200, &changed)
	old, now := dish.OptionGroups, changed.OptionGroups
	if now[0].ID == old[0].ID || now[0].ID == "" || now[0].Name != "Portion" ||
		now[0].Options[0].ID != old[0].Options[0].ID ||
		now[0].Options[2].ID != old[1].Options[0].ID || now[1].ID != old[1].ID ||
		now[1].Options[0].ID == old[1].Options[1].ID || now[1].Options[0].ID == "" {
		t.Errorf("replaced groups: got %+v after %+v, want new ids where the request named none", now, old)
	}
	var event app.ProductUpdated
	if all := updates(); len(all) != 1 {
		t.Fatalf("product.updated: got %d events, want 1", len(all))
	}
	w.read(updates()[0], &event)
	if diff := cmp.Diff(app.ProductUpdated{Product: changed, ChangedFields: []string{"optionGroups"}}, event); diff != "" {
		t.Error("product.updated (-want +got):", diff)
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"optionGroups": []any{}}).ok(200, &changed)
	if len(changed.OptionGroups) != 0 {
		t.Errorf("after an empty array: got %+v, want no groups", changed.OptionGroups)
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"optionGroups": dish.OptionGroups}).
		refused(app.CodeValidationFailed, "optionGroups[0].id", "optionGroups[0].options[0].id",
			"optionGroups[0].options[1].id", "optionGroups[1].id", "optionGroups[1].options[0].id",
			"optionGroups[1].options[1].id")
}

func TestMostOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options := make([]any, 100)
	for i := range options {
		options[i] = object{"name": fmt.Sprint("Option ", i), "priceMinor": i}
	}
	groups := make([]any, 20)
	for i := range groups {
		groups[i] = object{"name": fmt.Sprint("Group ", i), "options": options, "maxSelections": 100}
	}
	dish := w.addDish(groups...)
	if n := len(dish.OptionGroups); n != 20 || len(dish.OptionGroups[19].Options) != 100 {
		t.Errorf("got %d groups, want 20 with 100 options each", n)
	}
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"],
		object{"optionGroups": append(groups, object{"name": "x", "options": options[:1]})}).
		refused(app.CodeValidationFailed, "optionGroups")
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"],
		object{"optionGroups": []any{object{"name": "x", "options": append(options, options[0])}}}).
		refused(app.CodeValidationFailed, "optionGroups[0].options")
}

func TestBadOptionGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.addDish(size())
	other := w.addDish(size())
	group := func(change object) []any { return []any{altered(size(), change)} }
	option := func(change object) []any {
		return group(object{"options": []any{object{"name": "x"}, altered(object{"name": "y"}, change)}})
	}
	known := dish.OptionGroups[0]
	for name, c := range map[string]struct {
		groups any
		paths  string
	}{
		"an object":         {object{}, "optionGroups"},
		"null":              {json.RawMessage("null"), "optionGroups"},
		"a group null":      {[]any{nil}, "optionGroups[0]"},
		"no name":           {group(object{"name": nil}), "optionGroups[0].name"},
		"a blank name":      {group(object{"name": " "}), "optionGroups[0].name"},
		"a long name":       {group(object{"name": strings.Repeat("é", 201)}), "optionGroups[0].name"},
		"no options":        {group(object{"options": nil}), "optionGroups[0].options"},
		"an empty list":     {group(object{"options": []any{}}), "optionGroups[0].options"},
		"an unknown member": {group(object{"price": 1}), "optionGroups[0].price"},
		"a bad locale": {
			group(object{"translations": object{"DE": object{"name": "x"}}}), "optionGroups[0].translations.DE",
		},
		"an empty translation": {
			group(object{"translations": object{"de": object{}}}), "optionGroups[0].translations.de.name",
		},
		"a negative minimum":   {group(object{"minSelections": -1}), "optionGroups[0].minSelections"},
		"a maximum of 0":       {group(object{"maxSelections": 0}), "optionGroups[0].maxSelections"},
		"a maximum of 1000":    {group(object{"maxSelections": 1000}), "optionGroups[0].maxSelections"},
		"minimum over maximum": {group(object{"minSelections": 2}), "optionGroups[0].minSelections"},
		"too few options":      {group(object{"minSelections": 3, "maxSelections": 3}), "optionGroups[0].minSelections"},
		"an unknown group":     {group(object{"id": "opg_1"}), "optionGroups[0].id"},
		"another's group":      {group(object{"id": other.OptionGroups[0].ID}), "optionGroups[0].id"},
		"an option's id":       {group(object{"id": known.Options[0].ID}), "optionGroups[0].id"},
		"no id":                {group(object{"id": "a b"}), "optionGroups[0].id"},
		"a group twice": {
			append(group(object{"id": known.ID}), group(object{"id": known.ID})...), "optionGroups[1].id",
		},
		"an option twice": {
			group(object{"options": []any{known.Options[0], known.Options[0]}}), "optionGroups[0].options[1].id",
		},
		"an option in two groups": {
			append(group(object{"options": []any{known.Options[0]}}), group(object{"options": []any{known.Options[0]}})...),
			"optionGroups[1].options[0].id",
		},
		"an unknown option":     {option(object{"id": "opt_1"}), "optionGroups[0].options[1].id"},
		"a group's id":          {option(object{"id": known.ID}), "optionGroups[0].options[1].id"},
		"option without name":   {option(object{"name": nil}), "optionGroups[0].options[1].name"},
		"a negative price":      {option(object{"priceMinor": -1}), "optionGroups[0].options[1].priceMinor"},
		"too high a price":      {option(object{"priceMinor": int64(1e12) + 1}), "optionGroups[0].options[1].priceMinor"},
		"a fraction":            {option(object{"priceMinor": 0.5}), "optionGroups[0].options[1].priceMinor"},
		"an unknown currency":   {option(object{"prices": object{"XXX": 1}}), "optionGroups[0].options[1].prices.XXX"},
		"the product's own":     {option(object{"prices": object{"EUR": 1}}), "optionGroups[0].options[1].prices.EUR"},
		"a negative USD price":  {option(object{"prices": object{"USD": -1}}), "optionGroups[0].options[1].prices.USD"},
		"a quantity of 0":       {option(object{"maxQuantity": 0}), "optionGroups[0].options[1].maxQuantity"},
		"availability a number": {option(object{"isAvailable": 1}), "optionGroups[0].options[1].isAvailable"},
	} {
		a := w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"], object{"optionGroups": c.groups})
		a.what = "PATCH: " + name
		a.refused(app.CodeValidationFailed, c.paths)
		if name == "an option twice" || name == "an option in two groups" || name == "a group twice" {
			continue
		}
		a = w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"optionGroups": c.groups}))
		a.what = "POST: " + name
		a.refused(app.CodeValidationFailed, c.paths)
	}
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"optionGroups": dish.OptionGroups})).
		refused(app.CodeValidationFailed, "optionGroups[0].id", "optionGroups[0].options[0].id",
			"optionGroups[0].options[1].id")
	// A new currency of the product is the currency of its options' priceMinor.
	w.do("PATCH", "/products/"+string(dish.ID), w.tokens["OWNER"],
		object{"currency": "USD", "prices": object{"USD": json.RawMessage("null")}}).
		refused(app.CodeValidationFailed, "optionGroups[0].options[0].prices.USD",
			"optionGroups[0].options[1].prices.USD")
}
