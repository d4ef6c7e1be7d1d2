package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status      app.OrderStatus
		fulfillment app.FulfillmentType
		mayCancel   bool
		want        []app.OrderStatus
	}{
		"received, pickup": {
			app.OrderReceived, app.FulfillmentPickup, false,
			[]app.OrderStatus{"CONFIRMED", "PREPARING", "READY", "COMPLETED"},
		},
		"received, delivery": {
			app.OrderReceived, app.FulfillmentDelivery, true,
			[]app.OrderStatus{"CONFIRMED", "PREPARING", "READY", "OUT_FOR_DELIVERY", "COMPLETED", "CANCELLED"},
		},
		"out for delivery": {
			app.OrderOutForDelivery, app.FulfillmentDelivery, true, []app.OrderStatus{"COMPLETED", "CANCELLED"},
		},
		"completed": {app.OrderCompleted, app.FulfillmentPickup, true, []app.OrderStatus{}},
		"cancelled": {app.OrderCancelled, app.FulfillmentPickup, true, []app.OrderStatus{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.status.Transitions(test.fulfillment, test.mayCancel)); diff != "" {
				t.Errorf("%s: transitions (-want +got):\n%s", name, diff)
			}
		})
	}
}
