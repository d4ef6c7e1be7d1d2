package api

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkImport measures imports of 1,000 products with two groups of eight options each, in two languages, through
// the whole stack: a creation, and a repetition with other prices.
func BenchmarkImport(b *testing.B) {
	w := newNeighbours(b)
	send := func(body string) {
		if status, _ := w.send(b.Context(), w.other, "POST", "/products/import", body); status != 200 {
			b.Fatalf("got status %d, want 200", status)
		}
	}
	b.Run("create", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			send(importWithOptions(n, 100))
		}
	})
	b.Run("update", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			send(importWithOptions(0, 200+n))
		}
	})
}

// importWithOptions returns the rows of an import whose SKUs depend on run.
func importWithOptions(run, price int) string {
	rows := make([]object, 1000)
	for i := range rows {
		groups := make([]object, 2)
		for g := range groups {
			options := make([]object, 8)
			for o := range options {
				options[o] = object{
					"name": fmt.Sprint("Option ", o), "priceMinor": price + o, "maxQuantity": 3,
					"translations": object{"de": object{"name": fmt.Sprint("Wahl ", o)}},
				}
			}
			groups[g] = object{"name": fmt.Sprint("Group ", g), "maxSelections": 5, "options": options}
		}
		rows[i] = object{
			"sku": fmt.Sprintf("R%d-%d", run, i), "name": fmt.Sprint("Dish ", i), "priceMinor": price,
			"currency": "EUR", "optionGroups": groups,
		}
	}
	body, err := json.Marshal(rows)
	must(err)
	return string(body)
}
