package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// asCSV sends a body as CSV.
func asCSV(r *http.Request) { r.Header.Set("Content-Type", "text/csv; charset=utf-8") }

// importCSV imports a CSV and returns the result.
func (w *world) importCSV(text string) (result app.ProductImport) {
	w.Helper()
	w.do("POST", "/products/import", w.tokens["MANAGER"], text, asCSV).ok(200, &result)
	return result
}

// bySKU returns the store's own products with a SKU.
func (w *world) bySKU() map[string]app.Product {
	w.Helper()
	products, _, err := w.db.Products(w.Context(), w.now, w.stores["own"].id, app.ProductFilter{}, persistence.Cursor{},
		app.PageLimit{Rows: 2000, Bytes: maxPage})
	w.must(err)
	all := map[string]app.Product{}
	for _, p := range products {
		if p.SKU != "" {
			product, err := decoded(p)
			w.must(err)
			all[p.SKU] = product
		}
	}
	return all
}

// actions returns the actions of an import with the changed fields.
func actions(result app.ProductImport) (text []string) {
	for i, row := range result.Rows {
		if row.Row != i {
			text = append(text, fmt.Sprintf("row %d at %d", row.Row, i))
		}
		text = append(text, strings.TrimSpace(
			fmt.Sprintf("%s %s %s", row.SKU, row.Action, strings.Join(row.ChangedFields, ","))))
	}
	return text
}

// The first import of a text with another line break changes it; a repeated import changes nothing.
func TestImportCSVNormalizesLineBreaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/products/" + string(w.stores["own"].product.ID)
	w.do("PATCH", path, w.tokens["OWNER"], object{"description": "one\r\ntwo"}).ok(200, nil)
	for _, want := range []string{"P1 UPDATE description", "P1 NONE"} {
		result := w.importCSV("sku,description\r\nP1,\"one\r\ntwo\"\r\n")
		if diff := cmp.Diff([]string{want}, actions(result)); diff != "" {
			t.Errorf("import (-want +got): %s", diff)
		}
		if got := w.bySKU()["P1"].Description; got != "one\ntwo" {
			t.Errorf("description: got %q, want a line feed", got)
		}
	}
}

func TestImportCSV(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := "\ufeffsku;name;description;priceMinor;currency;taxRatePpm;isAvailable;stockQuantity;position;" +
		"externalId\r\n" +
		"A;\"Pizza; \"\"large\"\"\r\nsecond line\";flat;950;EUR;70000;TRUE;3;1;POS-A\r\n" +
		"B;=1+1;;0;EUR;;false;;2;\r\n" +
		"P1;Calzone;;950;EUR;;true;;0;\r\n"
	before := len(w.eventData("own", app.EventProductCreated, app.EventProductUpdated))
	var dry app.ProductImport
	w.do("POST", "/products/import?dryRun=true", w.tokens["MANAGER"], text, asCSV).ok(200, &dry)
	want := []string{"A CREATE", "B CREATE", "P1 UPDATE name"}
	if diff := cmp.Diff(want, actions(dry)); diff != "" || !dry.DryRun || dry.Created != 2 || dry.Updated != 1 {
		t.Errorf("dry run: got %+v (-want +got): %s", dry, diff)
	}
	n := len(w.eventData("own", app.EventProductCreated, app.EventProductUpdated)) - before
	if len(w.bySKU()) != 1 || n != 0 {
		t.Errorf("after a dry run: got %d products and %d events, want 1 and 0", len(w.bySKU()), n)
	}
	w.now = w.now.Add(time.Minute)
	done := w.importCSV(text)
	if dry.DryRun = false; !cmp.Equal(dry, done) {
		t.Errorf("import: got %+v, want %+v as in the dry run", done, dry)
	}
	rate, stock := int64(70_000), int64(3)
	all := w.bySKU()
	wantA := app.Product{
		ID: all["A"].ID, StoreID: w.stores["own"].id, SKU: "A", Name: "Pizza; \"large\"\nsecond line",
		Description: "flat",
		PriceMinor:  950, Currency: "EUR", Prices: map[app.Currency]int64{}, Translations: map[string]app.ProductText{},
		TaxRatePPM: &rate, IsAvailable: true, StockQuantity: &stock, Orderable: true, Position: 1, ExternalID: "POS-A",
		OptionGroups: []app.OptionGroup{}, Metadata: map[string]string{}, Version: 1, CreatedAt: app.At(w.now),
		UpdatedAt: app.At(w.now),
	}
	if diff := cmp.Diff(wantA, all["A"]); diff != "" {
		t.Errorf("A (-want +got): %s", diff)
	}
	if b := all["B"]; b.Name != "=1+1" || b.StockQuantity != nil || b.TaxRatePPM != nil || b.IsAvailable ||
		b.Orderable {
		t.Errorf("B: got %+v, want no stock and no tax rate, not available", b)
	}
	p1 := w.stores["own"].product
	p1.Name, p1.Version, p1.UpdatedAt = "Calzone", 2, app.At(w.now)
	if diff := cmp.Diff(p1, all["P1"]); diff != "" {
		t.Errorf("P1, whose category, prices and translations are not in the CSV (-want +got): %s", diff)
	}
	w.checkImportEvents(before, all)

	again := w.importCSV(text)
	if diff := cmp.Diff([]string{"A NONE", "B NONE", "P1 NONE"}, actions(again)); diff != "" || again.Unchanged != 3 {
		t.Errorf("again: got %+v (-want +got): %s", again, diff)
	}
	if n := len(w.eventData("own", app.EventProductCreated, app.EventProductUpdated)) - before; n != 3 {
		t.Errorf("again: got %d events, want 3", n)
	}
	// A comma, other columns, and empty cells that clear.
	result := w.importCSV("stockQuantity,sku,externalId,description\n,A,,\n5,B,POS-A,new\n")
	want = []string{"A UPDATE description,stockQuantity,externalId", "B UPDATE description,stockQuantity,externalId"}
	if diff := cmp.Diff(want, actions(result)); diff != "" {
		t.Errorf("other columns (-want +got): %s", diff)
	}
	all = w.bySKU()
	if all["A"].ExternalID != "" || all["A"].StockQuantity != nil || all["B"].ExternalID != "POS-A" ||
		*all["B"].StockQuantity != 5 || all["B"].Version != 2 || all["A"].Name != wantA.Name {
		t.Errorf("other columns: got %+v and %+v", all["A"], all["B"])
	}
}

