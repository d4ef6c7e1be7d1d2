package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func storeBody() object {
	return object{
		"storeName": "Trattoria Nord", "countryCode": "AT", "timezone": "Europe/Vienna", "storeViews": []object{
			{"code": "en_us", "locale": "en-US", "currency": "USD"},
			{"code": "de_at", "locale": "de-AT", "currency": "EUR", "isDefault": true},
		},
	}
}

func viewBody(code string) object { return object{"code": code, "locale": "it-IT", "currency": "EUR"} }

// Users and API keys learn which store they work in.
func TestStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	get := func(token string) (store app.Store) {
		t.Helper()
		w.do("GET", "/store", token, nil).ok(200, &store)
		return store
	}
	want := app.Store{
		StoreID: own.id, StoreName: "own", WebsiteID: own.website, WebsiteName: "one.test", WebsiteDomain: "one.test",
		CountryCode: "DE", Timezone: "Europe/Berlin", Mode: app.KeyLive, Role: app.RoleStaff, OpenNow: true,
		Hours: map[app.FulfillmentType]app.OpenState{
			"DELIVERY": {OpenNow: true}, "PICKUP": {OpenNow: true}, "DINE_IN": {OpenNow: true},
		},
		OpeningHours: app.OpeningHours{}, Closures: []app.Closure{}, StaffMay: []app.StaffRight{},
		Loyalty: app.Loyalty{MinorPerPoint: map[app.Currency]int64{}},
	}
	got := get(w.tokens["STAFF"])
	if len(got.StoreViews) != 2 || got.StoreViews[0] != own.view || got.StoreViews[1].Code != "en_us" {
		t.Errorf("views: got %+v, want the default view %+v first", got.StoreViews, own.view)
	}
	want.StoreViews = got.StoreViews
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("store (-want +got):\n%s", diff)
	}
	want.Role, want.Scopes = "", []app.Scope{app.ScopeReadAnalytics}
	if diff := cmp.Diff(want, get(w.key("own", app.ScopeReadAnalytics))); diff != "" {
		t.Errorf("store for an API key (-want +got):\n%s", diff)
	}
	test, _ := w.createKey(w.tokens["OWNER"], object{"mode": "test"})
	twin := get(test.Key)
	if twin.Mode != app.KeyTest || twin.SandboxOf == nil || *twin.SandboxOf != own.id ||
		twin.StoreName != "own (sandbox)" || len(twin.StoreViews) != 2 || twin.StoreID == own.id {
		t.Errorf("for a test key: got %+v, want the sandbox", twin)
	}
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"businessDayCutoffHour": 5}).ok(200, nil)
	if got := get(w.tokens["STAFF"]).BusinessDayCutoffHour; got != 5 {
		t.Errorf("after a change of the settings: got business days from %d, want 5", got)
	}
	a := w.do("GET", "/store", w.tokens["STAFF"], nil).ok(200, nil)
	for _, member := range []string{`"sandboxOf":null`, `"nextOpenAt":null`, `"orderingPausedUntil":null`} {
		if !strings.Contains(a.Body.String(), member) {
			t.Errorf("got %s, want %s", a.Body, member)
		}
	}
}

