package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// paymentBody is a valid payment with a new transaction id.
func paymentBody() object {
	return object{
		"provider": "STRIPE", "transactionId": app.NewID[app.PaymentID](noon), "status": "SUCCEEDED",
		"amountMinor": 950, "currency": "EUR",
		"paymentMethod": "card", "cardLast4": "4242",
	}
}

// refundBody is a valid refund with a new refund id.
func refundBody(amount int64) object {
	return object{"amountMinor": amount, "reason": "cold", "providerRefundId": app.NewID[app.RefundID](noon)}
}

// pay records a payment of a shop's order.
func (w *world) pay(s *shop, amount int64) app.Payment {
	w.Helper()
	payment, err := w.db.RecordPayment(w.Context(), w.now, s.id, s.order.ID, app.NewPayment{
		Provider: "STRIPE", TransactionID: string(app.NewID[app.PaymentID](noon)), Status: app.PaymentSucceeded,
		AmountMinor: amount,
		Currency:    "EUR", PaymentMethod: "card",
	}, nil)
	w.must(err)
	return payment
}

// eventOf returns the data of the newest event of a type, and the number of events of that type.
func (w *world) eventOf(store string, t app.EventType) (object, int) {
	w.Helper()
	emitted := w.eventData(store, t)
	if len(emitted) == 0 {
		return nil, 0
	}
	var data object
	w.read(emitted[len(emitted)-1], &data)
	return data, len(emitted)
}

