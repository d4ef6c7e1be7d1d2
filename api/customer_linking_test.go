package api

import (
	"strings"
	"sync"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// TestLinking: an account of the same address is joined only where the provider vouches for
// it, and what somebody may have planted there before is gone.
func TestLinking(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	register := func(email string) (data loginCustomerOut) {
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email})).ok(201, &data)
		return data
	}
	logsIn := func(email string) bool {
		return w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": email, "password": password}).Code == 200
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
		a.what = name
		if !c.linked {
			a.refused(app.CodeAccountLinkRequired)
			w.do("GET", order, planted.AccessToken, nil).ok(200, nil)
			if !logsIn(email) {
				t.Errorf("%s: a refused link has dropped the password", name)
			}
			continue
		}
		var data loginCustomerOut
		a.ok(200, &data)
		if data.Customer.ID != planted.Customer.ID {
			t.Errorf("%s: %+v", name, data.Customer)
		}
		w.do("GET", order, planted.AccessToken, nil).refused(app.CodeTokenRevoked)
		w.do("GET", order, data.AccessToken, nil).ok(200, nil)
		if logsIn(email) {
			t.Errorf("%s: a password from before the proof still opens the account", name)
		}
	}
}

// TestProvenAccountsKeepWhatTheyHave: a second provider joins, the first and the sessions stay;
// but a login that was there before any proof goes.
func TestProvenAccountsKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	signed := func(change object) app.Secret { return w.provider.sign("one", w.claims(change)) }
	var google, apple, facebook loginCustomerOut
	w.login(app.ProviderGoogle, signed(nil)).ok(200, &google)
	order := "/orders/" + string(w.orderOf("own", google.Customer.ID).ID)
	w.login(app.ProviderApple, signed(nil)).ok(200, &apple)
	if apple.Customer.ID != google.Customer.ID {
		t.Errorf("two accounts: %+v, %+v", google.Customer, apple.Customer)
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
	token := w.provider.sign("one", w.claims(nil))
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { w.login(app.ProviderGoogle, token).ok(200, nil) })
	}
	wait.Wait()
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 || w.provider.asked != 1 {
		t.Errorf("%d events, %d fetches", n, w.provider.asked)
	}
}