// An OWNER adds a store and works in it and in its sandbox.
func TestAddStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	var added app.Store
	w.do("POST", "/stores", w.tokens["LONER"], storeBody()).ok(201, &added)
	want := app.Store{
		StoreID: added.StoreID, StoreName: "Trattoria Nord", WebsiteID: own.website, WebsiteName: "one.test",
		WebsiteDomain: "one.test", CountryCode: "AT", Timezone: "Europe/Vienna", Mode: app.KeyLive,
		Role: app.RoleOwner, OpenNow: true, StoreViews: []app.StoreView{
			{Code: "de_at", Locale: "de-AT", Currency: "EUR", IsDefault: true},
			{Code: "en_us", Locale: "en-US", Currency: "USD"},
		},
		Hours: map[app.FulfillmentType]app.OpenState{
			app.FulfillmentDelivery: {OpenNow: true}, app.FulfillmentPickup: {OpenNow: true},
			app.FulfillmentDineIn: {OpenNow: true},
		},
		OpeningHours: app.OpeningHours{}, Closures: []app.Closure{}, StaffMay: []app.StaffRight{},
		Loyalty: app.Loyalty{MinorPerPoint: map[app.Currency]int64{}},
	}
	for i := range added.StoreViews {
		want.StoreViews[i].ID = added.StoreViews[i].ID
	}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Fatalf("added store (-want +got):\n%s", diff)
	}
	var there switchStoreOut
	w.do("POST", "/auth/switch-store", w.tokens["LONER"], object{"storeId": added.StoreID}).ok(200, &there)
	w.do("POST", "/auth/switch-store", w.tokens["OWNER"], object{"storeId": added.StoreID}).
		refused(app.CodeStoreMismatch)
	var seen app.Store
	w.do("GET", "/store", there.AccessToken, nil).ok(200, &seen)
	if diff := cmp.Diff(added, seen); diff != "" {
		t.Errorf("added store as its OWNER sees it (-want +got):\n%s", diff)
	}
	var product app.Product
	w.do("POST", "/products", there.AccessToken, productBody()).ok(201, &product)
	test, _ := w.createKey(there.AccessToken, object{"mode": "test", "scopes": []string{"write:products"}})
	w.do("GET", "/products/"+string(product.ID), test.Key, nil).refused(app.CodeNotFound)
	w.do("POST", "/products", test.Key, productBody()).ok(201, nil)
	w.do("GET", "/store", test.Key, nil).ok(200, &seen)
	if seen.SandboxOf == nil || *seen.SandboxOf != added.StoreID {
		t.Errorf("sandbox: got %+v, want that of %s", seen, added.StoreID)
	}
	var member app.Member
	w.do("PATCH", "/users/"+string(w.users["LONER"].ID), there.AccessToken, object{"role": "OWNER"}).ok(200, &member)
	w.do("DELETE", "/users/"+string(w.users["LONER"].ID), there.AccessToken, nil).refused(app.CodeLastOwner)
}

func TestBadStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for fault, change := range map[string]func(object){
		"storeName: blank":                func(b object) { b["storeName"] = " " },
		"countryCode: unassigned":         func(b object) { b["countryCode"] = "XX" },
		"countryCode: lower case":         func(b object) { b["countryCode"] = "de" },
		"timezone: unknown":               func(b object) { b["timezone"] = "Mars/Olympus" },
		"storeViews: none":                func(b object) { b["storeViews"] = []object{} },
		"storeViews: no default":          func(b object) { b["storeViews"] = []object{viewBody("it_it")} },
		"storeViews: two defaults":        func(b object) { b["storeViews"].([]object)[0]["isDefault"] = true },
		"storeViews[1].code: twice":       func(b object) { b["storeViews"].([]object)[1]["code"] = "en_us" },
		"storeViews[1].code: upper case":  func(b object) { b["storeViews"].([]object)[1]["code"] = "de_AT" },
		"storeViews[1].locale: not BCP":   func(b object) { b["storeViews"].([]object)[1]["locale"] = "de_AT" },
		"storeViews[1].currency: unknown": func(b object) { b["storeViews"].([]object)[1]["currency"] = "XXY" },
		"storeViews: twenty-one": func(b object) {
			views := []object{}
			for i := range 21 {
				views = append(views, altered(viewBody(fmt.Sprintf("v%d", i)), object{"isDefault": i == 0}))
			}
			b["storeViews"] = views
		},
	} {
		w.run(fault, func(t *testing.T) {
			body := storeBody()
			change(body)
			path, _, _ := strings.Cut(fault, ":")
			a := w.do("POST", "/stores", w.tokens["OWNER"], body)
			a.what += " " + fault
			a.refused(app.CodeValidationFailed, path)
		})
	}
	if n := w.text("SELECT count(*)::text FROM stores"); n != "3" {
		t.Errorf("stores: got %s, want 3", n)
	}
}