func TestPayAndRefund(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/orders/" + string(s.order.ID)
	order := func() (o orderOut) {
		t.Helper()
		w.do("GET", path, w.token("STAFF", s.id), nil).ok(200, &o)
		return o
	}
	var payment app.Payment
	w.now = noon.Add(time.Minute)
	w.do("POST", path+"/payments", w.tokens["STAFF"],
		altered(paymentBody(), object{"provider": "stripe", "transactionId": "pi_1"})).ok(201, &payment)
	want := app.Payment{
		ID: payment.ID, StoreID: s.id, OrderNumber: "1", Order: app.PaidOrder{ID: s.order.ID, Number: "1"},
		Provider: "STRIPE", TransactionID: "pi_1",
		Status: app.PaymentSucceeded, AmountMinor: 950,
		Currency: "EUR", PaymentMethod: "card", CardLast4: "4242", Refunds: []app.Refund{},
		BusinessDate: "2026-03-14", CreatedAt: app.At(w.now),
	}
	if diff := cmp.Diff(want, payment); diff != "" {
		t.Error("payment (-want +got):", diff)
	}
	order1 := map[string]any{"id": string(s.order.ID), "orderId": "1"}
	event, n := w.eventOf("own", app.EventPaymentSucceeded)
	if diff := cmp.Diff(object{
		"orderId": "1", "amountMinor": 950., "currency": "EUR", "provider": "STRIPE", "transactionId": "pi_1",
		"paymentMethod": "card", "cardLast4": "4242", "paymentId": string(payment.ID),
		"order": order1,
	}, event); diff != "" || n != 1 {
		t.Errorf("payment.succeeded: got %d events, want 1 (-want +got): %s", n, diff)
	}
	if o := order(); o.PaidMinor != 950 || o.PaymentStatus != app.PaymentPartiallyPaid || o.Version != 2 ||
		o.UpdatedAt != app.At(w.now) {
		t.Errorf("order: got %+v, want version 2 with 950 paid", o)
	}

	// Failed payments do not count.
	w.now = w.now.Add(time.Second)
	failed := altered(paymentBody(), object{"status": "FAILED", "errorCode": "card_declined", "cardLast4": nil})
	w.do("POST", path+"/payments", w.tokens["STAFF"], failed).ok(201, &payment)
	if event, n := w.eventOf("own", app.EventPaymentFailed); n != 1 ||
		cmp.Diff(object{
			"orderId": "1", "errorCode": "card_declined", "provider": "STRIPE", "transactionId": payment.TransactionID,
			"paymentId": string(payment.ID), "order": order1,
		}, event) != "" {
		t.Errorf("payment.failed: got %d events and %v, want 1 with card_declined", n, event)
	}
	if o := order(); o.PaidMinor != 950 || o.Version != 2 {
		t.Errorf("order after a failed payment: got %+v, want version 2 with 950 paid", o)
	}
	w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["MANAGER"], refundBody(1)).
		refused(app.CodeRefundExceedsPayment, "amountMinor")

	w.now = w.now.Add(time.Second)
	// Payments beyond the order's total and of cancelled orders are recorded, because the money has been transferred.
	w.exec("UPDATE orders SET status = 'CANCELLED', cancellation_reason = 'x' WHERE id = $1", s.order.ID)
	w.do("POST", path+"/payments", w.key("own", app.ScopeWriteOrders),
		altered(paymentBody(), object{"amountMinor": 2000})).ok(201, &payment)
	if o := order(); o.PaidMinor != 2950 || o.PaymentStatus != app.PaymentPaid {
		t.Errorf("order: got %d paid and %s, want 2950 and PAID", o.PaidMinor, o.PaymentStatus)
	}

	refunds := "/payments/" + string(payment.ID) + "/refunds"
	w.now = noon.Add(36 * time.Hour)
	manager, staff := w.token("MANAGER", s.id), w.token("STAFF", s.id)
	for i, step := range []struct {
		amount int64
		status app.PaymentStatus
		total  int64
		kind   string
	}{{500, app.PaymentPartiallyRefunded, 500, "PARTIAL"}, {1500, app.PaymentPartiallyRefunded, 2000, "FULL"}} {
		var refund app.Refund
		id := fmt.Sprint("re_", i)
		w.now = w.now.Add(time.Second)
		w.do("POST", refunds, manager, altered(refundBody(step.amount), object{"providerRefundId": id})).
			ok(201, &refund)
		want := app.Refund{
			ID: refund.ID, PaymentID: payment.ID, AmountMinor: step.amount, Currency: "EUR", Reason: "cold",
			ProviderRefundID: id,
			BusinessDate:     "2026-03-16", CreatedAt: app.At(w.now),
		}
		if diff := cmp.Diff(want, refund); diff != "" {
			t.Errorf("refund %d (-want +got): %s", i+1, diff)
		}
		event, n := w.eventOf("own", app.EventPaymentRefunded)
		if diff := cmp.Diff(object{
			"orderId": "1", "amountMinor": float64(step.amount), "currency": "EUR", "reason": "cold", "type": step.kind,
			"totalRefundedMinor": float64(step.total),
			"provider":           "STRIPE", "transactionId": payment.TransactionID, "paymentId": string(payment.ID),
			"refundId": string(refund.ID), "order": order1,
		}, event); diff != "" || n != i+1 {
			t.Errorf("payment.refunded: got %d events, want %d (-want +got): %s", n, i+1, diff)
		}
		if o := order(); o.RefundedMinor != step.total || o.PaymentStatus != step.status {
			t.Errorf("order: got %d refunded and %s, want %d and %s", o.RefundedMinor, o.PaymentStatus, step.total,
				step.status)
		}
		w.do("POST", refunds, manager, refundBody(2000-step.total+1)).
			refused(app.CodeRefundExceedsPayment, "amountMinor")
	}
	var listed []app.Payment
	w.do("GET", path+"/payments", staff, nil).ok(200, &listed)
	if len(listed) != 3 || listed[2].ID != want.ID || listed[0].RefundedMinor+listed[1].RefundedMinor != 2000 ||
		len(listed[0].Refunds)+len(listed[1].Refunds) != 2 {
		t.Errorf("list: got %+v, want 3 payments, the first two with refunds of 2000", listed)
	}
}

