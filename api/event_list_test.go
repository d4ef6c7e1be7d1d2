package api

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// eventShown is an event as a client reads it.
type eventShown struct {
	ID        app.EventID
	Type      app.EventType
	Timestamp app.Time
	Position  *int64
	Resource  *string
	Cursor    *string
	Erased    bool
	Body      *struct {
		ID      app.EventID
		StoreID app.StoreID
		Data    map[string]any
	}
	Deliveries []app.Delivery
}

// dispatch dispatches all events.
func (w *world) dispatch() {
	w.Helper()
	_, err := w.db.Dispatch(w.Context(), w.now, 1000)
	w.must(err)
}

// listedEvents lists events, page by page.
func (w *world) listedEvents(query url.Values) (all []eventShown) {
	w.Helper()
	query.Set("limit", "2")
	for {
		var page []eventShown
		a := w.do("GET", "/events?"+query.Encode(), w.tokens["OWNER"], nil).ok(200, &page)
		all = append(all, page...)
		next, more := a.body.Meta["nextCursor"].(string)
		if !more {
			return all
		}
		query.Set("cursor", next)
	}
}

// Events are listed in both orders, by type and by period, and continue after any position.
func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.confirm("own")
	var undispatched []eventShown
	w.do("GET", "/events?type=order.status_updated", w.tokens["OWNER"], nil).ok(200, &undispatched)
	if len(undispatched) != 0 {
		t.Errorf("events before their dispatch: got %+v, want none", undispatched)
	}
	w.dispatch()
	oldest := w.listedEvents(url.Values{"order": {"asc"}})
	newest := w.listedEvents(url.Values{})
	if len(oldest) < 4 || oldest[len(oldest)-1].Type != app.EventOrderStatusUpdated {
		t.Fatalf("oldest events first: got %+v, want at least 4, the last one %s", oldest, app.EventOrderStatusUpdated)
	}
	slices.Reverse(newest)
	if diff := cmp.Diff(oldest, newest); diff != "" {
		t.Errorf("events in ascending order (-) and in reversed descending order (+):\n%s", diff)
	}
	for _, e := range oldest {
		if e.Body == nil || e.Body.ID != e.ID || e.Body.StoreID != own.id || e.Erased || e.Position == nil {
			t.Errorf("event: got %+v, want the body and the position", e)
		}
	}
	two := w.listedEvents(url.Values{"order": {"asc"}, "type": {"order.created", "order.status_updated", "order.created"}})
	if len(two) != 2 || two[0].ID != own.delivery.EventID || two[1].ID != oldest[len(oldest)-1].ID {
		t.Errorf("events of two types: got %+v, want the two of the order", two)
	}
	rest := w.listedEvents(url.Values{"order": {"asc"}, "cursor": {*oldest[1].Cursor}})
	if diff := cmp.Diff(oldest[2:], rest); diff != "" {
		t.Errorf("events after a position (-want +got):\n%s", diff)
	}
	for query, want := range map[string]int{
		"from=2026-03-14T12:00:00Z": len(oldest), "from=2026-03-14T12:00:00.001Z": 0, "to=2026-03-14T12:00:00Z": 0,
		"to=2026-03-14T12:00:00.001Z": len(oldest),
	} {
		w.run(query, func(t *testing.T) {
			var rows []eventShown
			w.do("GET", "/events?limit=100&"+query, w.tokens["OWNER"], nil).ok(200, &rows)
			if len(rows) != want {
				t.Errorf("%s: got %d events, want %d", query, len(rows), want)
			}
		})
	}
	sibling := w.token("OWNER", w.stores["sibling"].id)
	w.do("GET", "/events?cursor="+*oldest[1].Cursor, sibling, nil).refused(app.CodeValidationFailed, "cursor")
	for query, at := range map[string]string{
		"type=test.ping": "type[0]", "type=order.created&type=x": "type[1]", "type=": "type", "order=up": "order",
		"order=asc&order=asc": "order", "limit=101": "limit", "cursor=x": "cursor", "page=1": "page", "from=x": "from",
		"from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to", "storeId=a%20b": "storeId",
	} {
		w.run(query, func(*testing.T) {
			w.do("GET", "/events?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
		})
	}
}

// An event shows its deliveries, and says that its body is erased. Events of tests are not shown.
func TestEventDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/events/" + string(own.delivery.EventID)
	get := func() (e eventShown) {
		t.Helper()
		w.do("GET", path, w.tokens["OWNER"], nil).ok(200, &e)
		return e
	}
	e := get()
	if e.Erased || e.Body == nil || e.Body.Data["id"] != string(own.order.ID) || e.Type != app.EventOrderCreated ||
		e.Timestamp != app.At(noon) || e.Position == nil {
		t.Errorf("event: got %+v, want that of the order %s", e, own.order.ID)
	}
	if want := "order/" + string(own.order.ID); e.Resource == nil || *e.Resource != want {
		t.Errorf("resource of the event: got %v, want %s", e.Resource, want)
	}
	if len(e.Deliveries) != 1 || e.Deliveries[0].ID != own.delivery.ID {
		t.Errorf("deliveries of the event: got %+v, want %s", e.Deliveries, own.delivery.ID)
	}
	w.confirm("own")
	undispatched := w.text("SELECT event_id FROM undispatched")
	var waiting eventShown
	w.do("GET", "/events/"+undispatched, w.tokens["OWNER"], nil).ok(200, &waiting)
	if waiting.Position != nil || waiting.Cursor != nil || waiting.Body == nil || waiting.Deliveries == nil ||
		len(waiting.Deliveries) > 0 {
		t.Errorf("event before its dispatch: got %+v, want no position and no deliveries", waiting)
	}
	w.exec("UPDATE outbox SET erasing = $1", own.order.Customer.ID)
	if e := get(); !e.Erased || e.Body != nil {
		t.Errorf("event of an erased customer: got %+v, want it erased", e)
	}
	w.exec("UPDATE outbox SET erasing = NULL, body = NULL")
	if e := get(); !e.Erased || e.Body != nil || len(e.Deliveries) != 1 {
		t.Errorf("event without a body: got %+v, want it erased with a delivery", e)
	}
	if rows := w.listedEvents(url.Values{"type": {"order.created"}}); len(rows) != 1 || !rows[0].Erased {
		t.Errorf("list with an erased event: got %+v, want it erased", rows)
	}
	test, err := w.db.CreateTest(t.Context(), noon.Add(time.Second), own.id, own.webhook.ID)
	w.must(err)
	w.dispatch()
	w.do("GET", "/events/"+string(test.EventID), w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	shown := func(e eventShown) bool { return e.ID == test.EventID }
	if slices.ContainsFunc(w.listedEvents(url.Values{}), shown) {
		t.Error("the list shows the event of a test")
	}
}
