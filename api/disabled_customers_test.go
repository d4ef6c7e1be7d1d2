package api

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// TestDisableCustomer checks that a disabled customer is refused from the next request on, that a login looks like one
// with a wrong password, and that the customer can log in again afterwards.
func TestDisableCustomer(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	manager := w.tokens["MANAGER"]
	var ada loginCustomerOut
	w.do("POST", "/customer-auth/register", "", registration(w.stores["own"].id)).ok(201, &ada)
	login := func(change object) *response {
		return w.do("POST", "/customer-auth/login", "", altered(w.customerCredentials("own"), change))
	}
	cookie := login(nil).ok(200, nil).customerCookie()
	w.link(ada.AccessToken, w.newToken("ada", nil), nil).ok(200, nil)
	path := "/customers/" + string(ada.Customer.ID)
	before := len(w.eventData("own", app.EventCustomerUpdated))
	want := ada.Customer
	want.Metadata = map[string]string{}
	change := func(token string, body object) {
		t.Helper()
		var got customerOut
		w.do("PATCH", path, token, body).ok(200, &got)
		disabled := body["disabled"].(bool)
		if diff := cmp.Diff(customerOut{want, &disabled}, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", body, diff)
		}
	}
	change(manager, object{"disabled": false})
	w.now, want.Version = w.now.Add(time.Minute), 2
	want.UpdatedAt = app.At(w.now)
	change(manager, object{"disabled": true})
	change(w.tokens["OWNER"], object{"disabled": true}) // again

	w.do("GET", path, ada.AccessToken, nil).refused(app.CodeTokenRevoked)
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
	unknown := w.login(app.ProviderGoogle, app.NewSecret(noIDToken)).refused(app.CodeInvalidCredentials).same()
	a := w.loginWith(object{"provider": "google", "token": w.newToken("ada", nil)})
	if got := a.refused(app.CodeInvalidCredentials).same(); got != unknown {
		t.Errorf("social login: got %s, want %s", got, unknown)
	}
	wrong := login(object{"password": "swordfish"}).refused(app.CodeInvalidCredentials).same()
	if got := login(nil).refused(app.CodeInvalidCredentials).same(); got != wrong {
		t.Errorf("login: got %s, want %s", got, wrong)
	}

	want.Version = 3
	change(manager, object{"disabled": false})
	w.do("GET", path, ada.AccessToken, nil).refused(app.CodeTokenRevoked) // the sessions have ended
	w.customerRefresh(cookie).refused(app.CodeTokenRevoked)
	login(nil).ok(200, nil)
	w.loginWith(object{"provider": "google", "token": w.newToken("ada", nil)}).ok(200, nil)
	if n := len(w.eventData("own", app.EventCustomerUpdated)) - before; n != 0 {
		t.Errorf("got %d events, want none: the profile did not change", n)
	}
	manages, id := string(w.users["MANAGER"].ID), string(ada.Customer.ID)
	entries := "customer.disabled " + manages + " " + id + " {}, customer.enabled " + manages + " " + id + " {}"
	if got := w.text(`SELECT string_agg(concat_ws(' ', action, actor_id, target, details), ', ' ORDER BY at, action)
		FROM audit WHERE action IN ('customer.disabled', 'customer.enabled')`); got != entries {
		t.Errorf("audit: got %s, want %s", got, entries)
	}
}

// TestWhoDisablesCustomers checks that a customer neither sees nor sets the state, and that guests have no state.
func TestWhoDisablesCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.addCustomer("own", "ada@example.com")
	path := "/customers/" + string(ada.Customer.ID)
	for _, disabled := range []bool{true, false} {
		w.do("PATCH", path, ada.AccessToken, object{"disabled": disabled}).refused(app.CodeValidationFailed, "disabled")
	}
	w.do("PATCH", path, w.tokens["STAFF"], object{"disabled": true}).refused(app.CodeInsufficientRole)
	w.do("PATCH", path, w.tokens["MANAGER"], object{"disabled": nil}).refused(app.CodeValidationFailed, "disabled")
	w.do("PATCH", path, w.tokens["MANAGER"], object{"disabled": true}, header("If-Match", `"2"`)).
		refused(app.CodeVersionMismatch)
	w.do("PATCH", path, w.token("OWNER", w.stores["sibling"].id), object{"disabled": true}).
		refused(app.CodeStoreMismatch)
	w.do("PATCH", path, w.tokens["FOREIGN"], object{"disabled": true}).refused(app.CodeNotFound)
	guest := "/customers/" + string(*w.stores["own"].order.Customer.ID)
	w.do("PATCH", guest, w.tokens["MANAGER"], object{"disabled": true}).refused(app.CodeConflict)
	w.do("PATCH", guest, w.tokens["MANAGER"], object{"disabled": false}).ok(200, nil)
	for name, token := range map[string]string{
		"the customer": ada.AccessToken, "a manager": w.tokens["MANAGER"],
		"a key": w.key("own", app.ScopeReadCustomers),
	} {
		w.run(name, func(t *testing.T) {
			for _, path := range []string{path, "/customers"} {
				a := w.do("GET", path, token, nil).ok(200, nil)
				want := name != "the customer"
				if got := strings.Contains(a.Body.String(), `"disabled":false`); got != want {
					t.Errorf("%s at %s sees disabled: got %v, want %v: %s", name, path, got, want, a.Body)
				}
			}
		})
	}

	// Together with a change of the profile, there is one event and one new version.
	var changed customerOut
	w.do("PATCH", path, w.tokens["MANAGER"], object{"disabled": true, "firstName": "Eve"}).ok(200, &changed)
	events := w.eventData("own", app.EventCustomerUpdated)
	if changed.Version != 2 || len(events) != 1 || strings.Contains(string(events[0]), "isabled") {
		t.Errorf("got version %d and events %s, want 2 and one without the state", changed.Version, events)
	}
}

// TestDisableDuringLogins checks that no session survives a concurrent disabling.
func TestDisableDuringLogins(t *testing.T) {
	t.Parallel()
	w := newSocialWorld(t)
	var ada loginCustomerOut
	w.login(app.ProviderGoogle, w.provider.sign("one", w.claims(nil))).ok(200, &ada)
	path := "/customers/" + string(ada.Customer.ID)
	for range 5 {
		var wait sync.WaitGroup
		for range 4 {
			token := w.provider.sign("one", w.claims(nil))
			wait.Go(func() { w.login(app.ProviderGoogle, token) })
		}
		wait.Go(func() { w.do("PATCH", path, w.tokens["MANAGER"], object{"disabled": true}).ok(200, nil) })
		wait.Wait()
		if n := w.text("SELECT count(*)::text FROM customer_sessions WHERE customer_id = $1 AND ended_at IS NULL",
			ada.Customer.ID); n != "0" {
			t.Errorf("got %s sessions of a disabled customer, want none", n)
		}
		w.do("PATCH", path, w.tokens["MANAGER"], object{"disabled": false}).ok(200, nil)
	}
}
