package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestListPayments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var orders [2]orderOut
	for i := range orders {
		orders[i], _ = w.place(nil)
	}
	start := w.now
	for i := range 6 {
		w.now = start.Add(time.Duration(i/2) * time.Minute) // each time occurs twice
		body := altered(paymentBody(), object{
			"transactionId": fmt.Sprint("pi_", i), "provider": []string{"stripe", "ADYEN"}[i%2],
		})
		if i == 5 {
			body = altered(body, object{"status": "FAILED", "errorCode": "card_declined", "cardLast4": nil})
		}
		w.do("POST", "/orders/"+string(orders[i%2].ID)+"/payments", w.tokens["STAFF"], body).ok(201, nil)
	}
	list := func(query string) (page []app.Payment, next string) {
		t.Helper()
		a := w.do("GET", "/payments?"+query, w.tokens["STAFF"], nil).ok(200, &page)
		next, _ = a.body.Meta["nextCursor"].(string)
		return page, next
	}
	names := func(page []app.Payment) string {
		var all []string
		for _, p := range page {
			all = append(all, strings.TrimPrefix(p.TransactionID, "pi_"))
		}
		return strings.Join(all, "")
	}
	all, _ := list("")
	if len(all) != 6 || all[0].CreatedAt.Before(all[5].CreatedAt.Time) {
		t.Fatalf("got %s, want six, newest first", names(all))
	}
	var paged []app.Payment
	for cursor := ""; ; {
		page, next := list("limit=2" + cursor)
		if paged = append(paged, page...); next == "" || len(paged) > 6 {
			break
		}
		cursor = "&cursor=" + next
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("pages (-list +pages): %s", diff)
	}
	at := func(minutes int) string { return app.At(start.Add(time.Duration(minutes) * time.Minute)).String() }
	for query, want := range map[string]string{
		"orderId=" + orders[0].Number: "024", "orderId=" + string(orders[1].ID): "135", "orderId=999": "",
		"status=FAILED": "5", "status=SUCCEEDED": "01234", "provider=Stripe": "024", "provider=PAYPAL": "",
		"from=" + at(1): "2345", "to=" + at(1): "01", "from=" + at(1) + "&to=" + at(2): "23",
		"provider=adyen&status=SUCCEEDED&from=" + at(1): "3",
	} {
		page, _ := list(query)
		got := names(page)
		for _, digit := range want {
			if !strings.ContainsRune(got, digit) || len(got) != len(want) {
				t.Errorf("%s: got %q, want %q", query, got, want)
				break
			}
		}
		if want == "" && got != "" {
			t.Errorf("%s: got %q, want none", query, got)
		}
	}
	if all[0].Order.ID == "" || all[0].Order.Number != all[0].OrderNumber || all[0].Refunds == nil {
		t.Errorf("got %+v, want its order and refunds", all[0])
	}
	for query, path := range map[string]string{
		"orderId=0": "orderId", "orderId=x": "orderId", "orderId=%2B1": "orderId", "status=PAID": "status",
		"provider=%20": "provider", "from=yesterday": "from", "from=" + at(1) + "&to=" + at(1): "to", "limit=101": "limit",
	} {
		w.do("GET", "/payments?"+query, w.tokens["STAFF"], nil).refused(app.CodeValidationFailed, path)
	}
	var foreign []app.Payment
	w.do("GET", "/payments?orderId="+string(orders[0].ID), w.tokens["FOREIGN"], nil).ok(200, &foreign)
	if len(foreign) != 0 {
		t.Errorf("payments of another store: got %s, want none", names(foreign))
	}
	w.do("GET", "/payments", w.key("own", app.ScopeReadOrders), nil).ok(200, nil)
	w.do("GET", "/payments", w.key("own", app.ScopeReadProducts), nil).refused(app.CodeInsufficientScope)
}

// The events of payments name the payment, its order and the refund.
func TestPaymentEventsCarryIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stores["own"]
	path := "/orders/" + string(s.order.ID) + "/payments"
	var paid, failed app.Payment
	w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{"transactionId": "pi_1"})).ok(201, &paid)
	w.do("POST", path, w.tokens["STAFF"], altered(paymentBody(), object{"transactionId": "pi_2", "status": "FAILED",
		"errorCode": "card_declined", "cardLast4": nil})).ok(201, &failed)
	var refund app.Refund
	w.do("POST", "/payments/"+string(paid.ID)+"/refunds", w.tokens["MANAGER"], refundBody(1)).ok(201, &refund)
	for kind, want := range map[app.EventType]object{
		app.EventPaymentSucceeded: {"paymentId": string(paid.ID), "transactionId": "pi_1"},
		app.EventPaymentFailed:    {"paymentId": string(failed.ID), "transactionId": "pi_2"},
		app.EventPaymentRefunded:  {"paymentId": string(paid.ID), "transactionId": "pi_1", "refundId": string(refund.ID)},
	} {
		event, _ := w.eventOf("own", kind)
		want["orderId"] = s.order.Number
		want["order"] = map[string]any{"id": string(s.order.ID), "orderId": s.order.Number}
		for name, value := range want {
			if diff := cmp.Diff(value, event[name]); diff != "" {
				t.Errorf("%s: %s (-want +got): %s", kind, name, diff)
			}
		}
	}
}
