package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// TestEvents checks the data of each event at a receiver.
func TestEvents(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	t.Run("orders and products", ordersAndProducts)
	t.Run("payments and customers", paymentsAndCustomers)
	t.Run("reservations", reservations)
}

func ordersAndProducts(t *testing.T) {
	r, h := newRestaurant(t), newHook(t, nil)
	r.awaitDispatch() // of the event of the first product
	r.subscribe(h, "order.created", "order.status_updated", "order.completed", "order.cancelled",
		"customer.created", "product.created", "product.updated")

	place := func() (order app.Order) {
		t.Helper()
		r.want(201, "POST", "/orders", r.newOrder(), &order)
		return order
	}
	first, second := place(), place()
	status := func(order app.Order, body map[string]string) (moved app.Order) {
		t.Helper()
		r.want(200, "PATCH", "/orders/"+string(order.ID)+"/status", body, &moved)
		return moved
	}
	confirmed := status(first, map[string]string{"status": "CONFIRMED"})
	completed := status(first, map[string]string{"status": "COMPLETED"})
	cancelled := status(second, map[string]string{"status": "CANCELLED", "cancellationReason": "Out of dough"})
	var created, changed app.Product
	r.want(201, "POST", "/products", map[string]any{"name": "Lasagne", "priceMinor": 1250, "currency": "EUR"}, &created)
	product := "/products/" + string(created.ID)
	r.want(200, "PATCH", product, map[string]any{"priceMinor": 1300}, &changed)
	r.want(204, "DELETE", product, nil, nil)

	updated := func(order app.Order) any { return app.OrderStatusUpdated{Order: order, NewStatus: order.Status} }
	deleted := changed
	deleted.Version++
	deleted.Orderable = false
	want := map[string][]any{
		"order.created":        {first, second},
		"order.status_updated": {updated(confirmed), updated(completed), updated(cancelled)},
		"order.completed":      {completed},
		"order.cancelled":      {cancelled},
		"product.created":      {created},
		"product.updated": {
			app.ProductUpdated{Product: changed, ChangedFields: []string{"priceMinor"}},
			app.ProductUpdated{Product: deleted, ChangedFields: []string{"deletedAt"}},
		},
	}
	got := eventsOf(t, h, 11) // both orders are of one guest
	for _, data := range got["customer.created"] {
		if customer, ok := data.(map[string]any); !ok || customer["firstName"] != "Ada Lovelace" {
			t.Errorf("customer.created: got %v, want Ada Lovelace", data)
		}
	}
	delete(got, "customer.created")
	for _, data := range got["product.updated"] {
		product := data.(map[string]any)
		if product["version"] != 3. {
			continue
		}
		if product["deletedAt"] == nil {
			t.Errorf("product.updated of a deleted product: got %v, want one with deletedAt", product)
		}
		delete(product, "deletedAt") // not part of any response, like updatedAt
		product["updatedAt"] = changed.UpdatedAt.String()
	}
	compareEvents(t, got, want)
}

