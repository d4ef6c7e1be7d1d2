package api

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// owed is the part of an order that shows its money.
type owed struct {
	PaidMinor, RefundedMinor, OutstandingMinor, RefundableMinor int64
	PaymentStatus                                               app.PaymentStatus
}

// Every place that shows an order shows the same amounts: the order, the lists, the customer's export and the events.
func TestOrdersShowWhatIsOwed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com")
	placed := w.orderOf("own", customer.Customer.ID)
	path := "/orders/" + string(placed.ID)
	w.do("POST", path+"/payments", w.tokens["STAFF"],
		altered(paymentBody(), object{"amountMinor": placed.TotalMinor})).ok(201, nil)
	w.exec(`UPDATE orders SET subtotal_minor = subtotal_minor - 400, total_minor = total_minor - 400
		WHERE id = $1`, placed.ID)
	want := owed{PaidMinor: placed.TotalMinor, RefundableMinor: 400, PaymentStatus: app.PaymentPaid}
	w.now = w.now.Add(time.Minute)
	w.do("PATCH", path+"/status", w.tokens["STAFF"], statusBody("READY")).ok(200, nil)
	var order owed
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &order)
	var own owed
	w.do("GET", path, customer.AccessToken, nil).ok(200, &own)
	var list []owed
	w.do("GET", "/orders?needsRefund=true", w.tokens["STAFF"], nil).ok(200, &list)
	var export struct{ Orders []owed }
	w.do("GET", "/customers/"+string(customer.Customer.ID)+"/export", customer.AccessToken, nil).ok(200, &export)
	var event owed
	w.read(w.eventData("own", app.EventOrderStatusUpdated)[0], &event)
	for name, got := range map[string][]owed{
		"order": {order}, "own order": {own}, "list": list, "export": export.Orders, "event": {event},
	} {
		if diff := cmp.Diff([]owed{want}, got); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
	want.RefundableMinor = placed.TotalMinor
	var cancelled owed
	w.do("PATCH", path+"/status", w.tokens["MANAGER"], statusBody("CANCELLED")).ok(200, &cancelled)
	w.read(w.eventData("own", app.EventOrderCancelled)[0], &event)
	for name, got := range map[string]owed{"response": cancelled, "event": event} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of the cancellation (-want +got): %s", name, diff)
		}
	}
	list = nil
	w.do("GET", "/orders?needsRefund=true", w.tokens["STAFF"], nil).ok(200, &list)
	if len(list) != 1 {
		t.Errorf("cancelled order in the list of orders to refund: got %v, want it", list)
	}
}

func TestTippedPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/orders/" + string(s.order.ID)
	body := altered(paymentBody(), object{"amountMinor": 2200, "tipMinor": 300})
	for name, change := range map[string]object{
		"more than the amount": {"tipMinor": 2201}, "negative": {"tipMinor": -1}, "a fraction": {"tipMinor": 1.5},
		"a text": {"tipMinor": "1"}, "too large": {"tipMinor": app.MaxAmountMinor + 1},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", path+"/payments", w.tokens["STAFF"], altered(body, change)).
				refused(app.CodeValidationFailed, "tipMinor")
		})
	}
	var payment app.Payment
	w.do("POST", path+"/payments", w.tokens["STAFF"], body).ok(201, &payment)
	w.do("POST", path+"/payments", w.tokens["STAFF"], body).ok(200, nil)
	w.do("POST", path+"/payments", w.tokens["STAFF"], altered(body, object{"tipMinor": 299})).refused(app.CodeConflict)
	w.do("POST", path+"/payments", w.tokens["STAFF"], altered(body, object{"tipMinor": nil})).refused(app.CodeConflict)
	if payment.AmountMinor != 2200 || payment.TipMinor != 300 {
		t.Errorf("payment: got %+v, want 2200 with a tip of 300", payment)
	}
	if event, _ := w.eventOf("own", app.EventPaymentSucceeded); event["amountMinor"] != 2200. {
		t.Errorf("payment.succeeded: got %v, want the amount with the tip", event)
	}
	refunds := "/payments/" + string(payment.ID) + "/refunds"
	for name, c := range map[string]struct {
		amount int64
		tip    any
		code   app.Code
		path   string
	}{
		"tip not named":            {1901, nil, app.CodeRefundExceedsPayment, "amountMinor"},
		"tip of 0":                 {1901, 0, app.CodeRefundExceedsPayment, "amountMinor"},
		"more than the tip":        {1000, 301, app.CodeRefundExceedsPayment, "tipMinor"},
		"more tip than the refund": {100, 101, app.CodeValidationFailed, "tipMinor"},
		"less than no tip":         {100, -1, app.CodeValidationFailed, "tipMinor"},
		"more than the payment":    {2201, 300, app.CodeRefundExceedsPayment, "amountMinor"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", refunds, w.tokens["MANAGER"], altered(refundBody(c.amount), object{"tipMinor": c.tip})).
				refused(c.code, c.path)
		})
	}
	partial := altered(refundBody(150), object{"tipMinor": 100})
	var refund app.Refund
	w.do("POST", refunds, w.tokens["MANAGER"], partial).ok(201, &refund)
	w.do("POST", refunds, w.tokens["MANAGER"], partial).ok(200, nil)
	w.do("POST", refunds, w.tokens["MANAGER"], altered(partial, object{"tipMinor": 99})).refused(app.CodeConflict)
	if refund.AmountMinor != 150 || refund.TipMinor != 100 {
		t.Errorf("refund: got %+v, want 150 with 100 of tip", refund)
	}
	event, _ := w.eventOf("own", app.EventPaymentRefunded)
	if event["amountMinor"] != 150. || event["totalRefundedMinor"] != 150. || event["type"] != "PARTIAL" {
		t.Errorf("payment.refunded: got %v, want PARTIAL of 150", event)
	}
	var listed []app.Payment
	w.do("GET", "/payments", w.tokens["STAFF"], nil).ok(200, &listed)
	if listed[0].RefundedMinor != 50 || listed[0].RefundedTip != 100 {
		t.Errorf("payment: got %+v, want 50 and 100 of the tip refunded", listed[0])
	}
	var order owed
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &order)
	if diff := cmp.Diff(owed{PaidMinor: 1900, RefundedMinor: 50, PaymentStatus: app.PaymentPartiallyRefunded},
		order); diff != "" {
		t.Errorf("order (-want +got): %s", diff)
	}
	w.now = w.now.Add(time.Second)
	w.do("POST", refunds, w.tokens["MANAGER"], refundBody(1850)).ok(201, nil)
	if event, _ := w.eventOf("own", app.EventPaymentRefunded); event["type"] != "PARTIAL" {
		t.Errorf("payment.refunded: got %v, want PARTIAL while tip is left", event)
	}
	w.now = w.now.Add(time.Second)
	w.do("POST", refunds, w.tokens["MANAGER"], altered(refundBody(200), object{"tipMinor": 200})).ok(201, nil)
	event, _ = w.eventOf("own", app.EventPaymentRefunded)
	if event["type"] != "FULL" || event["totalRefundedMinor"] != 2200. {
		t.Errorf("payment.refunded: got %v, want FULL of 2200", event)
	}
	sums := map[string]int64{}
	var sales []app.Sales
	w.do("GET", "/analytics/summary?from=2026-03-14&to=2026-03-14", w.tokens["OWNER"], nil).ok(200, &sales)
	for _, s := range sales {
		sums[string(s.Currency)] = s.RefundedMinor
	}
	if want := map[string]int64{"EUR": 1900, "USD": 0}; !maps.Equal(sums, want) {
		t.Errorf("analytics: got %v refunded, want %v, without tips", sums, want)
	}
}
