package api

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// A reminder and a cancellation are changes in the stream. A confirmation after a cancellation is refused.
func TestStreamsOfReminders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"acceptance": object{"remindAfterMinutes": 5, "cancelAfterMinutes": 10},
	}).ok(200, nil)
	var placed orderOut
	w.do("POST", "/orders", w.key("own", app.ScopeWriteOrders), w.orderBody("own")).ok(201, &placed)
	stream := w.watch(w.streamsOn(func(*Server) {}), w.tokens["STAFF"])
	tick := func(want app.AcceptanceState) {
		t.Helper()
		w.exec("UPDATE acceptances SET since = since - interval '5 minutes' WHERE order_id = $1", placed.ID)
		got, err := w.db.TickAcceptance(t.Context(), w.now, own.id, placed.ID)
		if err != nil || got.State != want {
			t.Errorf("acceptance: got %+v and error %v, want %s", got, err, want)
		}
	}
	tick(app.AcceptanceReminded)
	want := orderEvent{ID: placed.ID, Number: placed.Number, Status: app.OrderReceived, Version: 1, Reminder: true}
	if got := stream.order(); got != want {
		t.Errorf("reminder: got %+v, want %+v", got, want)
	}
	tick(app.AcceptanceCancelled)
	want.Status, want.Version, want.Reminder = app.OrderCancelled, 2, false
	if got := stream.order(); got != want {
		t.Errorf("cancellation: got %+v, want %+v", got, want)
	}
	path := "/orders/" + string(placed.ID)
	a := w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": "CONFIRMED"})
	a.refused(app.CodeInvalidTransition)
	if allowed := a.body.Error.AllowedTransitions; len(allowed) != 0 {
		t.Errorf("allowed transitions: got %v, want none", allowed)
	}
	var changes []app.OrderChange
	w.do("GET", path+"/history", w.tokens["STAFF"], nil).ok(200, &changes)
	if last := changes[len(changes)-1]; last.Actor != (app.OrderActor{ID: "system"}) ||
		last.Reason != app.ReasonNotAccepted {
		t.Errorf("last change: got %+v, want one by the system", last)
	}
}

// A reminder is sent once, also if it is found again among the changed orders, and not after a later version.
func TestReminderIsSentOnce(t *testing.T) {
	t.Parallel()
	feed := newOrderFeed(listening(func(ctx context.Context, began func(), _ func(app.OrderNotice)) error {
		began()
		<-ctx.Done()
		return ctx.Err()
	}), func() time.Time { return noon }, nil)
	r, err := feed.watch(t.Context(), app.Principal{StoreID: "sto_1"})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.leave(r)
	received := app.OrderNotice{StoreID: "sto_1", ID: "ord_1", Status: app.OrderReceived, Version: 1}
	reminder, confirmed := received, received
	reminder.Reminder = true
	confirmed.Status, confirmed.Version = app.OrderConfirmed, 2
	late := reminder
	late.ID = "ord_2"
	second := confirmed
	second.ID = "ord_2"
	for _, n := range []app.OrderNotice{
		received, reminder, received, reminder, confirmed, reminder, second, late, received,
	} {
		feed.changed(n)
	}
	var want, got []string
	for _, n := range []app.OrderNotice{received, reminder, confirmed, second} {
		want = append(want, orderText(n))
	}
	for m, ok := feed.next(r); ok; m, ok = feed.next(r) {
		got = append(got, m.text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("messages (-want +got):", diff)
	}
}