// checkImportEvents checks that the events of the import in TestImportCSV are those of single changes.
func (w *world) checkImportEvents(before int, all map[string]app.Product) {
	w.Helper()
	if n := len(w.eventData("own", app.EventProductCreated, app.EventProductUpdated)) - before; n != 3 {
		w.Errorf("got %d events, want 3", n)
	}
	created := map[string]app.Product{}
	for _, data := range w.eventData("own", app.EventProductCreated) {
		var event app.Product
		w.read(data, &event)
		created[event.SKU] = event
	}
	for _, sku := range []string{"A", "B"} {
		if diff := cmp.Diff(all[sku], created[sku]); diff != "" {
			w.Errorf("product.created of %s (-product +event): %s", sku, diff)
		}
	}
	updates := w.updates(all["P1"].ID)
	want := app.ProductUpdated{Product: all["P1"], ChangedFields: []string{"name"}}
	if diff := cmp.Diff([]app.ProductUpdated{want}, updates); diff != "" {
		w.Errorf("product.updated (-want +got): %s", diff)
	}
}

func TestImportJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	until := app.At(w.now.Add(time.Hour))
	full := object{
		"sku": "F", "name": "Flammkuchen", "description": "thin", "category": "main",
		"imageUrl": "https://example.com/f.jpg", "priceMinor": 1100, "currency": "EUR", "prices": object{"USD": 1200},
		"translations": object{"en": object{"name": "Tarte"}}, "taxRatePpm": 70000, "isAvailable": false,
		"stockQuantity": 0, "position": 3, "externalId": "x", "metadata": object{"a": "b"}, "soldOutUntil": until,
		"storeId": w.stores["own"].id,
		"optionGroups": []any{object{"name": "Extras", "options": []any{
			object{"name": "Olives", "priceMinor": 100}, object{"name": "Olives", "priceMinor": 200},
		}}},
	}
	send := func(rows ...any) (result app.ProductImport) {
		t.Helper()
		w.do("POST", "/products/import", w.key("own", app.ScopeWriteProducts), rows).ok(200, &result)
		return result
	}
	if diff := cmp.Diff([]string{"F CREATE"}, actions(send(full))); diff != "" {
		t.Errorf("(-want +got): %s", diff)
	}
	made := w.bySKU()["F"]
	if made.Prices["USD"] != 1200 || made.Translations["en"].Name != "Tarte" || made.Metadata["a"] != "b" ||
		*made.SoldOutUntil != until || len(made.OptionGroups[0].Options) != 2 || made.OptionGroups[0].ID == "" {
		t.Errorf("created: got %+v, want all members", made)
	}
	if jobs := w.jobs(app.JobSoldOut); !slices.Equal(jobs, []string{string(made.ID)}) {
		t.Errorf("jobs: got %v, want one of %s", jobs, made.ID)
	}
	if diff := cmp.Diff([]string{"F NONE"}, actions(send(full))); diff != "" {
		t.Errorf("again (-want +got): %s", diff)
	}
	result := send(object{"sku": "F", "prices": object{}, "priceMinor": 1}, object{"sku": "P1"})
	if diff := cmp.Diff([]string{"F UPDATE priceMinor,prices", "P1 NONE"}, actions(result)); diff != "" {
		t.Errorf("a part (-want +got): %s", diff)
	}
	got := w.bySKU()["F"]
	if len(got.Prices) != 0 || got.Version != 2 || !cmp.Equal(got.OptionGroups, made.OptionGroups) {
		t.Errorf("a part: got %+v, want version 2 without prices and with the groups", got)
	}
	// A row moves an option, by its id, to a new group. The former group gets a new option of the same name.
	moved := object{"sku": "F", "optionGroups": []any{
		object{"name": "Free", "options": []any{object{"id": made.OptionGroups[0].Options[0].ID, "name": "Olives"}}},
		object{"name": "Extras", "options": []any{object{"name": "Olives"}, object{"name": "Olives"}}},
	}}
	send(moved)
	ids := map[app.OptionID]bool{}
	for _, group := range w.bySKU()["F"].OptionGroups {
		for _, option := range group.Options {
			ids[option.ID] = true
		}
	}
	if len(ids) != 3 || !ids[made.OptionGroups[0].Options[1].ID] {
		t.Errorf("ids after a move between groups: got %v, want three, with that of the option that stays", ids)
	}
	// Products can exchange their externalIds; a product outside the import keeps its own.
	send(object{"sku": "P1", "externalId": "y"})
	send(object{"sku": "P1", "externalId": "x"}, object{"sku": "F", "externalId": "y"})
	if all := w.bySKU(); all["P1"].ExternalID != "x" || all["F"].ExternalID != "y" {
		t.Errorf("exchange: got %q and %q, want x and y", all["P1"].ExternalID, all["F"].ExternalID)
	}
	w.do("POST", "/products/import", w.tokens["MANAGER"], []any{object{"sku": "P1", "externalId": "y"}}).
		refused(app.CodeValidationFailed, "rows[0].externalId")
	row := object{"sku": "P1", "storeId": w.stores["sibling"].id}
	w.do("POST", "/products/import", w.tokens["MANAGER"], []any{row}).
		refused(app.CodeStoreMismatch)
	w.do("POST", "/products/import", w.tokens["STAFF"], []any{object{"sku": "P1"}}).refused(app.CodeInsufficientRole)

	// An import is repeated by its key, and a dry run does not use the key up.
	key := header("Idempotency-Key", "menu-1")
	body := []any{object{"sku": "P1", "stockQuantity": 9}}
	w.do("POST", "/products/import?dryRun=true", w.tokens["MANAGER"], body, key).ok(200, nil)
	first := w.do("POST", "/products/import", w.tokens["MANAGER"], body, key).ok(200, nil)
	w.do("POST", "/products/"+string(w.stores["own"].product.ID)+"/stock", w.tokens["MANAGER"], object{"adjust": -1}).
		ok(200, nil)
	second := w.do("POST", "/products/import", w.tokens["MANAGER"], body, key).ok(200, nil)
	if first.Body.String() != second.Body.String() || *w.bySKU()["P1"].StockQuantity != 8 {
		t.Errorf("repeated: got %s and stock %d, want %s and 8", second.Body, *w.bySKU()["P1"].StockQuantity,
			first.Body)
	}
}

