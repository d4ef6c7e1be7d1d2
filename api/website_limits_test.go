package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// A website has a number of open streams over all its stores. Those of another website are not affected.
func TestStreamsOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := func(store string) error {
		shop := w.stores[store]
		return w.db.OpenStream(t.Context(), app.Principal{StoreID: shop.id, WebsiteID: shop.website},
			app.NewID[app.RequestID](noon), identity.StreamLimits{Store: 2, Website: 3}, time.Hour)
	}
	for i, c := range []struct {
		store string
		want  app.Code
	}{
		{"own", ""}, {"own", ""}, {"own", app.CodeRateLimited}, {"sibling", ""}, {"sibling", app.CodeRateLimited},
		{"foreign", ""}, {"foreign", ""}, {"foreign", app.CodeRateLimited},
	} {
		if err := open(c.store); err != nil && app.CodeOf(err) != c.want || err == nil && c.want != "" {
			t.Errorf("stream %d, of %s: got error %v, want code %q", i+1, c.store, err, c.want)
		}
	}
}

// The tests of a website's stores have a budget together.
func TestTestsOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	budget := w.server.limiter.exactly(60, "quota", "tests", "website", string(w.stores["own"].website))
	for range 60 {
		w.must(w.db.TakeRateLimits(t.Context(), time.Minute, budget))
	}
	test := func(store, user string) *response {
		shop := w.stores[store]
		return w.do("POST", "/webhooks/"+string(shop.webhook.ID)+"/test", w.token(user, shop.id), nil)
	}
	test("own", "OWNER").refused(app.CodeRateLimited)
	test("sibling", "OWNER").refused(app.CodeRateLimited)
	test("foreign", "FOREIGN").ok(200, nil)
}

// The changes of a website have a budget, because each is recorded in the trails of all its stores. Of the refused
// client ids, the first within an hour is recorded.
func TestChangesOfAWebsiteAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clientIDs("foreign", "theirs")
	plan := func(user string, n int) *response {
		return w.do("PATCH", "/billing", w.tokens[user], object{"plan": []app.Plan{app.PlanStarter, app.PlanEnterprise}[n%2]})
	}
	social := func() *response {
		return w.do("PATCH", "/website", w.tokens["OWNER"], object{"social": object{"google": []string{"theirs"}}})
	}
	for n := range 28 {
		plan("OWNER", n).ok(200, nil)
	}
	social().refused(app.CodeConflict)
	social().refused(app.CodeConflict)
	if n := w.text("SELECT count(*) FROM platform_audit WHERE action = 'website.client_ids_refused'"); n != "1" {
		t.Errorf("entries of refused client ids: got %s, want 1", n)
	}
	social().refused(app.CodeRateLimited)
	plan("OWNER", 0).refused(app.CodeRateLimited)
	plan("FOREIGN", 0).ok(200, nil)
}

// The invitations of a website's stores have a budget together.
func TestInvitationsOfAWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	website, stores, err := w.db.CreateWebsite(t.Context(), noon, identity.NewWebsite{
		Name: "large", Domain: "large.test", Plan: app.PlanEnterprise,
	}, newStores([]string{"a", "b", "c", "d", "e", "f"})...)
	w.must(err)
	invite := func(store app.StoreID, n int) *response {
		return w.do("POST", "/platform/websites/"+string(website)+"/invite-owner", w.tokens["PLATFORM"],
			object{"email": fmt.Sprintf("%d@example.com", n), "name": "Ada", "storeId": store})
	}
	for i := range 100 {
		invite(stores[i/20], i).ok(201, nil)
	}
	invite(stores[5], 100).refused(app.CodeRateLimited)
	w.do("POST", "/users", w.tokens["OWNER"], grace("STAFF")).ok(201, nil)
}

// A store has a number of keys that are not revoked, also when they are created concurrently.
func TestKeysOfAStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO api_keys (id, store_id, name, scopes, mode, hash, last_four, created_at, revoked_at)
		SELECT 'key_' || n, $1, 'old', '{read:orders}', 'live', sha256(('old' || n)::bytea), 'abcd', $2, $2
		FROM generate_series(1, 200) AS n`, w.stores["own"].id, noon)
	w.exec(`INSERT INTO api_keys (id, store_id, name, scopes, mode, hash, last_four, created_at)
		SELECT 'key_new' || n, $1, 'new', '{read:orders}', 'live', sha256(('new' || n)::bytea), 'abcd', $2
		FROM generate_series(1, 96) AS n`, w.stores["own"].id, noon) // the store has one already
	codes := make(chan int)
	for range 6 {
		go func() { codes <- w.do("POST", "/api-keys", w.tokens["OWNER"], apiKeyBody()).Code }()
	}
	created := 0
	for range 6 {
		if code := <-codes; code == 201 {
			created++
		}
	}
	if created != 3 {
		t.Errorf("keys beyond 97: got %d created, want 3", created)
	}
	w.do("POST", "/api-keys", w.tokens["OWNER"], apiKeyBody()).refused(app.CodeLimitReached)
	w.do("POST", "/api-keys", w.tokens["OWNER"], altered(apiKeyBody(), object{"mode": "test"})).ok(201, nil)
	w.do("POST", "/api-keys/key_1/revoke", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("POST", "/api-keys", w.tokens["OWNER"], apiKeyBody()).refused(app.CodeLimitReached)
	w.do("POST", "/api-keys/key_new1/revoke", w.tokens["OWNER"], nil).ok(200, nil)
	w.do("POST", "/api-keys", w.tokens["OWNER"], apiKeyBody()).ok(201, nil)
	w.do("POST", "/api-keys", w.tokens["FOREIGN"], apiKeyBody()).ok(201, nil)
}
