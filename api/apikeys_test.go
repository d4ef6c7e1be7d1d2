package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// createKey makes a key as a client does.
func (w *world) createKey(token string, change object) (apiKeyOut, *response) {
	w.Helper()
	var created apiKeyOut
	a := w.do("POST", "/api-keys", token, altered(apiKeyBody(), change)).ok(201, &created)
	return created, a
}

func TestCreateListAndRevokeAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = noon.Add(time.Minute)
	owner := w.tokens["OWNER"]
	created, _ := w.createKey(owner, object{"scopes": []string{"write:orders", "read:products"}})
	want := app.APIKey{
		ID: created.ID, StoreID: w.stores["own"].id, Name: "Till", Scopes: []app.Scope{"write:orders", "read:products"},
		Mode:   app.KeyLive,
		Prefix: "svc_live_sk_", LastFour: created.Key[40:], CreatedAt: app.At(w.now),
	}
	if diff := cmp.Diff(want, created.APIKey); diff != "" || !strings.HasPrefix(created.Key, "svc_live_sk_") ||
		len(created.Key) != 44 {
		t.Errorf("created key (-want +got): %s; secret %q", diff, created.Key)
	}
	listed := func() []app.APIKey {
		var all []app.APIKey
		a := w.do("GET", "/api-keys", owner, nil).ok(200, &all)
		if strings.Contains(a.Body.String(), created.Key[12:]) || strings.Contains(a.Body.String(), `"key"`) {
			t.Errorf("the list contains a secret: %s", a.Body)
		}
		return all
	}
	if diff := cmp.Diff([]app.APIKey{want, w.stores["own"].key}, listed()); diff != "" {
		t.Error("list (-want +got):", diff)
	}
	w.do("GET", "/products", created.Key, nil).ok(200, nil)
	used := app.At(w.now)
	want.LastUsedAt = &used
	if diff := cmp.Diff(want, listed()[0]); diff != "" {
		t.Error("used key (-want +got):", diff)
	}
	w.now = w.now.Add(time.Minute)
	revoke := "/api-keys/" + string(created.ID) + "/revoke"
	revoked := app.At(w.now)
	want.RevokedAt = &revoked
	for range 2 {
		var record app.APIKey
		w.do("POST", revoke, owner, nil).ok(200, &record)
		if diff := cmp.Diff(want, record); diff != "" {
			t.Error("revoked key (-want +got):", diff)
		}
		w.now = w.now.Add(time.Minute)
		w.do("GET", "/products", created.Key, nil).refused(app.CodeAPIKeyRevoked)
		w.do("GET", "/api-keys", created.Key, nil).refused(app.CodeAPIKeyRevoked)
	}
	if diff := cmp.Diff(want, listed()[0]); diff != "" {
		t.Error("revoked key in the list (-want +got):", diff)
	}
}

func TestKeyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, bodies := range map[string][]object{
		"name": {{"name": nil}, {"name": ""}, {"name": " "}, {"name": strings.Repeat("x", 101)}, {"name": 1}},
		"scopes": {
			{"scopes": nil}, {"scopes": []string{}}, {"scopes": "read:orders"},
			{"scopes": []string{"read:orders", "read:orders"}}, {"scopes": make([]string, 10)},
		},
		"scopes[0]": {
			{"scopes": []string{"read:everything"}}, {"scopes": []string{"READ:ORDERS"}}, {"scopes": []string{"*"}},
		},
		"scopes[1]": {{"scopes": []any{"read:orders", 1}}},
		"mode":      {{"mode": "prod"}, {"mode": ""}, {"mode": "LIVE"}},
		"key":       {{"key": "svc_live_sk_" + strings.Repeat("0", 32)}},
		"storeId":   {{"storeId": w.stores["own"].id}},
	} {
		for _, body := range bodies {
			a := w.do("POST", "/api-keys", w.tokens["OWNER"], altered(apiKeyBody(), body))
			if path == "mode" && body["mode"] == "" {
				a.ok(201, nil)
				continue
			}
			a.refused(app.CodeValidationFailed, path)
		}
	}
	w.do("POST", "/api-keys/"+string(w.stores["own"].key.ID)+"/revoke", w.tokens["OWNER"], object{"x": 1}).
		refused(app.CodeValidationFailed, "x")
}

func TestKeysInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 4 {
		w.key("own", app.ScopeReadOrders)
		w.createKey(w.tokens["OWNER"], object{"mode": "test"})
	}
	var all, pages []app.APIKey
	w.do("GET", "/api-keys", w.tokens["OWNER"], nil).ok(200, &all)
	for cursor, more := "", true; more; {
		var page []app.APIKey
		a := w.do("GET", "/api-keys?limit=2"+cursor, w.tokens["OWNER"], nil).ok(200, &page)
		pages = append(pages, page...)
		var next string
		next, more = a.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + next
	}
	if diff := cmp.Diff(all, pages); diff != "" || len(all) != 9 {
		t.Errorf("got %d keys, want 9; pages (-want +got): %s", len(all), diff)
	}
}

// A string that differs from an API key in any way is refused.
func TestAlteredAPIKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("own", app.Scopes[:]...)
	w.do("GET", "/products", key, nil).ok(200, nil)
	attacks := map[string]string{
		"upper case": strings.ToUpper(key), "upper-case digits": key[:12] + "A" + strings.ToUpper(key[13:]),
		"in the other mode": "svc_test_sk_" + key[12:],
		"cut":               key[:43], "longer": key + "0", "twice": key + key, "two with a comma": key + "," + key,
		"spaced": " " + key, "with a space": key + " ",
		"of 1 MB": "svc_live_sk_" + strings.Repeat("0", 1<<20), "SQL": "svc_live_sk_' OR 1=1 --",
		"its hash":   "svc_live_sk_" + strings.Repeat("0", 32),
		"as a token": key + "." + key + "." + key, "a token behind it": key + "." + w.tokens["OWNER"],
		"a token with its prefix": "svc_" + w.tokens["OWNER"],
	}
	for i := range key {
		other := byte('0')
		if key[i] == other {
			other = '1'
		}
		attacks[fmt.Sprint("another character at ", i)] = key[:i] + string(other) + key[i+1:]
	}
	for _, realm := range []app.Realm{app.RealmAPIKey, ""} {
		attacks["a token of the realm "+string(realm)] = w.tokenOf(realm)
	}
	unknown := w.do("GET", "/products", "svc_live_sk_"+strings.Repeat("ab", 16), nil).
		refused(app.CodeTokenInvalid).same()
	for name, credential := range attacks {
		w.run(name, func(t *testing.T) {
			a := w.do("GET", "/products", credential, nil)
			if a.refused(app.CodeTokenInvalid).same() != unknown {
				t.Errorf("%s: got %s, want the response to an unknown key: %s", name, a.Body, unknown)
			}
		})
	}
	for name, change := range map[string]func(*http.Request){
		"two headers": func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + key, "Bearer " + key} },
		"key and token": func(r *http.Request) {
			r.Header["Authorization"] = []string{"Bearer " + key, "Bearer " + w.tokens["OWNER"]}
		},
		"without a scheme":   func(r *http.Request) { r.Header.Set("Authorization", key) },
		"with another":       func(r *http.Request) { r.SetBasicAuth(key, "") },
		"in X-Api-Key":       header("X-Api-Key", key),
		"in a cookie":        func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "apiKey", Value: key}) },
		"in the query":       func(r *http.Request) { r.URL.RawQuery = "access_token=" + key },
		"in the query twice": func(r *http.Request) { r.URL.RawQuery = "key=" + key + "&key=" + key },
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", "/products", "", nil, change).refused(app.CodeTokenInvalid)
		})
	}
	w.do("GET", "/products?key="+key, key, nil).refused(app.CodeValidationFailed, "key")
}

func TestAKeysOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	writer, reader := w.key("own", app.ScopeWriteOrders), w.key("own", app.ScopeReadOrders)
	var placed, shown orderOut
	w.do("POST", "/orders", writer, altered(w.orderBody("own"), object{"discountMinor": 100})).ok(201, &placed)
	if placed.Source != app.SourceAPI || placed.Currency != "EUR" || placed.StoreViewID != w.stores["own"].view.ID ||
		placed.DiscountMinor != 100 {
		t.Errorf("order of a key: got %+v, want source API, EUR and a discount of 100", placed)
	}
	last := placed.AllowedTransitions[len(placed.AllowedTransitions)-1]
	w.do("GET", "/orders/"+string(placed.ID), reader, nil).ok(200, &shown)
	if last != app.OrderCancelled || len(shown.AllowedTransitions) != 0 {
		t.Errorf("transitions: got %v with write:orders and %v with read:orders, want none", placed.AllowedTransitions,
			shown.AllowedTransitions)
	}
	w.do("POST", "/orders", writer, altered(w.orderBody("own"), object{"source": "WEB"})).ok(201, &placed)
	if placed.Source != app.SourceWeb {
		t.Errorf("source: got %s, want WEB", placed.Source)
	}
	w.do("POST", "/orders", reader, altered(w.orderBody("own"), object{"discountMinor": 1})).
		refused(app.CodeInsufficientScope)
	w.do("POST", "/orders", writer, altered(w.orderBody("own"), object{"storeId": w.stores["sibling"].id})).
		refused(app.CodeStoreMismatch)
	w.do("POST", "/orders", writer, w.orderBody("sibling")).refused(app.CodeProductUnavailable)

	// Idempotency-Keys are each key's own.
	once := header("Idempotency-Key", "k")
	var first, again, others orderOut
	w.do("POST", "/orders", writer, w.orderBody("own"), once).ok(201, &first)
	w.do("POST", "/orders", writer, w.orderBody("own"), once).ok(201, &again)
	w.do("POST", "/orders", w.key("own", app.ScopeWriteOrders), w.orderBody("own"), once).ok(201, &others)
	if first.ID != again.ID || first.ID == others.ID {
		t.Errorf("got the orders %s, repeated %s, of another key %s; want the first two equal", first.ID, again.ID,
			others.ID)
	}
}

// The response that is stored for an Idempotency-Key does not contain the secret of the API key.
func TestRepeatedAPIKeyHasNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	once := header("Idempotency-Key", "k")
	for _, mode := range []string{"live", "test"} {
		body := altered(apiKeyBody(), object{"mode": mode})
		owner := w.token("OWNER", w.stores[map[string]string{"live": "own", "test": "sibling"}[mode]].id)
		var first, again apiKeyOut
		w.do("POST", "/api-keys", owner, body, once).ok(201, &first)
		a := w.do("POST", "/api-keys", owner, body, once).ok(201, &again)
		if first.Key == "" || again.Key != "" || strings.Contains(a.Body.String(), `"key"`) {
			t.Errorf("%s: got the secret %q, then %s; want it once", mode, first.Key, a.Body)
		}
		if diff := cmp.Diff(first.APIKey, again.APIKey); diff != "" {
			t.Errorf("%s: repeated request (-want +got): %s", mode, diff)
		}
		w.do("POST", "/api-keys", owner, altered(body, object{"name": "another"}), once).
			refused(app.CodeIdempotencyKeyReused)
	}
}

