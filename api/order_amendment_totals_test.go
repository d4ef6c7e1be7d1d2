package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// The stock follows the difference. Only units that were taken return.
func TestAmendedStock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scarce := w.createProduct(object{"stockQuantity": 5})
	free := w.createProduct(nil)
	placed, path := w.place(object{"items": []any{
		object{"productId": scarce.ID, "quantity": 2}, object{"productId": free.ID, "quantity": 3},
	}})
	w.changeProduct(free, object{"stockQuantity": 10})
	change := func(scarceUnits, freeUnits int, wantScarce, wantFree int64) {
		t.Helper()
		w.amend(placed, w.tokens["STAFF"], object{"items": []any{
			kept(placed.Items[0], object{"quantity": scarceUnits}), kept(placed.Items[1],
				object{"quantity": freeUnits}),
		}}).ok(200, &placed)
		if s, f := w.stockOf(scarce), w.stockOf(free); s != wantScarce || f != wantFree {
			t.Errorf("%d and %d units: got stocks %d and %d, want %d and %d", scarceUnits, freeUnits, s, f, wantScarce,
				wantFree)
		}
	}
	change(5, 5, 0, 8) // two units of the second were ordered later than the stock is counted
	change(1, 4, 4, 9)
	change(1, 1, 4, 10) // three units were never taken
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(placed.Items[0], object{"quantity": 6})}}).
		refused(app.CodeProductUnavailable)
	// Units move between items of an order without stock.
	w.changeProduct(scarce, object{"stockQuantity": 0, "isAvailable": true})
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(placed.Items[0], object{"productId": free.ID})}}).
		ok(200, &placed)
	if s, f := w.stockOf(scarce), w.stockOf(free); s != 1 || f != 10 {
		t.Errorf("another product: got stocks %d and %d, want 1 and 10", s, f)
	}
	w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("CANCELLED")).ok(200, nil)
	if f := w.stockOf(free); f != 10 {
		t.Errorf("cancelled: got stock %d, want 10", f)
	}
}

func TestAmendedTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.place(altered(delivery(), object{"discountMinor": 100}))
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"deliveryFees": object{"EUR": 999}, "taxIncluded": false, "taxDeliveryFee": false, "lowerTotals": "MANAGER",
	}).ok(200, nil)
	item := placed.Items[0]
	lower := object{"items": []any{kept(item, object{"quantity": 1})}}
	// The rules of the order hold, not the new settings. Before the order is accepted, STAFF may lower the total.
	w.amend(placed, w.tokens["STAFF"], lower).ok(200, &placed)
	if placed.TotalMinor != item.UnitPriceMinor-100+250 || !placed.TaxIncluded || placed.DiscountMinor != 100 ||
		placed.TaxMinor != 72 {
		t.Errorf("got %+v, want total %d with taxes included, tax 72", placed.Order, item.UnitPriceMinor+150)
	}
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(item, object{"quantity": 4})}}).ok(200, &placed)
	w.do("PATCH", path+"/status", w.tokens["STAFF"], statusBody("CONFIRMED")).ok(200, &placed)
	w.amend(placed, w.tokens["STAFF"], lower).refused(app.CodeInsufficientRole)
	high := placed.TotalMinor
	w.amend(placed, w.tokens["MANAGER"], lower).ok(200, &placed)
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=order.total_lowered", w.tokens["OWNER"], nil).ok(200, &trail)
	want := []map[string]any{{"orderId": placed.Number, "currency": "EUR",
		"totalMinor": map[string]any{"from": float64(high), "to": float64(placed.TotalMinor)}}}
	got := []map[string]any{}
	for _, entry := range trail {
		got = append(got, entry.Details)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit trail (-want +got): %s", diff)
	}
	w.amend(placed, w.tokens["STAFF"], object{"discountMinor": 50}).refused(app.CodeInsufficientRole)
	w.amend(placed, w.tokens["STAFF"], object{"discountMinor": 100, "note": "x"}).ok(200, &placed)
	w.amend(placed, w.key("own", app.ScopeWriteOrders), object{"discountMinor": 200}).ok(200, &placed)
	w.amend(placed, w.key("own", app.ScopeReadOrders), object{"discountMinor": 200}).refused(app.CodeInsufficientScope)
}

// Payments and refunds of an order stay as they are when its total is lowered and raised again.
func TestAmendedPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.place(nil)
	item := placed.Items[0]
	var payment app.Payment
	w.do("POST", path+"/payments", w.tokens["OWNER"], object{
		"provider": "STRIPE", "transactionId": "tx", "status": "SUCCEEDED", "amountMinor": placed.TotalMinor,
		"currency": "EUR", "paymentMethod": "card",
	}).ok(201, &payment)
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &placed)
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(item, object{"quantity": 1})}}).ok(200, &placed)
	w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["OWNER"], object{
		"amountMinor": payment.AmountMinor - placed.TotalMinor, "reason": "less", "providerRefundId": "re",
	}).ok(201, nil)
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &placed)
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(item, object{"quantity": 3})}}).ok(200, &placed)
	if placed.PaidMinor != payment.AmountMinor || placed.RefundedMinor >= payment.AmountMinor ||
		placed.TotalMinor <= payment.AmountMinor {
		t.Errorf("got %+v, want the payment and the refund, and a total above both", placed.Order)
	}
}
