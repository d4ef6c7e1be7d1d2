package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// One response lists the faults of all rows, also of those that have the wrong type or other cells, and duplicates.
func TestImportFaultsTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := object{"sku": "G", "name": "Good", "priceMinor": 1, "currency": "EUR"}
	w.createProduct(object{"sku": "other", "externalId": "taken"})
	for name, c := range map[string]struct {
		body   any
		change func(*http.Request)
		paths  string
	}{
		"JSON": {
			[]any{altered(good, object{"priceMinor": "1"}), 7, altered(good, object{"currency": "eur"}), good},
			func(*http.Request) {},
			"rows[0].priceMinor|rows[1]|rows[2].currency|rows[2].sku|rows[3].sku",
		},
		"JSON, compared with the products": {
			[]any{
				object{"sku": "new", "priceMinor": "1", "currency": "EUR"},
				altered(good, object{"externalId": "taken"}),
				altered(good, object{"sku": "other", "name": 7, "externalId": "taken"}),
				altered(good, object{"sku": "H", "externalId": "taken"}),
			},
			func(*http.Request) {},
			"rows[0].priceMinor|rows[0].name|rows[2].name|rows[2].externalId|rows[3].externalId",
		},
		"CSV": {
			"sku,name,priceMinor,currency\nA,x,1,EUR\nB,x\nA,x,1.5,EUR\n,x,1,EUR\n", asCSV,
			"rows[1]|rows[2].priceMinor|rows[2].sku|rows[3].sku",
		},
	} {
		a := w.do("POST", "/products/import", w.tokens["MANAGER"], c.body, c.change)
		a.what = name
		a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
	}
}

// A body of unknown length that is too large is reported as such, also within a row.
func TestLargeImportOfUnknownLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	row := `{"sku":"A","description":"` + strings.Repeat("x", maxRowBytes-100) + `"},`
	w.do("POST", "/products/import", w.tokens["MANAGER"], "["+strings.Repeat(row, maxRowsBody/len(row)+1)+"{}]",
		func(r *http.Request) { r.ContentLength = -1 }).refused(app.CodePayloadTooLarge)
}
