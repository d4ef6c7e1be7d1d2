package ordering_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// byKey places an order of an API key.
func (r restaurant) byKey(t *testing.T, db *persistencetest.Database, requestedFor *app.Time) app.Order {
	t.Helper()
	in := r.Order(t, db, 0)
	in.By, in.RequestedFor = app.Actor{Realm: app.RealmAPIKey, ID: "key_1"}, requestedFor
	placed, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], in, nil)
	must(t, err)
	return placed
}

// setAcceptance sets the deadlines of the first store, in minutes.
func (r restaurant) setAcceptance(t *testing.T, db *persistencetest.Database, remind, cancel int) {
	t.Helper()
	exec(t, db, "UPDATE stores SET remind_after_minutes = $2, cancel_after_minutes = $3 WHERE id = $1", r.Stores[0],
		remind, cancel)
}

// wait lets an order wait for a time.
func wait(t *testing.T, db *persistencetest.Database, id app.OrderID, d time.Duration) {
	t.Helper()
	exec(t, db, "UPDATE acceptances SET since = since - $2 * interval '1 microsecond' WHERE order_id = $1", id,
		d.Microseconds())
}

// jobsOf returns the number of enqueued jobs of a kind by subject, and removes all jobs.
func jobsOf(t *testing.T, db *persistencetest.Database, kind app.JobKind) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, job := range persistencetest.TakeJobs(t, db, time.Now().Add(time.Hour)) {
		if job.Kind == kind {
			found[job.Subject]++
		}
	}
	return found
}

// evaluate evaluates the deadlines of an order.
func (r restaurant) evaluate(t *testing.T, db *persistence.DB, id app.OrderID) app.AcceptanceTick {
	t.Helper()
	tick, err := db.TickAcceptance(t.Context(), noon.Add(time.Minute), r.Stores[0], id)
	must(t, err)
	tick.NextIn = tick.NextIn.Round(time.Minute)
	return tick
}

// Orders of API keys wait for acceptance if the store has deadlines. Orders for later wait until they are due, because
// the settings of that time apply.
func TestOrdersAwaitAcceptance(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	off := r.byKey(t, db, nil)
	soon := app.At(noon.Add(time.Hour))
	later := r.byKey(t, db, &soon)
	r.setAcceptance(t, db, 0, 10)
	asap := r.byKey(t, db, nil)
	_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil) // not by a key
	must(t, err)
	want := map[string]int{string(later.ID): 1, string(asap.ID): 1}
	if diff := cmp.Diff(want, jobsOf(t, db, app.JobAcceptance)); diff != "" {
		t.Error("jobs (-want +got):", diff)
	}
	due := time.Now().Add(3 * time.Hour) // of a store whose time is the database's
	exec(t, db, "UPDATE acceptances SET since = $2 WHERE order_id = $1", later.ID, due)
	for id, want := range map[app.OrderID]app.AcceptanceTick{
		off.ID:        {State: app.AcceptanceOff},
		later.ID:      {State: app.AcceptanceScheduled, NextIn: 3 * time.Hour},
		asap.ID:       {State: app.AcceptanceWaiting, NextIn: 10 * time.Minute},
		"ord_unknown": {State: app.AcceptanceUnknown},
	} {
		if got := r.evaluate(t, db.DB, id); got != want {
			t.Errorf("order %s: got %+v, want %+v", id, got, want)
		}
	}
	if tick, err := db.TickAcceptance(t.Context(), noon, r.Stores[1], asap.ID); tick.State != app.AcceptanceUnknown {
		t.Errorf("order of another store: got %+v and error %v, want unknown", tick, err)
	}
	r.setAcceptance(t, db, 0, 0)
	for range 2 {
		if got := r.evaluate(t, db.DB, asap.ID); got.State != app.AcceptanceOff {
			t.Errorf("switched off: got %+v, want off", got)
		}
	}
}

