package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// link links a provider to a customer's account.
func (w *socialWorld) link(access, token string, change object, more ...func(*http.Request)) *response {
	w.Helper()
	body := altered(object{"provider": "google", "token": token, "password": password}, change)
	return w.doOn(w.server, "POST", "/customer-auth/social/link", access, body, more...)
}

// newToken returns the ID token of an identity whose email the provider does not vouch for.
func (w *socialWorld) newToken(subject string, change object) string {
	w.Helper()
	unproven := object{"sub": subject, "email": "ada@example.com", "email_verified": false}
	return w.provider.sign("one", w.claims(altered(unproven, change))).Reveal()
}

// After ACCOUNT_LINK_REQUIRED, the customer logs in, links the provider, and then logs in with it.
func TestLinkProvider(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	var ada loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &ada)
	token := w.newToken("ada", nil)
	a := w.loginWith(object{"provider": "google", "token": token}).refused(app.CodeAccountLinkRequired)
	for _, want := range []string{"with its password", "POST /customer-auth/social/link"} {
		if !strings.Contains(a.Body.String(), want) {
			t.Errorf("got %s, want %q in it", a.Body, want)
		}
	}
	before := len(w.eventData("own", app.EventCustomerUpdated))
	var linked app.Customer
	w.link(ada.AccessToken, token, nil).ok(200, &linked)
	if diff := cmp.Diff(ada.Customer, linked); diff != "" {
		t.Errorf("linked customer (-want +got):\n%s", diff)
	}
	w.link(ada.AccessToken, token, nil).refused(app.CodeInvalidCredentials)                       // used up
	w.loginWith(object{"provider": "google", "token": token}).refused(app.CodeInvalidCredentials) // the same
	w.link(ada.AccessToken, w.newToken("ada", nil), nil).ok(200, nil)                             // has no effect
	var in loginCustomerOut
	w.loginWith(object{"provider": "google", "token": w.newToken("ada", nil)}).ok(200, &in)
	if in.Customer.ID != ada.Customer.ID {
		t.Errorf("customer of the linked identity: got %s, want %s", in.Customer.ID, ada.Customer.ID)
	}
	w.do("POST", "/customer-auth/login", "", w.customerCredentials("own")).ok(200, nil)
	if n := len(w.eventData("own", app.EventCustomerUpdated)) - before; n != 0 {
		t.Errorf("got %d events, want 0", n)
	}

	// An account without a password is linked without one.
	var bob loginCustomerOut
	w.login(app.ProviderFacebook, app.NewSecret(w.newToken("bob", object{"email": "bob@example.com"}))).ok(200, &bob)
	bobs := object{"email": "bob@example.com"}
	a = w.loginWith(object{"provider": "google", "token": w.newToken("bob", bobs)}).
		refused(app.CodeAccountLinkRequired)
	if strings.Contains(a.Body.String(), "password") || !strings.Contains(a.Body.String(), "the provider that it is") {
		t.Errorf("account without a password: got %s, want the provider that it is linked to and no password", a.Body)
	}
	w.link(bob.AccessToken, w.newToken("bob", bobs), nil).refused(app.CodeValidationFailed, "password")
	w.link(bob.AccessToken, w.newToken("bob", bobs), object{"password": nil}).ok(200, nil)
	w.loginWith(object{"provider": "google", "token": w.newToken("bob", bobs)}).ok(200, &in)
	if in.Customer.ID != bob.Customer.ID {
		t.Errorf("customer of the linked identity: got %s, want %s", in.Customer.ID, bob.Customer.ID)
	}
	if got := w.text("SELECT count(*) FROM customers WHERE email_proven"); got != "0" {
		t.Errorf("proven emails: got %s, want none, because no provider vouched for one", got)
	}
	if got := w.text(`SELECT string_agg(concat_ws(' ', action, actor_realm, actor_id = target, target, details), ',')
		FROM audit WHERE action = 'identity.linked'`); got != fmt.Sprintf(
		`identity.linked customer t %s {"provider": "google"},identity.linked customer t %s {"provider": "google"}`,
		ada.Customer.ID, bob.Customer.ID) {
		t.Errorf("entries identity.linked: got %s, want those of Ada and Bob", got)
	}
}

