package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// eventData returns the data of a store's events of some types, oldest first.
func (w *world) eventData(store string, types ...app.EventType) (data []json.RawMessage) {
	w.Helper()
	rows, err := w.db.System().DB.QueryContext(w.Context(),
		"SELECT type, body FROM outbox WHERE store_id = $1 ORDER BY id", w.stores[store].id)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var t app.EventType
		var body []byte
		w.must(rows.Scan(&t, &body))
		if slices.Contains(types, t) {
			var envelope struct{ Data json.RawMessage }
			w.must(json.Unmarshal(body, &envelope))
			data = append(data, envelope.Data)
		}
	}
	w.must(rows.Err())
	return data
}

func (w *world) read(data []byte, into any) {
	w.Helper()
	w.must(json.Unmarshal(data, into))
}

func ifMatch(version int64) func(*http.Request) {
	return header("If-Match", fmt.Sprintf(`"%d"`, version))
}

func TestCreateAndShowAProduct(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{
		"sku": "L-1", "name": "Lasagne <al forno> & 🧀", "description": "ラザニア", "category": "pasta",
		"imageUrl":   "https://example.com/l.jpg",
		"priceMinor": 0, "currency": "EUR", "prices": object{"USD": 1350, "JPY": 1900, "KWD": 4125},
		"translations": object{
			"en": object{"name": "Lasagna", "description": "Baked"}, "zh-Hant-TW": object{"name": "千層麵"},
		},
		"taxRatePpm": 0, "isAvailable": false, "stockQuantity": 0,
	}
	var created app.Product
	w.do("POST", "/products", w.tokens["MANAGER"], body).ok(201, &created)
	zero := int64(0)
	want := app.Product{
		ID: created.ID, StoreID: w.stores["own"].id, SKU: "L-1", Name: "Lasagne <al forno> & 🧀", Description: "ラザニア",
		Category: "pasta",
		ImageURL: "https://example.com/l.jpg", Currency: "EUR",
		Prices: map[app.Currency]int64{"USD": 1350, "JPY": 1900, "KWD": 4125},
		Translations: map[string]app.ProductText{
			"en": {Name: "Lasagna", Description: "Baked"}, "zh-Hant-TW": {Name: "千層麵"},
		},
		TaxRatePPM: &zero, StockQuantity: &zero, OptionGroups: []app.OptionGroup{},
		Metadata: map[string]string{}, Version: 1,
		CreatedAt: app.At(noon), UpdatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Error("created (-want +got):", diff)
	}
	path := "/products/" + string(created.ID)
	var shown app.Product
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error("GET (-want +got):", diff)
	}
	emitted := w.eventData("own", app.EventProductCreated)
	at := slices.IndexFunc(emitted,
		func(data json.RawMessage) bool { return strings.Contains(string(data), string(created.ID)) })
	if len(emitted) != 2 || at < 0 {
		t.Fatalf("product.created: got %s, want two events, one of %s", emitted, created.ID)
	}
	var event app.Product
	w.read(emitted[at], &event)
	if diff := cmp.Diff(want, event); diff != "" {
		t.Error("product.created (-want +got):", diff)
	}
	// In a view of another language and currency; own shows it as it is.
	english := w.inView("USD")
	w.do("GET", path, english, nil).ok(200, &shown)
	if shown.Name != "Lasagna" || shown.PriceMinor != 1350 || shown.Currency != "USD" {
		t.Errorf("in the English view: got %+v, want Lasagna for 1350 USD", shown)
	}
	var page []app.Product
	for request, name := range map[string]string{"/products?own=true": want.Name, "/products?own=false": "Lasagna"} {
		w.run(request, func(t *testing.T) {
			w.do("GET", request, english, nil).ok(200, &page)
			if page[0].Name != name && page[1].Name != name {
				t.Errorf("%s: got %s, want %s", request, names(page), name)
			}
		})
	}
	w.do("GET", path+"?own=true", english, nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error("with own=true (-want +got):", diff)
	}
}

// inView returns a token of STAFF in the view of a currency.
func (w *world) inView(currency app.Currency) string {
	w.Helper()
	token := w.token("STAFF", w.stores["own"].id)
	_, err := w.db.System().DB.ExecContext(w.Context(), `UPDATE sessions SET active_view_id =
		(SELECT id FROM store_views v WHERE v.store_id = active_store_id AND v.currency = $2) WHERE user_id = $1`,
		w.users["STAFF"].ID, currency)
	w.must(err)
	return token
}

func TestProductDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var p app.Product
	a := w.do("POST", "/products", w.key("own", app.ScopeWriteProducts), productBody()).ok(201, &p)
	if !p.IsAvailable || p.TaxRatePPM != nil || p.StockQuantity != nil ||
		!strings.Contains(a.Body.String(), `"prices":{},`) || !strings.Contains(a.Body.String(), `"translations":{},`) {
		t.Errorf("defaults: got %s, want an available product without prices, translations, tax rate and stock", a.Body)
	}
	key := header("Idempotency-Key", "k1")
	first := w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"sku": "A"}), key).ok(201, nil)
	if again := w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"sku": "A"}), key).ok(201,
		nil); again.Body.String() != first.Body.String() {
		t.Errorf("repeated request: got %s, want %s", again.Body, first.Body)
	}
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"sku": "A"})).refused(app.CodeConflict)
	w.do("PATCH", "/products/"+string(w.stores["own"].product.ID), w.tokens["OWNER"], object{"sku": "A"}).
		refused(app.CodeConflict)
	w.do("POST", "/products", w.tokens["FOREIGN"], altered(productBody(), object{"sku": "A"})).ok(201, nil)
}

// PATCH /products/{id} is a JSON merge patch (RFC 7396).
func TestMergePatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/products/" + string(s.product.ID)
	version := int64(1)
	null := json.RawMessage("null")
	for _, c := range []struct {
		patch   any
		changed string
		want    func(*app.Product)
	}{
		{object{}, "", nil},
		{
			object{"name": s.product.Name, "sku": "P1", "prices": object{"USD": 1100},
				"translations": object{"en": object{"name": "Pizza"}}}, "", nil,
		},
		{
			object{"imageUrl": null, "prices": object{"GBP": null}, "stockQuantity": null,
				"translations": object{"fr": null}}, "", nil,
		},
		{
			object{"name": "Margherita", "priceMinor": 0}, "name priceMinor",
			func(p *app.Product) { p.Name, p.PriceMinor = "Margherita", 0 },
		},
		{
			object{"sku": null, "category": null, "description": "Flat"}, "sku description category",
			func(p *app.Product) { p.SKU, p.Category, p.Description = "", "", "Flat" },
		},
		{
			object{"prices": object{"GBP": 0, "USD": null}}, "prices",
			func(p *app.Product) { p.Prices = map[app.Currency]int64{"GBP": 0} },
		},
		{object{"translations": object{"en": object{"description": null}, "de": object{"name": "Fladen"}}},
			"translations", func(p *app.Product) {
				p.Translations = map[string]app.ProductText{"en": {Name: "Pizza"}, "de": {Name: "Fladen"}}
			}},
		{
			object{"translations": object{"en": null}}, "translations",
			func(p *app.Product) { delete(p.Translations, "en") },
		},
		{object{"taxRatePpm": 190000, "stockQuantity": 3, "isAvailable": false},
			"taxRatePpm isAvailable stockQuantity orderable", func(p *app.Product) {
				rate, stock := int64(190000), int64(3)
				p.TaxRatePPM, p.StockQuantity, p.IsAvailable, p.Orderable = &rate, &stock, false, false
			}},
		{
			object{"taxRatePpm": null, "stockQuantity": null}, "taxRatePpm stockQuantity",
			func(p *app.Product) { p.TaxRatePPM, p.StockQuantity = nil, nil },
		},
		{
			object{"currency": "CHF", "imageUrl": "https://example.com/"}, "imageUrl currency",
			func(p *app.Product) { p.Currency, p.ImageURL = "CHF", "https://example.com/" },
		},
	} {
		before := len(w.eventData("own", app.EventProductUpdated))
		w.now = w.now.Add(1e9)
		want := s.product
		if c.want != nil {
			c.want(&want)
			version++
			want.Version, want.UpdatedAt = version, app.At(w.now)
		}
		var got app.Product
		w.do("PATCH", path, w.tokens["MANAGER"], c.patch, ifMatch(s.product.Version)).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got): %s", c.patch, diff)
		}
		emitted := w.eventData("own", app.EventProductUpdated)[before:]
		if c.changed == "" && len(emitted) > 0 || c.changed != "" && len(emitted) != 1 {
			t.Fatalf("%v: got %d events, want one if anything changed (%q)", c.patch, len(emitted), c.changed)
		}
		if c.changed != "" {
			var event app.ProductUpdated
			w.read(emitted[0], &event)
			if diff := cmp.Diff(app.ProductUpdated{Product: want, ChangedFields: strings.Fields(c.changed)},
				event); diff != "" {
				t.Errorf("%v: product.updated (-want +got): %s", c.patch, diff)
			}
		}
		s.product = got
		s.product.Translations = maps.Clone(got.Translations)
	}
}

