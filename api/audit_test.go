package api

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// line is a line of the trail as the database holds it, without what differs each time.
type line struct {
	store            string // the shop's name, or an id
	action           app.AuditAction
	realm            app.Realm
	actor            string
	target           string
	details          string // JSON as PostgreSQL writes it
	address, request string
}

const somewhere = "198.51.100.23"

// deed is something that the trail tells of, up to the last request.
type deed struct {
	act    func() *answer
	status int
	lines  func(a *answer) []line // what it must leave, address and request id aside
}

// here is a request from a place that the trail must name.
func (w *world) here(method, path, token string, body any, change ...func(*http.Request)) *answer {
	w.Helper()
	return w.do(method, path, token, body, append(change, from(somewhere))...)
}

// dataID returns the id in the data of an answer.
func (a *answer) dataID() string {
	a.t.Helper()
	var data struct{ ID string }
	if err := json.Unmarshal(a.body.Data, &data); err != nil {
		a.t.Fatal(err)
	}
	return data.ID
}

// sessionOf returns the session of a login's answer.
func (w *world) sessionOf(a *answer) string {
	w.Helper()
	var data loginOut
	a.ok(200, &data)
	session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
	return session
}

// in makes the same line in several stores.
func in(l line, stores ...string) (lines []line) {
	for _, l.store = range stores {
		lines = append(lines, l)
	}
	return lines
}

// trail returns the lines of all stores for which the condition holds.
func (w *world) trail(where string, args ...any) (lines []line) {
	w.Helper()
	w.server.Close() // failed logins are noted beside the answer
	rows, err := w.db.System().DB.QueryContext(w.Context(), `SELECT store_id, action, actor_realm, actor_id, target, details::text, address, request_id
		FROM audit WHERE `+where, args...)
	w.must(err)
	defer rows.Close()
	for rows.Next() {
		var l line
		w.must(rows.Scan(&l.store, &l.action, &l.realm, &l.actor, &l.target, &l.details, &l.address, &l.request))
		for name, shop := range w.stores {
			if string(shop.id) == l.store {
				l.store = name
			}
		}
		lines = append(lines, l)
	}
	w.must(rows.Err())
	return lines
}

// state is what deeds change, in one word.
func (w *world) state() string {
	w.Helper()
	w.server.Close()
	var parts []string
	for _, table := range []string{
		"users", "memberships", "invitations", "sessions", "customer_sessions", "api_keys", "idempotency_keys",
		"websites", "stores", "subscriptions", "deliveries", "audit", "orders", "payments", "refunds",
	} {
		parts = append(parts, table+" "+w.text(`SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM `+table+` t`))
	}
	return strings.Join(parts, "\n")
}

