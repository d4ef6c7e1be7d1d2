package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// line is a row of the audit trail without its id and time, which differ in each run.
type line struct {
	store            string // the shop's name, or an id
	action           app.AuditAction
	realm            app.Realm
	actor            string
	target           string
	details          string // JSON as PostgreSQL writes it
	address, request string
}

// auditCase is an action that writes entries to the audit trail. Its constructor has made all requests except the
// last one.
type auditCase struct {
	act    func() *response
	status int
	lines  func(a *response) []line // the expected entries, without address and request id
}

// here sends a request from an address that the entries must contain.
func (w *world) here(method, path, token string, body any, change ...func(*http.Request)) *response {
	w.Helper()
	return w.do(method, path, token, body, append(change, from(somewhere))...)
}

// dataID returns the id in the data of a response.
func (a *response) dataID() string {
	a.t.Helper()
	var data struct{ ID string }
	if err := json.Unmarshal(a.body.Data, &data); err != nil {
		a.t.Fatal(err)
	}
	return data.ID
}

// sessionOf returns the session that a login started.
func (w *world) sessionOf(a *response) string {
	w.Helper()
	var data loginOut
	a.ok(200, &data)
	session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
	return session
}

// otpAction creates a user of the store own. The returned function makes the entry of an action of the user on the own
// account.
func (w *world) otpAction(email string) (account, func(app.AuditAction) func(*response) []line) {
	w.Helper()
	name, _, _ := strings.Cut(email, "@")
	w.withPassword(name, nil, "own")
	id := string(w.users[name].ID)
	return account{w, "/auth", credentials(email, password)}, func(action app.AuditAction) func(*response) []line {
		return func(*response) []line {
			return []line{{
				store: "own", action: action, realm: app.RealmTenant, actor: id, target: id, details: "{}",
			}}
		}
	}
}

// customerLoggedIn is the entry of a customer's login or registration in the store own.
func (w *world) customerLoggedIn(a *response) []line {
	w.Helper()
	var data loginCustomerOut
	a.ok(a.Code, &data)
	session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
	return []line{{
		store: "own", action: app.AuditLoginSucceeded, realm: app.RealmCustomer, actor: string(data.Customer.ID),
		target: session, details: "{}",
	}}
}

// in makes the same entry in several stores.
func in(l line, stores ...string) (lines []line) {
	for _, l.store = range stores {
		lines = append(lines, l)
	}
	return lines
}

// setAside detaches a store from its website and its members, so that other actions write no entries to its trail.
func (w *world) setAside(store app.StoreID) {
	w.Helper()
	w.exec(`INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES ('web_aside', 'Aside', 'aside.test', 'STARTER', now()) ON CONFLICT DO NOTHING`)
	w.exec("UPDATE stores SET website_id = 'web_aside' WHERE id = $1", store)
	w.exec("DELETE FROM memberships WHERE store_id = $1", store)
}

// actions returns the constructors of all audited actions. A constructor prepares its action only when it is called.
func (w *world) actions() map[string]func() auditCase {
	m, all := actionMaker{w}, map[string]func() auditCase{}
	for _, some := range []map[string]func() auditCase{
		m.loginActions(), m.userActions(), m.storeActions(), m.webhookActions(), m.orderActions(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// actionMaker prepares the actions of a world.
type actionMaker struct{ *world }

func (w actionMaker) ownerLine() line {
	return line{realm: app.RealmTenant, actor: string(w.users["OWNER"].ID)}
}

func (w actionMaker) platformLine() line {
	return line{realm: app.RealmPlatform, actor: string(w.users["PLATFORM"].ID)}
}

// of returns the entry of an action of the actor in l.
func (l line) of(action app.AuditAction, target, details string) line {
	l.action, l.target, l.details = action, target, details
	return l
}

// exactly returns a function that expects entries that do not depend on the response.
func exactly(lines ...line) func(*response) []line { return func(*response) []line { return lines } }

// hooked is an action on the store's webhook, in its initial state or deactivated.
func (w actionMaker) hooked(
	active bool, method, path string, body object, status int, action app.AuditAction, details string,
) func() auditCase {
	own := w.stores["own"]
	return func() auditCase {
		id := string(own.webhook.ID)
		w.exec(`UPDATE subscriptions SET url = $2, events = ARRAY['order.created'], is_active = $3, headers = NULL,
			header_names = '{}' WHERE id = $1`, id, own.webhook.URL, active)
		lines := exactly()
		if action != "" {
			lines = exactly(in(w.ownerLine().of(action, id, details), "own")...)
		}
		return auditCase{
			func() *response { return w.here(method, "/webhooks/"+id+path, w.tokens["OWNER"], body) }, status, lines,
		}
	}
}

func (w actionMaker) login(email, password string, store app.StoreID) func() *response {
	body := credentials(email, password)
	if store != "" {
		body["storeId"] = store
	}
	return func() *response { return w.here("POST", "/auth/login", "", body) }
}

func (w actionMaker) failed(name string, why app.LoginFault, stores ...string) func(*response) []line {
	return exactly(in(line{realm: app.RealmTenant}.of(app.AuditLoginFailed, string(w.users[name].ID),
		fmt.Sprintf(`{"reason": %q}`, why)), stores...)...)
}

func (w actionMaker) loginCustomer(email, password string) func() *response {
	body := altered(credentials(email, password), object{"storeId": w.stores["own"].id})
	return func() *response { return w.here("POST", "/customer-auth/login", "", body) }
}

func (w actionMaker) customerFailed(email string, why app.LoginFault) func(*response) []line {
	return exactly(in(line{realm: app.RealmCustomer}.of(app.AuditLoginFailed,
		w.text("SELECT id FROM customers WHERE email = '"+email+"'"), fmt.Sprintf(`{"reason": %q}`, why)), "own")...)
}

func (w actionMaker) member() string { return string(w.addMember(w.stores["own"].id)) }

// website changes the website of the store "foreign".
func (w actionMaker) website(change object) func() *response {
	return func() *response {
		return w.here("PATCH", "/platform/websites/"+string(w.stores["foreign"].website), w.tokens["PLATFORM"], change)
	}
}

// changed expects one entry about the website of the store "foreign".
func (w actionMaker) changed(action app.AuditAction, details string) func(*response) []line {
	return exactly(in(w.platformLine().of(action, string(w.stores["foreign"].website), details), "foreign",
		"platform")...)
}
