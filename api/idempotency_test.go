package api

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// TestRepeatedRequests repeats a request of each operation that accepts an Idempotency-Key. The response is the first
// response without the values that are shown once.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	customer := w.addCustomer("own", "ada@example.com")
	ids := map[string]string{
		"webhooks": string(own.webhook.ID), "orders": string(own.order.ID), "payments": string(w.pay(own, 1000).ID),
		"customers": string(customer.Customer.ID), "platform": string(own.website),
		"products": string(w.addProduct(own.id)),
	}
	shownOnce := map[string][]string{
		"inviteUser": {"token", "link"}, "inviteOwner": {"token", "link"}, "createAPIKey": {"key"},
	}
	tested := 0
	for _, rt := range routes() {
		if !rt.Idempotent {
			continue
		}
		tested++
		token := w.tokens["OWNER"]
		if rt.Permission == app.WriteAddresses {
			token = customer.AccessToken
		}
		if rt.accepts(app.RealmPlatform) {
			token = w.tokens["PLATFORM"]
		}
		path := strings.Replace(rt.Path, "{id}", ids[strings.Split(rt.Path, "/")[1]], 1)
		body, key := w.body(rt), header("Idempotency-Key", rt.Handler.id)
		var first object
		w.do(rt.Method, path, token, body, key).ok(rt.Status, &first)
		for _, name := range shownOnce[rt.Handler.id] {
			if first[name] == nil {
				t.Errorf("%s: the first response has no %s: %v", rt.Handler.id, name, first)
			}
			delete(first, name)
		}
		if invitation, ok := first["invitation"].(object); ok { // of a new website
			delete(invitation, "token")
			delete(invitation, "link")
		}
		var again object
		w.do(rt.Method, path, token, body, key).ok(rt.Status, &again)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rt.Handler.id, diff)
		}
	}
	if want := 13; tested < want {
		t.Errorf("%d operations accept an Idempotency-Key, want at least %d", tested, want)
	}
}

// All other operations refuse an Idempotency-Key before they have an effect.
func TestIdempotencyKeysThatAreNotAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "ada@example.com")
	own := *w.stores["own"]
	own.order = w.orderOf("own", customer.Customer.ID)
	w.stores["a customer's"] = &own
	for _, rt := range routes() {
		who := permitted[rt.Method+" "+rt.Path]
		store, token := "own", ""
		switch {
		case rt.Idempotent, who == "refresh cookie":
			continue
		case strings.Contains(who, "OWNER"):
			token = w.tokens["OWNER"]
		case strings.Contains(who, "PLATFORM"):
			token = w.tokens["PLATFORM"]
		case strings.Contains(who, "CUSTOMER"):
			store, token = "a customer's", customer.AccessToken
		}
		w.attempt(rt, store, token, header("Idempotency-Key", "k")).refused(app.CodeValidationFailed, "Idempotency-Key")
	}
}

// The repeated response respects the current role of the caller.
func TestRepeatedResponseFollowsTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place := func() (order orderOut) {
		t.Helper()
		w.do("POST", "/orders", w.tokens["MANAGER"], w.orderBody("own"), header("Idempotency-Key", "k")).ok(201, &order)
		return order
	}
	manager := place()
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE user_id = $1", w.users["MANAGER"].ID)
	staff := place()
	if staff.ID != manager.ID {
		t.Errorf("the repeated request placed order %s, want %s", staff.ID, manager.ID)
	}
	for name, c := range map[string]struct {
		order orderOut
		want  bool
	}{"as MANAGER": {manager, true}, "as STAFF": {staff, false}} {
		w.run(name, func(t *testing.T) {
			if got := slices.Contains(c.order.AllowedTransitions, app.OrderCancelled); got != c.want {
				t.Errorf("%s, CANCELLED is allowed: %t, want %t", name, got, c.want)
			}
		})
	}
}

