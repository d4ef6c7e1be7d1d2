package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestListAndChangeWebsites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, one := w.tokens["PLATFORM"], w.stores["own"].website
	var all, page []app.Website
	w.do("GET", "/platform/websites", admin, nil).ok(200, &all)
	own := slices.IndexFunc(all, func(website app.Website) bool { return website.ID == one })
	if len(all) != 2 || all[own].Domain != "one.test" || all[own].Plan != app.PlanEnterprise ||
		all[own].SuspendedAt != nil {
		t.Fatalf("websites: got %+v, want two, one.test with ENTERPRISE, not suspended", all)
	}
	cursor, _ := w.do("GET", "/platform/websites?limit=1", admin, nil).ok(200, nil).body.Meta["nextCursor"].(string)
	w.do("GET", "/platform/websites?limit=1&cursor="+cursor, admin, nil).ok(200, &page)
	if diff := cmp.Diff(all[1:], page); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	want := all[own]
	change := func(body object) {
		t.Helper()
		var changed app.Website
		w.do("PATCH", "/platform/websites/"+string(one), admin, body).ok(200, &changed)
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("%v: changed website (-want +got):\n%s", body, diff)
		}
	}
	change(object{})
	want.Plan = app.PlanStarter
	change(object{"plan": "STARTER"})
	at := app.At(w.now)
	want.SuspendedAt = &at
	change(object{"suspended": true})
	w.now = w.now.Add(time.Minute)
	change(object{"suspended": true})
	want.Plan, want.SuspendedAt = app.PlanGrow, nil
	change(object{"plan": "GROW", "suspended": false})
	w.do("GET", "/platform/websites", admin, nil).ok(200, &all)
	if diff := cmp.Diff(want, all[own]); diff != "" || all[1-own].Plan != app.PlanEnterprise {
		t.Errorf("websites after the changes: got %+v, want the other one unchanged (-want +got):\n%s", all, diff)
	}
	want.Name, want.Domain, want.PlanManagedBy = "Osteria", "osteria.test", app.PlanManagedByPlatform
	change(object{"name": "Osteria", "domain": "osteria.test", "planManagedBy": "PLATFORM"})
	change(object{"domain": "osteria.test"})
	w.do("PATCH", "/platform/websites/"+string(one), admin, object{"domain": "two.test"}).refused(app.CodeConflict)
	for path, body := range map[string]object{"plan": {"plan": "FREE"}, "suspended": {"suspended": "yes"},
		"domain": {"domain": "https://x.test"}, "name": {"name": " "}, "planManagedBy": {"planManagedBy": "ME"},
		"id": {"id": "x"}} {
		w.do("PATCH", "/platform/websites/"+string(one), admin, body).refused(app.CodeValidationFailed, path)
	}
	for _, id := range []string{"web_none", "a%2Fb", string(w.stores["own"].id)} {
		w.do("PATCH", "/platform/websites/"+id, admin, object{"suspended": true}).refused(app.CodeNotFound)
	}
}

// A suspended website refuses credentials from the next request on. Other websites are not affected, and the
// end of the suspension makes the same credentials valid again.
func TestSuspendedWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := quickHash(w.T, "correct horse")
	w.addUser("LOGIN", hash, nil, map[app.StoreID]app.Role{w.stores["own"].id: app.RoleOwner})
	w.addUser("BOTH", hash, nil,
		map[app.StoreID]app.Role{w.stores["own"].id: app.RoleOwner, w.stores["foreign"].id: app.RoleStaff})
	live, foreign := w.key("own", app.ScopeReadProducts), w.key("foreign", app.ScopeReadProducts)
	created, _ := w.createKey(w.tokens["OWNER"], object{"mode": "test", "scopes": []string{"read:products"}})
	test := created.Key
	revoked, _ := w.createKey(w.tokens["OWNER"], nil)
	w.do("POST", "/api-keys/"+string(revoked.ID)+"/revoke", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("POST", "/auth/logout", w.tokens["MANAGER"], nil).ok(200, nil)
	suspend := func(suspended bool) {
		w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"],
			object{"suspended": suspended}).ok(200, nil)
	}
	login := func(name string) *response {
		return w.do("POST", "/auth/login", "", credentials(name+"@example.com", "correct horse"))
	}
	loginTo := func(store string) *response {
		return w.do("POST", "/auth/login", "", altered(credentials("both@example.com", "correct horse"),
			object{"storeId": w.stores[store].id}))
	}

	suspend(true)
	for _, credential := range []string{w.tokens["OWNER"], w.tokens["STAFF"], live, test} {
		w.do("GET", "/products", credential, nil).refused(app.CodeWebsiteSuspended)
	}
	w.do("GET", "/products", revoked.Key, nil).refused(app.CodeAPIKeyRevoked)
	w.do("GET", "/products", w.tokens["MANAGER"], nil).refused(app.CodeTokenRevoked)
	for _, credential := range []string{w.tokens["FOREIGN"], foreign} {
		w.do("GET", "/products", credential, nil).ok(200, nil)
	}
	login("login").refused(app.CodeWebsiteSuspended)
	wrong := w.do("POST", "/auth/login", "", credentials("login@example.com", "wrong horse"))
	unknown := w.do("POST", "/auth/login", "", credentials("nobody@example.com", "wrong horse"))
	if wrong.refused(app.CodeInvalidCredentials).same() != unknown.refused(app.CodeInvalidCredentials).same() {
		t.Errorf("a wrong password reveals the suspension: got %s, want %s", wrong.Body, unknown.Body)
	}
	loginTo("own").refused(app.CodeWebsiteSuspended)
	loginTo("sibling").refused(app.CodeStoreMismatch)
	loginTo("foreign").ok(200, nil)
	var in loginOut
	login("both").ok(200, &in)
	if len(in.Stores) != 1 || in.Stores[0].StoreID != w.stores["foreign"].id {
		t.Errorf("stores while the website is suspended: got %+v, want the foreign one", in.Stores)
	}

	suspend(false)
	for _, credential := range []string{w.tokens["OWNER"], live, test, foreign} {
		w.do("GET", "/products", credential, nil).ok(200, nil)
	}
	login("login").ok(200, nil)
}