// deeds are all that the trail tells of, each made ready only when its turn has come.
func (w *world) deeds() map[string]func() deed {
	owner, own := w.tokens["OWNER"], w.stores["own"]
	ownerLine := line{realm: app.RealmTenant, actor: string(w.users["OWNER"].ID)}
	platformLine := line{realm: app.RealmPlatform, actor: string(w.users["PLATFORM"].ID)}
	by := func(l line, action app.AuditAction, target, details string) line {
		l.action, l.target, l.details = action, target, details
		return l
	}
	exactly := func(lines ...line) func(*answer) []line { return func(*answer) []line { return lines } }
	// hooked is something done to the store's webhook as it was made, or turned off.
	hooked := func(active bool, method, path string, body object, status int, action app.AuditAction, details string) func() deed {
		return func() deed {
			id := string(own.webhook.ID)
			w.exec("UPDATE subscriptions SET url = $2, events = ARRAY['order.created'], is_active = $3 WHERE id = $1", id, own.webhook.URL, active)
			told := exactly()
			if action != "" {
				told = exactly(in(by(ownerLine, action, id, details), "own")...)
			}
			return deed{func() *answer { return w.here(method, "/webhooks/"+id+path, owner, body) }, status, told}
		}
	}
	login := func(email, password string, store app.StoreID) func() *answer {
		body := credentials(email, password)
		if store != "" {
			body["storeId"] = store
		}
		return func() *answer { return w.here("POST", "/auth/login", "", body) }
	}
	failed := func(name string, why app.LoginFault, stores ...string) func(*answer) []line {
		return exactly(in(by(line{realm: app.RealmTenant}, app.AuditLoginFailed, string(w.users[name].ID), fmt.Sprintf(`{"reason": %q}`, why)), stores...)...)
	}
	member := func() string { return string(w.addMember(own.id)) }
	website := func(change object) func() *answer {
		return func() *answer {
			return w.here("PATCH", "/platform/websites/"+string(w.stores["foreign"].website), w.tokens["PLATFORM"], change)
		}
	}
	changed := func(action app.AuditAction, details string) func(*answer) []line {
		return exactly(in(by(platformLine, action, string(w.stores["foreign"].website), details), "foreign")...)
	}
	return map[string]func() deed{
		"login": func() deed {
			return deed{login("ada@example.com", password, ""), 200, func(a *answer) []line {
				return in(by(line{realm: app.RealmTenant, actor: string(w.users["ada"].ID)}, app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "own", "sibling")
			}}
		},
		"login of the platform": func() deed { return deed{login("root@example.com", password, ""), 200, exactly()} },
		"login with a wrong password": func() deed {
			return deed{login("ADA@example.com", "swordfish", ""), 401, failed("ada", app.FaultPassword, "own", "sibling")}
		},
		"login of a disabled user": func() deed {
			return deed{login("disabled@example.com", password, ""), 401, failed("disabled", app.FaultDisabled, "own")}
		},
		"login of a disabled user with a wrong password": func() deed {
			return deed{login("disabled@example.com", "swordfish", ""), 401, failed("disabled", app.FaultPassword, "own")}
		},
		"login to another's store": func() deed {
			return deed{login("ada@example.com", password, w.stores["foreign"].id), 403, failed("ada", app.FaultStore, "own", "sibling")}
		},
		"login of nobody": func() deed { return deed{login("nobody@example.com", password, ""), 401, exactly()} },
		"logout": func() deed {
			b := w.browse("OWNER", "own")
			session := claimsOf(w.T, b.access)["sid"].(string)
			return deed{func() *answer { return w.here("POST", "/auth/logout", b.access, nil) }, 200,
				exactly(in(by(ownerLine, app.AuditLogout, session, "{}"), "own", "sibling")...)}
		},
		"reuse": func() deed {
			b := w.browse("ADMIN", "own")
			stolen, session := b.cookie, claimsOf(w.T, b.access)["sid"].(string)
			b.refresh()
			return deed{func() *answer { return w.here("POST", "/auth/refresh", "", nil, withCookie(stolen)) }, 401,
				exactly(in(by(line{realm: app.RealmTenant}, app.AuditSessionReused, string(w.users["ADMIN"].ID), fmt.Sprintf(`{"sessionId": %q}`, session)), "own", "sibling")...)}
		},
		"a customer's reuse": func() deed {
			stolen := w.customerLogin("guest@example.com")
			w.customerRefresh(stolen).ok(200, nil)
			session := strings.Split(stolen, ".")[0]
			customer := w.text("SELECT id FROM customers WHERE email = 'guest@example.com'")
			return deed{func() *answer {
				return w.here("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerRefreshCookie+"="+stolen))
			}, 401, exactly(in(by(line{realm: app.RealmCustomer}, app.AuditSessionReused, customer, fmt.Sprintf(`{"sessionId": %q}`, session)), "own")...)}
		},
		"invitation": func() deed {
			body := altered(grace("MANAGER", own.id, w.stores["sibling"].id), object{"email": "new@example.com"})
			return deed{func() *answer { return w.here("POST", "/users", owner, body) }, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditUserInvited, a.dataID(), `{"role": "MANAGER", "email": "new@example.com"}`), "own", "sibling")
			}}
		},
		"acceptance": func() deed {
			token := w.invited(grace("MANAGER", own.id, w.stores["sibling"].id))
			invitation := w.text("SELECT id FROM invitations WHERE email = 'grace@example.com'")
			return deed{func() *answer { return w.here("POST", "/auth/accept-invite", "", accept(token, goodPassword)) }, 200, func(a *answer) []line {
				var data loginOut
				a.ok(200, &data)
				who := line{realm: app.RealmTenant, actor: string(data.User.ID)}
				return append(in(by(who, app.AuditInvitationAccepted, invitation, `{"role": "MANAGER"}`), "own", "sibling"),
					in(by(who, app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "own", "sibling")...)
			}}
		},
		"acceptance with a wrong password": func() deed {
			token := w.invited(altered(grace("STAFF", w.stores["own"].id), object{"email": "moved@example.com"}))
			return deed{func() *answer { return w.here("POST", "/auth/accept-invite", "", accept(token, "swordfish")) }, 401,
				failed("moved", app.FaultPassword, "sibling")}
		},
		"role": func() deed {
			user := member()
			return deed{func() *answer { return w.here("PATCH", "/users/"+user, owner, object{"role": "ADMIN"}) }, 200,
				exactly(in(by(ownerLine, app.AuditRoleChanged, user, `{"to": "ADMIN", "from": "STAFF"}`), "own")...)}
		},
		"the same role": func() deed {
			user := member()
			return deed{func() *answer { return w.here("PATCH", "/users/"+user, owner, object{"role": "STAFF"}) }, 200, exactly()}
		},
		"removal": func() deed {
			user := member()
			return deed{func() *answer { return w.here("DELETE", "/users/"+user, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditUserRemoved, user, `{"role": "STAFF"}`), "own")...)}
		},
		"API key": func() deed {
			return deed{func() *answer { return w.here("POST", "/api-keys", owner, apiKeyBody()) }, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditAPIKeyCreated, a.dataID(), `{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")
			}}
		},
		"API key of the sandbox": func() deed {
			return deed{func() *answer {
				return w.here("POST", "/api-keys", owner, altered(apiKeyBody(), object{"mode": "test"}))
			}, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditAPIKeyCreated, a.dataID(), `{"mode": "test", "name": "Till", "scopes": ["read:orders"]}`), "own")
			}}
		},
		"API key once more": func() deed {
			once := header("Idempotency-Key", "once")
			w.do("POST", "/api-keys", owner, apiKeyBody(), once).ok(201, nil)
			return deed{func() *answer { return w.here("POST", "/api-keys", owner, apiKeyBody(), once) }, 201, exactly()}
		},
		"revocation": func() deed {
			key, _ := w.createKey(owner, nil)
			return deed{func() *answer { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) }, 200,
				exactly(in(by(ownerLine, app.AuditAPIKeyRevoked, string(key.ID), `{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")...)}
		},
		"revocation once more": func() deed {
			key, _ := w.createKey(owner, nil)
			w.do("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil).ok(200, nil)
			return deed{func() *answer { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) }, 200, exactly()}
		},
		"webhook": func() deed {
			body := altered(webhookBody(), object{"url": "https://example.com:8443/a/secret/path?token=swordfish"})
			return deed{func() *answer { return w.here("POST", "/webhooks", owner, body) }, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditWebhookCreated, a.dataID(), `{"host": "example.com:8443", "events": ["order.created"]}`), "own")
			}}
		},
		"webhook of a key": func() deed {
			key, _ := w.createKey(owner, object{"scopes": []string{"webhooks:manage"}})
			w.do("GET", "/webhooks", key.Key, nil).ok(200, nil) // which notes the use of the key
			return deed{func() *answer { return w.here("POST", "/webhooks", key.Key, webhookBody()) }, 201, func(a *answer) []line {
				return in(by(line{realm: app.RealmAPIKey, actor: string(key.ID)}, app.AuditWebhookCreated, a.dataID(), `{"host": "example.com", "events": ["order.created"]}`), "own")
			}}
		},
		"webhook changed": hooked(true, "PATCH", "", object{"url": "https://example.com/a/secret/path", "events": []string{"customer.created"}}, 200, app.AuditWebhookChanged,
			`{"host": {"to": "example.com", "from": "hooks.example.com"}, "events": {"to": ["customer.created"], "from": ["order.created"]}}`),
		"webhook off":       hooked(true, "PATCH", "", object{"isActive": false}, 200, app.AuditWebhookDeactivated, "{}"),
		"webhook on":        hooked(false, "PATCH", "", object{"isActive": true}, 200, app.AuditWebhookReactivated, "{}"),
		"webhook as it was": hooked(true, "PATCH", "", object{"isActive": true, "url": own.webhook.URL}, 200, "", ""),
		"webhook's secret":  hooked(true, "POST", "/rotate-secret", object{"secret": "swordfish" + webhookSecret, "overlapSeconds": 60}, 200, app.AuditWebhookSecretRotated, `{"overlapSeconds": 60}`),
		"webhook deleted": func() deed {
			id := string(w.addWebhook(own.id))
			w.exec("UPDATE subscriptions SET url = 'https://example.com/a/secret/path' WHERE id = $1", id)
			return deed{func() *answer { return w.here("DELETE", "/webhooks/"+id, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditWebhookDeleted, id, `{"host": "example.com"}`), "own")...)}
		},
		"replay": func() deed {
			w.must(w.db.EndDelivery(w.Context(), noon, own.delivery.ID, app.DeliveryDeadLetter, "test"))
			return deed{func() *answer { return w.here("POST", "/deliveries/"+string(own.delivery.ID)+"/replay", owner, nil) }, 202,
				exactly(in(by(ownerLine, app.AuditWebhookReplayed, string(own.delivery.ID), "{}"), "own")...)}
		},
		"refund": func() deed {
			payment := string(w.pay(own, 1000).ID)
			body := refundBody(400)
			return deed{func() *answer { return w.here("POST", "/payments/"+payment+"/refunds", owner, body) }, 201, func(a *answer) []line {
				details := fmt.Sprintf(`{"orderId": "1", "currency": "EUR", "refundId": %q, "amountMinor": 400}`, a.dataID())
				return in(by(ownerLine, app.AuditRefundIssued, payment, details), "own")
			}}
		},
		"refund once more": func() deed {
			path, body := "/payments/"+string(w.pay(own, 1000).ID)+"/refunds", refundBody(400)
			w.do("POST", path, owner, body).ok(201, nil)
			return deed{func() *answer { return w.here("POST", path, owner, body) }, 200, exactly()}
		},
		"website": func() deed {
			return deed{func() *answer {
				return w.here("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("three.test"))
			}, 201, func(a *answer) []line {
				var out openWebsiteOut
				a.ok(201, &out)
				return append(in(by(platformLine, app.AuditWebsiteOpened, string(out.ID), `{"plan": "GROW"}`), string(out.StoreID)),
					in(by(platformLine, app.AuditUserInvited, string(out.Invitation.ID), fmt.Sprintf(`{"role": "OWNER", "email": %q}`, out.Invitation.Email)), string(out.StoreID))...)
			}}
		},
		"plan": func() deed {
			w.exec("UPDATE websites SET plan = 'ENTERPRISE'")
			return deed{website(object{"plan": "GROW"}), 200, changed(app.AuditPlanChanged, `{"to": "GROW", "from": "ENTERPRISE"}`)}
		},
		"suspension": func() deed {
			w.exec("UPDATE websites SET suspended_at = NULL")
			return deed{website(object{"suspended": true}), 200, changed(app.AuditWebsiteSuspended, "{}")}
		},
		"the end of a suspension": func() deed {
			w.exec("UPDATE websites SET suspended_at = $1 WHERE id = $2", noon, w.stores["foreign"].website)
			return deed{website(object{"suspended": false}), 200, changed(app.AuditWebsiteResumed, "{}")}
		},
		"no change of a website": func() deed {
			w.exec("UPDATE websites SET plan = 'GROW', suspended_at = NULL")
			return deed{website(object{"plan": "GROW", "suspended": false}), 200, exactly()}
		},
	}
}

