package api

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// The access log names the account of a login by its id, whether or not the login succeeds.
func TestLoginsAreLoggedWithTheirAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	w.customerLogin("guest@example.com")
	customer := w.text("SELECT id FROM customers WHERE email = 'guest@example.com'")
	user, store := string(w.users["ada"].ID), w.stores["own"].id
	for name, test := range map[string]struct {
		a    *response
		want string
	}{
		"login": {w.do("POST", "/auth/login", "", credentials("ada@example.com", password)), `"userId":"` + user},
		"failed login": {
			w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")), `"userId":"` + user,
		},
		"customer": {
			w.do("POST", "/customer-auth/login", "", altered(credentials("guest@example.com", password),
				object{"storeId": store})), `"customerId":"` + customer,
		},
		"failed customer": {
			w.do("POST", "/customer-auth/login", "", altered(credentials("guest@example.com", "wrong"),
				object{"storeId": store})), `"customerId":"` + customer,
		},
	} {
		w.run(name, func(t *testing.T) {
			request := test.a.Header().Get("X-Request-Id")
			found := false
			for _, line := range w.log.lines("info") {
				if strings.Contains(line, request) {
					found = strings.Contains(line, test.want)
				}
			}
			if !found {
				t.Errorf("log line of the request: got none with %s, want one: %s", test.want, w.log)
			}
		})
	}
	if log := w.log.String(); strings.Contains(log, "ada@") || strings.Contains(log, "guest@") {
		t.Error("the log contains an email address")
	}
}

// Failed logins of an account fill no trail: it shows twenty of an hour, also for customers.
func TestFailedLoginsInTheTrailAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.accounts()
	for range maxFailureEntries + 5 {
		for _, name := range []string{"user", "customer"} {
			accounts[name].tryLogin("wrong").refused(app.CodeInvalidCredentials)
			w.server.failures.wait()
		}
	}
	want := strconv.Itoa(2 * maxFailureEntries)
	if got := w.text("SELECT count(*) FROM audit WHERE action = 'login.failed'"); got != want {
		t.Errorf("entries of failed logins: got %s, want %s", got, want)
	}
	w.later(time.Hour)
	accounts["user"].tryLogin("wrong").refused(app.CodeInvalidCredentials)
	w.server.failures.wait()
	want = strconv.Itoa(2*maxFailureEntries + 1)
	if got := w.text("SELECT count(*) FROM audit WHERE action = 'login.failed'"); got != want {
		t.Errorf("entries after an hour: got %s, want %s", got, want)
	}
}

// The trail shows refused social logins of known customers, bounded like failed logins, and identities that were linked
// by a login.
func TestSocialLoginsInTheTrail(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	signed := func(change object) app.Secret { return w.provider.sign("one", w.claims(change)) }
	var ada loginCustomerOut
	used := signed(nil)
	w.login(app.ProviderGoogle, used).ok(200, &ada)
	refused := func(times int, code app.Code, token func() app.Secret) {
		w.Helper()
		for range times {
			w.login(app.ProviderGoogle, token()).refused(code)
			w.server.failures.wait()
		}
	}
	failures := func() string {
		return w.text(`SELECT coalesce(string_agg(concat_ws(' ', actor_realm, actor_id, target = $1,
			details ->> 'reason'), ', ' ORDER BY details ->> 'reason' DESC), '')
			FROM audit WHERE action = 'login.failed'`, ada.Customer.ID)
	}
	refused(1, app.CodeInvalidCredentials, func() app.Secret { return used })
	refused(1, app.CodeInvalidCredentials, func() app.Secret { return app.NewSecret(noIDToken) }) // of nobody
	refused(1, app.CodeAccountLinkRequired,
		func() app.Secret { return signed(object{"sub": "other", "email_verified": false}) })
	w.exec("UPDATE customers SET disabled_at = $1 WHERE id = $2", noon, ada.Customer.ID)
	refused(1, app.CodeInvalidCredentials, func() app.Secret { return signed(nil) })
	want := "customer  t unlinked, customer  t token, customer  t disabled"
	if got := failures(); got != want {
		t.Errorf("entries login.failed: got %q, want %q", got, want)
	}
	refused(maxFailureEntries, app.CodeInvalidCredentials, func() app.Secret { return signed(nil) })
	if got := strings.Count(failures(), "customer"); got != maxFailureEntries {
		t.Errorf("entries of %d failures: got %d, want %d", maxFailureEntries+3, got, maxFailureEntries)
	}

	w.exec("UPDATE customers SET disabled_at = NULL WHERE id = $1", ada.Customer.ID)
	w.login(app.ProviderApple, signed(object{"sub": "apple"})).ok(200, nil)
	w.login(app.ProviderApple, signed(object{"sub": "apple"})).ok(200, nil)
	links := w.text(`SELECT coalesce(string_agg(concat_ws(' ', actor_realm, actor_id = $1, target = $1, details), ', '),
		'') FROM audit WHERE action = 'identity.linked'`, ada.Customer.ID)
	if want := `customer t t {"provider": "apple"}`; links != want {
		t.Errorf("entries identity.linked: got %q, want %q", links, want)
	}
}
