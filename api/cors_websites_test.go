package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

const ownPages, foreignPages = "https://one.test", "https://two.test"

// pageOf gives a request the headers with which browsers send it from a page of another site.
func pageOf(origin string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
}

// readable checks whether pages of an origin can read the response.
func (a *response) readable(origin string, want bool) *response {
	a.t.Helper()
	h := a.Header()
	got := h.Get("Access-Control-Allow-Origin") == origin && h.Get("Access-Control-Allow-Credentials") == "true" &&
		h.Get("Access-Control-Expose-Headers") != ""
	varies := slices.Contains(h.Values("Vary"), "Origin") // compression adds Accept-Encoding
	if got != want || !want && len(corsHeaders(h)) != 0 || want && !varies {
		a.t.Errorf("%s: readable by pages of %q: got %t, want %t: %v", a.what, origin, got, want, h)
	}
	return a
}

func preflightOf(w *world, server http.Handler, method, path string, change ...func(*http.Request)) *response {
	w.Helper()
	return w.doOn(server, "OPTIONS", strings.Replace(path, "{id}", "x", 1), "", nil,
		append([]func(*http.Request){header("Access-Control-Request-Method", method)}, change...)...)
}

// Pages of a website's domain may use the operations of customers only. Other operations respond like unknown ones.
func TestPreflightsOfWebsites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	configured := w.withCORS()
	customers := 0
	for _, rt := range routes() {
		for _, server := range []*Server{w.server, configured} {
			a := preflightOf(w, server, rt.Method, rt.Path, pageOf(ownPages))
			a.what += " for " + rt.Method
			if !rt.accepts(app.RealmCustomer) {
				a.refused(app.CodeMethodNotAllowed).readable(ownPages, false)
				continue
			}
			customers++
			h := a.Header()
			if a.Code != 204 || h.Get("Access-Control-Allow-Origin") != ownPages ||
				h.Get("Access-Control-Allow-Methods") != forCustomers(rt.Path) ||
				h.Get("Access-Control-Allow-Headers") == "" || h.Get("Access-Control-Max-Age") != "600" ||
				h.Get("Vary") != "Origin" {
				t.Errorf("%s: got %d %v, want 204 with the methods %s", a.what, a.Code, h, forCustomers(rt.Path))
			}
		}
	}
	if customers < 2*6 {
		t.Errorf("preflights of operations of customers: got %d, want at least 12", customers)
	}
	for name, change := range map[string][]func(*http.Request){
		"plain text":     {pageOf("http://one.test")},
		"another port":   {pageOf(ownPages + ":8443")},
		"www":            {pageOf("https://www.one.test")},
		"a longer name":  {pageOf(ownPages + ".evil.test")},
		"other case":     {pageOf("https://ONE.test")},
		"a path":         {pageOf(ownPages + "/")},
		"unknown":        {pageOf("https://three.test")},
		"opaque":         {pageOf("null")},
		"two origins":    {header("Origin", ownPages), header("Origin", ownPages)},
		"a megabyte":     {pageOf("https://" + strings.Repeat("a.", 1<<19) + "test")},
		"SQL":            {pageOf("https://' OR true --")},
		"NUL":            {pageOf("https://one.test\x00")},
		"UTF-8, broken":  {pageOf("https://one\xff.test")},
		"with a user":    {pageOf("https://one.test@evil.test")},
		"no host at all": {pageOf("https://")},
	} {
		w.run(name, func(t *testing.T) {
			preflightOf(w, w.server, "POST", "/customer-auth/login", change...).
				refused(app.CodeMethodNotAllowed).readable("", false)
		})
	}
	for _, method := range []string{"DELETE", "PATCH", "post", ""} {
		preflightOf(w, w.server, method, "/customer-auth/login", pageOf(ownPages)).
			refused(app.CodeMethodNotAllowed).readable(ownPages, false)
	}
	preflightOf(w, w.server, "POST", "/nowhere", pageOf(ownPages)).refused(app.CodeNotFound).readable(ownPages, false)

	w.suspend(true)
	if a := preflightOf(w, w.server, "POST", "/customer-auth/login", pageOf(ownPages)); a.Code != 204 {
		t.Errorf("status of a preflight of a suspended website's page: got %d, want 204", a.Code)
	}
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id), pageOf(ownPages)).
		refused(app.CodeWebsiteSuspended).readable(ownPages, true)
	if a := preflightOf(w, w.server, "POST", "/customer-auth/login", pageOf(foreignPages)); a.Code != 204 {
		t.Errorf("status of a preflight of another website's page: got %d, want 204", a.Code)
	}
	w.suspend(false)
}