// A website has at most 100 stores, also if its OWNER and the platform add some concurrently. Sandboxes do not count.
func TestAtMostAHundredStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sandbox()
	w.exec(`INSERT INTO stores (id, website_id, name, country_code, timezone, created_at)
		SELECT 'sto_' || n, $1, 'Store', 'DE', 'Europe/Berlin', now() FROM generate_series(3, 99) n`,
		w.stores["own"].website)
	byPlatform := "/platform/websites/" + string(w.stores["own"].website) + "/stores"
	codes := make([]app.Code, 8)
	var wait sync.WaitGroup
	for i := range codes {
		path, token := "/stores", w.tokens["OWNER"]
		if i%2 == 1 {
			path, token = byPlatform, w.tokens["PLATFORM"]
		}
		wait.Go(func() { codes[i] = w.do("POST", path, token, storeBody()).body.Error.Code })
	}
	wait.Wait()
	added := 0
	for _, code := range codes {
		if code == "" {
			added++
		} else if code != app.CodeLimitReached {
			t.Errorf("code: got %q, want %q", code, app.CodeLimitReached)
		}
	}
	if added != 1 {
		t.Errorf("stores added: got %d, want 1", added)
	}
	w.do("POST", "/stores", w.tokens["OWNER"], storeBody()).refused(app.CodeLimitReached)
	w.do("POST", byPlatform, w.tokens["PLATFORM"], storeBody()).refused(app.CodeLimitReached)
	w.do("POST", "/stores", w.tokens["FOREIGN"], storeBody()).ok(201, nil)
}

// The name of a sandbox follows its store's, and both settings stay apart.
func TestChangeStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sandbox := w.sandbox()
	var store app.Store
	w.do("PATCH", "/store", w.tokens["ADMIN"], object{"storeName": "Osteria", "countryCode": "IT"}).ok(200, &store)
	if store.StoreName != "Osteria" || store.CountryCode != "IT" || store.Role != app.RoleAdmin {
		t.Errorf("changed store: got %+v, want Osteria in IT for the ADMIN", store)
	}
	w.do("PATCH", "/store", w.tokens["ADMIN"], object{}).ok(200, &store)
	twin := w.text("SELECT name || ' ' || country_code FROM stores WHERE id = $1", sandbox)
	if twin != "Osteria (sandbox) DE" {
		t.Errorf("sandbox: got %q, want the new name and its own country", twin)
	}
	inside := w.token("ADMIN", sandbox)
	a := w.do("PATCH", "/store", inside, object{"storeName": "Test kitchen", "countryCode": "FR"}).
		refused(app.CodeConflict)
	if want := "rename the live store"; !strings.Contains(a.body.Error.Message, want) {
		t.Errorf("renamed sandbox: got %q, want %q in it", a.body.Error.Message, want)
	}
	w.do("PATCH", "/store", inside, object{"storeName": "Osteria (sandbox)", "countryCode": "AT"}).ok(200, nil)
	w.do("PATCH", "/store", w.tokens["ADMIN"], object{"storeName": "Enoteca"}).ok(200, nil)
	twin = w.text("SELECT name || ' ' || country_code FROM stores WHERE id = $1", sandbox)
	if twin != "Enoteca (sandbox) AT" {
		t.Errorf("sandbox: got %q, want the newer name and the country that was set in it", twin)
	}
	for path, body := range map[string]object{"storeName": {"storeName": ""}, "countryCode": {"countryCode": "XX"},
		"timezone": {"timezone": "Europe/Rome"}} {
		w.do("PATCH", "/store", w.tokens["ADMIN"], body).refused(app.CodeValidationFailed, path)
	}
	w.do("PATCH", "/store", w.key("own", app.Scopes[:]...), object{"storeName": "x"}).
		refused(app.CodeInsufficientScope)
}
