package api

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// serverOnPools creates a server with the smallest pools of a process, whose waits for locks do not end.
func (w *world) serverOnPools() (*Server, *persistence.DB) {
	w.Helper()
	return w.serverOnConns(pg.MinConns)
}

// serverOnConns is serverOnPools with a number of connections.
func (w *world) serverOnConns(conns int) (*Server, *persistence.DB) {
	w.Helper()
	return w.serverWithLocks(conns, 0)
}

// serverWithLocks is serverOnConns with a limit of the waits for locks of accounts.
func (w *world) serverWithLocks(conns int, account time.Duration) (*Server, *persistence.DB) {
	w.Helper()
	pools := pg.ServePools(conns)
	for i := range pools {
		pools[i].Lock, pools[i].Account, pools[i].Statement = 0, account, 0
	}
	db, err := persistence.Open(persistence.Config{
		URL: w.db.URL, SystemURL: w.db.SystemURL, Pools: pools, Sealer: persistencetest.Keyring().Sealer(),
		Mails: true,
	})
	w.must(err)
	w.Cleanup(func() { db.Close() })
	return w.serverOn(db, func(*Config) {}), db
}

// pool returns the statistics of the pool of a role for operations.
func pool(db *persistence.DB, role string) pg.PoolStats {
	all := db.PoolStats()
	return all[slices.IndexFunc(all, func(p pg.PoolStats) bool { return p.Role == role && p.Purpose == pg.Operations })]
}

// users returns the requests that hold a place behind a gate or wait for one.
func (w *work) users(of string, owner any) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.gates[gate{of, fmt.Sprint(owner)}]; s != nil {
		return s.users
	}
	return 0
}

// waits returns the requests of a website that wait.
func (w *work) waits(website app.WebsiteID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.websites.of[string(website)]
}

// until waits for a condition that other goroutines bring about.
func (w *world) until(what string, condition func() bool) {
	w.Helper()
	for deadline := time.Now().Add(w.timeout); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("got no %s in time", what)
		}
	}
}

// blocked locks the products of a website until the returned function is called.
func (w *world) blocked(store string) (release func()) {
	w.Helper()
	tx, err := w.db.System().DB.BeginTx(w.Context(), nil)
	w.must(err)
	w.Cleanup(func() { tx.Rollback() })
	_, err = tx.ExecContext(w.Context(), `SELECT FROM products WHERE store_id IN (
		SELECT id FROM stores WHERE website_id = $1) FOR UPDATE`, w.stores[store].website)
	w.must(err)
	return func() { w.must(tx.Rollback()) }
}

// A website whose requests do not progress takes at most half of the connections. Its further requests wait without a
// connection, then they are refused. Another website is served.
func TestWorkOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, db := w.serverOnPools()
	release := w.blocked("own")
	limit := pool(db, pg.RoleApp).Conns / 2
	website := w.stores["own"].website
	statuses := make(chan int)
	const requests = 12
	for range requests {
		go func() {
			statuses <- w.doOn(server, "PATCH", "/products/"+string(w.stores["own"].product.ID), w.tokens["OWNER"],
				object{"position": 7}).Code
		}()
	}
	w.until("blocked requests", func() bool {
		return pool(db, pg.RoleApp).InUse >= limit && server.work.users("requests", website) == requests
	})
	for range 3 {
		w.doOn(server, "GET", "/products", w.tokens["FOREIGN"], nil).ok(200, nil)
	}
	if p := pool(db, pg.RoleApp); p.InUse != limit || p.Waiting != 0 || p.Refused != 0 {
		t.Errorf("pool: got %d connections in use, %d callers waiting and %d refused, want %d, 0 and 0", p.InUse,
			p.Waiting, p.Refused, limit)
	}
	server.work.wait = time.Millisecond
	for _, token := range []string{w.tokens["OWNER"], w.tokens["STAFF"]} {
		a := w.doOn(server, "GET", "/products", token, nil).refused(app.CodeUnavailable)
		if after := a.Header().Get("Retry-After"); after != "2" {
			t.Errorf("refused request: got Retry-After %q, want 2", after)
		}
	}
	release()
	for range requests {
		if status := <-statuses; status != 200 {
			t.Errorf("request after the wait: got status %d, want 200", status)
		}
	}
	w.doOn(server, "GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	if n := len(server.work.gates); n != 0 {
		t.Errorf("gates without requests: got %d, want 0", n)
	}
}