// An order that is not accepted is cancelled by the service with its events, and its items return to stock.
func TestUnacceptedOrderIsCancelled(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 5, 10)
	exec(t, db, "UPDATE products SET stock_quantity = 10 WHERE store_id = $1", r.Stores[0])
	stock := func() int {
		t.Helper()
		return count(t, db, "SELECT min(stock_quantity) FROM products WHERE store_id = $1", r.Stores[0])
	}
	order := r.byKey(t, db, nil)
	if stock() >= 10 {
		t.Fatalf("stock after the order: got %d, want less than 10", stock())
	}
	wait(t, db, order.ID, 9*time.Minute)
	if tick := r.evaluate(t, db.DB, order.ID); tick.State != app.AcceptanceReminded {
		t.Errorf("a minute before the deadline: got %+v, want reminded", tick)
	}
	wait(t, db, order.ID, time.Minute)
	if tick := r.evaluate(t, db.DB, order.ID); tick.State != app.AcceptanceCancelled {
		t.Errorf("at the deadline: got %+v, want cancelled", tick)
	}
	if tick := r.evaluate(t, db.DB, order.ID); tick.State != app.AcceptanceCancelled { // the response was lost
		t.Errorf("repeated: got %+v, want cancelled", tick)
	}
	history, _, err := db.OrderHistory(t.Context(), r.Stores[0], order.ID, "", 0,
		app.PageLimit{Rows: 100, Bytes: app.MaxEvent})
	must(t, err)
	last := history[len(history)-1]
	if len(history) != 2 || last.To != app.OrderCancelled || last.Reason != app.ReasonNotAccepted ||
		last.Actor != (app.OrderActor{ID: "system"}) {
		t.Errorf("history: got %+v, want a cancellation by the system", history)
	}
	if stock() != 10 {
		t.Errorf("stock after the cancellation: got %d, want 10", stock())
	}
	for _, event := range []app.EventType{app.EventOrderStatusUpdated, app.EventOrderCancelled} {
		if n := count(t, db, `SELECT count(*) FROM outbox WHERE type = $1
			AND body::jsonb->'data'->>'cancellationReason' = $2`, event, app.ReasonNotAccepted); n != 1 {
			t.Errorf("events %s: got %d, want 1", event, n)
		}
	}
	_, err = db.ChangeOrderStatus(t.Context(), noon, r.Stores[0], order.ID, 0,
		app.OrderStatusChange{To: app.OrderConfirmed})
	if app.CodeOf(err) != app.CodeInvalidTransition {
		t.Errorf("confirmation after the deadline: got error %v, want INVALID_TRANSITION", err)
	}
	if n := count(t, db, "SELECT count(*) FROM acceptances"); n != 0 {
		t.Errorf("rows of acceptances: got %d, want 0", n)
	}
}

// Of a confirmation and a cancellation at the same time, exactly one wins.
func TestConfirmationRacesTheDeadline(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 0, 10)
	for range 20 {
		order := r.byKey(t, db, nil)
		wait(t, db, order.ID, 10*time.Minute)
		var racing sync.WaitGroup
		var confirmed error
		var tick app.AcceptanceTick
		racing.Go(func() {
			_, confirmed = db.ChangeOrderStatus(t.Context(), noon, r.Stores[0], order.ID, 0,
				app.OrderStatusChange{To: app.OrderConfirmed})
		})
		racing.Go(func() { tick = r.evaluate(t, db.DB, order.ID) })
		racing.Wait()
		read, err := db.Order(t.Context(), r.Stores[0], order.ID, "")
		must(t, err)
		wantState, wantCode := app.AcceptanceHandled, app.Code("")
		if read.Status == app.OrderCancelled {
			wantState, wantCode = app.AcceptanceCancelled, app.CodeInvalidTransition
		}
		if tick.State != wantState || app.CodeOf(confirmed) != wantCode || read.Version != 2 {
			t.Errorf("%s in version %d: got %s, error %v; want %s, code %q", read.Status, read.Version, tick.State,
				confirmed, wantState, wantCode)
		}
	}
}

// The deadlines of an order for later start at its due time, also if the promised time moves while it is RECEIVED.
func TestPromiseMovesTheDeadline(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 5, 10)
	requested := app.At(noon.Add(2 * time.Hour))
	later, asap := r.byKey(t, db, &requested), r.byKey(t, db, nil)
	// The store's clock is the database's, at which the order for later is due in an hour.
	now := time.Now()
	prep := requested.Sub(later.DueAt.Time)
	due := func(id app.OrderID, at time.Time) {
		t.Helper()
		exec(t, db, `UPDATE orders SET due_at = $2,
			promised_at = $2::timestamptz + $3::bigint * interval '1 microsecond' WHERE id = $1`,
			id, at, prep.Microseconds())
		exec(t, db, "UPDATE acceptances SET since = $2, next_at = $2 WHERE order_id = $1", id, at)
	}
	due(later.ID, now.Add(time.Hour))
	promise := func(id app.OrderID, at time.Time) {
		t.Helper()
		promised := app.At(at)
		_, err := db.ChangeOrderStatus(t.Context(), now, r.Stores[0], id, 0,
			app.OrderStatusChange{To: app.OrderReceived, Promised: &promised})
		must(t, err)
	}
	for _, c := range []struct {
		name    string
		id      app.OrderID
		promise time.Duration // from now
		want    app.AcceptanceTick
		jobs    int
	}{
		{"later", later.ID, 3*time.Hour + prep, app.AcceptanceTick{
			State: app.AcceptanceScheduled, NextIn: 3 * time.Hour,
		}, 1},
		{"earlier", later.ID, 2*time.Hour + prep,
			app.AcceptanceTick{State: app.AcceptanceScheduled, NextIn: 2 * time.Hour}, 1},
		{"due now", later.ID, time.Minute, app.AcceptanceTick{
			State: app.AcceptanceWaiting, NextIn: 5 * time.Minute,
		}, 1},
		{"as soon as possible", asap.ID, 3 * time.Hour,
			app.AcceptanceTick{State: app.AcceptanceWaiting, NextIn: 5 * time.Minute}, 0},
	} {
		jobsOf(t, db, app.JobAcceptance)
		promise(c.id, now.Add(c.promise))
		if got := jobsOf(t, db, app.JobAcceptance)[string(c.id)]; got != c.jobs {
			t.Errorf("%s: got %d jobs, want %d", c.name, got, c.jobs)
		}
		if got := r.evaluate(t, db.DB, c.id); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	// The store was reminded of the order. A promise that leaves it due does not extend the deadlines.
	wait(t, db, later.ID, 6*time.Minute)
	reminded := app.AcceptanceTick{State: app.AcceptanceReminded, NextIn: 4 * time.Minute}
	for range 2 {
		if got := r.evaluate(t, db.DB, later.ID); got != reminded {
			t.Errorf("after the reminder: got %+v, want %+v", got, reminded)
		}
		promise(later.ID, now.Add(2*time.Minute))
	}
	promise(later.ID, now.Add(time.Hour+prep))
	scheduled := app.AcceptanceTick{State: app.AcceptanceScheduled, NextIn: time.Hour}
	if got := r.evaluate(t, db.DB, later.ID); got != scheduled {
		t.Errorf("postponed after the reminder: got %+v, want %+v", got, scheduled)
	}
	wait(t, db, later.ID, time.Hour+5*time.Minute)
	want := app.AcceptanceTick{State: app.AcceptanceReminded, NextIn: 5 * time.Minute}
	if got := r.evaluate(t, db.DB, later.ID); got != want {
		t.Errorf("when it is due again: got %+v, want %+v", got, want)
	}
}

