package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestDeliveriesAndReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/deliveries/" + string(own.delivery.ID)
	var d app.Delivery
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &d)
	want := app.Delivery{
		ID: own.delivery.ID, SubscriptionID: own.webhook.ID, EventID: own.delivery.EventID,
		EventType: app.EventOrderCreated,
		Status:    app.DeliveryQueued, ScheduledFor: new(app.At(noon)), CreatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error("delivery (-want +got):", diff)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeDeliveryInProgress)
	w.record(1, app.AttemptDelivered, 200)
	w.now = noon.Add(time.Hour)
	w.tokens["OWNER"] = w.token("OWNER", own.id)
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).ok(202, &d)
	if d.Status != app.DeliveryQueued || d.Attempts != 1 || !d.ScheduledFor.Equal(w.now) || d.EndedAt != nil {
		t.Errorf("replayed: got %+v, want it queued for %s after 1 attempt", d, w.now)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], object{}).refused(app.CodeDeliveryInProgress)

	change := func(statement string) {
		t.Helper()
		_, err := w.db.System().DB.ExecContext(t.Context(), statement)
		w.must(err)
		w.must(w.db.EndDelivery(t.Context(), w.now, own.delivery.ID, app.DeliveryDeadLetter, "test"))
	}
	change("UPDATE subscriptions SET deleted_at = now()")
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeConflict)
	change("UPDATE outbox SET body = NULL")
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodePayloadErased)
}

func TestDeliveryFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	for query, hit := range map[string]bool{
		"": true, "webhookId=" + string(own.webhook.ID): true, "webhookId=whk_x": false,
		"eventId=" + string(own.delivery.EventID): true, "eventId=evt_x": false,
		"eventType=order.created": true, "eventType=order.cancelled": false, "status=queued": true,
		"status=dead_letter":        false,
		"from=2026-03-14T12:00:00Z": true, "from=2026-03-14T12:00:00.001Z": false, "to=2026-03-14T12:00:00Z": false,
		"to=2026-03-14T14:00:00.001%2B02:00":                  true,
		"webhookId=" + string(w.stores["sibling"].webhook.ID): false,
		"status=queued&eventType=order.created&limit=100":     true,
	} {
		w.run("?"+query, func(t *testing.T) {
			var rows []app.Delivery
			w.do("GET", "/deliveries?"+query, w.tokens["OWNER"], nil).ok(200, &rows)
			if (len(rows) == 1) != hit {
				t.Errorf("?%s: got %d deliveries, want one: %v", query, len(rows), hit)
			}
		})
	}
}

// Of the deliveries of an order to an ordered webhook, one has the turn, and the others show which one.
func TestHeldBackDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var webhook app.Subscription
	w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), object{
		"events": []string{"order.created", "order.status_updated"}, "ordering": "resource",
	})).ok(201, &webhook)
	var order app.Order
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).ok(201, &order)
	w.do("PATCH", "/orders/"+string(order.ID)+"/status", w.tokens["OWNER"], object{"status": "CONFIRMED"}).ok(200, nil)
	_, err := w.db.Dispatch(t.Context(), noon, 1000)
	w.must(err)
	held := func() (all []app.Delivery) {
		t.Helper()
		w.do("GET", "/deliveries?webhookId="+string(webhook.ID), w.tokens["OWNER"], nil).ok(200, &all)
		if len(all) != 2 {
			t.Fatalf("deliveries: got %+v, want 2", all)
		}
		return all
	}
	all := held()
	second, first := all[0], all[1]
	if first.WaitsFor != "" || first.ScheduledFor == nil || second.WaitsFor != first.ID || second.ScheduledFor != nil ||
		second.Status != app.DeliveryQueued {
		t.Errorf("deliveries: got %+v, want the newer one to wait for the older one", all)
	}
	path := "/deliveries/" + string(second.ID)
	var one app.Delivery
	var event struct {
		Deliveries []app.Delivery `json:"deliveries"`
	}
	w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &one)
	w.do("GET", "/events/"+string(second.EventID), w.tokens["OWNER"], nil).ok(200, &event)
	for _, got := range append(event.Deliveries, one) {
		if diff := cmp.Diff(second, got); got.SubscriptionID == webhook.ID && diff != "" {
			t.Errorf("held-back delivery (-listed +got):\n%s", diff)
		}
	}
	a := w.do("POST", path+"/retry", w.tokens["OWNER"], nil).refused(app.CodeConflict)
	if !strings.Contains(a.body.Error.Message, string(first.ID)) {
		t.Errorf("message of a retry: got %q, want the delivery that has the turn", a.body.Error.Message)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeDeliveryInProgress)

	w.must(w.db.EndDelivery(t.Context(), noon, first.ID, app.DeliveryDeadLetter, "test"))
	if released := held()[0]; released.WaitsFor != "" || released.ScheduledFor == nil {
		t.Errorf("delivery after the end of the first one: got %+v, want its turn", released)
	}
	w.do("POST", "/deliveries/"+string(first.ID)+"/replay", w.tokens["OWNER"], nil).ok(202, &one)
	if one.WaitsFor != second.ID || one.ScheduledFor != nil {
		t.Errorf("replay of the first one: got %+v, want it to wait for %s", one, second.ID)
	}
}