// One import of a store runs at a time, and two imports, exports and analytics of a website. Other requests of the
// website are served meanwhile.
func TestHeavyWorkOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, db := w.serverOnPools()
	release := w.blocked("own")
	website := w.stores["own"].website
	sibling := w.token("OWNER", w.stores["sibling"].id)
	statuses := make(chan int)
	send := func(token string) {
		statuses <- w.doOn(server, "POST", "/products/import", token, []any{object{"sku": "P1", "position": 5}}).Code
	}
	analytics := func(token string) *response {
		return w.doOn(server, "GET", "/analytics/summary?from=2026-03-14&to=2026-03-14", token, nil)
	}
	for range 3 {
		go send(w.tokens["MANAGER"])
	}
	w.until("import", func() bool {
		return server.work.users("imports", w.stores["own"].id) == 3 && pool(db, pg.RoleApp).InUse == 1
	})
	analytics(w.tokens["OWNER"]).ok(200, nil)
	go send(sibling)
	w.until("import of another store", func() bool { return pool(db, pg.RoleApp).InUse == 2 })
	server.work.wait = time.Millisecond
	analytics(w.tokens["OWNER"]).refused(app.CodeUnavailable)
	w.doOn(server, "GET", "/customers/"+string(*w.stores["own"].order.Customer.ID)+"/export", w.tokens["OWNER"], nil).
		refused(app.CodeUnavailable)
	w.doOn(server, "GET", "/products", w.tokens["OWNER"], nil).ok(200, nil)
	analytics(w.tokens["FOREIGN"]).ok(200, nil)
	if n := server.work.users("heavy", website); n != 2 {
		t.Errorf("heavy requests in progress: got %d, want 2", n)
	}
	release()
	for range 4 {
		if status := <-statuses; status != 200 {
			t.Errorf("import after the wait: got status %d, want 200", status)
		}
	}
}

// Two lists of products of a website with filters that have no index run at a time. They take no places of heavy work.
func TestSearchesOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.serverOnPools()
	server.work.wait = time.Millisecond
	get := func(path, token string) *response { return w.doOn(server, "GET", path, token, nil) }
	searches := []string{
		"q=zzzz", "category=Pizza", "isAvailable=true", "orderable=false", "updatedSince=2026-03-14T00:00:00.000Z",
	}
	website := string(w.stores["own"].website)
	running := &places{work: server.work}
	for range maxSearches {
		w.must(running.begin(t.Context(), gateLimit{gate{"searches", website}, maxSearches}))
	}
	for _, search := range searches {
		get("/products?"+search, w.tokens["OWNER"]).refused(app.CodeUnavailable)
		get("/products?"+search, w.tokens["FOREIGN"]).ok(200, nil)
	}
	get("/products?externalId=e1&sort=position&limit=5", w.tokens["OWNER"]).ok(200, nil)
	get("/analytics/summary?from=2026-03-14&to=2026-03-14", w.tokens["OWNER"]).ok(200, nil)
	running.leave()
	for range maxHeavyWork {
		w.must(running.begin(t.Context(), gateLimit{gate{"heavy", website}, maxHeavyWork}))
	}
	get("/products?"+searches[0], w.tokens["OWNER"]).ok(200, nil)
}

// The routes that use the pool for all stores are marked, so that a website takes at most half of it.
func TestRoutesAcrossStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var db *persistence.DB
	w.server, db = w.serverOnPools()
	for i, rt := range routes() {
		who := permitted[rt.Method+" "+rt.Path]
		if !rt.byAccessToken() || !strings.Contains(who, "OWNER") && !strings.Contains(who, "CUSTOMER") {
			continue
		}
		store, token := "own", w.token("OWNER", w.stores["own"].id)
		if !strings.Contains(who, "OWNER") {
			customer := w.addCustomer("own", fmt.Sprintf("%d@example.com", i))
			own := *w.stores["own"]
			own.order = w.orderOf("own", customer.Customer.ID)
			store, token = "a customer's", customer.AccessToken
			w.stores[store] = &own
		}
		if across := w.usesAcross(rt, store, token, db); across && !rt.Across {
			t.Errorf("%s %s: uses the pool for all stores: %t, marked: %t", rt.Method, rt.Path, across, rt.Across)
		}
	}
}

// usesAcross reports whether a route uses the pool for all stores. Notifications of earlier requests use it too, but
// not during each of several requests.
func (w *world) usesAcross(rt route, store, token string, db *persistence.DB) bool {
	w.Helper()
	for range 5 {
		before := pool(db, pg.RoleSystem).Served
		a := w.attempt(rt, store, token)
		if a.Code == 401 || a.Code == 403 {
			w.Errorf("%s %s: got status %d, want the operation to run", rt.Method, rt.Path, a.Code)
		}
		if pool(db, pg.RoleSystem).Served == before {
			return false
		}
		if rt.Across {
			return true
		}
	}
	return true
}

// watched is a response that calls a function while it is encoded.
type watched struct{ encoding func() }

func (r watched) MarshalJSON() ([]byte, error) {
	r.encoding()
	return []byte("null"), nil
}

// A request keeps its places until its response is encoded, so that few large responses are built concurrently.
func TestResponsesAreEncodedInTheirPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serverOn(w.db.DB, func(*Config) {})
	users := 0
	s.router = s.newRouter([]route{{
		Method: "GET", Path: "/auth/me", Realms: []app.Realm{app.RealmTenant}, Permission: app.ViewOwnTenantLogin,
		Load: heavy, Status: 200,
		Handler: handle("test", func(*Server, context.Context, *call, noIn) (watched, error) {
			return watched{func() { users = s.work.users("heavy", w.stores["own"].website) }}, nil
		}),
	}}, true)
	r := httptest.NewRequestWithContext(t.Context(), "GET", issuer+"/auth/me", nil)
	r.Header.Set("Authorization", "Bearer "+w.tokens["OWNER"])
	a := httptest.NewRecorder()
	s.ServeHTTP(a, r)
	if a.Code != 200 || users != 1 {
		t.Errorf("got status %d and %d heavy requests while the response was encoded, want 200 and 1", a.Code, users)
	}
	if n := len(s.work.gates); n != 0 {
		t.Errorf("gates after the response: got %d, want 0", n)
	}
}

