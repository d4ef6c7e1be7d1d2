package e2e

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// TestEventsOfOrdersAndProducts checks the data of each event of orders and products at a receiver.
func TestEventsOfOrdersAndProducts(t *testing.T) {
	t.Parallel()
	worker(t, nil)
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
	for h.await(t) < 11 { // both orders are of one guest
	}
	got := map[string][]any{}
	for _, one := range h.all(t) {
		var envelope struct {
			Type string
			Data map[string]any
		}
		must(t, json.Unmarshal([]byte(one.body), &envelope))
		if envelope.Type == "customer.created" {
			if envelope.Data["firstName"] != "Ada Lovelace" {
				t.Errorf("customer.created: got %v, want Ada Lovelace", envelope.Data)
			}
			continue
		}
		if envelope.Data["version"] == 3. && envelope.Data["name"] == "Lasagne" {
			if envelope.Data["deletedAt"] == nil {
				t.Errorf("product.updated of a deleted product: got %v, want one with deletedAt", envelope.Data)
			}
			delete(envelope.Data, "deletedAt") // not part of any response, like updatedAt
			envelope.Data["updatedAt"] = changed.UpdatedAt.String()
		}
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
