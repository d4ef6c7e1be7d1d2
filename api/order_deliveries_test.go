package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// pos makes a webhook of the own store that receives all events of orders and their payments.
func (w *world) pos() app.Subscription {
	w.Helper()
	var events []app.EventType
	for _, t := range app.EventTypes {
		if t.ConcernsOrder() {
			events = append(events, t)
		}
	}
	s, err := w.db.CreateSubscription(w.Context(), noon, w.stores["own"].id, app.Actor{}, app.NewSubscription{
		URL: "https://pos.example.com/", Description: "POS", Events: events, Secret: app.NewSecret(webhookSecret),
	}, nil)
	w.must(err)
	return s
}

// orderDeliveries reads the deliveries of an order's events as STAFF.
func (w *world) orderDeliveries(order app.OrderID) (found []app.OrderDelivery) {
	w.Helper()
	w.do("GET", "/orders/"+string(order)+"/deliveries?limit=100", w.tokens["STAFF"], nil).ok(200, &found)
	return found
}

func TestOrderDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, pos := w.stores["own"], w.pos()
	path := "/orders/" + string(own.order.ID)
	if got := w.orderDeliveries(own.order.ID); len(got) != 1 || got[0].Status != app.DeliveryQueued {
		t.Errorf("before the claim: got %+v, want one queued delivery of order.created", got)
	}
	w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": "COMPLETED"}).ok(200, nil)
	payment := w.pay(own, 1000)
	w.do("POST", "/payments/"+string(payment.ID)+"/refunds", w.tokens["OWNER"], refundBody(1)).ok(201, nil)
	w.orderOf("own", w.addCustomer("own", "ada@example.com").Customer.ID) // another order
	claims := persistencetest.Claim(t, w.db)
	got := w.orderDeliveries(own.order.ID)
	types := map[app.EventType]int{}
	for _, d := range got {
		types[d.EventType]++
		want := app.OrderDeliveryWebhook{ID: pos.ID, Description: "POS"}
		if d.EventType == app.EventOrderCreated {
			want = app.OrderDeliveryWebhook{ID: own.webhook.ID}
		}
		if d.Webhook != want || d.Status != app.DeliveryPending || d.Attempts != 0 || d.DeliveredAt != nil {
			t.Errorf("pending: got %+v, want no attempts for webhook %+v", d, want)
		}
	}
	if diff := cmp.Diff(map[app.EventType]int{app.EventOrderCreated: 1, app.EventOrderStatusUpdated: 1,
		app.EventOrderCompleted: 1, app.EventPaymentSucceeded: 1, app.EventPaymentRefunded: 1}, types); diff != "" {
		t.Error("events of the order (-want +got):", diff)
	}
	statuses := map[app.EventType]app.AttemptStatus{
		app.EventOrderCreated: app.AttemptDelivered, app.EventOrderCompleted: app.AttemptRetrying,
		app.EventPaymentRefunded: app.AttemptDeadLetter,
	}
	for _, c := range claims {
		if status, ok := statuses[c.EventType]; ok {
			persistencetest.Attempt(t, w.db, c.ID, 1, status, time.Second)
		}
	}
	at, next := app.At(noon.Add(time.Hour)), app.At(noon.Add(time.Hour+31*time.Second))
	for _, d := range w.orderDeliveries(own.order.ID) {
		want := app.OrderDelivery{EventID: d.EventID, EventType: d.EventType, Webhook: d.Webhook, Attempts: 1}
		switch d.EventType {
		case app.EventOrderCreated:
			want.Status, want.DeliveredAt = app.DeliveryDelivered, &at
		case app.EventOrderCompleted:
			want.Status, want.NextRetryAt = app.DeliveryRetrying, &next
		case app.EventPaymentRefunded:
			want.Status = app.DeliveryDeadLetter
		default:
			want.Status, want.Attempts = app.DeliveryPending, 0
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("%s (-want +got): %s", d.EventType, diff)
		}
	}
	a := w.do("GET", path+"/deliveries", w.key("own", app.ScopeReadOrders), nil).ok(200, nil)
	var rows []map[string]any
	w.read(a.body.Data, &rows)
	for _, row := range rows {
		for member := range row {
			switch member {
			case "eventId", "eventType", "webhook", "status", "deliveredAt", "nextRetryAt", "attempts":
			default:
				t.Errorf("got the member %s, want only those for staff", member)
			}
		}
	}
	// The pages together have all.
	var paged []app.OrderDelivery
	for cursor, next := "", true; next; {
		var page []app.OrderDelivery
		a := w.do("GET", path+"/deliveries?limit=2"+cursor, w.tokens["STAFF"], nil).ok(200, &page)
		paged = append(paged, page...)
		cursor, next = a.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + cursor
	}
	if diff := cmp.Diff(w.orderDeliveries(own.order.ID), paged); diff != "" {
		t.Error("pages (-all +pages):", diff)
	}
	// A deleted webhook stays visible.
	w.do("DELETE", "/webhooks/"+string(pos.ID), w.tokens["OWNER"], nil).ok(204, nil)
	if got := w.orderDeliveries(own.order.ID); len(got) != 5 {
		t.Errorf("after the deletion of a webhook: got %d deliveries, want 5", len(got))
	}
	w.do("GET", "/orders/ord_none/deliveries", w.tokens["STAFF"], nil).refused(app.CodeNotFound)
	w.do("GET", path+"/deliveries", w.key("own", app.ScopeReadProducts), nil).refused(app.CodeInsufficientScope)
}

