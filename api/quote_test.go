package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := altered(w.orderBody("own"), delivery())
	body["discountMinor"], body["expectedTotalMinor"] = 100, 2050
	before := w.rows()
	var quote app.OrderQuote
	w.do("POST", "/orders/quote", w.tokens["MANAGER"], body).ok(200, &quote)
	if after := w.rows(); after != before {
		t.Errorf("rows after a quote: got %s, want %s", after, before)
	}
	var placed orderOut
	w.do("POST", "/orders", w.tokens["MANAGER"], body).ok(201, &placed)
	want := app.OrderQuote{
		StoreID: placed.StoreID, StoreViewID: placed.StoreViewID, FulfillmentType: placed.FulfillmentType,
		Items:         w.itemsOf(placed.Order),
		SubtotalMinor: placed.SubtotalMinor, DeliveryFeeMinor: placed.DeliveryFeeMinor, TaxMinor: placed.TaxMinor,
		Taxes:         placed.Taxes,
		DiscountMinor: placed.DiscountMinor,
		TotalMinor:    placed.TotalMinor, TaxIncluded: placed.TaxIncluded, Currency: placed.Currency,
		BusinessDate: placed.BusinessDate,
	}
	if diff := cmp.Diff(want, quote); diff != "" {
		t.Errorf("quote (-want +got):\n%s", diff)
	}
	var scarce app.Product
	w.do("POST", "/products", w.tokens["OWNER"], altered(productBody(), object{"stockQuantity": 2})).ok(201, &scarce)
	two := []any{object{"productId": scarce.ID, "quantity": 1}, object{"productId": scarce.ID, "quantity": 1}}
	w.do("POST", "/orders/quote", w.tokens["STAFF"], altered(w.orderBody("own"), object{"items": two})).ok(200, nil)
	w.do("POST", "/orders/quote", w.tokens["STAFF"], altered(w.orderBody("own"), object{"items": append(two, two[0])})).
		refused(app.CodeProductUnavailable, "items[0].quantity")
	w.do("POST", "/orders/quote", w.tokens["STAFF"], altered(w.orderBody("own"), object{"discountMinor": 1})).
		refused(app.CodeInsufficientRole)
	w.do("POST", "/orders/quote", w.tokens["STAFF"], altered(w.orderBody("own"), object{"expectedTotalMinor": 1})).
		refused(app.CodeTotalMismatch, "totalMinor")
	w.do("POST", "/orders/quote", w.tokens["STAFF"],
		altered(w.orderBody("own"), object{"customer": nil,
			"customerId": "cus_x"})).refused(app.CodeValidationFailed, "customerId")

	// A price changes after the quote: an order with the quoted total is refused.
	w.do("PATCH", "/products/"+string(w.stores["own"].product.ID), w.tokens["OWNER"], object{"priceMinor": 951}).
		ok(200, nil)
	w.do("POST", "/orders", w.tokens["MANAGER"], body).refused(app.CodeTotalMismatch)
	w.do("PATCH", "/products/"+string(w.stores["own"].product.ID), w.tokens["OWNER"],
		object{"prices": object{"USD": json.RawMessage("null")}}).ok(200, nil)
	w.do("POST", "/orders/quote", w.inView("USD"), w.orderBody("own")).
		refused(app.CodePriceNotSet, "items[0].productId")
	if shown := (orderOut{}); w.do("GET", "/orders/"+string(placed.ID), w.tokens["OWNER"], nil).ok(200,
		&shown) != nil && shown.Items[0].UnitPriceMinor != 950 {
		t.Errorf("earlier order: got items %+v, want the price 950", shown.Items)
	}
}
