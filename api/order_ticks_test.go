package api

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func tickPath(o app.Order, item int) string {
	return "/orders/" + string(o.ID) + "/items/" + string(o.Items[item].ID) + "/done"
}

// tick ticks an item of an order, or takes the tick back.
func (w *world) tick(o orderOut, item int, done bool) (ticked orderOut) {
	w.Helper()
	w.do("PUT", tickPath(o.Order, item), w.tokens["STAFF"], object{"done": done}).ok(200, &ticked)
	return ticked
}

func (w *world) twoLines() (orderOut, string) {
	w.Helper()
	return w.place(object{"items": []any{
		object{"productId": w.stores["own"].product.ID, "quantity": 2, "note": "hot"},
		object{"productId": w.createProduct(nil).ID, "quantity": 1},
	}})
}

// A tick shows on the item, without an event and a new version. A repetition keeps the first time.
func TestTickItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.twoLines()
	before := w.rows()
	w.now = noon.Add(time.Minute)
	ticked := w.tick(placed, 1, true)
	want := placed
	done := app.At(w.now)
	want.Items[1].DoneAt, want.UpdatedAt = &done, done
	if diff := cmp.Diff(want.Order, ticked.Order); diff != "" {
		t.Errorf("ticked order (-want +got): %s", diff)
	}
	w.now = noon.Add(2 * time.Minute)
	if again := w.tick(placed, 1, true); again.Items[1].DoneAt.String() != done.String() || again.UpdatedAt != done {
		t.Errorf("repeated tick: got %v, updated at %v; want the first time %v", again.Items[1].DoneAt, again.UpdatedAt,
			done)
	}
	var list []orderOut
	w.do("GET", "/orders?updatedSince="+done.String(), w.tokens["STAFF"], nil).ok(200, &list)
	if len(list) != 1 || list[0].Items[1].DoneAt == nil || list[0].Version != 1 {
		t.Errorf("orders that changed: got %+v, want the ticked one in version 1", list)
	}
	for range 2 {
		if open := w.tick(placed, 1, false); open.Items[1].DoneAt != nil || !open.UpdatedAt.After(done.Time) {
			t.Errorf("taken back: got %v, updated at %v; want no tick, and a later time", open.Items[1].DoneAt,
				open.UpdatedAt)
		}
	}
	if after := w.rows(); after != before {
		t.Errorf("rows: got %s, want %s", after, before)
	}
	// The order is ticked in the events of later changes.
	w.tick(placed, 0, true)
	w.do("PATCH", path+"/status", w.tokens["STAFF"], statusBody(app.OrderReady)).ok(200, nil)
	var event app.Order
	w.read(w.eventData("own", app.EventOrderStatusUpdated)[0], &event)
	if event.Items[0].DoneAt == nil || event.Items[1].DoneAt != nil {
		t.Errorf("event: got %+v, want a tick of the first item", event.Items)
	}
}

func TestTickRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.twoLines()
	other, _ := w.twoLines()
	staff, one := w.tokens["STAFF"], object{"done": true}
	sibling := w.stores["sibling"].order
	for name, c := range map[string]struct {
		path string
		body any
		code app.Code
		at   string
	}{
		"no member":               {tickPath(placed.Order, 0), object{}, app.CodeValidationFailed, "done"},
		"null":                    {tickPath(placed.Order, 0), object{"done": nil}, app.CodeValidationFailed, "done"},
		"unknown item":            {path + "/items/itm_none/done", one, app.CodeNotFound, ""},
		"unknown order":           {"/orders/ord_none/items/itm_none/done", one, app.CodeNotFound, ""},
		"item of another order":   {path + "/items/" + string(other.Items[0].ID) + "/done", one, app.CodeNotFound, ""},
		"order of a sibling":      {tickPath(sibling, 0), one, app.CodeStoreMismatch, ""},
		"order of another tenant": {tickPath(w.stores["foreign"].order, 0), one, app.CodeNotFound, ""},
		"item of a sibling": {
			path + "/items/" + string(sibling.Items[0].ID) + "/done", one, app.CodeNotFound, "",
		},
	} {
		w.run(name, func(*testing.T) {
			if c.at != "" {
				w.do("PUT", c.path, staff, c.body).refused(c.code, c.at)
				return
			}
			w.do("PUT", c.path, staff, c.body).refused(c.code)
		})
	}
	w.do("POST", tickPath(placed.Order, 0), staff, one).refused(app.CodeMethodNotAllowed)
}