// While the website of a page cannot be looked up, its requests are neither allowed nor refused for their origin: they
// get 503, whether or not the cross-origin protection guards the operation.
func TestPagesThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away, err := persistence.Open(persistence.Config{URL: "postgres://u@127.0.0.1:1/db?sslmode=disable"})
	w.must(err)
	t.Cleanup(func() { away.Close() })
	busy := w.serverOn(w.db.DB, func(*Config) {})
	busy.work.wait = time.Millisecond
	taken := &places{work: busy.work}
	w.must(taken.begin(t.Context(), busy.work.originLimits(neighbor(0))...))
	defer taken.leave()
	for name, c := range map[string]struct {
		server *Server
		after  string
	}{
		"without a database":            {w.serverOn(away, func(*Config) {}), "1"},
		"beside lookups without an end": {busy, "2"},
	} {
		for _, send := range []func(page func(*http.Request)) *response{
			func(page func(*http.Request)) *response {
				return preflightOf(w, c.server, "POST", "/customer-auth/login", page, from(neighbor(0)))
			},
			func(page func(*http.Request)) *response {
				return w.doOn(c.server, "POST", "/customer-auth/login", "", w.customerCredentials("own"), page,
					from(neighbor(0)))
			},
			func(page func(*http.Request)) *response {
				return w.doOn(c.server, "GET", "/orders", w.tokens["OWNER"], nil, page, from(neighbor(0)))
			},
		} {
			a := send(pageOf(ownPages)).refused(app.CodeUnavailable).readable(ownPages, false)
			if after := a.Header().Get("Retry-After"); after != c.after {
				t.Errorf("%s %s: got Retry-After %q, want %s", a.what, name, after, c.after)
			}
		}
	}
	preflightOf(w, busy, "PATCH", "/customer-auth/login", pageOf(ownPages), from(neighbor(0))).
		refused(app.CodeMethodNotAllowed)
}

// customerCredentials are the body of a customer's login.
func (w *world) customerCredentials(store string) map[string]any {
	return object{"storeId": w.stores[store].id, "email": "ada@example.com", "password": password}
}

// Pages of a website can use all operations of its customers, and can read the errors.
func TestPagesOfTheWebsite(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	page := pageOf(ownPages)
	w.do("POST", "/customer-auth/register", "", registration(own), page).ok(201, nil).readable(ownPages, true)
	var ada loginCustomerOut
	cookie := w.do("POST", "/customer-auth/login", "", w.customerCredentials("own"), page).
		ok(200, &ada).readable(ownPages, true).customerCookie()
	token := w.provider.sign("one", w.claims(nil)).Reveal()
	w.doOn(w.server, "POST", "/customer-auth/social", "", object{"storeId": own, "provider": "google", "token": token},
		page).ok(200, nil).readable(ownPages, true)
	w.do("POST", "/customer-auth/refresh", "", nil, page, header("Cookie", customerCookie+"="+cookie)).
		ok(200, nil).readable(ownPages, true)
	order := "/orders/" + string(w.orderOf("own", ada.Customer.ID).ID)
	w.do("GET", order, ada.AccessToken, nil, page).ok(200, nil).readable(ownPages, true)
	w.do("POST", "/customer-auth/login", "", altered(w.customerCredentials("own"), object{"password": "x"}), page).
		refused(app.CodeInvalidCredentials).readable(ownPages, true)
	w.do("POST", "/customer-auth/login", "", "{", page).refused(app.CodeValidationFailed).readable(ownPages, true)
	w.do("GET", order, "", nil, page).refused(app.CodeTokenInvalid).readable(ownPages, true)
	w.do("POST", "/customer-auth/logout", ada.AccessToken, nil, page).ok(200, nil).readable(ownPages, true)
	w.do("GET", order, ada.AccessToken, nil, page).refused(app.CodeTokenRevoked).readable(ownPages, true)
	w.now = w.now.Add(time.Hour)
	w.do("GET", order, ada.AccessToken, nil, page).refused(app.CodeTokenExpired).readable(ownPages, true)
}

