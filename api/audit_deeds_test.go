package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

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