// A change from RECEIVED starts the job again, which makes the workflow end.
func TestHandledOrderEndsItsWorkflow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 5, 10)
	order := r.byKey(t, db, nil)
	jobsOf(t, db, app.JobAcceptance)
	for _, c := range []struct {
		to   app.OrderStatus
		want int
	}{{app.OrderReceived, 0}, {app.OrderConfirmed, 1}, {app.OrderReady, 0}} {
		_, err := db.ChangeOrderStatus(t.Context(), noon, r.Stores[0], order.ID, 0, app.OrderStatusChange{To: c.to})
		must(t, err)
		if got := jobsOf(t, db, app.JobAcceptance)[string(order.ID)]; got != c.want {
			t.Errorf("jobs after %s: got %d, want %d", c.to, got, c.want)
		}
	}
	wait(t, db, order.ID, time.Hour)
	if tick := r.evaluate(t, db.DB, order.ID); tick.State != app.AcceptanceHandled {
		t.Errorf("evaluation: got %+v, want handled", tick)
	}
}

// The reconciler starts the job of an order again whose deadline has passed: its workflow, or Temporal's database, is
// lost.
func TestLostAcceptanceIsEnqueued(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 5, 0)
	order := r.byKey(t, db, nil)
	r.evaluate(t, db.DB, order.ID)
	jobsOf(t, db, app.JobAcceptance)
	lost := func(ahead time.Duration) int {
		t.Helper()
		_, err := db.EnqueueLostJobs(t.Context(), time.Now().Add(ahead), 3*time.Minute)
		must(t, err)
		return jobsOf(t, db, app.JobAcceptance)[string(order.ID)]
	}
	if n := lost(7 * time.Minute); n != 0 {
		t.Errorf("jobs two minutes after the deadline: got %d, want 0", n)
	}
	if n := lost(9 * time.Minute); n != 1 {
		t.Errorf("jobs four minutes after the deadline: got %d, want 1", n)
	}
	wait(t, db, order.ID, 5*time.Minute)
	if tick := r.evaluate(t, db.DB, order.ID); tick != (app.AcceptanceTick{State: app.AcceptanceReminded}) {
		t.Errorf("after the deadline: got %+v, want reminded, without a further deadline", tick)
	}
	if n := lost(10_000 * time.Hour); n != 0 {
		t.Errorf("jobs without a deadline: got %d, want 0", n)
	}
}

// A reminder whose notification was lost is found with the changed orders.
func TestChangedOrdersIncludeReminders(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.setAcceptance(t, db, 5, 0)
	order := r.byKey(t, db, nil)
	wait(t, db, order.ID, 5*time.Minute)
	r.evaluate(t, db.DB, order.ID) // at noon and a minute
	for _, c := range []struct {
		since time.Time
		want  []app.OrderNotice
	}{
		{noon.Add(2 * time.Minute), nil},
		{noon.Add(time.Minute), []app.OrderNotice{{Reminder: true}}},
		{noon, []app.OrderNotice{{}, {Reminder: true}}},
	} {
		for i := range c.want {
			c.want[i].StoreID, c.want[i].ID, c.want[i].Number = order.StoreID, order.ID, order.Number
			c.want[i].Status, c.want[i].Version = order.Status, order.Version
			if !c.want[i].Reminder {
				c.want[i].UpdatedAt = order.UpdatedAt
			}
		}
		got, err := db.ChangedOrders(t.Context(), r.Stores[:1], c.since)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("since %v: error %v, notices (-want +got): %s", c.since, err, diff)
		}
	}
}
