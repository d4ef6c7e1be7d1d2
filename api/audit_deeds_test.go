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

// deed is an action that writes entries to the audit trail. Its constructor has made all requests except the last one.
type deed struct {
	act    func() *answer
	status int
	lines  func(a *answer) []line // the expected entries, without address and request id
}

// here sends a request from an address that the entries must contain.
func (w *world) here(method, path, token string, body any, change ...func(*http.Request)) *answer {
	w.Helper()
	return w.do(method, path, token, body, append(change, from(somewhere))...)
}

// dataID returns the id in the data of a response.
func (a *answer) dataID() string {
	a.t.Helper()
	var data struct{ ID string }
	if err := json.Unmarshal(a.body.Data, &data); err != nil {
		a.t.Fatal(err)
	}
	return data.ID
}

// sessionOf returns the session that a login started.
func (w *world) sessionOf(a *answer) string {
	w.Helper()
	var data loginOut
	a.ok(200, &data)
	session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
	return session
}

// otpDeed creates a user of the store own. The returned function makes the entry of an action of the user on the own
// account.
func (w *world) otpDeed(email string) (account, func(app.AuditAction) func(*answer) []line) {
	w.Helper()
	name, _, _ := strings.Cut(email, "@")
	w.withPassword(name, nil, "own")
	id := string(w.users[name].ID)
	return account{w, "/auth", credentials(email, password)}, func(action app.AuditAction) func(*answer) []line {
		return func(*answer) []line {
			return []line{{
				store: "own", action: action, realm: app.RealmTenant, actor: id, target: id, details: "{}",
			}}
		}
	}
}

// customerLoggedIn is the entry of a customer's login or registration in the store own.
func (w *world) customerLoggedIn(a *answer) []line {
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

// setAside detaches a store from its website and its members, so that other deeds write no entries to its trail.
func (w *world) setAside(store app.StoreID) {
	w.Helper()
	w.exec(`INSERT INTO websites (id, name, domain, plan, created_at)
		VALUES ('web_aside', 'Aside', 'aside.test', 'STARTER', now()) ON CONFLICT DO NOTHING`)
	w.exec("UPDATE stores SET website_id = 'web_aside' WHERE id = $1", store)
	w.exec("DELETE FROM memberships WHERE store_id = $1", store)
}

// deeds returns the constructors of all audited actions. A constructor prepares its deed only when it is called.
func (w *world) deeds() map[string]func() deed {
	m, all := deedMaker{w}, map[string]func() deed{}
	for _, some := range []map[string]func() deed{
		m.loginDeeds(), m.userDeeds(), m.storeDeeds(), m.webhookDeeds(), m.orderDeeds(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// deedMaker prepares the deeds of a world.
type deedMaker struct{ *world }

func (w deedMaker) ownerLine() line {
	return line{realm: app.RealmTenant, actor: string(w.users["OWNER"].ID)}
}

func (w deedMaker) platformLine() line {
	return line{realm: app.RealmPlatform, actor: string(w.users["PLATFORM"].ID)}
}

// of returns the entry of an action of the actor in l.
func (l line) of(action app.AuditAction, target, details string) line {
	l.action, l.target, l.details = action, target, details
	return l
}

// exactly returns a function that expects entries that do not depend on the response.
func exactly(lines ...line) func(*answer) []line { return func(*answer) []line { return lines } }

// hooked is an action on the store's webhook, in its initial state or deactivated.
func (w deedMaker) hooked(
	active bool, method, path string, body object, status int, action app.AuditAction, details string,
) func() deed {
	own := w.stores["own"]
	return func() deed {
		id := string(own.webhook.ID)
		w.exec(`UPDATE subscriptions SET url = $2, events = ARRAY['order.created'], is_active = $3, headers = NULL,
			header_names = '{}' WHERE id = $1`, id, own.webhook.URL, active)
		lines := exactly()
		if action != "" {
			lines = exactly(in(w.ownerLine().of(action, id, details), "own")...)
		}
		return deed{
			func() *answer { return w.here(method, "/webhooks/"+id+path, w.tokens["OWNER"], body) }, status, lines,
		}
	}
}

func (w deedMaker) login(email, password string, store app.StoreID) func() *answer {
	body := credentials(email, password)
	if store != "" {
		body["storeId"] = store
	}
	return func() *answer { return w.here("POST", "/auth/login", "", body) }
}

func (w deedMaker) failed(name string, why app.LoginFault, stores ...string) func(*answer) []line {
	return exactly(in(line{realm: app.RealmTenant}.of(app.AuditLoginFailed, string(w.users[name].ID),
		fmt.Sprintf(`{"reason": %q}`, why)), stores...)...)
}

func (w deedMaker) loginCustomer(email, password string) func() *answer {
	body := altered(credentials(email, password), object{"storeId": w.stores["own"].id})
	return func() *answer { return w.here("POST", "/customer-auth/login", "", body) }
}

func (w deedMaker) customerFailed(email string, why app.LoginFault) func(*answer) []line {
	return exactly(in(line{realm: app.RealmCustomer}.of(app.AuditLoginFailed,
		w.text("SELECT id FROM customers WHERE email = '"+email+"'"), fmt.Sprintf(`{"reason": %q}`, why)), "own")...)
}

func (w deedMaker) member() string { return string(w.addMember(w.stores["own"].id)) }

// website changes the website of the store "foreign".
func (w deedMaker) website(change object) func() *answer {
	return func() *answer {
		return w.here("PATCH", "/platform/websites/"+string(w.stores["foreign"].website), w.tokens["PLATFORM"], change)
	}
}

// changed expects one entry about the website of the store "foreign".
func (w deedMaker) changed(action app.AuditAction, details string) func(*answer) []line {
	return exactly(in(w.platformLine().of(action, string(w.stores["foreign"].website), details), "foreign",
		"platform")...)
}