// TestDeedsLeaveTheirLines: each leaves exactly its lines, with who, whom, from where and by
// which request. When a line cannot be written, nothing is done.
func TestDeedsLeaveTheirLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := app.PlatformAdmin
	w.withPassword("ada", nil, "own", "sibling")
	w.withPassword("disabled", nil, "own")
	w.withPassword("moved", nil, "sibling")
	w.withPassword("root", &role)
	w.exec("UPDATE users SET disabled_at = $1 WHERE id = $2", noon, w.users["disabled"].ID)
	w.createKey(w.tokens["OWNER"], object{"mode": "test"}) // there is a sandbox, which is told nothing
	schema, err := sql.Open("pgx", w.db.OwnerURL)
	w.must(err)
	t.Cleanup(func() { schema.Close() })
	alter := func(how string) {
		t.Helper()
		w.server.Close()
		_, err := schema.ExecContext(t.Context(), "ALTER TABLE audit "+how)
		w.must(err)
	}
	told := map[app.AuditAction]bool{}
	for name, prepare := range w.deeds() {
		d := prepare()
		before := w.state()
		if d.status < 400 || strings.Contains(name, "reuse") {
			alter("ADD CONSTRAINT broken CHECK (false) NOT VALID")
			if a := d.act(); a.Code == http.StatusInternalServerError {
				if diff := cmp.Diff(before, w.state()); diff != "" {
					t.Errorf("%s without its line has an effect: %s", name, diff)
				}
			} else if d.lines(a) != nil {
				t.Errorf("%s without its line: %d", name, a.Code)
			}
			alter("DROP CONSTRAINT broken")
		}
		a := d.act()
		if a.Code != d.status {
			t.Errorf("%s: %d %s", name, a.Code, a.Body)
			continue
		}
		want := d.lines(a)
		for i := range want {
			want[i].address, want[i].request = somewhere, a.Header().Get("X-Request-Id")
			told[want[i].action] = true
		}
		got := w.trail("request_id = $1", a.Header().Get("X-Request-Id"))
		byStore := func(a, b line) int { return strings.Compare(a.store+string(a.action), b.store+string(b.action)) }
		slices.SortFunc(got, byStore)
		slices.SortFunc(want, byStore)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(told) < 15 {
		t.Errorf("the test makes only %d kinds of lines", len(told))
	}
	whole := w.text("SELECT string_agg(a::text, ' ') FROM audit a")
	for _, secret := range []string{password, goodPassword, "swordfish", webhookSecret, "svc_live_sk_", "secret/path", "argon2"} {
		if strings.Contains(whole, secret) {
			t.Errorf("%q is in the trail", secret)
		}
	}
}

