package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// lookups returns the statistics of the pool for lookups.
func lookups(db *persistence.DB) pg.PoolStats {
	for _, p := range db.PoolStats() {
		if p.Purpose == pg.Lookups {
			return p
		}
	}
	return pg.PoolStats{}
}

// held executes a statement in a transaction that lasts until the returned function is called.
func (w *world) held(statement string, args ...any) (release func()) {
	w.Helper()
	tx, err := w.db.System().DB.BeginTx(w.Context(), nil)
	w.must(err)
	w.Cleanup(func() { tx.Rollback() })
	_, err = tx.ExecContext(w.Context(), statement, args...)
	w.must(err)
	return func() { w.must(tx.Rollback()) }
}

// neighbor returns one of several addresses, each of another network.
func neighbor(i int) string { return fmt.Sprintf("203.0.%d.7", i) }

// Lookups that do not progress use few connections: those of one website or one client network, and those of all
// requests without a credential. Another website is served.
func TestLookupsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	const requests = 12
	alone := func(int) string { return neighbor(0) }
	for name, test := range map[string]struct {
		budgets func(w *world) [][]string // the counters that are locked
		send    func(w *world, server *Server, from func(*http.Request)) *response
		from    func(i int) string
		gate    func(w *world) gate
		most    int
	}{
		"logins of one network": {
			budgets: func(*world) [][]string { return [][]string{{"address", neighbor(0)}} },
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				return w.doOn(server, "POST", "/auth/login", "", credentials("nobody@example.com", "x"), from)
			},
			from: alone, gate: func(*world) gate { return gate{"public lookups", neighbor(0)} }, most: 1,
		},
		"logins to one account": {
			budgets: func(*world) [][]string { return [][]string{{"account", "auth", "nobody@example.com"}} },
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				return w.doOn(server, "POST", "/auth/login", "", credentials("nobody@example.com", "x"), from)
			},
			from: neighbor, gate: func(*world) gate { return gate{of: "public lookups"} }, most: 2,
		},
		"refreshes without a cookie": {
			budgets: func(*world) (all [][]string) {
				for i := range requests {
					all = append(all, []string{"address", neighbor(i)})
				}
				return all
			},
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				return w.doOn(server, "POST", "/auth/refresh", "", nil, from)
			},
			from: neighbor, gate: func(*world) gate { return gate{of: "public lookups"} }, most: 2,
		},
		"unknown keys of one network": {
			budgets: func(*world) [][]string { return [][]string{{"address", neighbor(0)}} },
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				key := app.NewAPIKeySecret(app.KeyLive).Reveal()
				return w.doOn(server, "GET", "/products", key, nil, from)
			},
			from: alone, gate: func(*world) gate { return gate{"public lookups", neighbor(0)} }, most: 1,
		},
		"unknown keys of many networks": {
			budgets: func(*world) (all [][]string) {
				for i := range requests {
					all = append(all, []string{"address", neighbor(i)})
				}
				return all
			},
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				key := app.NewAPIKeySecret(app.KeyLive).Reveal()
				return w.doOn(server, "GET", "/products", key, nil, from)
			},
			from: neighbor, gate: func(*world) gate { return gate{of: "public lookups"} }, most: 2,
		},
		"one session": {
			budgets: func(w *world) [][]string {
				return [][]string{{"session", "auth", claimsOf(w.T, w.tokens["OWNER"])["sid"].(string)}}
			},
			send: func(w *world, server *Server, from func(*http.Request)) *response {
				return w.doOn(server, "GET", "/auth/sessions", w.tokens["OWNER"], nil, from)
			},
			from: neighbor,
			gate: func(w *world) gate { return gate{"lookups", string(w.stores["own"].website)} }, most: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.timeout = boundTimeout
			server, db := w.serverOnConns(24)
			var keys [][]byte
			for _, budget := range test.budgets(w) {
				keys = append(keys, server.limiter.mac(budget...))
			}
			key := w.key("foreign", app.ScopeReadProducts)
			release := w.held(`INSERT INTO rate_limits (key, hits, expires_at)
				SELECT unnest($1::bytea[]), '{}', now() + interval '1 h'`, keys)
			statuses := make(chan int)
			for i := range requests {
				go func() { statuses <- test.send(w, server, from(test.from(i))).Code }()
			}
			at := test.gate(w)
			w.until("blocked lookups", func() bool {
				return lookups(db).InUse >= test.most && server.work.users(at.of, at.owner) == requests
			})
			for _, credential := range []string{w.tokens["FOREIGN"], key, key} {
				w.doOn(server, "GET", "/products", credential, nil).ok(200, nil)
			}
			if p := lookups(db); p.InUse != test.most || p.Waiting != 0 || p.Refused != 0 {
				t.Errorf("pool: got %d connections in use, %d callers waiting and %d refused, want %d, 0 and 0",
					p.InUse, p.Waiting, p.Refused, test.most)
			}
			release()
			for range requests {
				if status := <-statuses; status != 200 && status != 401 {
					t.Errorf("request after the wait: got status %d, want 200 or 401", status)
				}
			}
		})
	}
}