func paymentsAndCustomers(t *testing.T) {
	r, h := newRestaurant(t), newHook(t, nil)
	r.subscribe(h, "payment.succeeded", "payment.failed", "payment.refunded", "customer.updated")

	var order app.Order
	r.want(201, "POST", "/orders", r.newOrder(), &order)
	var payment app.Payment
	payments := "/orders/" + string(order.ID) + "/payments"
	paid := map[string]any{
		"provider": "stripe", "transactionId": "pi_1", "status": "SUCCEEDED", "amountMinor": 950, "currency": "EUR",
		"paymentMethod": "card", "cardLast4": "4242",
	}
	r.want(201, "POST", payments, paid, &payment)
	r.want(200, "POST", payments, paid, nil)
	r.want(201, "POST", payments, map[string]any{
		"provider": "STRIPE", "transactionId": "pi_2", "status": "FAILED", "errorCode": "card_declined",
		"amountMinor": 950, "currency": "EUR", "paymentMethod": "card",
	}, nil)
	refunds := "/payments/" + string(payment.ID) + "/refunds"
	r.want(201, "POST", refunds, map[string]any{"amountMinor": 450, "reason": "cold", "providerRefundId": "re_1"}, nil)
	r.want(201, "POST", refunds, map[string]any{"amountMinor": 500, "reason": "late", "providerRefundId": "re_2"}, nil)
	var customer app.Customer
	r.want(200, "PATCH", "/customers/"+string(*order.Customer.ID), map[string]any{"phone": "+4915112345678"}, &customer)

	var recorded []app.Payment // newest first
	r.want(200, "GET", "/payments", nil, &recorded)
	failed, refundIDs := recorded[0].ID, []app.RefundID{recorded[1].Refunds[0].ID, recorded[1].Refunds[1].ID}
	of := app.PaidOrder{ID: order.ID, Number: order.Number}
	refunded := func(amount, total int64, reason string, kind app.RefundType, id app.RefundID) any {
		return app.PaymentRefundedData{
			OrderNumber: order.Number, AmountMinor: amount, Currency: "EUR", Reason: reason, Type: kind,
			TotalRefundedMinor: total, Provider: "STRIPE", TransactionID: "pi_1", PaymentID: payment.ID, RefundID: id,
			Order: of,
		}
	}
	want := map[string][]any{
		"payment.succeeded": {app.PaymentSucceededData{
			OrderNumber: order.Number, AmountMinor: 950, Currency: "EUR", Provider: "STRIPE", TransactionID: "pi_1",
			PaymentMethod: "card", CardLast4: "4242", PaymentID: payment.ID, Order: of,
		}},
		"payment.failed": {app.PaymentFailedData{
			OrderNumber: order.Number, ErrorCode: "card_declined", Provider: "STRIPE", TransactionID: "pi_2",
			PaymentID: failed, Order: of,
		}},
		"payment.refunded": {
			refunded(450, 450, "cold", app.RefundPartial, refundIDs[0]),
			refunded(500, 950, "late", app.RefundFull, refundIDs[1]),
		},
		"customer.updated": {app.CustomerUpdated{Customer: customer, UpdatedFields: []string{"phone"}}},
	}
	compareEvents(t, eventsOf(t, h, 5), want)
}

func reservations(t *testing.T) {
	r, h := newRestaurant(t), newHook(t, nil)
	r.subscribe(h, "reservation.created", "reservation.confirmed", "reservation.cancelled")

	var created, confirmed, cancelled app.Reservation
	r.want(201, "POST", "/reservations", map[string]any{
		"customer": map[string]any{"name": "Ada Lovelace"}, "partySize": 4,
		"startAt": time.Now().AddDate(0, 0, 7).Format(time.RFC3339),
	}, &created)
	status := "/reservations/" + string(created.ID) + "/status"
	r.want(200, "PATCH", status, map[string]any{"status": "CONFIRMED"}, &confirmed)
	r.want(200, "PATCH", status, map[string]any{"status": "CANCELLED", "cancellationReason": "Rain"}, &cancelled)
	if confirmed.ConfirmedBy == nil || cancelled.CancellationReason == nil || *cancelled.CancellationReason != "Rain" {
		t.Errorf("got %+v and %+v, want confirmedBy and the cancellation reason Rain", confirmed, cancelled)
	}
	compareEvents(t, eventsOf(t, h, 3), map[string][]any{
		"reservation.created": {created}, "reservation.confirmed": {confirmed}, "reservation.cancelled": {cancelled},
	})
}

// eventsOf waits for a number of events and returns their data by type.
func eventsOf(t *testing.T, h *hook, events int) map[string][]any {
	t.Helper()
	for h.await(t) < events {
	}
	got := map[string][]any{}
	for _, one := range h.all(t) {
		var envelope struct {
			Type string
			Data any
		}
		must(t, json.Unmarshal([]byte(one.body), &envelope))
		got[envelope.Type] = append(got[envelope.Type], envelope.Data)
	}
	return got
}

// compareEvents compares the data of received events, in any order.
func compareEvents(t *testing.T, got, want map[string][]any) {
	t.Helper()
	for kind := range got {
		if want[kind] == nil {
			t.Errorf("%s: got an event, want none", kind)
		}
	}
	for kind, list := range want {
		if len(got[kind]) != len(list) {
			t.Errorf("%s: got %d events, want %d", kind, len(got[kind]), len(list))
		}
		for _, data := range list {
			if !contains(t, got[kind], data) {
				t.Errorf("%s: got %v, want one with %+v", kind, got[kind], data)
			}
		}
	}
}

// contains reports whether a list of decoded JSON contains a value. Deliveries arrive in any order.
func contains(t *testing.T, list []any, value any) bool {
	t.Helper()
	encoded, err := json.Marshal(value)
	must(t, err)
	var decoded any
	must(t, json.Unmarshal(encoded, &decoded))
	for _, one := range list {
		if cmp.Equal(one, decoded) {
			return true
		}
	}
	return false
}