func TestBadImports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const head = "sku,name,priceMinor,currency\n"
	good := object{"sku": "G", "name": "Good", "priceMinor": 1, "currency": "EUR"}
	many := make([]any, 1001)
	for i := range many {
		many[i] = altered(good, object{"sku": fmt.Sprint("M", i)})
	}
	for name, c := range map[string]struct {
		body  any
		paths string
	}{
		"an object":       {object{"rows": []any{good}}, "rows"},
		"no rows":         {[]any{}, "rows"},
		"1,001 rows":      {many, "rows"},
		"a number":        {[]any{good, 7}, "rows[1]"},
		"no SKU":          {[]any{object{"name": "x"}}, "rows[0].sku"},
		"a duplicate SKU": {[]any{good, altered(good, object{"sku": "H"}), good}, "rows[2].sku"},
		"a duplicate reference": {
			[]any{altered(good, object{"externalId": "1"}), object{"sku": "P1", "externalId": "1"}},
			"rows[1].externalId",
		},
		"an unknown member": {[]any{altered(good, object{"id": "prd_1"})}, "rows[0].id"},
		"new products without members": {
			[]any{good, object{"sku": "N"}}, "rows[1].name|rows[1].priceMinor|rows[1].currency",
		},
		"a price in the own currency": {[]any{object{"sku": "P1", "prices": object{"EUR": 1}}}, "rows[0].prices.EUR"},
		"the currency of a price":     {[]any{object{"sku": "P1", "currency": "USD"}}, "rows[0].prices.USD"},
		"a time in the past": {
			[]any{object{"sku": "P1", "soldOutUntil": app.At(w.now)}}, "rows[0].soldOutUntil",
		},
		"options without a choice": {
			[]any{object{"sku": "P1", "optionGroups": []any{object{"name": "x", "options": []any{}}}}},
			"rows[0].optionGroups[0].options",
		},
		"a duplicate member": {`[{"sku":"P1"},{"sku":"A","sku":"B"}]`, "rows[1].sku"},
		"malformed JSON":     {`[{"sku":"P1"}`, ""},

		"CSV: wrong numbers": {head + "G,Good,1,EUR\nH,x,\"9,50\",EUR\nI,x,9.50,EUR\nJ,x,1e3,EUR\nK,x, 1,EUR\n" +
			"L,x,0950,EUR\nM,x,,EUR\nN,x,-1,EUR\nO,x,99999999999999999999,EUR\n",
			"rows[1].priceMinor|rows[2].priceMinor|rows[3].priceMinor|rows[4].priceMinor|rows[5].priceMinor|" +
				"rows[6].priceMinor|rows[7].priceMinor|rows[8].priceMinor"},
		"CSV: faulty cells": {"sku,name,isAvailable,currency,category\n,x,yes,eur,\" \"\n",
			"rows[0].isAvailable|rows[0].sku|rows[0].category|rows[0].currency"},
		"CSV: no header":          {"", ""},
		"CSV: only a header":      {head, "rows"},
		"CSV: no SKU":             {"name\nx\n", "sku"},
		"CSV: an unknown column":  {"sku,price\nA,1\n", "price"},
		"CSV: a duplicate column": {"sku,name,sku\nA,x,B\n", "sku"},
		"CSV: cells missing":      {head + "A,x,1,EUR\nB,x\nC,x,1,EUR,2\n", "rows[1]|rows[2]"},
		"CSV: an open quote":      {head + "A,\"x,1,EUR\n", ""},
		"CSV: a stray quote":      {head + "A,x\"y,1,EUR\n", ""},
		"CSV: not UTF-8":          {head + "A,\xff,1,EUR\n", ""},
		"CSV: NUL":                {head + "A,a\x00b,1,EUR\n", ""},
		"CSV: a duplicate SKU":    {head + "A,x,1,EUR\nA,y,1,EUR\n", "rows[1].sku"},
	} {
		change := func(*http.Request) {}
		if strings.HasPrefix(name, "CSV") {
			change = asCSV
		}
		for _, query := range []string{"", "?dryRun=true"} {
			a := w.do("POST", "/products/import"+query, w.tokens["MANAGER"], c.body, change)
			a.what = name + query
			if c.paths == "" {
				a.refused(app.CodeValidationFailed)
			} else {
				a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
			}
		}
	}
	empty := w.do("POST", "/products/import", w.tokens["MANAGER"], "", asCSV).refused(app.CodeValidationFailed)
	if want := "the body must be a JSON array or a CSV"; empty.body.Error.Message != want {
		t.Errorf("an empty body: got the message %q, want %q", empty.body.Error.Message, want)
	}
	if all := w.bySKU(); len(all) != 1 || all["P1"].Version != 1 {
		t.Errorf("after faulty imports: got %v, want P1 in version 1 only", all)
	}
	for _, mediaType := range []string{"text/plain", "text/csv; charset=latin1", "application/xml"} {
		w.do("POST", "/products/import", w.tokens["MANAGER"], head, func(r *http.Request) {
			r.Header.Set("Content-Type", mediaType)
		}).refused(app.CodeUnsupportedMediaType)
	}
	w.do("POST", "/products", w.tokens["MANAGER"], head, asCSV).refused(app.CodeUnsupportedMediaType)
	w.do("POST", "/products/import?dryRun=yes", w.tokens["MANAGER"], []any{good}).
		refused(app.CodeValidationFailed, "dryRun")
}

// An export prepends an apostrophe to formulas, and to formulas with apostrophes, which the import removes again.
func TestImportDisarmedFormulas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for cell, want := range map[string]string{
		"'=1+1": "=1+1", "''=1+1": "'=1+1", "'+49": "+49", "'-x": "-x", "'@x": "@x", "'\tx": "\tx", "=1+1": "=1+1",
		"'s Hertogenbosch": "'s Hertogenbosch", "a'=b": "a'=b", "'": "'",
	} {
		w.importCSV("sku,name,description,category,priceMinor,currency\nF,\"" + cell + "\",\"" + cell + "\",,1,EUR\n")
		if got := w.bySKU()["F"]; got.Name != want || got.Description != want {
			t.Errorf("%q: got %q and %q, want %q", cell, got.Name, got.Description, want)
		}
	}
}
