package api

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// defaults returns the codes of the default views of the store "own".
func (w *world) defaults() string {
	w.Helper()
	return w.text(`SELECT coalesce(string_agg(code, ' '), '') FROM store_views WHERE store_id = $1 AND is_default`,
		w.stores["own"].id)
}

// After each change exactly one view is the default.
func TestStoreViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, first := w.tokens["ADMIN"], "/store/views/"+string(w.stores["own"].view.ID)
	var view app.StoreView
	w.do("POST", "/store/views", admin, viewBody("it_it")).ok(201, &view)
	want := app.StoreView{ID: view.ID, Code: "it_it", Locale: "it-IT", Currency: "EUR"}
	if diff := cmp.Diff(want, view); diff != "" || w.defaults() != "de_de" {
		t.Errorf("created view, default %s, want de_de (-want +got):\n%s", w.defaults(), diff)
	}
	second := "/store/views/" + string(view.ID)
	w.do("POST", "/store/views", admin, viewBody("it_it")).refused(app.CodeConflict, "code")
	w.do("PATCH", second, admin, object{"code": "de_de"}).refused(app.CodeConflict, "code")
	w.do("PATCH", second, admin, object{"code": "it_it", "isDefault": false}).ok(200, nil)

	w.do("PATCH", second, admin, object{"isDefault": true, "currency": "CHF", "code": "it_ch"}).ok(200, &view)
	want.Code, want.Currency, want.IsDefault = "it_ch", "CHF", true
	if diff := cmp.Diff(want, view); diff != "" || w.defaults() != "it_ch" {
		t.Errorf("changed view, default %s, want it_ch (-want +got):\n%s", w.defaults(), diff)
	}
	w.do("PATCH", second, admin, object{"isDefault": false}).refused(app.CodeConflict, "isDefault")
	w.do("DELETE", second, admin, nil).refused(app.CodeConflict)
	w.do("DELETE", first, admin, nil).ok(204, nil)
	w.do("DELETE", first, admin, nil).refused(app.CodeNotFound)
	w.do("PATCH", first, admin, object{}).refused(app.CodeNotFound)

	w.do("POST", "/store/views", admin, altered(viewBody("de_de"), object{"isDefault": true})).ok(201, &view)
	if !view.IsDefault || w.defaults() != "de_de" {
		t.Errorf("new default view: got %+v, default %s, want de_de", view, w.defaults())
	}
	for id := range strings.FieldsSeq(w.text(`SELECT string_agg(id, ' ') FROM store_views
		WHERE store_id = $1 AND NOT is_default`, w.stores["own"].id)) {
		w.do("DELETE", "/store/views/"+id, admin, nil).ok(204, nil)
	}
	w.do("DELETE", "/store/views/"+string(view.ID), admin, nil).refused(app.CodeConflict) // the last one
	for path, body := range map[string]object{
		"code": viewBody("de-DE"), "locale": altered(viewBody("x"), object{"locale": "german"}),
		"currency": altered(viewBody("x"), object{"currency": "eur"}), "timezone": altered(viewBody("x"),
			object{"timezone": "UTC"}),
	} {
		w.do("POST", "/store/views", admin, body).refused(app.CodeValidationFailed, path)
	}
}

