package api

import (
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
		Status:    app.DeliveryQueued, ScheduledFor: app.At(noon), CreatedAt: app.At(noon),
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error("delivery (-want +got):", diff)
	}
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).refused(app.CodeDeliveryInProgress)
	w.record(1, app.AttemptDelivered, 200)
	w.now = noon.Add(time.Hour)
	w.tokens["OWNER"] = w.token("OWNER", own.id)
	w.do("POST", path+"/replay", w.tokens["OWNER"], nil).ok(202, &d)
	if d.Status != app.DeliveryQueued || d.Attempts != 1 || d.ScheduledFor != app.At(w.now) || d.EndedAt != nil {
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