// A tick survives changes of the order, except one that leaves something to do on the line.
func TestTicksOfChangedItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.createProduct(nil)
	for name, c := range map[string]struct {
		change object // of the ticked line
		stays  bool
	}{
		"nothing":         {object{}, true},
		"fewer":           {object{"quantity": 1}, true},
		"the same note":   {object{"note": "hot"}, true},
		"more":            {object{"quantity": 3}, false},
		"another note":    {object{"note": "no nuts"}, false},
		"no note":         {object{"note": json.RawMessage("null")}, false},
		"another product": {object{"productId": other.ID}, false},
	} {
		w.run(name, func(t *testing.T) {
			placed, path := w.twoLines()
			ticked := w.tick(placed, 0, true)
			w.tick(placed, 1, true)
			var amended orderOut
			w.amend(placed, w.tokens["STAFF"], object{"note": name, "items": []any{
				kept(placed.Items[1], nil), kept(placed.Items[0], c.change),
			}}).ok(200, &amended)
			if amended.Items[0].DoneAt == nil {
				t.Error("the tick of the unchanged line is gone, want it to stay")
			}
			got := amended.Items[1].DoneAt
			if (got != nil) != c.stays || c.stays && got.String() != ticked.Items[0].DoneAt.String() {
				t.Errorf("tick of the changed line: got %v, want it to stay: %v", got, c.stays)
			}
			var shown orderOut
			w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
			if diff := cmp.Diff(amended.Items, shown.Items); diff != "" {
				t.Errorf("items (-changed +read): %s", diff)
			}
		})
	}
}

// Ticks are not changes of items: neither a PATCH with the same items nor the changes since a version shows them.
func TestTicksAreNoChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.twoLines()
	w.tick(placed, 0, true)
	var same orderOut
	w.amend(placed, w.tokens["STAFF"], object{"items": []any{kept(placed.Items[0], nil), kept(placed.Items[1], nil)}}).
		ok(200, &same)
	if same.Version != 1 || same.Items[0].DoneAt == nil {
		t.Errorf("got version %d, tick %v; want version 1 with the tick", same.Version, same.Items[0].DoneAt)
	}
	var more, back orderOut
	w.amend(same, w.tokens["STAFF"], object{"items": []any{
		kept(placed.Items[0], object{"quantity": 3}), kept(placed.Items[1], nil),
	}}).ok(200, &more)
	w.tick(more, 1, true)
	w.amend(more, w.tokens["STAFF"], object{"items": []any{
		kept(placed.Items[0], object{"quantity": 2}), kept(placed.Items[1], nil),
	}}).ok(200, &back)
	var changes app.OrderItemChanges
	w.do("GET", path+"/changes?since=1", w.tokens["STAFF"], nil).ok(200, &changes)
	if len(changes.ItemChanges) != 0 || changes.Version != 3 {
		t.Errorf("got %+v, want no changes in version 3", changes)
	}
}

// Ticks of both lines and a change of the order at the same time are all kept.
func TestTicksAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.twoLines()
	var group sync.WaitGroup
	for i := range placed.Items {
		for range 4 {
			group.Go(func() {
				w.do("PUT", tickPath(placed.Order, i), w.tokens["STAFF"], object{"done": true}).ok(200, nil)
			})
		}
	}
	group.Go(func() {
		w.amend(placed, w.tokens["STAFF"], object{"note": "Ring", "items": []any{
			kept(placed.Items[0], nil), kept(placed.Items[1], nil),
		}}).ok(200, nil)
	})
	group.Wait()
	var shown orderOut
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
	if shown.Items[0].DoneAt == nil || shown.Items[1].DoneAt == nil || shown.Note != "Ring" || shown.Version != 2 {
		t.Errorf("got %+v, want both ticks and the note in version 2", shown.Order)
	}
}