// Requests without a credential that name a website, and do not progress, use one connection. Its users, and the
// customers of another website, are served.
func TestPublicWorkOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	w.withPassword("eve", nil, "foreign")
	server, db := w.serverOnPools()
	website, store := w.stores["own"].website, w.stores["own"].id
	release := w.held("SELECT FROM stores WHERE website_id = $1 FOR UPDATE", website)
	statuses := make(chan int)
	const each = 4
	networks := 0
	send := func(path string, body func(i int) any) {
		for i := range each {
			network := neighbor(networks + i)
			go func() { statuses <- w.doOn(server, "POST", path, "", body(i), from(network)).Code }()
		}
		networks += each
	}
	send("/customer-auth/login", func(int) any { return accounts["customer"].login })
	send("/customer-auth/register", func(i int) any {
		return altered(registration(store), object{"email": fmt.Sprintf("new%d@example.com", i)})
	})
	send("/auth/login", func(int) any { return altered(accounts["user"].login, object{"storeId": store}) })
	inUse := func() int { return pool(db, pg.RoleApp).InUse + pool(db, pg.RoleSystem).InUse }
	w.until("blocked requests", func() bool {
		return inUse() == 1 && server.work.users("public", website)+waitingHashes(server) == 3*each
	})
	w.doOn(server, "GET", "/products", w.tokens["STAFF"], nil).ok(200, nil)
	w.doOn(server, "GET", "/products", w.tokens["FOREIGN"], nil).ok(200, nil)
	w.doOn(server, "POST", "/customer-auth/register", "", registration(w.stores["foreign"].id)).ok(201, nil)
	w.doOn(server, "POST", "/auth/login", "", credentials("eve@example.com", password)).ok(200, nil)
	if n := inUse(); n > 1 { // none between the end of a blocked request and the beginning of the next one
		t.Errorf("connections in use: got %d, want at most 1", n)
	}
	release()
	for range 3 * each {
		if status := <-statuses; status != 200 && status != 201 {
			t.Errorf("request after the wait: got status %d, want 200 or 201", status)
		}
	}
}

// A client network takes one place of the website that its requests name.
func TestOneNetworkNamesAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	server, _ := w.serverOnPools()
	website := w.stores["own"].website
	release := w.held("SELECT FROM stores WHERE website_id = $1 FOR UPDATE", website)
	statuses := make(chan int)
	const logins = 4
	for range logins {
		go func() {
			statuses <- w.doOn(server, "POST", "/customer-auth/login", "", accounts["customer"].login,
				from(neighbor(0))).Code
		}()
	}
	w.until("blocked logins", func() bool {
		return server.work.users("public", app.WebsiteID(neighbor(0)))+waitingHashes(server) == logins
	})
	if n := server.work.users("public", website); n > 1 {
		t.Errorf("requests at the place of the website: got %d, want at most 1", n)
	}
	release()
	for range logins {
		if status := <-statuses; status != 200 {
			t.Errorf("login after the wait: got status %d, want 200", status)
		}
	}
}

// What a request without a credential names is no value for the database until it is valid.
func TestInvalidNamesOfWebsites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{
		"/auth/login", "/customer-auth/login", "/customer-auth/register", "/customer-auth/social",
		"/customer-auth/password-reset",
	} {
		for _, id := range []string{"\x00", "sto_\xff", strings.Repeat("x", 100_000)} {
			body := object{"storeId": id, "email": "ada@example.com", "password": password}
			w.do("POST", path, "", body).refused(app.CodeValidationFailed)
		}
	}
}

// waitingHashes returns the requests that hash or wait for a slot.
func waitingHashes(s *Server) (n int) {
	s.passwords.mu.Lock()
	defer s.passwords.mu.Unlock()
	for _, g := range s.passwords.groups {
		n += g.running + g.waiting
	}
	return n
}

// Logins that name no website, and do not progress, use a quarter of the connections. Refreshes and requests that name
// one are served.
func TestLoginsWithoutAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	server, db := w.serverOnConns(24)
	release := w.held("SELECT FROM users WHERE email = 'ada@example.com' FOR UPDATE")
	statuses := make(chan int)
	const logins = 12
	for i := range logins {
		go func() {
			statuses <- w.doOn(server, "POST", "/auth/login", "", accounts["user"].login, from(neighbor(i))).Code
		}()
	}
	limit := pool(db, pg.RoleSystem).Conns / 4 // beside their records
	w.until("blocked logins", func() bool {
		return pool(db, pg.RoleSystem).InUse == limit && server.work.users("public", "") == logins
	})
	foreign := w.browse("FOREIGN", "foreign")
	foreign.server = server
	foreign.refresh()
	w.doOn(server, "POST", "/customer-auth/login", "", accounts["customer"].login).ok(200, nil)
	if p := pool(db, pg.RoleSystem); p.InUse != limit || p.Waiting != 0 || p.Refused != 0 {
		t.Errorf("pool: got %d connections in use, %d callers waiting and %d refused, want %d, 0 and 0", p.InUse,
			p.Waiting, p.Refused, limit)
	}
	release()
	for range logins {
		if status := <-statuses; status != 200 {
			t.Errorf("login after the wait: got status %d, want 200", status)
		}
	}
}

