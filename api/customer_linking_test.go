package api

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// A social login joins the account of the same email only if the provider proves the email. Logins from before the
// proof end.
func TestLinking(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	register := func(email string) (data loginCustomerOut) {
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email})).ok(201, &data)
		return data
	}
	logsIn := func(email string) bool {
		return w.do("POST", "/customer-auth/login", "",
			object{"storeId": own, "email": email, "password": password}).Code == 200
	}
	for name, c := range map[string]struct {
		provider app.Provider
		claims   object
		linked   bool
	}{
		"gmail":                {app.ProviderGoogle, object{"email": "1@gmail.com"}, true},
		"a hosted domain":      {app.ProviderGoogle, object{"email": "2@example.com", "hd": "example.com"}, true},
		"in another case":      {app.ProviderGoogle, object{"email": "3@GMAIL.com"}, true},
		"somewhere else":       {app.ProviderGoogle, object{"email": "4@example.com"}, false},
		"gmail, not verified":  {app.ProviderGoogle, object{"email": "5@gmail.com", "email_verified": false}, false},
		"Apple's text":         {app.ProviderApple, object{"email": "6@example.com", "email_verified": "true"}, true},
		"Apple's other text":   {app.ProviderApple, object{"email": "7@example.com", "email_verified": "false"}, false},
		"Facebook's silence":   {app.ProviderFacebook, object{"email": "8@example.com", "email_verified": nil}, false},
		"a number is no proof": {app.ProviderFacebook, object{"email": "9@example.com", "email_verified": 1}, false},
	} {
		w.run(name, func(t *testing.T) {
			email := strings.ToLower(c.claims["email"].(string))
			planted := register(email)
			order := "/orders/" + string(w.orderOf("own", planted.Customer.ID).ID)
			claims := w.claims(altered(c.claims, object{"sub": name}))
			for member, value := range c.claims {
				if value == nil {
					delete(claims, member)
				}
			}
			a := w.login(c.provider, w.provider.sign("one", claims))
			if !c.linked {
				a.refused(app.CodeAccountLinkRequired)
				w.do("GET", order, planted.AccessToken, nil).ok(200, nil)
				if !logsIn(email) {
					t.Error("login with the password after a refused link: got an error, want success")
				}
				return
			}
			var data loginCustomerOut
			a.ok(200, &data)
			if data.Customer.ID != planted.Customer.ID {
				t.Errorf("customer: got %+v, want the account %s", data.Customer, planted.Customer.ID)
			}
			w.do("GET", order, planted.AccessToken, nil).refused(app.CodeTokenRevoked)
			w.do("GET", order, data.AccessToken, nil).ok(200, nil)
			if logsIn(email) {
				t.Error("login with the password from before the proof: got success, want an error")
			}
		})
	}
}

