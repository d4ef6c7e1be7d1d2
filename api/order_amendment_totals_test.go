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
	gift := w.createProduct(object{"priceMinor": 99, "prices": object{}})
	below := object{"items": []any{object{"productId": gift.ID, "quantity": 1}}} // the discount is 100
	w.amend(placed, w.tokens["STAFF"], below).refused(app.CodeInsufficientRole)
	w.amend(placed, w.tokens["MANAGER"], below).refused(app.CodeValidationFailed, "discountMinor")
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

// A paid order is lowered, refunded and raised: what is collected and returned follows, to the unit.
func TestAmendedPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dish := w.createProduct(object{"priceMinor": 100, "prices": object{}})
	placed, path := w.place(object{"items": []any{object{"productId": dish.ID, "quantity": 10}}})
	item := placed.Items[0]
	var payment app.Payment
	expect := func(step string, total int64, want owed) {
		t.Helper()
		var shown owed
		a := w.do("GET", path, w.tokens["STAFF"], nil)
		a.ok(200, &shown)
		a.ok(200, &placed)
		if diff := cmp.Diff(want, shown); diff != "" || placed.TotalMinor != total {
			t.Errorf("%s: got total %d, want %d; money (-want +got): %s", step, placed.TotalMinor, total, diff)
		}
	}
	amend := func(quantity int) {
		t.Helper()
		w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(item, object{"quantity": quantity})}}).
			ok(200, &placed)
	}
	pay := func(amount int64, id string) {
		t.Helper()
		w.do("POST", path+"/payments", w.tokens["OWNER"],
			altered(paymentBody(), object{"amountMinor": amount, "transactionId": id})).ok(201, &payment)
	}
	refund := func(amount int64) *response {
		return w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["OWNER"], refundBody(amount))
	}
	expect("placed", 1000, owed{OutstandingMinor: 1000, PaymentStatus: "UNPAID"})
	pay(1000, "first")
	expect("paid", 1000, owed{PaidMinor: 1000, PaymentStatus: "PAID"})
	amend(8)
	expect("lowered", 800, owed{PaidMinor: 1000, RefundableMinor: 200, PaymentStatus: "PAID"})
	refund(200).ok(201, nil)
	expect("refunded", 800, owed{PaidMinor: 1000, RefundedMinor: 200, PaymentStatus: "PAID"})
	amend(15)
	expect("raised", 1500,
		owed{PaidMinor: 1000, RefundedMinor: 200, OutstandingMinor: 700, PaymentStatus: "PARTIALLY_PAID"})
	refund(801).refused(app.CodeRefundExceedsPayment)
	pay(700, "second")
	expect("paid again", 1500, owed{PaidMinor: 1700, RefundedMinor: 200, PaymentStatus: "PAID"})
	refund(150).ok(201, nil) // for cold food
	expect("compensated", 1500, owed{PaidMinor: 1700, RefundedMinor: 350, PaymentStatus: "PARTIALLY_REFUNDED"})
	amend(16)
	expect("raised after a compensation", 1600,
		owed{PaidMinor: 1700, RefundedMinor: 350, OutstandingMinor: 100, PaymentStatus: "PARTIALLY_PAID"})
	amend(1)
	expect("lowered to less than paid", 100,
		owed{PaidMinor: 1700, RefundedMinor: 350, RefundableMinor: 1250, PaymentStatus: "PARTIALLY_REFUNDED"})
	w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("CANCELLED")).ok(200, nil)
	expect("cancelled", 100,
		owed{PaidMinor: 1700, RefundedMinor: 350, RefundableMinor: 1350, PaymentStatus: "PARTIALLY_REFUNDED"})
}