// TestRefusedDeedsLeaveNone, save for logins: what was not done is not told.
func TestRefusedDeedsLeaveNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, owner, loner := w.stores["own"], w.tokens["OWNER"], w.tokens["LONER"]
	w.exec("UPDATE memberships SET role = 'STAFF' WHERE store_id = $1 AND role = 'OWNER' AND user_id <> $2", own.id, w.users["LONER"].ID)
	token := w.do("POST", "/users", loner, grace("STAFF")).ok(201, nil)
	var invitation invitationOut
	w.must(json.Unmarshal(token.body.Data, &invitation))
	before := len(w.trail("true"))
	w.do("POST", "/deliveries/"+string(own.delivery.ID)+"/replay", loner, nil).refused(app.CodeDeliveryInProgress)
	for _, rt := range routes() {
		if rt.method == "GET" || !rt.byAccessToken() || app.Permissions[rt.permission].Role == "" {
			continue
		}
		if rt.permission != app.EndOwnTenantLogin && rt.permission != app.SwitchStore && rt.permission != app.WriteOrders && rt.permission != app.WriteReservations {
			w.attempt(rt, "own", owner).refused(app.CodeInsufficientRole) // STAFF by now
		}
		if strings.Contains(rt.path, "{id}") {
			w.attempt(rt, "foreign", loner)
		}
	}
	lonerPath := "/users/" + string(w.users["LONER"].ID)
	w.do("PATCH", lonerPath, loner, object{"role": "ADMIN"}).refused(app.CodeLastOwner)
	w.do("DELETE", lonerPath, loner, nil).refused(app.CodeLastOwner)
	w.do("POST", "/users", loner, altered(grace("STAFF"), object{"email": "staff@example.com"})).refused(app.CodeConflict)
	w.do("POST", "/users", loner, grace("STAFF", w.stores["sibling"].id)).refused(app.CodeStoreMismatch)
	w.do("POST", "/api-keys", loner, altered(apiKeyBody(), object{"scopes": []string{}})).refused(app.CodeValidationFailed)
	w.do("POST", "/webhooks", loner, altered(webhookBody(), object{"url": "http://example.com"})).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept(invitation.Token, "short")).refused(app.CodeValidationFailed)
	w.do("POST", "/auth/accept-invite", "", accept("unknown", goodPassword)).refused(app.CodeTokenInvalid)
	w.do("POST", "/platform/websites", w.tokens["PLATFORM"], websiteBody("one.test")).refused(app.CodeConflict)
	w.do("PATCH", "/platform/websites/web_none", w.tokens["PLATFORM"], object{"plan": "GROW"}).refused(app.CodeNotFound)
	w.do("POST", "/auth/refresh", "", nil, withCookie("ses_none.0.x")).refused(app.CodeTokenInvalid)
	if after := w.trail("true"); len(after) != before {
		t.Errorf("%d lines became %d", before, len(after))
	}
}