// A second provider joins a proven account, whose first provider and sessions stay. A password from before the proof
// ends.
func TestProvenAccountsKeepTheirLogins(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	signed := func(change object) app.Secret { return w.provider.sign("one", w.claims(change)) }
	var google, apple, facebook loginCustomerOut
	w.login(app.ProviderGoogle, signed(nil)).ok(200, &google)
	order := "/orders/" + string(w.orderOf("own", google.Customer.ID).ID)
	w.login(app.ProviderApple, signed(nil)).ok(200, &apple)
	if apple.Customer.ID != google.Customer.ID {
		t.Errorf("customer: got %s, want %s", apple.Customer.ID, google.Customer.ID)
	}
	for _, token := range []string{google.AccessToken, apple.AccessToken} {
		w.do("GET", order, token, nil).ok(200, nil)
	}

	victim := object{"email": "victim@example.com", "email_verified": false, "sub": "attacker"}
	w.login(app.ProviderFacebook, signed(victim)).ok(200, &facebook)
	planted := "/orders/" + string(w.orderOf("own", facebook.Customer.ID).ID)
	w.login(app.ProviderApple, signed(object{"email": "victim@example.com", "sub": "victim"})).ok(200, nil)
	w.do("GET", planted, facebook.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.login(app.ProviderFacebook, signed(victim)).refused(app.CodeAccountLinkRequired)
}

func TestSocialLoginsAtOnce(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var wait sync.WaitGroup
	for range 20 {
		token := w.provider.sign("one", w.claims(nil))
		wait.Go(func() { w.login(app.ProviderGoogle, token).ok(200, nil) })
	}
	wait.Wait()
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 || w.provider.asked != 1 {
		t.Errorf("got %d events customer.created and %d fetches of the keys, want 1 and 1", n, w.provider.asked)
	}
}

// If a customer proves the email of an account that another person registered, the data and logins of that person are
// erased.
func TestClaimedAccountStartsAgain(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	signed := func(change object) app.Secret { return w.provider.sign("one", w.claims(change)) }
	planted := object{"email": "ada@example.com", "email_verified": false, "sub": "attacker", "given_name": "Eve"}
	var eve, ada loginCustomerOut
	w.login(app.ProviderFacebook, signed(planted)).ok(200, &eve)
	path := "/customers/" + string(eve.Customer.ID)
	w.do("PATCH", path, eve.AccessToken, object{"phone": "+4915199999999"}).ok(200, nil)
	w.do("POST", path+"/addresses", eve.AccessToken, addressBody()).ok(201, nil)
	hash := quickHash(w.T, password)
	w.exec("UPDATE customers SET password_hash = $1 WHERE id = $2", hash, eve.Customer.ID)
	before := len(w.eventData("own", app.EventCustomerUpdated))

	w.now = w.now.Add(time.Second) // so that its event is the last one
	w.login(app.ProviderApple, signed(object{"email": "ADA@example.com", "sub": "victim", "family_name": nil})).
		ok(200, &ada)
	want := eve.Customer
	want.FirstName, want.LastName, want.Phone, want.Version = "Ada", "", "", 4
	want.UpdatedAt = app.At(w.now)
	if diff := cmp.Diff(want, ada.Customer); diff != "" {
		t.Errorf("claimed account (-want +got):\n%s", diff)
	}
	var addresses []app.Address
	w.do("GET", path+"/addresses", ada.AccessToken, nil).ok(200, &addresses)
	if len(addresses) != 0 {
		t.Errorf("got addresses %+v, want none", addresses)
	}
	events := w.eventData("own", app.EventCustomerUpdated)
	var event app.CustomerUpdated
	w.read(events[len(events)-1], &event)
	event.Customer = event.Own() // without metadata, as the customer sees it
	updated := app.CustomerUpdated{
		Customer: want, UpdatedFields: []string{"firstName", "lastName", "phone", "addresses"},
	}
	if diff := cmp.Diff(updated, event); diff != "" || len(events) != before+1 {
		t.Errorf("%d new events (-want +got):\n%s", len(events)-before, diff)
	}
	w.do("GET", path, eve.AccessToken, nil).refused(app.CodeTokenRevoked)
	if got := w.text("SELECT end_reason FROM customer_sessions WHERE ended_at IS NOT NULL"); got != "claim" {
		t.Errorf("end of the former holder's session: got %q, want claim", got)
	}
	w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": "ada@example.com", "password": password}).
		refused(app.CodeInvalidCredentials)
	w.login(app.ProviderFacebook, signed(planted)).refused(app.CodeAccountLinkRequired)

	// The address is proven now: later logins of other providers change nothing.
	w.do("POST", path+"/addresses", ada.AccessToken, addressBody()).ok(201, nil)
	w.login(app.ProviderGoogle, signed(object{"email": "ada@example.com", "hd": "example.com"})).ok(200, nil)
	w.do("GET", path+"/addresses", ada.AccessToken, nil).ok(200, &addresses)
	if len(addresses) != 1 {
		t.Errorf("got %d addresses after a login with another provider, want 1", len(addresses))
	}
}

// A request of a former holder that waits for the claim of the account changes nothing.
func TestRequestsDuringAClaim(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	unproven := object{"email": "ada@example.com", "email_verified": false}
	for name, request := range map[string]func(path, token string) *response{
		"profile": func(path, token string) *response {
			return w.do("PATCH", path, token, object{"phone": "+4915199999999"})
		},
		"new address": func(path, token string) *response {
			return w.do("POST", path+"/addresses", token, addressBody())
		},
		"changed address": func(path, token string) *response {
			return w.do("PATCH", path+"/addresses/adr_"+path[len("/customers/"):], token, object{"label": "Eve"})
		},
		"deleted address": func(path, token string) *response {
			return w.do("DELETE", path+"/addresses/adr_"+path[len("/customers/"):], token, nil)
		},
		"erasure": func(path, token string) *response { return w.do("DELETE", path, token, object{}) },
	} {
		w.run(name, func(*testing.T) {
			var eve loginCustomerOut
			email := object{"email": strings.ReplaceAll(name, " ", "") + "@example.com", "sub": name}
			w.login(app.ProviderFacebook, w.provider.sign("one", w.claims(altered(unproven, email)))).ok(200, &eve)
			id := string(eve.Customer.ID)
			w.exec(`INSERT INTO addresses (id, store_id, customer_id, label, address, is_default, version, created_at,
					updated_at)
				SELECT 'adr_' || id, store_id, id, 'Ada', '{}', true, 1, created_at, created_at
				FROM customers WHERE id = $1`, id)
			w.duringTransaction(func() *response { return request("/customers/"+id, eve.AccessToken) }, `
				WITH claimed AS (UPDATE customers SET email_proven = true WHERE id = $1 RETURNING id)
				UPDATE customer_sessions SET ended_at = now(), end_reason = 'claim'
				WHERE customer_id = (SELECT id FROM claimed)`, id).refused(app.CodeTokenRevoked)
			got := w.text(`SELECT concat_ws(' ', c.version, c.phone, c.email <> '', string_agg(a.label, ' '))
				FROM customers c JOIN addresses a ON a.customer_id = c.id WHERE c.id = $1 GROUP BY c.id`, id)
			if got != "1  t Ada" {
				w.Errorf("claimed account: got %q, want %q", got, "1  t Ada")
			}
		})
	}
}