// A payment or a refund that is already recorded gets 200 and has no effect.
func TestRepeatedPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/orders/" + string(s.order.ID) + "/payments"
	body := paymentBody()
	key := header("Idempotency-Key", "k1")
	var first app.Payment
	original := w.do("POST", path, w.tokens["STAFF"], body, key).ok(201, &first)
	if again := w.do("POST", path, w.tokens["STAFF"], body, key).ok(201,
		nil); again.Body.String() != original.Body.String() {
		t.Errorf("repeated request: got %s, want %s", again.Body, original.Body)
	}
	for range 2 { // with another key, which returns the stored response
		var again app.Payment
		w.do("POST", path, w.tokens["STAFF"], body, header("Idempotency-Key", "k2")).ok(200, &again)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error("payment with the same transaction (-want +got):", diff)
		}
	}
	w.do("POST", path, w.tokens["STAFF"], altered(body, object{"provider": "stripe"})).ok(200, nil)
	w.do("POST", path, w.tokens["STAFF"], altered(body, object{"amountMinor": 1}), key).
		refused(app.CodeIdempotencyKeyReused)
	for name, value := range map[string]any{"amountMinor": 951, "paymentMethod": "cash", "cardLast4": "0000",
		"status": "FAILED"} {
		w.run(name, func(t *testing.T) {
			other := altered(body, object{name: value})
			if name == "status" {
				other["errorCode"] = "x"
			}
			w.do("POST", path, w.tokens["STAFF"], other).refused(app.CodeConflict)
		})
	}
	second := w.orderOf("own", w.addCustomer("own", "ada@example.com").Customer.ID)
	w.do("POST", "/orders/"+string(second.ID)+"/payments", w.tokens["STAFF"], body).refused(app.CodeConflict)
	w.do("POST", path, w.tokens["STAFF"], altered(body, object{"provider": "PAYPAL"})).ok(201, nil)

	refunds := "/payments/" + string(first.ID) + "/refunds"
	refund := refundBody(100)
	var made app.Refund
	w.do("POST", refunds, w.tokens["OWNER"], refund, key).ok(201, &made)
	for _, change := range [][]string{nil, {"k1"}, {"k3"}, {"k3"}} {
		status := 200
		var again app.Refund
		if len(change) == 0 {
			w.do("POST", refunds, w.tokens["OWNER"], refund).ok(status, &again)
		} else {
			if change[0] == "k1" {
				status = 201
			}
			w.do("POST", refunds, w.tokens["OWNER"], refund, header("Idempotency-Key", change[0])).ok(status, &again)
		}
		if diff := cmp.Diff(made, again); diff != "" {
			t.Error("refund with the same reference (-want +got):", diff)
		}
	}
	for name, value := range map[string]any{"amountMinor": 101, "reason": "late"} {
		w.run("refund "+name, func(t *testing.T) {
			w.do("POST", refunds, w.tokens["OWNER"], altered(refund, object{name: value})).refused(app.CodeConflict)
		})
	}
	// A provider's id names one refund: of one payment, and of one provider.
	w.do("POST", "/payments/"+string(w.pay(s, 500).ID)+"/refunds", w.tokens["OWNER"], refund).refused(app.CodeConflict)
	var elsewhere app.Payment
	w.do("POST", path, w.tokens["STAFF"], altered(body, object{"provider": "PAYPAL", "transactionId": "t2"})).
		ok(201, &elsewhere)
	w.do("POST", "/payments/"+string(elsewhere.ID)+"/refunds", w.tokens["OWNER"], refund).ok(201, nil)
	for event, want := range map[app.EventType]int{app.EventPaymentSucceeded: 4, app.EventPaymentRefunded: 2,
		app.EventPaymentFailed: 0} {
		if n := len(w.eventData("own", event)); n != want {
			t.Errorf("%s: got %d events, want %d", event, n, want)
		}
	}
}

func TestBadPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/orders/" + string(s.order.ID) + "/payments"
	null := json.RawMessage("null")
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nothing paid":             {object{"amountMinor": 0}, "amountMinor"},
		"less than nothing":        {object{"amountMinor": -1}, "amountMinor"},
		"a fraction":               {object{"amountMinor": 9.5}, "amountMinor"},
		"an amount of text":        {object{"amountMinor": "950"}, "amountMinor"},
		"too large":                {object{"amountMinor": app.MaxAmountMinor + 1}, "amountMinor"},
		"beyond 64 bits":           {object{"amountMinor": json.RawMessage("9223372036854775808")}, "amountMinor"},
		"no such currency":         {object{"currency": "XXX"}, "currency"},
		"another currency":         {object{"currency": "USD"}, "currency"},
		"no such status":           {object{"status": "PENDING"}, "status"},
		"an error of a success":    {object{"errorCode": "x"}, "errorCode"},
		"a failure without error":  {object{"status": "FAILED"}, "errorCode"},
		"a failure, blank error":   {object{"status": "FAILED", "errorCode": " "}, "errorCode"},
		"a long error":             {object{"status": "FAILED", "errorCode": strings.Repeat("é", 101)}, "errorCode"},
		"three digits":             {object{"cardLast4": "424"}, "cardLast4"},
		"a whole card number":      {object{"cardLast4": "4242424242424242"}, "cardLast4"},
		"digits of another script": {object{"cardLast4": "٤٢٤٢"}, "cardLast4"},
		"last4 a number":           {object{"cardLast4": 4242}, "cardLast4"},
		"last4 null":               {object{"cardLast4": null}, "cardLast4"},
		"a blank transaction":      {object{"transactionId": " \u00a0"}, "transactionId"},
		"a long transaction":       {object{"transactionId": strings.Repeat("x", 256)}, "transactionId"},
		"NUL":                      {object{"transactionId": "a\x00b"}, "transactionId"},
		"a provider in Greek":      {object{"provider": "ΣTRIPE"}, "provider"},
		"a provider of two words":  {object{"provider": "PAY PAL"}, "provider"},
		"a long provider":          {object{"provider": strings.Repeat("X", 51)}, "provider"},
		"a blank method":           {object{"paymentMethod": " "}, "paymentMethod"},
		"a long method":            {object{"paymentMethod": strings.Repeat("x", 51)}, "paymentMethod"},
		"an unknown member":        {object{"cvc": "123"}, "cvc"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), c.change)).
				refused(app.CodeValidationFailed, c.paths)
		})
	}
	for _, name := range []string{"provider", "transactionId", "status", "amountMinor", "currency", "paymentMethod"} {
		w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{name: nil})).
			refused(app.CodeValidationFailed, name)
	}
	refunds := "/payments/" + string(w.pay(s, 1000).ID) + "/refunds"
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nothing":            {object{"amountMinor": 0}, "amountMinor"},
		"less than nothing":  {object{"amountMinor": -1}, "amountMinor"},
		"too large":          {object{"amountMinor": app.MaxAmountMinor + 1}, "amountMinor"},
		"no reason":          {object{"reason": nil}, "reason"},
		"a blank reason":     {object{"reason": "\t"}, "reason"},
		"a long reason":      {object{"reason": strings.Repeat("字", 501)}, "reason"},
		"10 kB of reason":    {object{"reason": strings.Repeat("x", 10_000)}, "reason"},
		"NUL":                {object{"reason": "a\x00"}, "reason"},
		"no id":              {object{"providerRefundId": nil}, "providerRefundId"},
		"a long id":          {object{"providerRefundId": strings.Repeat("x", 256)}, "providerRefundId"},
		"a currency":         {object{"currency": "EUR"}, "currency"},
		"the payment's name": {object{"paymentId": "pay_1"}, "paymentId"},
	} {
		w.run("refund "+name, func(t *testing.T) {
			w.do("POST", refunds, w.tokens["MANAGER"], altered(refundBody(1), c.change)).
				refused(app.CodeValidationFailed, c.paths)
		})
	}
	w.do("POST", refunds, w.tokens["MANAGER"], refundBody(app.MaxAmountMinor)).refused(app.CodeRefundExceedsPayment)
	// The sum of all payments is also an integer that every JSON parser represents exactly.
	w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{"amountMinor": app.MaxAmountMinor})).
		refused(app.CodeAmountTooLarge)
	w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{"amountMinor": app.MaxAmountMinor - 1000})).
		ok(201, nil)
	w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{"amountMinor": 1})).
		refused(app.CodeAmountTooLarge)
	// Refused payments are not stored.
	if n := w.text("SELECT count(*)::text FROM payments WHERE store_id = $1", s.id); n != "2" {
		t.Errorf("got %s payments, want 2", n)
	}
	for _, reason := range []string{
		strings.Repeat("字", 500), "🧀 <b>&amp;", "بارد", "'; DROP TABLE refunds; --",
	} {
		var refund app.Refund
		w.now = w.now.Add(time.Second)
		w.do("POST", refunds, w.tokens["MANAGER"],
			altered(refundBody(1), object{"reason": reason,
				"providerRefundId": reason[:min(9, len(reason))]})).ok(201, &refund)
		if event, _ := w.eventOf("own", app.EventPaymentRefunded); refund.Reason != reason ||
			event["reason"] != reason {
			t.Errorf("got the reasons %q and %q, want %q", refund.Reason, event["reason"], reason)
		}
	}
}