// A view in use: orders keep it, and sessions continue in the default view.
func TestDeleteAViewInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	var view app.StoreView
	w.do("POST", "/store/views", w.tokens["ADMIN"], altered(viewBody("en_gb"), object{"currency": "USD"})).
		ok(201, &view)
	var there switchStoreOut
	w.do("POST", "/auth/switch-store", w.tokens["STAFF"], object{"storeId": own.id, "storeViewId": view.ID}).
		ok(200, &there)
	var before, after app.Order
	w.do("POST", "/orders", there.AccessToken, w.orderBody("own")).ok(201, &before)
	w.do("DELETE", "/store/views/"+string(view.ID), w.tokens["ADMIN"], nil).ok(204, nil)
	w.do("GET", "/orders/"+string(before.ID), there.AccessToken, nil).ok(200, &after)
	if diff := cmp.Diff(before, after); diff != "" || after.StoreViewID != view.ID || after.Currency != "USD" {
		t.Errorf("order of the deleted view, in USD (-want +got):\n%s", diff)
	}
	var me meOut
	w.do("GET", "/auth/me", there.AccessToken, nil).ok(200, &me)
	if me.Store.Currency != "EUR" {
		t.Errorf("currency of the session: got %s, want EUR", me.Store.Currency)
	}
	w.do("POST", "/orders", there.AccessToken, altered(w.orderBody("own"), object{"storeViewId": view.ID})).
		refused(app.CodeValidationFailed, "storeViewId")
	w.do("POST", "/auth/switch-store", w.tokens["STAFF"], object{"storeId": own.id, "storeViewId": view.ID}).
		refused(app.CodeValidationFailed, "storeViewId")
}

// A store has at most 20 views, and one default, also if requests are concurrent.
func TestConcurrentViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	codes := make([]app.Code, 24)
	var wait sync.WaitGroup
	for i := range codes {
		wait.Go(func() {
			codes[i] = w.do("POST", "/store/views", w.tokens["OWNER"],
				altered(viewBody(fmt.Sprintf("v%d", i)), object{"isDefault": true})).body.Error.Code
		})
	}
	wait.Wait()
	slices.Sort(codes)
	if codes[17] != "" || codes[18] != app.CodeLimitReached || codes[23] != app.CodeLimitReached {
		t.Errorf("codes: got %q, want 18 views and LIMIT_REACHED", codes)
	}
	if got := len(strings.Fields(w.defaults())); got != 1 {
		t.Errorf("default views: got %d, want 1", got)
	}
	var store app.Store
	w.do("GET", "/store", w.tokens["OWNER"], nil).ok(200, &store)
	if len(store.StoreViews) != app.MaxStoreViews {
		t.Errorf("views: got %d, want %d", len(store.StoreViews), app.MaxStoreViews)
	}
}

// A view becomes the default while it is deleted, and two views become the default. After each round, exactly one view
// is the default.
func TestDefaultViewsRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, first := w.tokens["ADMIN"], "/store/views/"+string(w.stores["own"].view.ID)
	for i := range 10 {
		var view app.StoreView
		w.do("POST", "/store/views", admin, viewBody(fmt.Sprintf("v%d", i))).ok(201, &view)
		path := "/store/views/" + string(view.ID)
		var wait sync.WaitGroup
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{"PATCH", path, object{"isDefault": true}}, {"DELETE", path, nil},
			{"PATCH", first, object{"isDefault": true}},
		} {
			wait.Go(func() {
				if a := w.do(request.method, request.path, admin, request.body); a.Code >= 500 {
					t.Errorf("%s %s: got %d", request.method, request.path, a.Code)
				}
			})
		}
		wait.Wait()
		if got := strings.Fields(w.defaults()); len(got) != 1 {
			t.Fatalf("default views: got %q, want one", got)
		}
		w.do("PATCH", first, admin, object{"isDefault": true}).ok(200, nil)
	}
}

// Sessions enter a view while it is deleted: none fails with an internal error, and none keeps the view.
func TestEnterAViewWhileItIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	for range 5 {
		view := w.addView(own)
		var wait sync.WaitGroup
		for _, name := range []string{"OWNER", "MANAGER", "STAFF"} {
			token := w.token(name, own)
			wait.Go(func() {
				a := w.do("POST", "/auth/switch-store", token, object{"storeId": own, "storeViewId": view})
				if a.Code != 200 {
					a.refused(app.CodeValidationFailed, "storeViewId")
				}
			})
		}
		wait.Go(func() { w.do("DELETE", "/store/views/"+string(view), w.tokens["ADMIN"], nil).ok(204, nil) })
		wait.Wait()
		if n := w.text("SELECT count(*)::text FROM sessions WHERE active_view_id = $1", view); n != "0" {
			t.Errorf("sessions in the deleted view: got %s, want 0", n)
		}
	}
}