func websiteBody(domain string) object {
	return object{
		"name": "Trattoria", "domain": domain, "plan": "GROW",
		"store": object{"name": "Mitte", "countryCode": "DE", "timezone": "Europe/Berlin", "views": []object{
			{"locale": "de-DE", "currency": "EUR"}, {"locale": "en-US", "currency": "USD"},
		}},
		"owner": object{"email": "new-owner@" + domain, "name": "Ada"},
	}
}

// In a new installation without demo data, an administrator creates the first restaurant, and its owner accepts the
// invitation and works in it.
func TestOpenWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var opened openWebsiteOut
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("trattoria.test")).ok(201, &opened)
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("trattoria.test")).refused(app.CodeConflict)
	var owner loginOut
	w.do("POST", "/auth/accept-invite", "", accept(opened.Invitation.Token, goodPassword)).ok(200, &owner)
	if len(owner.Stores) != 1 || owner.Stores[0].StoreID != opened.StoreID || owner.Stores[0].Role != app.RoleOwner ||
		owner.Stores[0].StoreViews[0].Code != "de_de" {
		t.Errorf("stores of the owner: got %+v, want %s as OWNER", owner.Stores, opened.StoreID)
	}
	w.do("POST", "/webhooks", owner.AccessToken, webhookBody()).ok(201, nil)

	for fault, change := range map[string]func(object){
		"domain: a URL":                     func(b object) { b["domain"] = "https://trattoria.test" },
		"plan: unknown":                     func(b object) { b["plan"] = "FREE" },
		"store.timezone: unknown":           func(b object) { b["store"].(object)["timezone"] = "Mars/Olympus" },
		"store.timezone: with leap seconds": func(b object) { b["store"].(object)["timezone"] = "right/UTC" },
		"store.timezone: the machine's":     func(b object) { b["store"].(object)["timezone"] = "localtime" },
		"store.countryCode: a name":         func(b object) { b["store"].(object)["countryCode"] = "Germany" },
		"store.countryCode: unassigned":     func(b object) { b["store"].(object)["countryCode"] = "XX" },
		"store: missing":                    func(b object) { delete(b, "store") },
		"owner: missing":                    func(b object) { delete(b, "owner") },
		"store.views: none":                 func(b object) { b["store"].(object)["views"] = []object{} },
		"store.views[0].locale: not BCP 47": func(b object) { view(b, 0)["locale"] = "de_DE" },
		"store.views[0].locale: no case":    func(b object) { view(b, 0)["locale"] = "DE-de" },
		"store.views[1].locale: twice":      func(b object) { view(b, 1)["locale"] = "de-DE" },
		"store.views[0].currency: no case":  func(b object) { view(b, 0)["currency"] = "eur" },
		"owner.email: no address":           func(b object) { b["owner"].(object)["email"] = "nobody" },
	} {
		w.run(fault, func(t *testing.T) {
			body := websiteBody("other.test")
			change(body)
			path, _, _ := strings.Cut(fault, ":")
			a := w.do("POST", "/platform/websites", w.tokens["PLATFORM"], body)
			a.what += " " + fault
			a.refused(app.CodeValidationFailed, path)
		})
	}
}

func view(body object, i int) object { return body["store"].(object)["views"].([]object)[i] }

// Access tokens and refresh tokens of customers are refused until the suspension ends.
func TestSuspendedWebsitesCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie := w.customerLogin("ada@example.com")
	customer := w.addCustomer("own", "bob@example.com")
	order := "/orders/" + string(w.orderOf("own", customer.Customer.ID).ID)
	suspend := func(suspended bool) {
		w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"],
			object{"suspended": suspended}).ok(200, nil)
	}
	w.do("GET", order, customer.AccessToken, nil).ok(200, nil)
	suspend(true)
	w.do("GET", order, customer.AccessToken, nil).refused(app.CodeWebsiteSuspended)
	if a := w.customerRefresh(cookie).refused(app.CodeWebsiteSuspended); a.Header().Get("Set-Cookie") != "" {
		t.Errorf("cookie of a refused refresh: got %q, want none", a.Header().Get("Set-Cookie"))
	}
	suspend(false)
	w.do("GET", order, customer.AccessToken, nil).ok(200, nil)
	w.customerRefresh(cookie).ok(200, nil)
}