// TestStreamOfDeliveries: a stream reports each change of a delivery's status, with the order's latest version.
func TestStreamOfDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, pos := w.stores["own"], w.pos()
	server := w.streamsOn(func(s *Server) { s.heartbeat = time.Hour })
	mine := w.watch(server, w.tokens["STAFF"])
	other := w.watch(server, w.token("OWNER", w.stores["sibling"].id))
	w.confirm("own")
	if got := mine.order(); got.Version != 2 || got.Deliveries {
		t.Errorf("confirmation: got %+v, want version 2", got)
	}
	want := orderEvent{
		ID: own.order.ID, Number: own.order.Number, Status: app.OrderConfirmed, Version: 2, Deliveries: true,
	}
	changed := func(what string) {
		t.Helper()
		if got := mine.order(); got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	claims := persistencetest.Claim(t, w.db)
	changed("claim")
	var updated app.DeliveryID
	for _, c := range claims {
		if c.SubscriptionID == pos.ID {
			updated = c.ID
		}
	}
	persistencetest.Attempt(t, w.db, updated, 1, app.AttemptRetrying, time.Second)
	changed("retrying")
	persistencetest.Attempt(t, w.db, updated, 2, app.AttemptDelivered, time.Second)
	changed("delivered")
	_, err := w.db.Replay(t.Context(), noon, own.id, app.Actor{}, updated)
	w.must(err)
	changed("replay")
	w.must(w.db.EndDelivery(t.Context(), noon, own.delivery.ID, app.DeliveryDeadLetter, "test"))
	changed("dead letter")
	w.pay(own, 100) // queued, then cancelled with its webhook
	mine.order()
	_, err = w.db.Dispatch(t.Context(), noon, 1000)
	w.must(err)
	w.do("DELETE", "/webhooks/"+string(pos.ID), w.tokens["OWNER"], nil).ok(204, nil)
	cancelled, err := w.db.CancelQueued(t.Context(), noon, own.id, pos.ID, 100)
	w.must(err)
	if cancelled != 1 {
		t.Errorf("cancelled: got %d deliveries, want that of payment.succeeded", cancelled)
	}
	want.Version = 3
	changed("cancelled")
	if got := other.order(); got.ID != w.stores["sibling"].order.ID { // its delivery was claimed, too
		t.Errorf("stream of the sibling: got %+v, want its order", got)
	}
}

// A change of deliveries of a store without open streams sends nothing, and many changes of an order send one
// notification.
func TestOrderNoticesAreFew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pos()
	own := w.stores["own"]
	notices := make(chan app.OrderNotice, 100)
	listens := make(chan struct{})
	go func() {
		_ = w.db.ListenOrders(t.Context(), func() { close(listens) }, func(n app.OrderNotice) {
			if n.Deliveries {
				notices <- n
			}
		})
	}()
	<-listens
	for range 20 {
		w.pay(own, 1)
	}
	w.watch(w.streamsOn(func(*Server) {}), w.tokens["STAFF"])
	persistencetest.Claim(t, w.db) // of events of all stores
	want := app.OrderNotice{
		StoreID: own.id, ID: own.order.ID, Number: own.order.Number, Status: app.OrderReceived, Version: 21,
		Deliveries: true,
	}
	if got := <-notices; got != want {
		t.Errorf("first notification: got %+v, want %+v", got, want)
	}
	another := w.orderOf("own", w.addCustomer("own", "ada@example.com").Customer.ID)
	persistencetest.Claim(t, w.db)
	if got := <-notices; got.ID != another.ID {
		t.Errorf("second notification: got %+v, want one of the order %s", got, another.ID)
	}
}