func TestBadProducts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/products/" + string(w.stores["own"].product.ID)
	null := json.RawMessage("null")
	long := strings.Repeat("é", 10_000)
	both := map[string]struct {
		change object
		paths  string
	}{
		"a blank name":           {object{"name": " \u00a0"}, "name"},
		"an empty name":          {object{"name": ""}, "name"},
		"name null":              {object{"name": null}, "name"},
		"a long name":            {object{"name": strings.Repeat("😀", 201)}, "name"},
		"name a number":          {object{"name": 1}, "name"},
		"a long description":     {object{"description": long}, "description"},
		"a long SKU":             {object{"sku": strings.Repeat("x", 65)}, "sku"},
		"a blank SKU":            {object{"sku": " "}, "sku"},
		"a long category":        {object{"category": strings.Repeat("x", 101)}, "category"},
		"an image over http":     {object{"imageUrl": "http://example.com/a.jpg"}, "imageUrl"},
		"an image in JavaScript": {object{"imageUrl": "javascript:alert(1)"}, "imageUrl"},
		"a negative price":       {object{"priceMinor": -1}, "priceMinor"},
		"too high a price":       {object{"priceMinor": app.MaxPriceMinor + 1}, "priceMinor"},
		"a fraction":             {object{"priceMinor": 9.5}, "priceMinor"},
		"price null":             {object{"priceMinor": null}, "priceMinor"},
		"an unknown currency":    {object{"currency": "XXX"}, "currency"},
		"a currency in lower":    {object{"currency": "eur"}, "currency"},
		"currency null":          {object{"currency": null}, "currency"},
		"a price in no currency": {object{"prices": object{"EURO": 1}}, "prices.EURO"},
		"a key with a dot":       {object{"prices": object{"E.R": 1}}, "prices.E.R"},
		"a key with a bracket":   {object{"prices": object{"]": 1}}, "prices[]]"},
		"a key of digits":        {object{"prices": object{"12": 1}}, "prices[12]"},
		"an empty key":           {object{"prices": object{"": 1}}, "prices[]"},
		"a price of text":        {object{"prices": object{"USD": "1"}}, "prices.USD"},
		"a price below 0":        {object{"prices": object{"USD": -1}}, "prices.USD"},
		"prices null":            {object{"prices": null}, "prices"},
		"prices a list":          {object{"prices": []any{1}}, "prices"},
		"the price twice":        {object{"prices": object{"EUR": 1}}, "prices.EUR"},
		"no locale": {
			object{"translations": object{"german": object{"name": "x"}}}, "translations.german",
		},
		"a locale in lower": {object{"translations": object{"de-de": object{"name": "x"}}}, "translations.de-de"},
		"a text of text":    {object{"translations": object{"de": "x"}}, "translations.de"},
		"a text without name": {
			object{"translations": object{"de": object{"description": "x"}}}, "translations.de.name",
		},
		"a text with a price": {
			object{"translations": object{"de": object{"name": "x", "price": 1}}}, "translations.de.price",
		},
		"a long text": {
			object{"translations": object{"de": object{"name": "x", "description": long}}},
			"translations.de.description",
		},
		"a tax above all":      {object{"taxRatePpm": 1_000_001}, "taxRatePpm"},
		"negative stock":       {object{"stockQuantity": -1}, "stockQuantity"},
		"availability of text": {object{"isAvailable": "yes"}, "isAvailable"},
		"availability null":    {object{"isAvailable": null}, "isAvailable"},
		"an id":                {object{"id": "prd_1"}, "id"},
		"a version":            {object{"version": 1}, "version"},
	}
	for name, c := range both {
		w.run(name, func(t *testing.T) {
			for method, a := range map[string]*response{
				"create": w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), c.change)),
				"change": w.do("PATCH", path, w.tokens["OWNER"], c.change),
			} {
				a.what = method + " with " + name
				a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
			}
		})
	}
	for _, missing := range []string{"name", "priceMinor", "currency"} {
		w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{missing: nil})).
			refused(app.CodeValidationFailed, missing)
	}
	for _, cleared := range []object{{"sku": null}, {"prices": object{"USD": null}},
		{"translations": object{"de": null}}, {"taxRatePpm": null}} {
		w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), cleared)).refused(app.CodeValidationFailed)
	}
	// The product and its patch together: currency EUR has no second price.
	w.do("PATCH", path, w.tokens["OWNER"], object{"currency": "USD"}).refused(app.CodeValidationFailed, "prices.USD")
	w.do("PATCH", path, w.tokens["OWNER"], object{"currency": "USD", "prices": object{"USD": null, "EUR": 950}}).
		ok(200, nil)
	many := object{}
	for i := range 101 {
		many[fmt.Sprintf("a%c%c", 'a'+i/26, 'a'+i%26)] = object{"name": "x"}
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"translations": many}).
		refused(app.CodeValidationFailed, "translations")
	delete(many, "aaa")
	w.do("PATCH", path, w.tokens["OWNER"], object{"translations": many}).
		refused(app.CodeValidationFailed, "translations") // and "en" is there
	delete(many, "aab")
	w.do("PATCH", path, w.tokens["OWNER"], object{"translations": many}).ok(200, nil)
	// Limits count characters, in every script.
	for _, name := range []string{strings.Repeat("😀", 200), strings.Repeat("字", 200), "بيتزا", "פיצה", "पिज़्ज़ा",
		"e\u0301\u200d\U0001F468\u200d\U0001F373", `'"; DROP TABLE products; --`} {
		var p app.Product
		w.do("PATCH", path, w.tokens["OWNER"], object{"name": name, "description": strings.Repeat("ß", 5000)}).
			ok(200, &p)
		if p.Name != name {
			t.Errorf("name: got %q, want %q", p.Name, name)
		}
	}
}