// Logins that wait for the row of one account, which another transaction holds, end soon with 503. Those of other
// accounts are served meanwhile.
func TestSlowAccountsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	w.withPassword("eve", nil, "foreign")
	server, db := w.serverWithLocks(24, 10*time.Millisecond)
	release := w.held("SELECT FROM users WHERE email = 'ada@example.com' FOR UPDATE")
	responses := make(chan *response)
	const logins = 12
	for i := range logins {
		go func() {
			responses <- w.doOn(server, "POST", "/auth/login", "", accounts["user"].login, from(neighbor(i)))
		}()
	}
	w.doOn(server, "POST", "/auth/login", "", credentials("eve@example.com", password)).ok(200, nil)
	for range logins {
		a := (<-responses).refused(app.CodeUnavailable)
		if after := a.Header().Get("Retry-After"); after != "1" {
			t.Errorf("login to a locked account: got Retry-After %q, want 1", after)
		}
	}
	if n := pool(db, pg.RoleSystem).Refused; n != 0 {
		t.Errorf("requests without a connection: got %d, want 0", n)
	}
	release()
	w.doOn(server, "POST", "/auth/login", "", accounts["user"].login).ok(200, nil)
}

// Each operation without a credential is bounded by the website that it names, otherwise by the network of the client.
func TestPublicRoutesAreWork(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	accounts, store := map[string]account{"user": {w.world, "/auth", credentials("ada@example.com", password)}},
		w.stores["own"].id
	link := object{"token": accounts["user"].asked(w.server)}
	bodies := map[string]object{
		"/auth/login":                           credentials("ada@example.com", password),
		"/auth/password-reset":                  {"email": "ada@example.com"},
		"/auth/password-reset/confirm":          altered(link, object{"password": otherPassword}),
		"/auth/accept-invite":                   {"token": w.invited(grace("STAFF")), "password": password},
		"/customer-auth/register":               registration(store),
		"/customer-auth/login":                  w.carol.login,
		"/customer-auth/social":                 {"storeId": store, "provider": "google", "token": noIDToken},
		"/customer-auth/password-reset":         {"storeId": store, "email": "carol@example.com"},
		"/customer-auth/password-reset/confirm": {"token": w.carol.asked(w.server), "password": otherPassword},
		"/customer-auth/email/confirm":          {"token": w.requested(nil)},
	}
	for _, rt := range routes() {
		if rt.Permission != public {
			continue
		}
		owner := string(w.stores["own"].website)
		switch rt.Path {
		case "/auth/login", "/auth/password-reset":
			owner = neighbor(0)
		}
		server := w.serverOn(w.db.DB, func(*Config) {})
		server.work.wait = time.Millisecond
		taken := &places{work: server.work}
		w.must(taken.begin(t.Context(), gateLimit{gate{"public", owner}, maxPublic}))
		a := w.doOn(server, rt.Method, rt.Path, "", bodies[rt.Path], from(neighbor(0))).refused(app.CodeUnavailable)
		if after := a.Header().Get("Retry-After"); after != "2" {
			t.Errorf("%s: got Retry-After %q, want 2", rt.Path, after)
		}
	}
}

// A request that hashes a password, or waits for the keys of a provider, holds no place.
func TestHashesHoldNoPlaces(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	accounts := w.accounts()
	began, release := make(chan struct{}), make(chan struct{})
	wait := func() {
		began <- struct{}{}
		<-release
	}
	w.server.passwords.runs = wait
	w.provider.handler = func(rw http.ResponseWriter, r *http.Request) {
		wait()
		w.provider.showKeys(rw, r)
	}
	statuses := make(chan int)
	for name, send := range map[string]func() *response{
		"hash": func() *response {
			return w.doOn(w.server, "POST", "/customer-auth/login", "", accounts["customer"].login)
		},
		"provider": func() *response { return w.login(app.ProviderGoogle, w.provider.sign("one", w.claims(nil))) },
	} {
		go func() { statuses <- send().Code }()
		select {
		case <-began:
		case status := <-statuses:
			t.Fatalf("login that waits for a %s: got status %d before", name, status)
		}
		if n := len(w.server.work.gates); n != 0 {
			t.Errorf("gates of a request that waits: got %d, want 0", n)
		}
		release <- struct{}{}
		if status := <-statuses; status != 200 {
			t.Errorf("login: got status %d, want 200", status)
		}
	}
}