// Two requests of a website compare versions of orders at a time. They take no places of heavy work, which lasts
// longer.
func TestComparisonsOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.serverOnPools()
	server.work.wait = time.Millisecond
	path := "/orders/" + string(w.stores["own"].order.ID)
	website := string(w.stores["own"].website)
	running := &places{work: server.work}
	for range maxCompared {
		w.must(running.begin(t.Context(), gateLimit{gate{"comparisons", website}, maxCompared}))
	}
	w.doOn(server, "GET", path+"/changes?since=1", w.tokens["STAFF"], nil).refused(app.CodeUnavailable)
	w.doOn(server, "GET", path, w.tokens["STAFF"], nil).ok(200, nil)
	running.leave()
	for range maxHeavyWork {
		w.must(running.begin(t.Context(), gateLimit{gate{"heavy", website}, maxHeavyWork}))
	}
	w.doOn(server, "GET", path+"/changes?since=1", w.tokens["STAFF"], nil).ok(200, nil)
}

// Imports, exports and analytics are heavy work; comparisons of versions have places of their own.
func TestLoadsOfRoutes(t *testing.T) {
	t.Parallel()
	want := []string{
		"GET /orders/{id}/changes 4", "GET /payments/summary 1", "POST /products/import 2", "GET /analytics/summary 1",
		"GET /analytics/sales 1", "GET /analytics/products 1",
		"GET /analytics/options 1", "GET /analytics/channels 1", "GET /analytics/customers 1",
		"GET /customers/{id}/export 3",
	}
	var got []string
	for _, rt := range routes() {
		if rt.Load != light {
			got = append(got, fmt.Sprint(rt.Method, " ", rt.Path, " ", int(rt.Load)))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loads of routes (-want +got):\n%s", diff)
	}
}

// A website whose requests wait fills at most half of the places for waiting requests. Further ones are refused
// immediately, and those of another website wait.
func TestWaitersOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	work := newWork(Config{})
	work.wait, work.websites.most = testTimeout, 8
	begin := func(website app.WebsiteID) error {
		p := &places{work: work, waiters: &work.websites, owner: string(website)}
		defer p.leave()
		return p.begin(t.Context(), gateLimit{gate{"requests", string(website)}, 1})
	}
	var running []*places
	for _, website := range []app.WebsiteID{"web_hostile", "web_other"} {
		p := &places{work: work, waiters: &work.websites, owner: string(website)}
		if err := p.begin(t.Context(), gateLimit{gate{"requests", string(website)}, 1}); err != nil {
			t.Fatal(err)
		}
		running = append(running, p)
	}
	results := make(chan error)
	send := func(website app.WebsiteID, requests int) {
		for range requests {
			go func() { results <- begin(website) }()
		}
	}
	w := &world{T: t, timeout: testTimeout}
	const most = 4 // half of 8
	send("web_hostile", most)
	w.until("waiting requests", func() bool { return work.waits("web_hostile") == most })
	for range 20 {
		if err := begin("web_hostile"); app.CodeOf(err) != app.CodeUnavailable {
			t.Errorf("request beyond those that may wait: got error %v, want UNAVAILABLE", err)
		}
	}
	send("web_other", 2)
	w.until("waiting requests of another website", func() bool { return work.waits("web_other") == 2 })
	for _, p := range running {
		p.leave()
	}
	for range most + 2 {
		if err := <-results; err != nil {
			t.Errorf("request after the wait: got error %v, want none", err)
		}
	}
	if len(work.websites.of) != 0 || work.websites.queued != 0 || len(work.gates) != 0 {
		t.Errorf("got %d websites with waiting requests, %d of them and %d gates, want none", len(work.websites.of),
			work.websites.queued, len(work.gates))
	}
}

// Refreshes of tokens are work in progress of the website of their session.
func TestRefreshesAreWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := claimsOf(t, w.addCustomer("own", "ada@example.com").AccessToken)["sid"].(string)
	cookie := w.server.tokens.mintRefresh(app.RealmCustomer, app.SessionID(customer), 0)
	requests := &places{work: w.server.work}
	website := string(w.stores["own"].website)
	for range w.server.work.across {
		if !requests.enter(t.Context(), gateLimit{gate{"across", website}, w.server.work.across}) {
			t.Fatal("got no place, want one")
		}
	}
	w.server.work.wait = time.Millisecond
	own := w.browse("OWNER", "own")
	own.present(own.cookie).refused(app.CodeUnavailable)
	w.do("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerCookie+"="+cookie)).
		refused(app.CodeUnavailable)
	w.browse("FOREIGN", "foreign").refresh()
	w.browse("PLATFORM", "own").refresh()
	requests.leave()
	own.refresh()
}
