package e2e

import (
	"encoding/json"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestEventsOfPaymentsAndCustomers checks the data of each event of payments and customers at a receiver.
func TestEventsOfPaymentsAndCustomers(t *testing.T) {
	t.Parallel()
	worker(t, nil)
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
	for h.await(t) < 5 {
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
	for kind, list := range want {
		t.Run(kind, func(t *testing.T) {
			if len(got[kind]) != len(list) {
				t.Errorf("events: got %d, want %d", len(got[kind]), len(list))
			}
			for _, data := range list {
				if !contains(t, got[kind], data) {
					t.Errorf("events: got %v, want one with %+v", got[kind], data)
				}
			}
		})
	}
}