// The stream reports each tick, also two in the same moment, and finds one whose notification was lost.
func TestStreamReportsTicksAndSlips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, _ := w.twoLines()
	server := w.streamsOn(func(s *Server) { s.orderFeed.every = 20 * time.Millisecond })
	s := w.watch(server, w.tokens["STAFF"])
	want := orderEvent{ID: placed.ID, Number: placed.Number, Status: app.OrderReceived, Version: 1, Items: true}
	next := func(what string) {
		got := s.order()
		for got.ID != placed.ID || !got.Items { // orders that were placed a moment ago
			got = s.order()
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	w.tick(placed, 0, true)
	next("tick")
	w.tick(placed, 0, false)
	next("tick that is taken back in the same moment")
	printed := func() *response {
		return w.do("POST", "/orders/"+string(placed.ID)+"/printed", w.tokens["STAFF"], object{"version": 1})
	}
	var first, repeated orderOut
	printed().ok(200, &first)
	next("printed slip")
	if printed().ok(200, &repeated); repeated.UpdatedAt != first.UpdatedAt {
		t.Errorf("printed again: got a change at %v, want none since %v", repeated.UpdatedAt, first.UpdatedAt)
	}
	w.exec("UPDATE orders SET updated_at = updated_at + interval '1 s' WHERE id = $1", placed.ID)
	next("lost notification")
}

// A payment makes a new version, which the search for missed changes does not take for a tick.
func TestStreamReportsAPaymentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	var feed *orderFeed
	s := w.watch(w.streamsOn(func(server *Server) { feed = server.orderFeed }), w.tokens["STAFF"])
	w.now = noon.Add(time.Minute)
	w.pay(own, 100)
	if got := s.order(); got.ID != own.order.ID || got.Version != 2 || got.Items {
		t.Errorf("payment: got %+v, want version 2 without items", got)
	}
	feed.findMissed(t.Context())
	w.pay(own, 100)
	if got := s.order(); got.ID != own.order.ID || got.Version != 3 || got.Items {
		t.Errorf("second payment: got %+v, want version 3 without items", got)
	}
}

// The search for missed changes can find a tick before its notification. The notification is then sent too, once,
// because only it says that items have changed.
func TestStreamReportsTicksThatWereFoundBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, _ := w.twoLines()
	var feed *orderFeed
	s := w.watch(w.streamsOn(func(server *Server) { feed = server.orderFeed }), w.tokens["STAFF"])
	found := app.OrderNotice{
		StoreID: w.stores["own"].id, ID: placed.ID, Number: placed.Number, Status: placed.Status, Version: 1,
		UpdatedAt: app.At(noon.Add(time.Minute)),
	}
	ticked := found
	ticked.Items = true
	for _, notice := range []app.OrderNotice{found, ticked, ticked, found} {
		feed.changed(notice)
	}
	later := ticked
	later.UpdatedAt = app.At(noon.Add(2 * time.Minute))
	feed.changed(later)
	want := orderEvent{ID: placed.ID, Number: placed.Number, Status: placed.Status, Version: 1}
	for _, items := range []bool{false, true, true} {
		want.Items = items
		if got := s.order(); got != want {
			t.Errorf("event: got %+v, want %+v", got, want)
		}
	}
	feed.changed(app.OrderNotice{
		StoreID: found.StoreID, ID: found.ID, Number: found.Number, Status: app.OrderConfirmed, Version: 2,
		UpdatedAt: app.At(noon.Add(3 * time.Minute)),
	})
	if got := s.order(); got.Version != 2 {
		t.Errorf("next event: got %+v, want version 2", got)
	}
}

// A change of deliveries can precede the notice of its version, and that of the version before. The versions ascend
// nevertheless, and the notice of the latest one is sent once, also if its time is that of its predecessor, and is not
// taken for a tick.
func TestStreamAscendsBesideDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, _ := w.twoLines()
	var feed *orderFeed
	s := w.watch(w.streamsOn(func(server *Server) { feed = server.orderFeed }), w.tokens["STAFF"])
	notice := func(version int64) app.OrderNotice {
		return app.OrderNotice{
			StoreID: w.stores["own"].id, ID: placed.ID, Number: placed.Number, Status: placed.Status, Version: version,
			UpdatedAt: app.At(noon.Add(time.Duration(version) * time.Minute)),
		}
	}
	delivered := func(version int64) app.OrderNotice {
		n := notice(version)
		n.Deliveries, n.UpdatedAt = true, app.Time{}
		return n
	}
	sameTime := notice(5)
	sameTime.UpdatedAt = notice(4).UpdatedAt
	for _, n := range []app.OrderNotice{
		notice(1), delivered(3), notice(2), notice(3), notice(3), notice(4), delivered(5), sameTime, sameTime, notice(6),
	} {
		feed.changed(n)
	}
	want := orderEvent{ID: placed.ID, Number: placed.Number, Status: placed.Status}
	for _, next := range []orderEvent{
		{Version: 1}, {Version: 3, Deliveries: true}, {Version: 3}, {Version: 4}, {Version: 5, Deliveries: true},
		{Version: 5}, {Version: 6},
	} {
		want.Version, want.Deliveries = next.Version, next.Deliveries
		if got := s.order(); got != want {
			t.Errorf("event: got %+v, want %+v", got, want)
		}
	}
}