// A link proves the account's email if the provider vouches for the same email.
func TestLinkProvesTheEmail(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	for name, c := range map[string]struct {
		email, vouchedFor string
		verified, before  bool // before: the identity was already linked
		want              string
	}{
		"vouched":       {"1@gmail.com", "1@GMAIL.com", true, false, "true"},
		"linked before": {"2@gmail.com", "2@gmail.com", true, true, "true"},
		"not vouched":   {"3@gmail.com", "3@gmail.com", false, false, "false"},
		"another email": {"4@gmail.com", "ada@gmail.com", true, false, "false"},
	} {
		w.run(name, func(t *testing.T) {
			var customer loginCustomerOut
			w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": c.email})).
				ok(201, &customer)
			if c.before {
				w.link(customer.AccessToken, w.newToken(name, object{"email": c.email}), nil).ok(200, nil)
			}
			claims := object{"email": c.vouchedFor, "email_verified": c.verified}
			w.link(customer.AccessToken, w.newToken(name, claims), nil).ok(200, nil)
			got := w.text("SELECT email_proven::text FROM customers WHERE id = $1", customer.Customer.ID)
			if got != c.want {
				t.Errorf("proven: got %s, want %s", got, c.want)
			}
		})
	}
}

// TestRefusedLinks checks the errors of a link, none of which uses the token up or links anything.
func TestRefusedLinks(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	own := w.stores["own"].id
	var ada, bob loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &ada)
	w.login(app.ProviderGoogle, app.NewSecret(w.newToken("bob", object{"email": "bob@example.com"}))).ok(200, &bob)
	w.clientIDs("own", "web")
	w.do("PATCH", "/website", w.tokens["OWNER"], object{"social": object{"apple": []string{}}}).ok(200, nil)
	w.clientIDs("foreign", "theirs")
	token := w.newToken("ada", nil)
	withNonce, foreign := w.newToken("ada", object{"nonce": "n"}), w.newToken("ada", object{"aud": "theirs"})
	for name, c := range map[string]struct {
		change object
		code   app.Code
		path   string
	}{
		"no password":                {object{"password": nil}, app.CodeValidationFailed, "password"},
		"a wrong password":           {object{"password": "swordfish"}, app.CodeInvalidCredentials, ""},
		"a provider not offered":     {object{"provider": "apple"}, app.CodeValidationFailed, "provider"},
		"an unknown provider":        {object{"provider": "myspace"}, app.CodeValidationFailed, "provider"},
		"no token":                   {object{"token": nil}, app.CodeValidationFailed, "token"},
		"a nonce":                    {object{"nonce": "n-1"}, app.CodeInvalidCredentials, ""},
		"a store":                    {object{"storeId": own}, app.CodeValidationFailed, "storeId"},
		"a token with a nonce":       {object{"token": withNonce}, app.CodeInvalidCredentials, ""},
		"another website's token":    {object{"token": foreign}, app.CodeInvalidCredentials, ""},
		"another account's identity": {object{"token": w.newToken("bob", nil)}, app.CodeConflict, ""},
	} {
		w.run(name, func(t *testing.T) {
			a := w.link(ada.AccessToken, token, c.change)
			if c.path == "" {
				a.refused(c.code)
			} else {
				a.refused(c.code, c.path)
			}
		})
	}
	w.server.Close() // waits for the audit entries
	if got := w.text(`SELECT string_agg(target || details, ',') FROM audit WHERE action = 'login.failed'`); got !=
		string(ada.Customer.ID)+`{"reason": "password"}` {
		t.Errorf("entries login.failed: got %s, want one of the wrong password of %s", got, ada.Customer.ID)
	}
	w.link("", token, nil).refused(app.CodeTokenInvalid)
	w.link(w.tokens["OWNER"], token, nil).refused(app.CodeTokenInvalid)
	w.do("POST", "/customer-auth/logout", ada.AccessToken, nil).ok(200, nil)
	w.link(ada.AccessToken, token, nil).refused(app.CodeTokenRevoked)
	var again loginCustomerOut
	w.do("POST", "/customer-auth/login", "", w.customerCredentials("own")).ok(200, &again)
	w.link(again.AccessToken, token, nil).ok(200, nil)
}