// TestNobodyWaitsForTheTrail: a failed login is answered while the trail is out of reach.
func TestNobodyWaitsForTheTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	lock, err := sql.Open("pgx", w.db.OwnerURL)
	w.must(err)
	t.Cleanup(func() { lock.Close() })
	tx, err := lock.BeginTx(t.Context(), nil)
	w.must(err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE audit")
	w.must(err)
	for range 3 {
		w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	}
	w.must(tx.Rollback())
	if lines := w.trail("action = 'login.failed'"); len(lines) != 3 {
		t.Errorf("%d lines of 3 failures", len(lines))
	}
}

// TestTooManyFailures: what there is no place for is in the log instead.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	b := newBackground(1)
	hold := make(chan struct{})
	if !b.run(func() { <-hold }) || b.run(func() { t.Error("run without a place") }) {
		t.Error("there is not exactly one place")
	}
	close(hold)
	b.wait()
	if !b.run(func() {}) {
		t.Error("a place was not given back")
	}
	b.wait()

	w := newWorld(t)
	w.withPassword("ada", nil, "own")
	w.server.failures = newBackground(0)
	w.do("POST", "/auth/login", "", credentials("ada@example.com", "wrong")).refused(app.CodeInvalidCredentials)
	if log := w.log.lines("error"); len(log) != 1 || !strings.Contains(log[0], string(w.users["ada"].ID)) {
		t.Errorf("the log: %s", log)
	}
}

