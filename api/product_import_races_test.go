package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// An import that looks for its products just before another request creates one of them can be repeated.
func TestImportWhileAProductAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var other app.Product
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"sku": nil})).ok(201, &other)
	body := []any{
		object{"sku": "P1", "position": 7},
		object{"sku": "NEW", "externalId": "POS-9", "name": "Calzone", "priceMinor": 950, "currency": "EUR"},
	}
	request := func() *response { return w.do("POST", "/products/import", w.tokens["MANAGER"], body) }
	w.duringTransaction(request, `UPDATE products SET version = version + 1,
			sku = CASE id WHEN $1 THEN 'NEW' ELSE sku END,
			external_id = CASE id WHEN $1 THEN 'POS-9' ELSE external_id END
		WHERE store_id = $2`, other.ID, other.StoreID).refused(app.CodeConflict)
	var repeated app.ProductImport
	request().ok(200, &repeated)
	if repeated.Updated != 2 {
		t.Errorf("repeated: got %v, want two updates", actions(repeated))
	}
}

// Orders take stock while an import sets it: the import waits for them, and none is lost.
func TestOrdersWhileImporting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.importCSV("sku,name,priceMinor,currency,stockQuantity\nA,a,1,EUR,100\nB,b,1,EUR,100\n")
	all := w.bySKU()
	done := make(chan int)
	for i := range 8 {
		go func() {
			items := []any{
				object{"productId": all["A"].ID, "quantity": 1}, object{"productId": all["B"].ID, "quantity": 1},
			}
			if i%2 == 0 {
				slices.Reverse(items)
			}
			done <- w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), object{"items": items})).Code
		}()
		go func() {
			done <- w.do("POST", "/products/import", w.tokens["MANAGER"],
				fmt.Sprintf("sku,name\nB,b%d\nA,a%d\n", i, i), asCSV).Code
		}()
	}
	codes := map[int]int{}
	for range 16 {
		codes[<-done]++
	}
	if diff := cmp.Diff(map[int]int{200: 8, 201: 8}, codes); diff != "" {
		t.Errorf("statuses (-want +got): %s", diff)
	}
	for sku, p := range w.bySKU() {
		if sku != "P1" && (*p.StockQuantity != 92 || p.Version < 9) {
			t.Errorf("%s: got stock %d and version %d, want 92 and at least 9", sku, *p.StockQuantity, p.Version)
		}
	}
}

// An import of 1,000 products, with a body above the usual limit. Each faulty row is named, up to 100.
func TestImportManyProducts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows := make([]any, 1000)
	for i := range rows {
		rows[i] = object{
			"sku": fmt.Sprintf("S%03d", i), "name": fmt.Sprint("Dish ", i), "description": strings.Repeat("x", 2000),
			"priceMinor": i, "currency": "EUR", "stockQuantity": i % 3,
		}
	}
	var result app.ProductImport
	w.do("POST", "/products/import", w.tokens["MANAGER"], rows).ok(200, &result)
	if result.Created != 1000 || len(w.bySKU()) != 1001 || len(w.eventData("own", app.EventProductCreated)) != 1001 {
		t.Errorf("got %d created, %d products and %d events, want 1000, 1001 and 1001", result.Created, len(w.bySKU()),
			len(w.eventData("own", app.EventProductCreated)))
	}
	for i := range rows {
		if i%2 == 0 {
			rows[i].(object)["priceMinor"] = i + 1
		}
	}
	w.now = w.now.Add(time.Minute)
	w.do("POST", "/products/import", w.tokens["MANAGER"], rows).ok(200, &result)
	if result.Updated != 500 || result.Unchanged != 500 || len(w.eventData("own", app.EventProductUpdated)) != 500 {
		t.Errorf("got %d updated, %d unchanged and %d events, want 500 each", result.Updated, result.Unchanged,
			len(w.eventData("own", app.EventProductUpdated)))
	}
	for sku, p := range w.bySKU() {
		var i int64
		if n, _ := fmt.Sscanf(sku, "S%d", &i); n == 1 && p.Version != 2-i%2 {
			t.Errorf("%s: got version %d, want %d", sku, p.Version, 2-i%2)
		}
	}
	for i := range rows {
		rows[i].(object)["priceMinor"] = -1
	}
	a := w.do("POST", "/products/import", w.tokens["MANAGER"], rows)
	if a.refused(app.CodeValidationFailed); len(a.body.Error.Details) != 100 ||
		a.body.Error.Details[99].Path != "rows[99].priceMinor" {
		t.Errorf("got %d details, want 100, the last of rows[99].priceMinor", len(a.body.Error.Details))
	}
	w.do("POST", "/products/import", w.tokens["MANAGER"], `["`+strings.Repeat("x", maxRowsBody)+`"]`).
		refused(app.CodePayloadTooLarge)
	w.do("POST", "/products", w.tokens["MANAGER"], `{"name":"`+strings.Repeat("x", maxBody)+`"}`).
		refused(app.CodePayloadTooLarge)
}