// TestLinksAreLimited checks that a stolen access token cannot be used to guess the password: the address and the
// account have the budgets of a login.
func TestLinksAreLimited(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	var ada loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id)).ok(201, &ada)
	w.exec("UPDATE customers SET password_hash = $1 WHERE id = $2", quickHash(t, "x"), ada.Customer.ID)
	w.server.limiter.most, w.server.limiter.window = 10, time.Hour
	guess := func(address int) *response {
		return w.link(ada.AccessToken, noIDToken, object{"password": "swordfish"},
			from(fmt.Sprintf("203.0.113.%d", address)))
	}
	for range 10 {
		guess(1).refused(app.CodeInvalidCredentials)
	}
	guess(1).refused(app.CodeRateLimited)
	for i := range 100 - 1 - 10 { // the registration counts, too
		guess(2 + i%9).refused(app.CodeInvalidCredentials)
	}
	guess(20).refused(app.CodeRateLimited)
	w.doOn(w.server, "POST", "/customer-auth/login", "", w.customerCredentials("own"), from("203.0.113.30")).
		refused(app.CodeRateLimited)
}

// TestConcurrentLinks checks that one of several accounts gets an identity that all of them link.
func TestConcurrentLinks(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	var linked, conflicts atomic.Int64
	var wait sync.WaitGroup
	for i := range 5 {
		var customer loginCustomerOut
		email := object{"email": fmt.Sprintf("customer%d@example.com", i)}
		w.login(app.ProviderFacebook, app.NewSecret(w.newToken(fmt.Sprint(i), email))).ok(200, &customer)
		token := w.newToken("shared", email)
		wait.Go(func() {
			switch a := w.link(customer.AccessToken, token, object{"password": nil}); a.Code {
			case http.StatusOK:
				linked.Add(1)
			case http.StatusConflict:
				conflicts.Add(1)
			}
		})
	}
	wait.Wait()
	if linked.Load() != 1 || conflicts.Load() != 4 {
		t.Errorf("got %d links and %d conflicts, want 1 and 4", linked.Load(), conflicts.Load())
	}
}

// If a former holder links an identity while the owner of the email claims the account, the account does not keep
// that identity.
func TestLinkOfAClaimedAccount(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	for i := range 10 {
		email := object{"email": fmt.Sprintf("victim%d@example.com", i)}
		var eve loginCustomerOut
		w.login(app.ProviderFacebook, app.NewSecret(w.newToken(fmt.Sprintf("eve%d", i), email))).ok(200, &eve)
		planted, proof := w.newToken(fmt.Sprintf("planted%d", i), email), altered(email, object{"email_verified": true})
		victim := w.newToken(fmt.Sprintf("victim%d", i), proof)
		var wait sync.WaitGroup
		wait.Go(func() { w.link(eve.AccessToken, planted, object{"password": nil}) })
		wait.Go(func() { w.login(app.ProviderApple, app.NewSecret(victim)).ok(200, nil) })
		wait.Wait()
		got := w.text("SELECT string_agg(subject, ' ') FROM customer_identities WHERE customer_id = $1",
			eve.Customer.ID)
		if want := fmt.Sprintf("victim%d", i); got != want {
			t.Errorf("identities: got %s, want %s", got, want)
		}
	}
}