// TestAuditTrail reads what was written: names, filters, pages, and one store alone.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.tokens["OWNER"]
	w.now = noon.Add(time.Minute)
	key, _ := w.createKey(owner, object{"name": "Hooks", "scopes": []string{"webhooks:manage"}})
	w.now = w.now.Add(time.Minute)
	hook := w.here("POST", "/webhooks", key.Key, webhookBody()).ok(201, nil)
	w.now = w.now.Add(time.Minute)
	w.do("PATCH", "/platform/websites/"+string(w.stores["own"].website), w.tokens["PLATFORM"], object{"plan": "GROW"}).ok(200, nil)

	read := func(token, query string) (entries []app.AuditEntry) {
		t.Helper()
		w.do("GET", "/audit?"+query, token, nil).ok(200, &entries)
		return entries
	}
	since := "from=" + url.QueryEscape(noon.Add(time.Minute).Format(time.RFC3339)) + "&"
	at := func(d time.Duration) app.Time { return app.At(noon.Add(time.Minute + d)) }
	all := read(owner, since)
	want := []app.AuditEntry{
		{
			Action: app.AuditPlanChanged, Actor: app.AuditActor{Realm: app.RealmPlatform, ID: string(w.users["PLATFORM"].ID)},
			Target: string(w.stores["own"].website), Details: map[string]any{"from": "ENTERPRISE", "to": "GROW"}, At: at(2 * time.Minute),
		},
		{
			Action: app.AuditWebhookCreated, Actor: app.AuditActor{Realm: app.RealmAPIKey, ID: string(key.ID), Name: "Hooks"},
			Target: hook.dataID(), Details: map[string]any{"host": "example.com", "events": []any{"order.created"}}, At: at(time.Minute),
		},
		{
			Action: app.AuditAPIKeyCreated, Actor: app.AuditActor{Realm: app.RealmTenant, ID: string(w.users["OWNER"].ID), Name: "owner@example.com"},
			Target: string(key.ID), Details: map[string]any{"mode": "live", "name": "Hooks", "scopes": []any{"webhooks:manage"}}, At: at(0),
		},
	}
	if len(all) != 3 || all[1].Address != somewhere || string(all[1].RequestID) != hook.Header().Get("X-Request-Id") {
		t.Fatalf("read %+v", all)
	}
	for i := range want {
		want[i].ID, want[i].Address, want[i].RequestID = all[i].ID, all[i].Address, all[i].RequestID
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for query, want := range map[string][]app.AuditEntry{
		"action=webhook.created": all[1:2], "action=refund.issued": {}, "actorId=" + string(key.ID): all[1:2], "target=" + string(key.ID): all[2:],
		"target=" + string(key.ID) + "&action=webhook.created":        {},
		"to=" + url.QueryEscape(at(time.Minute).Format(time.RFC3339)): all[2:],
		"storeId=" + string(w.stores["own"].id):                       all,
	} {
		if diff := cmp.Diff(want, read(owner, since+query)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}

	whole := read(owner, "limit=100")
	if !slices.ContainsFunc(whole, func(e app.AuditEntry) bool { return e.Action == app.AuditWebhookCreated && e.Actor == app.AuditActor{} }) {
		t.Error("no deed of the service itself")
	}
	var pages []app.AuditEntry
	for cursor, more := "", true; more; {
		var page []app.AuditEntry
		a := w.do("GET", "/audit?limit=3"+cursor, owner, nil).ok(200, &page)
		pages = append(pages, page...)
		var next string
		next, more = a.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + next
		if more {
			w.do("GET", "/audit?action=logout"+cursor, owner, nil).refused(app.CodeValidationFailed, "cursor")
			w.do("GET", "/users?"+cursor, owner, nil).refused(app.CodeValidationFailed, "cursor")
		}
	}
	if diff := cmp.Diff(whole, pages); diff != "" || len(whole) < 7 {
		t.Errorf("%d lines in pages: %s", len(whole), diff)
	}

	// The sibling store shows what concerns the whole website, and nothing else of it.
	if seen := read(w.token("OWNER", w.stores["sibling"].id), since); len(seen) != 2 || seen[0].Action != app.AuditLoginSucceeded && seen[1].Action != app.AuditLoginSucceeded {
		t.Errorf("the sibling store shows %+v", seen)
	}
	if seen := read(w.tokens["FOREIGN"], since); len(seen) != 0 {
		t.Errorf("a foreign store shows %+v", seen)
	}
	for query, path := range map[string]string{
		"action=sleep": "action", "actorId=%27": "actorId", "target=a%20b": "target", "from=yesterday": "from", "limit=0": "limit", "limit=101": "limit",
		"cursor=x": "cursor", "page=1": "page", "from=2026-03-14T12:00:00Z&to=2026-03-14T12:00:00Z": "to", "action=logout&action=logout": "action",
	} {
		w.do("GET", "/audit?"+query, owner, nil).refused(app.CodeValidationFailed, path)
	}
	w.do("GET", "/audit", w.key("own", app.Scopes[:]...), nil).refused(app.CodeInsufficientScope)
}