// The secret of an API key is neither in the log nor in a table, and in no response except the first.
func TestAPIKeySecretIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	created, _ := w.createKey(w.tokens["OWNER"], object{"scopes": app.Scopes})
	w.do("POST", "/api-keys", w.tokens["OWNER"], altered(apiKeyBody(), object{"name": "with a key"}),
		header("Idempotency-Key", "k")).ok(201, nil)
	w.do("GET", "/products", created.Key, nil).ok(200, nil)
	w.do("GET", "/orders/"+created.Key, created.Key, nil).refused(app.CodeNotFound)
	w.do("GET", "/products?cursor="+created.Key, created.Key, nil).refused(app.CodeValidationFailed)
	w.do("GET", "/auth/me", created.Key, nil).refused(app.CodeInsufficientScope)
	w.do("POST", "/orders", created.Key, `{"note":"`+created.Key).refused(app.CodeValidationFailed)
	secret := created.Key[12:]
	if log := w.log.String(); strings.Contains(log, secret) ||
		!strings.Contains(log, `"apiKeyId":"`+string(created.ID)+`"`) {
		t.Errorf("log: got %s, want the id of the key without its secret", log)
	}
	rows, err := w.db.System().DB.QueryContext(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		AND has_table_privilege(oid, 'SELECT')`)
	w.must(err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		w.must(rows.Scan(&name))
		tables = append(tables, name)
	}
	w.must(rows.Err())
	for _, table := range tables {
		var kept int
		w.must(w.db.System().DB.QueryRowContext(t.Context(),
			"SELECT count(*) FROM "+table+" t WHERE t::text LIKE '%' || $1 || '%'", secret).Scan(&kept))
		if kept > 0 {
			t.Errorf("table %s contains the secret", table)
		}
	}
	if len(tables) < 10 {
		t.Errorf("got %d tables, want at least 10", len(tables))
	}
}

func TestTheSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, own := w.tokens["OWNER"], w.stores["own"]
	w.do("PATCH", "/settings", owner, object{"openingHours": openingBody(), "seats": 7}).ok(200, nil)
	w.do("POST", "/store/pause", owner, object{"until": noon.Add(time.Hour)}).ok(200, nil)
	w.do("PATCH", "/products/"+string(own.product.ID), owner, object{
		"sku": "P1", "externalId": "till-1", "stockQuantity": 3, "soldOutUntil": noon.Add(time.Hour),
		"optionGroups": []object{{"name": "Size", "options": []object{{"name": "Large", "priceMinor": 100}}}},
	}).ok(200, nil)
	deleted := w.addProduct(own.id)
	w.do("DELETE", "/products/"+string(deleted), owner, nil).ok(204, nil)
	w.now = noon.Add(time.Minute)
	created, _ := w.createKey(owner, object{"mode": "test", "scopes": app.Scopes})
	second, _ := w.createKey(owner, object{"mode": "test"})
	sandbox := created.StoreID
	if sandbox == own.id || second.StoreID != sandbox || !strings.HasPrefix(created.Key, "svc_test_sk_") ||
		created.Mode != app.KeyTest {
		t.Errorf("got %+v, then %+v; want two test keys of one sandbox", created, second)
	}
	// The key sees the sandbox and nothing else.
	var products, menu []app.Product
	w.do("GET", "/products", created.Key, nil).ok(200, &products)
	w.do("GET", "/products", owner, nil).ok(200, &menu)
	if len(products) != 1 || len(menu) != 1 || products[0].ID == menu[0].ID {
		t.Fatalf("products: got %+v in the sandbox, want copies of %+v", products, menu)
	}
	want := menu[0]
	want.ID, want.StoreID, want.Version, want.SoldOutUntil, want.Orderable = products[0].ID, sandbox, 1, nil, true
	want.CreatedAt, want.UpdatedAt = app.At(w.now), app.At(w.now)
	if diff := cmp.Diff(want, products[0]); diff != "" {
		t.Error("product of the sandbox (-want +got):", diff)
	}
	inside := w.token("OWNER", sandbox)
	var settings, copied app.Settings
	w.do("GET", "/settings", owner, nil).ok(200, &settings)
	w.do("GET", "/settings", inside, nil).ok(200, &copied)
	if diff := cmp.Diff(settings, copied); diff != "" {
		t.Error("settings of the sandbox (-want +got):", diff)
	}
	var store app.Store
	w.do("GET", "/store", created.Key, nil).ok(200, &store)
	if store.OrderingPausedUntil != nil {
		t.Errorf("sandbox: ordering is paused until %s, want no pause", store.OrderingPausedUntil)
	}
	w.do("GET", "/orders/"+string(own.order.ID), created.Key, nil).refused(app.CodeNotFound)
	w.do("GET", "/products?storeId="+string(own.id), created.Key, nil).refused(app.CodeStoreMismatch)
	w.do("POST", "/orders", created.Key, w.orderBody("own")).refused(app.CodeProductUnavailable)
	product, err := w.db.CreateProduct(t.Context(), noon, sandbox,
		app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}, nil)
	w.must(err)
	var placed orderOut
	w.do("POST", "/orders", created.Key, altered(w.orderBody("own"),
		object{"items": []any{object{"productId": product.ID, "quantity": 2}}})).ok(201, &placed)
	if placed.StoreID != sandbox || placed.TotalMinor != 1900 || placed.TaxMinor != own.order.TaxMinor ||
		placed.Number != "1" {
		t.Errorf("order in the sandbox: got %+v, want number 1 with the prices and taxes of the store", placed)
	}
	w.do("GET", "/orders/"+string(placed.ID), w.key("own", app.ScopeReadOrders), nil).refused(app.CodeNotFound)
	w.do("GET", "/orders/"+string(placed.ID), owner, nil).refused(app.CodeStoreMismatch)
	if test, live := w.numbers("/orders", created.Key), w.numbers("/orders", owner); test != "1" ||
		live != own.order.Number || placed.ID == own.order.ID {
		t.Errorf("orders: got %s in the sandbox and %s in the store, want 1 and %s", test, live, own.order.Number)
	}

	// Its members are the store's, and see it.
	for _, name := range []string{"OWNER", "STAFF"} {
		session := w.session(name, own.id)
		entries := map[app.StoreID]app.StoreEntry{}
		for _, entry := range session.Stores {
			entries[entry.StoreID] = entry
		}
		live, twin := entries[own.id], entries[sandbox]
		if twin.StoreName != "own (sandbox)" || twin.Role != live.Role || twin.WebsiteID != live.WebsiteID ||
			len(twin.StoreViews) != 2 {
			t.Errorf("sandbox for %s: got %+v, want the role, website and views of the store", name, twin)
		}
		for i := range twin.StoreViews {
			twin.StoreViews[i].ID = live.StoreViews[i].ID
		}
		if diff := cmp.Diff(live.StoreViews, twin.StoreViews); diff != "" {
			t.Errorf("views of the sandbox for %s (-want +got): %s", name, diff)
		}
	}

	// There, keys are test keys, and there is no sandbox of a sandbox.
	w.do("POST", "/api-keys", inside, altered(apiKeyBody(), object{"mode": "live"})).
		refused(app.CodeValidationFailed, "mode")
	for _, change := range []object{{}, {"mode": "test"}} {
		if third, _ := w.createKey(inside, change); third.StoreID != sandbox || third.Mode != app.KeyTest {
			t.Errorf("key of the sandbox: got %+v, want a test key of %s", third, sandbox)
		}
	}
	w.do("POST", "/api-keys/"+string(own.key.ID)+"/revoke", inside, nil).refused(app.CodeStoreMismatch)
	// In the store, the sandbox's keys can be revoked, elsewhere not.
	revoke := "/api-keys/" + string(created.ID) + "/revoke"
	w.do("POST", revoke, w.token("OWNER", w.stores["sibling"].id), nil).refused(app.CodeStoreMismatch)
	w.do("POST", revoke, w.tokens["FOREIGN"], nil).refused(app.CodeNotFound)
	w.do("POST", revoke, w.tokens["LONER"], nil).ok(200, nil)
	w.do("GET", "/products", created.Key, nil).refused(app.CodeAPIKeyRevoked)
}

// Concurrent first test keys create one sandbox.
func TestConcurrentFirstTestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	responses := make(chan *response, 12)
	var wait sync.WaitGroup
	for range cap(responses) {
		wait.Go(func() {
			responses <- w.do("POST", "/api-keys", w.tokens["OWNER"], altered(apiKeyBody(), object{"mode": "test"}))
		})
	}
	wait.Wait()
	close(responses)
	sandboxes, keys := map[app.StoreID]bool{}, map[string]bool{}
	for a := range responses {
		var created apiKeyOut
		a.ok(201, &created)
		sandboxes[created.StoreID], keys[created.Key] = true, true
	}
	var stores int
	w.must(w.db.System().DB.QueryRowContext(t.Context(),
		"SELECT count(*) FROM stores WHERE sandbox_of IS NOT NULL").Scan(&stores))
	if len(sandboxes) != 1 || stores != 1 || len(keys) != 12 {
		t.Errorf("got %d sandboxes, %d in the table, and %d keys; want 1, 1 and 12", len(sandboxes), stores, len(keys))
	}
}