// Each platform administrator has its own Idempotency-Keys. A repeated request neither invites nor creates again.
func TestIdempotencyKeysOfAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.addUser("root", "-", &role, nil)
	key, admin := header("Idempotency-Key", "k"), w.tokens["PLATFORM"]
	var first, again openWebsiteOut
	w.do("POST", "/platform/websites", admin, websiteBody("three.test"), key).ok(201, &first)
	w.do("POST", "/platform/websites", admin, websiteBody("three.test"), key).ok(201, &again)
	if again.ID != first.ID || again.StoreID != first.StoreID || again.Invitation.ID != first.Invitation.ID ||
		again.Invitation.Token != "" || again.Invitation.Link != "" {
		t.Errorf("repeated request: got %+v, want %+v without token and link", again, first)
	}
	w.do("POST", "/platform/websites", admin, websiteBody("four.test"), key).refused(app.CodeIdempotencyKeyReused)
	w.do("POST", "/platform/websites", admin, websiteBody("three.test")).refused(app.CodeConflict)
	other := w.token("root", w.stores["own"].id)
	w.do("POST", "/platform/websites", other, websiteBody("four.test"), key).ok(201, nil)
	w.do("POST", "/auth/accept-invite", "", accept(first.Invitation.Token, goodPassword)).ok(200, nil)
	if n := w.text("SELECT count(*) FROM websites"); n != "4" {
		t.Errorf("websites: got %s, want 4", n)
	}
}

// Ten concurrent requests with one Idempotency-Key have one effect.
func TestConcurrentIdempotencyKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	payment := w.pay(w.stores["own"], 1000)
	for path, body := range map[string]object{
		"/orders/" + string(w.stores["own"].order.ID) + "/payments": paymentBody(),
		"/payments/" + string(payment.ID) + "/refunds":              refundBody(400),
	} {
		responses := make(chan *response, 10)
		for range cap(responses) {
			go func() {
				responses <- w.do("POST", path, w.tokens["OWNER"], maps.Clone(body), header("Idempotency-Key", "k1"))
			}()
		}
		made := ""
		for range cap(responses) {
			switch a := <-responses; {
			case a.Code != 201:
				a.refused(app.CodeIdempotencyKeyInUse)
			case made == "":
				made = a.dataID()
			case a.dataID() != made:
				t.Errorf("%s: got %s and %s, want one", path, made, a.dataID())
			}
		}
		if made == "" {
			t.Errorf("%s: got no success, want one", path)
		}
	}
	var order orderOut
	w.do("GET", "/orders/"+string(w.stores["own"].order.ID), w.tokens["OWNER"], nil).ok(200, &order)
	if order.PaidMinor != 1950 || order.RefundedMinor != 400 {
		t.Errorf("got %d paid and %d refunded, want 1950 and 400", order.PaidMinor, order.RefundedMinor)
	}
}

// After 24 hours a key is free, also if no worker has erased it. The next request with it can have another body.
func TestIdempotencyKeysEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start, seller := w.now, w.key("own", app.ScopeWriteOrders)
	for path, c := range map[string]struct {
		token        func() string
		first, later object
	}{
		"/orders": {
			func() string { return seller }, w.orderBody("own"), altered(w.orderBody("own"), object{"note": "x"}),
		},
		"/platform/websites/" + string(w.stores["own"].website) + "/stores": {
			func() string { return w.token("PLATFORM", "") }, storeBody(), altered(storeBody(), object{"storeName": "Later"}),
		},
	} {
		send := func(after time.Duration, body object, want bool) *response {
			t.Helper()
			w.now = start.Add(after)
			a := w.do("POST", path, c.token(), body, header("Idempotency-Key", "k"))
			if repeated := a.Header().Get("Idempotent-Replayed") == "true"; repeated != want {
				t.Errorf("%s after %v: got a repeated response: %t, want %t", path, after, repeated, want)
			}
			return a
		}
		send(0, c.first, false).ok(201, nil)
		send(app.IdempotencyRetention-time.Microsecond, c.first, true).ok(201, nil)
		send(app.IdempotencyRetention, c.later, false).ok(201, nil)
		send(app.IdempotencyRetention+time.Hour, c.later, true).ok(201, nil)
		send(app.IdempotencyRetention+time.Hour, c.first, false).refused(app.CodeIdempotencyKeyReused)
	}
}
