package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// Customers see their own orders. The response about another order is that about an unknown one.
func TestOwnOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	elsewhere := w.addCustomer("sibling", "ada@example.com")
	mine, bobs := w.orderOf("own", ada.Customer.ID), w.orderOf("own", bob.Customer.ID)
	var guests orderOut
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Ada", "email": "ada@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, &guests)
	if *guests.Customer.ID == ada.Customer.ID {
		t.Errorf("customer of a guest's order: got the account %s of the same email, want a guest", *guests.Customer.ID)
	}

	var seen orderOut
	w.do("GET", "/orders/"+string(mine.ID), ada.AccessToken, nil).ok(200, &seen)
	if diff := cmp.Diff(mine.Own(), seen.Order); diff != "" || len(seen.AllowedTransitions) != 0 {
		t.Errorf("own order with transitions %v, want none (-want +got):\n%s", seen.AllowedTransitions, diff)
	}
	unknown := w.do("GET", "/orders/ord_0199f1c2", ada.AccessToken, nil).refused(app.CodeNotFound).same()
	for name, c := range map[string]struct {
		who   loginCustomerOut
		order app.OrderID
	}{
		"another customer's":                 {ada, bobs.ID},
		"a guest's of that address":          {ada, guests.ID},
		"of the same address, another store": {ada, w.orderOf("sibling", elsewhere.Customer.ID).ID},
		"from the other store":               {elsewhere, mine.ID},
		"a stranger's":                       {ada, w.stores["foreign"].order.ID},
	} {
		w.run(name, func(t *testing.T) {
			if a := w.do("GET", "/orders/"+string(c.order), c.who.AccessToken,
				nil).refused(app.CodeNotFound); a.same() != unknown {
				t.Errorf("got %s, want the response about an unknown order", a.Body)
			}
		})
	}
}

// A token is valid only in its realm, its store and its session.
func TestCustomerTokenAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	ada, bob := w.addCustomer("own", "ada@example.com"), w.addCustomer("own", "bob@example.com")
	order := "/orders/" + string(w.orderOf("own", ada.Customer.ID).ID)
	login, err := w.db.CustomerLoginByEmail(t.Context(), own, "ada@example.com")
	w.must(err)
	session, err := w.db.StartCustomerSession(t.Context(), noon, own, app.Actor{}, login, "", time.Hour)
	w.must(err)
	with := func(realm app.Realm, change func(*claims)) string {
		c := customerClaims(own, session)
		change(&c)
		keys := w.server.tokens
		keys.access = map[app.Realm][]app.DerivedKey{c.Audience: w.server.tokens.access[realm]}
		token, err := keys.mint(w.now, c)
		w.must(err)
		return token
	}
	w.do("GET", order, with(app.RealmCustomer, func(*claims) {}), nil).ok(200, nil)
	for name, token := range map[string]string{
		"the tenants' key":   with(app.RealmTenant, func(*claims) {}),
		"the platform's key": with(app.RealmPlatform, func(*claims) {}),
		"said to be a tenant's": with(app.RealmCustomer,
			func(c *claims) { c.Audience, c.Role = app.RealmTenant, app.RoleOwner }),
		"said to be a platform token":  with(app.RealmCustomer, func(c *claims) { c.Audience = app.RealmPlatform }),
		"a role":                       with(app.RealmCustomer, func(c *claims) { c.Role = app.RoleOwner }),
		"no store":                     with(app.RealmCustomer, func(c *claims) { c.StoreID = "" }),
		"no customer":                  with(app.RealmCustomer, func(c *claims) { c.Subject = "" }),
		"no session":                   with(app.RealmCustomer, func(c *claims) { c.SessionID = "" }),
		"a refresh token":              w.server.tokens.mintRefresh(app.RealmCustomer, session.ID, 0),
		"the session of a tenant user": w.customerToken(),
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", order, token, nil).refused(app.CodeTokenInvalid)
		})
	}
	user := w.claims("OWNER", own)
	for name, token := range map[string]string{
		"another's session": with(app.RealmCustomer,
			func(c *claims) { c.Subject = string(bob.Customer.ID) }),
		"another store":         with(app.RealmCustomer, func(c *claims) { c.StoreID = w.stores["sibling"].id }),
		"a session that is not": with(app.RealmCustomer, func(c *claims) { c.SessionID = "ses_none" }),
		"a tenant user with a session": with(app.RealmCustomer,
			func(c *claims) { c.Subject, c.SessionID = user.Subject, user.SessionID }),
		"a customer as a tenant": with(app.RealmTenant,
			func(c *claims) { c.Audience, c.Role = app.RealmTenant, app.RoleOwner }),
	} {
		w.run(name, func(t *testing.T) {
			w.do("GET", order, token, nil).refused(app.CodeTokenRevoked)
		})
	}
	w.now = w.now.Add(time.Hour)
	a := w.do("GET", order, ada.AccessToken, nil).refused(app.CodeTokenExpired)
	if !strings.Contains(a.body.Error.Message, "/customer-auth/refresh") {
		t.Errorf("message: got %q, want /customer-auth/refresh in it", a.body.Error.Message)
	}
	w.do("GET", "/products", ada.AccessToken, nil).refused(app.CodeTokenInvalid)
}
