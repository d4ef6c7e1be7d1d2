package ordering_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// An import holds few of its large products at a time, in which externalIds can move from one batch to another. The
// test runs alone, because it measures the heap of the process.
func TestImportOfLargeProducts(t *testing.T) {
	const (
		products = 30
		size     = 900_000
	)
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	peak := uint64(0)
	change := func(externalID func(i int) string) app.ProductImport {
		rows := make([]ordering.ProductRow, products)
		for i := range rows {
			sku := fmt.Sprintf("L%02d", i)
			rows[i] = ordering.ProductRow{SKU: sku, Apply: func(p *app.Product, _ bool) []app.Detail {
				var heap runtime.MemStats
				runtime.GC()
				runtime.GC() // clears pools
				runtime.ReadMemStats(&heap)
				peak = max(peak, heap.HeapAlloc)
				p.SKU, p.Name, p.Currency, p.ExternalID = sku, "Soup", "EUR", externalID(i)
				return nil
			}}
		}
		done, err := db.ImportProducts(t.Context(), noon, r.Stores[0], app.Actor{}, rows, false, nil)
		must(t, err)
		return done
	}
	change(func(i int) string { return fmt.Sprint("E", i) })
	small := peak
	exec(t, db, fmt.Sprintf("UPDATE products SET description = repeat('x', %d) WHERE sku LIKE 'L%%'", size))
	done := change(func(i int) string {
		if i == 1 {
			return ""
		}
		return fmt.Sprint("E", (i+products/2)%products)
	})
	if grown := int64(peak) - int64(small); grown > products*size/2 { //nolint:gosec // less than the memory of the machine
		t.Errorf("import of %d bytes: %d bytes more are reachable than with small products, want at most half",
			products*size, grown)
	}
	var got, want []string
	for i, row := range done.Rows {
		got = append(got, fmt.Sprint(row.SKU, row.Action, row.ChangedFields))
		want = append(want, fmt.Sprintf("L%02d%s[externalId]", i, app.ImportUpdate))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != products {
		t.Errorf("%d rows (-want +got):\n%s", len(got), diff)
	}
	n := count(t, db, `SELECT count(*) FROM outbox WHERE type = 'product.updated'
		AND body::jsonb #> '{data,changedFields}' = '["externalId"]' AND body::jsonb #>> '{data,version}' = '2'`)
	if n != products {
		t.Errorf("events of changed externalIds: got %d, want %d", n, products)
	}
	if n := count(t, db, `SELECT count(*) FROM products WHERE sku LIKE 'L%' AND version = 2
		AND external_id = CASE sku WHEN 'L01' THEN '' ELSE 'E' || (substr(sku, 2)::int + 15) % 30 END`); n != products {
		t.Errorf("products with their new externalIds: got %d, want %d", n, products)
	}
}
