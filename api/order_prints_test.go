package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestPrintedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	placed, path := w.place(nil)
	first := placed.Items[0]
	printed := func(version int64) *response {
		t.Helper()
		return w.do("POST", path+"/printed", w.tokens["STAFF"], object{"version": version})
	}
	printed(2).refused(app.CodeValidationFailed)
	printed(1).ok(200, &placed)
	changes := func(since string) (found app.OrderItemChanges) {
		t.Helper()
		w.do("GET", path+"/changes?since="+since, w.tokens["STAFF"], nil).ok(200, &found)
		return found
	}
	body := func(items ...any) object { return object{"items": items} }
	w.amend(placed, w.tokens["STAFF"], body(kept(first, object{"quantity": 3}),
		object{"productId": first.ProductID, "quantity": 1})).ok(200, &placed)
	second := placed.Items[1]
	w.amend(placed, w.tokens["STAFF"], body(kept(first, object{"quantity": 4}), kept(second, nil))).ok(200, &placed)
	got := changes("1")
	want := app.OrderItemChanges{Since: 1, Version: 3, ChangedFields: []string{"items"}, ItemChanges: []app.ItemChange{
		{ItemID: first.ID, Action: app.ItemChanged, Before: &first, After: &placed.Items[0]},
		{ItemID: second.ID, Action: app.ItemAdded, After: &second},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes since version 1 (-want +got): %s", diff)
	}
	w.amend(placed, w.tokens["STAFF"], body(kept(first, object{"quantity": first.Quantity}))).ok(200, &placed)
	if got := changes("1"); len(got.ItemChanges)+len(got.ChangedFields) != 0 || got.Version != 4 {
		t.Errorf("after changing back: got %+v, want no changes up to version 4", got)
	}
	now := app.OrderItemChanges{Since: 4, Version: 4, ChangedFields: []string{}, ItemChanges: []app.ItemChange{}}
	if diff := cmp.Diff(now, changes("4")); diff != "" {
		t.Errorf("changes since now (-want +got): %s", diff)
	}
	w.do("GET", path+"/changes?since=5", w.tokens["STAFF"], nil).refused(app.CodeValidationFailed)
	w.do("GET", path+"/changes", w.tokens["STAFF"], nil).refused(app.CodeValidationFailed)
	// Other members, which the kitchen needs too.
	for _, note := range []string{"Nuts!", "No nuts"} {
		w.amend(placed, w.tokens["STAFF"], object{
			"note": note, "requestedFor": app.At(w.now.Add(time.Hour)).String(),
		}).ok(200, &placed)
	}
	w.do("PATCH", path+"/status", w.tokens["STAFF"], statusBody("CONFIRMED")).ok(200, &placed)
	now = app.OrderItemChanges{
		Since: 4, Version: 7, ChangedFields: []string{"note", "requestedFor"}, ItemChanges: []app.ItemChange{},
	}
	if diff := cmp.Diff(now, changes("4")); diff != "" {
		t.Errorf("changes of other members (-want +got): %s", diff)
	}
	w.amend(placed, w.tokens["STAFF"], object{"note": nil, "customer": object{"name": "Bob"}}).ok(200, &placed)
	now.Version, now.ChangedFields = 8, []string{"customer", "requestedFor"}
	if diff := cmp.Diff(now, changes("4")); diff != "" {
		t.Errorf("after changing the note back (-want +got): %s", diff)
	}
	// Another change with a note, whose text an erasure removes from the history, but not from the order.
	w.amend(placed, w.tokens["STAFF"], object{
		"items": []any{kept(placed.Items[0], object{"note": "no salt"})},
	}).ok(200, &placed)
	w.exec(`UPDATE order_history SET item_changes = item_changes #- '{0,after,note}' WHERE order_id = $1`, placed.ID)
	if got := changes("8"); len(got.ItemChanges) != 1 || got.ItemChanges[0].After.Note != "no salt" {
		t.Errorf("after an erasure: got %+v, want the present note", got)
	}
	printed(3).ok(200, nil)
	printed(2).ok(200, &placed)
	if placed.PrintedVersion == nil || *placed.PrintedVersion != 3 || placed.Version != 9 {
		t.Errorf("got printed version %v of %d, want 3 of 9", placed.PrintedVersion, placed.Version)
	}
}
