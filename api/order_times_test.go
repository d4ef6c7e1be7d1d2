package api

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// closedBody is an order for DELIVERY, for which the store is closed on a Saturday at noon.
func (w *world) closedBody(changes object) object {
	w.Helper()
	night := []object{{"from": "18:00", "to": "02:00"}}
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"openingHours": object{"DELIVERY": object{"sat": night, "sun": night}}, "orderLeadMinutes": 30, "orderMaxDays": 8,
		"prepMinutes": object{"DELIVERY": 45}, "closures": []object{{"from": "2026-03-21", "to": "2026-03-21"}},
	}).ok(200, nil)
	return altered(w.orderBody("own"), altered(object{
		"fulfillmentType": "DELIVERY",
		"deliveryAddress": object{"line1": "1 Road", "city": "Berlin", "country": "DE"},
	}, changes))
}

func TestOrdersOfAClosedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("own", app.ScopeWriteOrders)
	body := w.closedBody(nil)
	closed := func(what string, body object, nextOpen string) {
		t.Helper()
		for _, path := range []string{"/orders", "/orders/quote"} {
			a := w.do("POST", path, key, body)
			a.what = what
			a.refused(app.CodeStoreClosed)
			details := a.body.Error.Details
			if len(details) != 1 || details[0] != (app.Detail{Path: "nextOpenAt", Message: nextOpen}) {
				t.Errorf("%s %s: got details %+v, want nextOpenAt %s", what, path, details, nextOpen)
			}
		}
	}
	closed("at noon", body, "2026-03-14T17:00:00.000Z")
	closed("for the next noon", altered(body, object{"requestedFor": "2026-03-15T12:00:00+01:00"}),
		"2026-03-15T17:00:00.000Z")
	closed("in a closure", altered(body, object{"requestedFor": "2026-03-21T20:00:00+01:00"}),
		"2026-03-22T17:00:00.000Z")
	w.do("POST", "/orders/quote", w.tokens["STAFF"], body).ok(200, nil)
	var placed orderOut
	w.do("POST", "/orders", w.tokens["STAFF"], body).ok(201, &placed)
	if placed.RequestedFor != nil || placed.DueAt != nil ||
		!placed.PromisedAt.Equal(w.now.Add(45*time.Minute)) {
		t.Errorf("order of STAFF: got %+v, want it promised in 45 minutes", placed.Order)
	}
	// Another type without hours is open, unless ordering is paused.
	pickup := w.orderBody("own")
	w.do("POST", "/orders", key, pickup).ok(201, nil)
	until := app.At(w.now.Add(time.Hour))
	w.do("POST", "/store/pause", w.tokens["STAFF"], object{"until": until}).ok(200, nil)
	closed("during a pause", pickup, until.String())
	closed("for the time of the pause", altered(pickup, object{"requestedFor": app.At(until.Add(-time.Second))}),
		until.String())
	w.do("POST", "/orders", w.tokens["STAFF"], pickup).ok(201, nil)
	w.do("POST", "/orders", key, altered(pickup, object{"requestedFor": until})).ok(201, nil)
	w.do("POST", "/store/resume", w.tokens["STAFF"], nil).ok(200, nil)
	w.do("POST", "/orders", key, pickup).ok(201, nil)
}

// An order that was placed before the store closed is returned again for the same Idempotency-Key.
func TestRepeatedOrderOfAClosedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, body := w.key("own", app.ScopeWriteOrders), w.orderBody("own")
	var placed, again orderOut
	w.do("POST", "/orders", key, body, header("Idempotency-Key", "one")).ok(201, &placed)
	w.do("POST", "/store/pause", w.tokens["STAFF"], object{"until": w.now.Add(time.Hour)}).ok(200, nil)
	w.do("POST", "/orders", key, body, header("Idempotency-Key", "one")).ok(201, &again)
	if again.ID != placed.ID {
		t.Errorf("repeated order: got %s, want %s", again.ID, placed.ID)
	}
	w.do("POST", "/orders", key, body, header("Idempotency-Key", "two")).refused(app.CodeStoreClosed)
}

func TestOrdersForLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("own", app.ScopeWriteOrders)
	body := w.closedBody(object{"requestedFor": "2026-03-15T01:30:00+01:00"}) // in the night of Saturday
	w.do("POST", "/orders/quote", key, body).ok(200, nil)
	var later, asap orderOut
	w.do("POST", "/orders", key, body).ok(201, &later)
	requested := time.Date(2026, 3, 15, 0, 30, 0, 0, time.UTC)
	if later.RequestedFor == nil || !later.RequestedFor.Equal(requested) || !later.PromisedAt.Equal(requested) ||
		!later.DueAt.Equal(requested.Add(-45*time.Minute)) {
		t.Errorf("order for later: got %+v, want it promised for %v and due 45 minutes earlier", later.Order, requested)
	}
	w.do("POST", "/orders", key, w.orderBody("own")).ok(201, &asap)
	for name, requested := range map[string]string{
		"the past": "2026-03-14T11:59:59Z", "too soon": "2026-03-14T12:29:59Z", "too late": "2026-03-22T12:00:01Z",
	} {
		for _, token := range []string{key, w.tokens["OWNER"]} {
			for _, path := range []string{"/orders", "/orders/quote"} {
				a := w.do("POST", path, token, altered(w.orderBody("own"), object{"requestedFor": requested}))
				a.what = name
				a.refused(app.CodeOutsideBookingWindow, "requestedFor")
			}
		}
	}
	w.do("POST", "/orders", key, altered(w.orderBody("own"), object{"requestedFor": "noon"})).
		refused(app.CodeValidationFailed, "requestedFor")

	// A closure that begins during an order for later does not change it.
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{
		"closures": []object{{"from": "2026-03-14", "to": "2026-03-15"}}, "orderMaxDays": 0,
	}).ok(200, nil)
	var shown orderOut
	w.do("GET", "/orders/"+string(later.ID), key, nil).ok(200, &shown)
	if shown.Status != app.OrderReceived || !shown.PromisedAt.Equal(requested) || shown.Version != 1 {
		t.Errorf("order for later after a closure began: got %+v, want it unchanged", shown.Order)
	}
	w.do("POST", "/orders", key, altered(w.orderBody("own"), object{"requestedFor": "2026-03-16T12:00:00Z"})).
		refused(app.CodeOutsideBookingWindow, "requestedFor")
	listed := func(query string) map[app.OrderID]bool {
		t.Helper()
		var page []orderOut
		w.do("GET", "/orders?"+query, key, nil).ok(200, &page)
		ids := map[app.OrderID]bool{}
		for _, o := range page {
			ids[o.ID] = true
		}
		return ids
	}
	if now, then := listed("due=true"), listed("due=false"); !now[asap.ID] || now[later.ID] || !then[later.ID] ||
		len(then) != 1 {
		t.Errorf("before it is due: got due %v and later %v, want %s and %s", now, then, asap.ID, later.ID)
	}
	w.now = later.DueAt.Time
	if now, then := listed("due=true"), listed("due=false"); !now[asap.ID] || !now[later.ID] || len(then) != 0 {
		t.Errorf("when it is due: got due %v and later %v, want both and none", now, then)
	}
	w.do("GET", "/orders?due=yes", key, nil).refused(app.CodeValidationFailed, "due")
}

// An order for a time that is too soon to prepare it is due immediately. If it is promised for a later time, it is due
// its preparation time earlier.
func TestPromiseOfAnOrderForSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"prepMinutes": object{"PICKUP": 25}}).ok(200, nil)
	at := func(minutes int) app.Time { return app.At(w.now.Add(time.Duration(minutes) * time.Minute)) }
	placed, path := w.place(object{"requestedFor": at(5)})
	if !placed.DueAt.Equal(w.now) {
		t.Errorf("dueAt: got %s, want now, %s", placed.DueAt, at(0))
	}
	for _, promised := range []int{60, 10, 40} {
		body := object{"status": "CONFIRMED", "promisedAt": at(promised)}
		w.do("PATCH", path+"/status", w.tokens["STAFF"], body).ok(200, &placed)
		if want := at(max(promised-25, 0)); !placed.DueAt.Equal(want.Time) {
			t.Errorf("promised in %d minutes: got dueAt %s, want %s", promised, placed.DueAt, want)
		}
	}
}

func TestPromisedTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	var placed, changed orderOut
	w.do("POST", "/orders", staff, w.orderBody("own")).ok(201, &placed)
	path := "/orders/" + string(placed.ID) + "/status"
	promised := app.At(w.now.Add(50 * time.Minute))
	events := func() (n int) {
		t.Helper()
		w.must(w.db.System().DB.QueryRowContext(t.Context(), `SELECT count(*) FROM outbox
			WHERE store_id = $1 AND type = 'order.status_updated'`, placed.StoreID).Scan(&n))
		return n
	}
	before := events()
	w.do("PATCH", path, staff, object{"status": "CONFIRMED", "promisedAt": promised}).ok(200, &changed)
	if changed.Status != app.OrderConfirmed || !changed.PromisedAt.Equal(promised.Time) || changed.Version != 2 {
		t.Errorf("confirmed: got %+v, want it promised for %s", changed.Order, promised)
	}
	w.do("PATCH", path, staff, object{"status": "CONFIRMED", "promisedAt": promised}).ok(200, &changed)
	if changed.Version != 2 {
		t.Errorf("version after a repetition: got %d, want 2", changed.Version)
	}
	promised = app.At(w.now.Add(70 * time.Minute))
	w.do("PATCH", path, staff, object{"status": "CONFIRMED", "promisedAt": promised}).ok(200, nil)
	w.do("GET", "/orders/"+string(placed.ID), staff, nil).ok(200, &changed)
	if !changed.PromisedAt.Equal(promised.Time) || changed.Version != 3 || changed.PreviousStatus == nil ||
		*changed.PreviousStatus != app.OrderReceived {
		t.Errorf("with another promise: got %+v, want version 3 from RECEIVED, promised for %s", changed.Order, promised)
	}
	if n := events() - before; n != 1 {
		t.Errorf("events: got %d, want 1 for the status alone", n)
	}
	for name, body := range map[string]object{
		"the present": {"status": "PREPARING", "promisedAt": w.now},
		"the past":    {"status": "PREPARING", "promisedAt": w.now.Add(-time.Minute)},
		"two years":   {"status": "PREPARING", "promisedAt": w.now.AddDate(2, 0, 0)},
		"completed":   {"status": "COMPLETED", "promisedAt": promised},
		"cancelled":   {"status": "CANCELLED", "promisedAt": promised, "cancellationReason": "x"},
		"no time":     {"status": "PREPARING", "promisedAt": "soon"},
	} {
		a := w.do("PATCH", path, w.tokens["OWNER"], body)
		a.what = name
		a.refused(app.CodeValidationFailed, "promisedAt")
	}
	w.do("PATCH", path, staff, object{"status": "RECEIVED", "promisedAt": promised}).refused(app.CodeInvalidTransition)
}