// Pages of a website can neither use cookies of another website's customers nor read responses for users and API keys.
func TestPagesOfOtherWebsites(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	w.withPassword("user", nil, "own")
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id)).ok(201, nil)
	var ada loginCustomerOut
	cookie := w.do("POST", "/customer-auth/login", "", w.customerCredentials("own")).ok(200, &ada).customerCookie()
	token := w.provider.sign("one", w.claims(nil)).Reveal()
	rows := func() string {
		return w.text(`SELECT concat_ws(' ', (SELECT count(*) FROM customers), (SELECT count(*) FROM customer_sessions),
			(SELECT count(*) FROM sessions))`)
	}
	before := rows()
	sent := []func(*http.Request){pageOf(foreignPages), header("Cookie", customerCookie+"="+cookie)}
	for _, store := range []app.StoreID{w.stores["own"].id, "sto_none"} {
		for path, body := range map[string]object{
			"register": altered(registration(store), object{"email": "bob@example.com"}),
			"login":    altered(w.customerCredentials("own"), object{"storeId": store}),
			"social":   {"storeId": store, "provider": "google", "token": token},
		} {
			a := w.doOn(w.server, "POST", "/customer-auth/"+path, "", body, sent...).refused(app.CodeCrossOrigin)
			if a.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: got the cookie %q, want none", path, a.Header().Get("Set-Cookie"))
			}
		}
	}
	a := w.do("POST", "/customer-auth/refresh", "", nil, sent...).refused(app.CodeCrossOrigin)
	if a.Header().Get("Set-Cookie") != "" {
		t.Errorf("refused refresh: got the cookie %q, want none", a.Header().Get("Set-Cookie"))
	}
	if after := rows(); after != before {
		t.Errorf("rows after refused requests: got %s, want %s", after, before)
	}
	w.customerRefresh(cookie).ok(200, nil) // the token is neither used nor revoked

	// A bearer token works from any page, but pages of another origin cannot read the response.
	order := "/orders/" + string(w.orderOf("own", ada.Customer.ID).ID)
	w.do("GET", order, ada.AccessToken, nil, pageOf(foreignPages)).ok(200, nil).readable(foreignPages, false)
	w.do("GET", order, w.tokens["OWNER"], nil, pageOf(ownPages)).ok(200, nil).readable(ownPages, false)
	w.do("GET", order, w.key("own", app.ScopeReadOrders), nil, pageOf(ownPages)).ok(200, nil).readable(ownPages, false)
	w.do("GET", "/auth/me", w.tokens["OWNER"], nil, pageOf(ownPages)).ok(200, nil).readable(ownPages, false)
	w.do("GET", "/products", w.tokens["OWNER"], nil, pageOf(ownPages)).ok(200, nil).readable(ownPages, false)
	for _, path := range []string{"/auth/login", "/auth/refresh", "/auth/logout", "/auth/switch-store",
		"/auth/accept-invite"} {
		w.do("POST", path, w.tokens["OWNER"], credentials("user@example.com", password), pageOf(ownPages)).
			refused(app.CodeCrossOrigin).readable(ownPages, false)
	}
}

// forCustomers returns the methods of a path that customers may use.
func forCustomers(path string) string {
	var methods []string
	for _, rt := range routes() {
		if rt.Path == path && rt.accepts(app.RealmCustomer) {
			methods = append(methods, rt.Method)
		}
	}
	return strings.Join(methods, ", ")
}