// Pages contain the payments of one order. Customers see the payments of their own orders.
func TestPaymentPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := *w.stores["own"]
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	s.order = w.orderOf("own", ada.Customer.ID)
	other := w.orderOf("own", bob.Customer.ID)
	path := "/orders/" + string(s.order.ID) + "/payments"
	var want, got []app.PaymentID
	for range 3 {
		w.now = w.now.Add(time.Second)
		want = append(want, w.pay(&s, 10).ID)
	}
	slices.Reverse(want)
	next := path + "?limit=1"
	for range 3 {
		var page []app.Payment
		a := w.do("GET", next, ada.AccessToken, nil).ok(200, &page)
		for _, p := range page {
			got = append(got, p.ID)
		}
		cursor, _ := a.body.Meta["nextCursor"].(string)
		if cursor != "" {
			w.do("GET", "/orders/"+string(other.ID)+"/payments?limit=1&cursor="+cursor, bob.AccessToken, nil).
				refused(app.CodeValidationFailed, "cursor")
		}
		next = path + "?limit=1&cursor=" + cursor
		if (cursor == "") != (len(got) == 3) {
			t.Errorf("metadata after %d of 3 payments: got %v, want a cursor except at the end", len(got), a.body.Meta)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("pages (-want +got):", diff)
	}
	unknown := w.do("GET", "/orders/ord_none/payments", bob.AccessToken, nil).refused(app.CodeNotFound).same()
	if a := w.do("GET", path, bob.AccessToken, nil).refused(app.CodeNotFound); a.same() != unknown {
		t.Errorf("payments of another customer: got %s, want %s", a.Body, unknown)
	}
	w.do("GET", path+"?limit=101", ada.AccessToken, nil).refused(app.CodeValidationFailed, "limit")
}

// addRefunds copies the only refund of a payment until the payment has a number of refunds.
func (w *world) addRefunds(payment app.PaymentID, refunds int) {
	w.Helper()
	w.exec(`INSERT INTO refunds SELECT (jsonb_populate_record(r,
			jsonb_build_object('id', r.id || n, 'provider_refund_id', r.provider_refund_id || n))).*
		FROM refunds r, generate_series(2, $2) n WHERE r.payment_id = $1`, payment, refunds)
}

// A payment has at most 100 refunds. A repetition of one of them is not refused.
func TestRefundsOfAPaymentAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	payment := w.pay(w.stores["own"], 1000).ID
	path := "/payments/" + string(payment) + "/refunds"
	refund := func(body object) *response { return w.do("POST", path, w.tokens["MANAGER"], body) }
	first := refundBody(1)
	refund(first).ok(201, nil)
	w.addRefunds(payment, app.MaxRefunds-1)
	refund(refundBody(1)).ok(201, nil)
	refund(refundBody(1)).refused(app.CodeLimitReached)
	refund(first).ok(200, nil)
	refund(altered(first, object{"reason": "late"})).refused(app.CodeConflict)
}
