package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

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
	owner, own := w.tokens["OWNER"], w.stores["own"]
	ownerLine := line{realm: app.RealmTenant, actor: string(w.users["OWNER"].ID)}
	platformLine := line{realm: app.RealmPlatform, actor: string(w.users["PLATFORM"].ID)}
	by := func(l line, action app.AuditAction, target, details string) line {
		l.action, l.target, l.details = action, target, details
		return l
	}
	exactly := func(lines ...line) func(*answer) []line { return func(*answer) []line { return lines } }
	// hooked is an action on the store's webhook, in its initial state or deactivated.
	hooked := func(
		active bool, method, path string, body object, status int, action app.AuditAction, details string,
	) func() deed {
		return func() deed {
			id := string(own.webhook.ID)
			w.exec(`UPDATE subscriptions SET url = $2, events = ARRAY['order.created'], is_active = $3, headers = NULL,
				header_names = '{}' WHERE id = $1`, id, own.webhook.URL, active)
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
		return exactly(in(by(line{realm: app.RealmTenant}, app.AuditLoginFailed, string(w.users[name].ID),
			fmt.Sprintf(`{"reason": %q}`, why)), stores...)...)
	}
	customerLogin := func(email, password string) func() *answer {
		body := altered(credentials(email, password), object{"storeId": own.id})
		return func() *answer { return w.here("POST", "/customer-auth/login", "", body) }
	}
	customerFailed := func(email string, why app.LoginFault) func(*answer) []line {
		return exactly(in(by(line{realm: app.RealmCustomer}, app.AuditLoginFailed,
			w.text("SELECT id FROM customers WHERE email = '"+email+"'"), fmt.Sprintf(`{"reason": %q}`, why)),
			"own")...)
	}
	member := func() string { return string(w.addMember(own.id)) }
	website := func(change object) func() *answer {
		return func() *answer {
			return w.here("PATCH", "/platform/websites/"+string(w.stores["foreign"].website), w.tokens["PLATFORM"],
				change)
		}
	}
	changed := func(action app.AuditAction, details string) func(*answer) []line {
		return exactly(in(by(platformLine, action, string(w.stores["foreign"].website), details), "foreign",
			"platform")...)
	}
	return map[string]func() deed{
		"login": func() deed {
			return deed{login("ada@example.com", password, ""), 200, func(a *answer) []line {
				return in(by(line{realm: app.RealmTenant, actor: string(w.users["ada"].ID)}, app.AuditLoginSucceeded,
					w.sessionOf(a), "{}"), "own", "sibling")
			}}
		},
		"login of the platform": func() deed {
			return deed{login("root@example.com", password, ""), 200, func(a *answer) []line {
				who := line{realm: app.RealmPlatform, actor: string(w.users["root"].ID)}
				return in(by(who, app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "platform")
			}}
		},
		"login of the platform with a wrong password": func() deed {
			return deed{
				login("root@example.com", "swordfish", ""), 401,
				exactly(in(by(line{realm: app.RealmPlatform}, app.AuditLoginFailed, string(w.users["root"].ID),
					`{"reason": "password"}`), "platform")...),
			}
		},
		"logout of the platform": func() deed {
			b := w.browse("PLATFORM", "own")
			session := claimsOf(w.T, b.access)["sid"].(string)
			return deed{func() *answer { return w.here("POST", "/auth/logout", b.access, nil) }, 200,
				exactly(in(by(platformLine, app.AuditLogout, session, "{}"), "platform")...)}
		},
		"reuse of the platform": func() deed {
			b := w.browse("root", "own")
			stolen, session := b.cookie, claimsOf(w.T, b.access)["sid"].(string)
			b.refresh()
			return deed{func() *answer { return w.here("POST", "/auth/refresh", "", nil, withCookie(stolen)) }, 401,
				exactly(in(by(line{realm: app.RealmPlatform}, app.AuditSessionReused, string(w.users["root"].ID),
					fmt.Sprintf(`{"sessionId": %q}`, session)), "platform")...)}
		},
		"one-time passwords on": func() deed {
			a, by := w.otpDeed("on@example.com")
			token := a.logIn(password)
			var setUp setUpOTPOut
			w.do("POST", "/auth/otp", token, object{"password": password}).ok(201, &setUp)
			body := object{"code": w.code(setUp.Secret, 0)}
			return deed{func() *answer { return w.here("POST", "/auth/otp/confirm", token, body) }, 200,
				by(app.AuditOTPEnabled)}
		},
		"one-time passwords off": func() deed {
			a, by := w.otpDeed("off@example.com")
			u := a.enroll()
			return deed{func() *answer { return w.here("DELETE", "/auth/otp", u.token, object{"password": password}) },
				204, by(app.AuditOTPDisabled)}
		},
		"recovery codes": func() deed {
			a, by := w.otpDeed("codes@example.com")
			u := a.enroll()
			return deed{func() *answer {
				return w.here("POST", "/auth/otp/recovery-codes", u.token, object{"password": password})
			}, 200, by(app.AuditRecoveryCodesReplaced)}
		},
		"login with a recovery code": func() deed {
			a, by := w.otpDeed("recovery@example.com")
			u := a.enroll()
			body := altered(a.login, object{"otp": u.recovery[0]})
			return deed{func() *answer { return w.here("POST", "/auth/login", "", body) }, 200, func(a *answer) []line {
				used := by(app.AuditRecoveryCodeUsed)(a)[0]
				in := used
				in.action, in.target = app.AuditLoginSucceeded, w.sessionOf(a)
				return []line{used, in}
			}}
		},
		"login with a wrong one-time password": func() deed {
			a, by := w.otpDeed("guess@example.com")
			body := altered(a.enroll().login, object{"otp": "wrong"})
			return deed{func() *answer { return w.here("POST", "/auth/login", "", body) }, 401, func(a *answer) []line {
				failed := by(app.AuditLoginFailed)(a)[0]
				failed.actor, failed.details = "", `{"reason": "otp"}`
				return []line{failed}
			}}
		},
		"login without a one-time password": func() deed {
			a, _ := w.otpDeed("without@example.com")
			u := a.enroll()
			return deed{func() *answer { return w.here("POST", "/auth/login", "", u.login) }, 401, exactly()}
		},
		"registration": func() deed {
			body := altered(registration(own.id), object{"email": "new@example.com"})
			return deed{func() *answer { return w.here("POST", "/customer-auth/register", "", body) }, 201,
				w.customerLoggedIn}
		},
		"a customer's login": func() deed {
			w.customerLogin("in@example.com")
			return deed{customerLogin("in@example.com", password), 200, w.customerLoggedIn}
		},
		"a customer's login with a wrong password": func() deed {
			w.customerLogin("wrong@example.com")
			return deed{customerLogin("wrong@example.com", "swordfish"), 401,
				customerFailed("wrong@example.com", app.FaultPassword)}
		},
		"a login of a disabled customer": func() deed {
			w.customerLogin("barred@example.com")
			w.exec("UPDATE customers SET disabled_at = $1 WHERE email = 'barred@example.com'", noon)
			return deed{customerLogin("barred@example.com", password), 401,
				customerFailed("barred@example.com", app.FaultDisabled)}
		},
		"a customer's logout": func() deed {
			w.customerLogin("out@example.com")
			var data loginCustomerOut
			customerLogin("out@example.com", password)().ok(200, &data)
			session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
			who := line{realm: app.RealmCustomer, actor: string(data.Customer.ID)}
			return deed{func() *answer { return w.here("POST", "/customer-auth/logout", data.AccessToken, nil) }, 200,
				exactly(in(by(who, app.AuditLogout, session, "{}"), "own")...)}
		},
		"a customer's login of nobody": func() deed {
			return deed{customerLogin("nobody@example.com", password), 401, exactly()}
		},
		"login with a wrong password": func() deed {
			return deed{
				login("ADA@example.com", "swordfish", ""), 401, failed("ada", app.FaultPassword, "own", "sibling"),
			}
		},
		"login of a disabled user": func() deed {
			return deed{login("disabled@example.com", password, ""), 401, failed("disabled", app.FaultDisabled, "own")}
		},
		"login of a disabled user with a wrong password": func() deed {
			return deed{
				login("disabled@example.com", "swordfish", ""), 401, failed("disabled", app.FaultPassword, "own"),
			}
		},
		"login to another's store": func() deed {
			return deed{
				login("ada@example.com", password, w.stores["foreign"].id), 403,
				failed("ada", app.FaultStore, "own", "sibling"),
			}
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
				exactly(in(by(line{realm: app.RealmTenant}, app.AuditSessionReused, string(w.users["ADMIN"].ID),
					fmt.Sprintf(`{"sessionId": %q}`, session)), "own", "sibling")...)}
		},
		"a customer's reuse": func() deed {
			stolen := w.customerLogin("guest@example.com")
			w.customerRefresh(stolen).ok(200, nil)
			session := strings.Split(stolen, ".")[0]
			customer := w.text("SELECT id FROM customers WHERE email = 'guest@example.com'")
			return deed{func() *answer {
				return w.here("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerCookie+"="+stolen))
			}, 401, exactly(in(by(line{realm: app.RealmCustomer}, app.AuditSessionReused, customer,
				fmt.Sprintf(`{"sessionId": %q}`, session)), "own")...)}
		},
		"invitation": func() deed {
			body := altered(grace("MANAGER", own.id, w.stores["sibling"].id), object{"email": "new@example.com"})
			return deed{func() *answer { return w.here("POST", "/users", owner, body) }, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditUserInvited, a.dataID(),
					`{"role": "MANAGER", "email": "new@example.com"}`), "own", "sibling")
			}}
		},
		"store": func() deed {
			return deed{func() *answer { return w.here("POST", "/stores", owner, storeBody()) }, 201,
				func(a *answer) []line {
					var store app.Store
					a.ok(201, &store)
					w.setAside(store.StoreID)
					return in(by(ownerLine, app.AuditStoreCreated, string(store.StoreID),
						`{"storeName": "Trattoria Nord"}`), "own", string(store.StoreID))
				}}
		},
		"store changed": func() deed {
			w.exec("UPDATE stores SET country_code = 'DE' WHERE id = $1", own.id)
			return deed{func() *answer { return w.here("PATCH", "/store", owner, object{"countryCode": "AT"}) }, 200,
				exactly(in(by(ownerLine, app.AuditStoreChanged, string(own.id),
					`{"countryCode": {"to": "AT", "from": "DE"}}`), "own")...)}
		},
		"store as it was": func() deed {
			w.exec("UPDATE stores SET country_code = 'DE' WHERE id = $1", own.id)
			return deed{func() *answer { return w.here("PATCH", "/store", owner, object{"countryCode": "DE"}) }, 200,
				exactly()}
		},
		"ordering paused": func() deed {
			until := app.At(w.now.Add(time.Hour))
			return deed{func() *answer { return w.here("POST", "/store/pause", owner, object{"until": until}) }, 200,
				exactly(in(by(ownerLine, app.AuditOrderingPaused, string(own.id),
					fmt.Sprintf(`{"until": %q}`, until)), "own")...)}
		},
		"ordering resumed": func() deed {
			w.exec("UPDATE stores SET ordering_paused_until = $1 WHERE id = $2", w.now.Add(time.Hour), own.id)
			return deed{func() *answer { return w.here("POST", "/store/resume", owner, nil) }, 200,
				exactly(in(by(ownerLine, app.AuditOrderingResumed, string(own.id), `{}`), "own")...)}
		},
		"ordering not paused": func() deed {
			w.exec("UPDATE stores SET ordering_paused_until = $1 WHERE id = $2", w.now, own.id)
			return deed{func() *answer { return w.here("POST", "/store/resume", owner, nil) }, 200, exactly()}
		},
		"store view": func() deed {
			return deed{func() *answer { return w.here("POST", "/store/views", owner, viewBody("deed")) }, 201,
				func(a *answer) []line {
					return in(by(ownerLine, app.AuditViewCreated, a.dataID(),
						`{"code": "deed", "locale": "it-IT", "currency": "EUR", "isDefault": false}`), "own")
				}}
		},
		"store view changed": func() deed {
			id := string(w.addView(own.id))
			w.exec("UPDATE store_views SET code = 'changed' WHERE id = $1", id)
			return deed{func() *answer {
				return w.here("PATCH", "/store/views/"+id, owner, object{"locale": "it-CH"})
			}, 200, exactly(in(by(ownerLine, app.AuditViewChanged, id,
				`{"code": "changed", "locale": "it-CH", "currency": "EUR", "isDefault": false}`), "own")...)}
		},
		"store view deleted": func() deed {
			id := string(w.addView(own.id))
			w.exec("UPDATE store_views SET code = 'deleted' WHERE id = $1", id)
			return deed{func() *answer { return w.here("DELETE", "/store/views/"+id, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditViewDeleted, id,
					`{"code": "deleted", "locale": "fr-FR", "currency": "EUR", "isDefault": false}`), "own")...)}
		},
		"invitation sent again": func() deed {
			w.invited(altered(grace("STAFF"), object{"email": "again@example.com"}))
			id := w.text("SELECT id FROM invitations WHERE email = 'again@example.com'")
			return deed{func() *answer { return w.here("POST", "/invitations/"+id+"/resend", owner, nil) }, 200,
				exactly(in(by(ownerLine, app.AuditInvitationResent, id,
					`{"role": "STAFF", "email": "again@example.com"}`), "own")...)}
		},
		"invitation withdrawn": func() deed {
			w.invited(altered(grace("STAFF"), object{"email": "withdrawn@example.com"}))
			id := w.text("SELECT id FROM invitations WHERE email = 'withdrawn@example.com'")
			return deed{func() *answer { return w.here("DELETE", "/invitations/"+id, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditInvitationWithdrawn, id,
					`{"role": "STAFF", "email": "withdrawn@example.com"}`), "own")...)}
		},
		"acceptance": func() deed {
			token := w.invited(grace("MANAGER", own.id, w.stores["sibling"].id))
			invitation := w.text("SELECT id FROM invitations WHERE email = 'grace@example.com'")
			accepted := func() *answer { return w.here("POST", "/auth/accept-invite", "", accept(token, goodPassword)) }
			return deed{accepted, 200, func(a *answer) []line {
				var data loginOut
				a.ok(200, &data)
				who := line{realm: app.RealmTenant, actor: string(data.User.ID)}
				return append(in(by(who, app.AuditInvitationAccepted, invitation, `{"role": "MANAGER"}`), "own",
					"sibling"),
					in(by(who, app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "own", "sibling")...)
			}}
		},
		"acceptance with a wrong password": func() deed {
			token := w.invited(altered(grace("STAFF", w.stores["own"].id), object{"email": "moved@example.com"}))
			guess := accept(token, "the swordfish of another")
			return deed{func() *answer { return w.here("POST", "/auth/accept-invite", "", guess) }, 401,
				failed("moved", app.FaultPassword, "sibling")}
		},
		"role": func() deed {
			user := member()
			return deed{func() *answer { return w.here("PATCH", "/users/"+user, owner, object{"role": "ADMIN"}) }, 200,
				exactly(in(by(ownerLine, app.AuditRoleChanged, user, `{"to": "ADMIN", "from": "STAFF"}`), "own")...)}
		},
		"the same role": func() deed {
			user := member()
			return deed{
				func() *answer { return w.here("PATCH", "/users/"+user, owner, object{"role": "STAFF"}) }, 200,
				exactly(),
			}
		},
		"removal": func() deed {
			user := member()
			return deed{func() *answer { return w.here("DELETE", "/users/"+user, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditUserRemoved, user, `{"role": "STAFF"}`), "own")...)}
		},
		"API key": func() deed {
			return deed{func() *answer { return w.here("POST", "/api-keys", owner, apiKeyBody()) }, 201,
				func(a *answer) []line {
					return in(by(ownerLine, app.AuditAPIKeyCreated, a.dataID(),
						`{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")
				}}
		},
		"API key of the sandbox": func() deed {
			return deed{func() *answer {
				return w.here("POST", "/api-keys", owner, altered(apiKeyBody(), object{"mode": "test"}))
			}, 201, func(a *answer) []line {
				return in(by(ownerLine, app.AuditAPIKeyCreated, a.dataID(),
					`{"mode": "test", "name": "Till", "scopes": ["read:orders"]}`), "own")
			}}
		},
		"API key once more": func() deed {
			once := header("Idempotency-Key", "once")
			w.do("POST", "/api-keys", owner, apiKeyBody(), once).ok(201, nil)
			return deed{
				func() *answer { return w.here("POST", "/api-keys", owner, apiKeyBody(), once) }, 201, exactly(),
			}
		},
		"revocation": func() deed {
			key, _ := w.createKey(owner, nil)
			return deed{func() *answer { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) },
				200,
				exactly(in(by(ownerLine, app.AuditAPIKeyRevoked, string(key.ID),
					`{"mode": "live", "name": "Till", "scopes": ["read:orders"]}`), "own")...)}
		},
		"revocation once more": func() deed {
			key, _ := w.createKey(owner, nil)
			w.do("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil).ok(200, nil)
			return deed{
				func() *answer { return w.here("POST", "/api-keys/"+string(key.ID)+"/revoke", owner, nil) }, 200,
				exactly(),
			}
		},
		"webhook": func() deed {
			body := altered(webhookBody(), object{"url": "https://example.com:8443/a/secret/path?token=swordfish"})
			return deed{func() *answer { return w.here("POST", "/webhooks", owner, body) }, 201,
				func(a *answer) []line {
					return in(by(ownerLine, app.AuditWebhookCreated, a.dataID(),
						`{"host": "example.com:8443", "events": ["order.created"]}`), "own")
				}}
		},
		"webhook of a key": func() deed {
			key, _ := w.createKey(owner, object{"scopes": []string{"webhooks:manage"}})
			w.do("GET", "/webhooks", key.Key, nil).ok(200, nil) // records the use of the key
			return deed{func() *answer { return w.here("POST", "/webhooks", key.Key, webhookBody()) }, 201,
				func(a *answer) []line {
					return in(by(line{realm: app.RealmAPIKey, actor: string(key.ID)}, app.AuditWebhookCreated,
						a.dataID(),
						`{"host": "example.com", "events": ["order.created"]}`), "own")
				}}
		},
		"webhook changed": hooked(true, "PATCH", "",
			object{"url": "https://example.com/a/secret/path", "events": []string{"customer.created"}}, 200,
			app.AuditWebhookChanged,
			`{"host": {"to": "example.com", "from": "hooks.example.com"}, `+
				`"events": {"to": ["customer.created"], "from": ["order.created"]}}`),
		"webhook's headers": hooked(true, "PATCH", "", object{"headers": object{"X-Key": "swordfish"}}, 200,
			app.AuditWebhookChanged, `{"headers": {"to": ["X-Key"], "from": []}}`),
		"webhook off": hooked(true, "PATCH", "", object{"isActive": false}, 200, app.AuditWebhookDeactivated,
			"{}"),
		"webhook on": hooked(false, "PATCH", "", object{"isActive": true}, 200, app.AuditWebhookReactivated,
			"{}"),
		"webhook as it was": hooked(true, "PATCH", "", object{"isActive": true, "url": own.webhook.URL}, 200, "", ""),
		"webhook's secret": hooked(true, "POST", "/rotate-secret",
			object{"secret": "swordfish" + webhookSecret,
				"overlapSeconds": 60}, 200, app.AuditWebhookSecretRotated, `{"overlapSeconds": 60}`),
		"webhook deleted": func() deed {
			id := string(w.addWebhook(own.id))
			w.exec("UPDATE subscriptions SET url = 'https://example.com/a/secret/path' WHERE id = $1", id)
			return deed{func() *answer { return w.here("DELETE", "/webhooks/"+id, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditWebhookDeleted, id, `{"host": "example.com"}`), "own")...)}
		},
		"replay": func() deed {
			w.must(w.db.EndDelivery(w.Context(), noon, own.delivery.ID, app.DeliveryDeadLetter, "test"))
			path := "/deliveries/" + string(own.delivery.ID) + "/replay"
			return deed{func() *answer { return w.here("POST", path, owner, nil) }, 202,
				exactly(in(by(ownerLine, app.AuditWebhookReplayed, string(own.delivery.ID), "{}"), "own")...)}
		},
		"retry": func() deed {
			w.recordOf(own.delivery.ID, 1, app.AttemptRetrying, 503)
			w.exec("UPDATE attempts SET attempted_at = $1", noon.Add(-time.Minute))
			w.exec("UPDATE deliveries SET status = 'retrying', attempts = 1 WHERE id = $1", own.delivery.ID)
			w.exec("UPDATE subscriptions SET is_active = true WHERE id = $1", own.webhook.ID)
			w.retrier.attempt = func() { w.recordOf(own.delivery.ID, 2, app.AttemptDelivered, 204) }
			path := "/deliveries/" + string(own.delivery.ID) + "/retry"
			return deed{func() *answer { return w.here("POST", path, owner, nil) }, 200,
				exactly(in(by(ownerLine, app.AuditWebhookRetried, string(own.delivery.ID), "{}"), "own")...)}
		},
		"refund": func() deed {
			payment := string(w.pay(own, 1000).ID)
			body := refundBody(400)
			return deed{func() *answer { return w.here("POST", "/payments/"+payment+"/refunds", owner, body) }, 201,
				func(a *answer) []line {
					details := fmt.Sprintf(`{"orderId": "1", "currency": "EUR", "refundId": %q, "amountMinor": 400}`,
						a.dataID())
					return in(by(ownerLine, app.AuditRefundIssued, payment, details), "own")
				}}
		},
		"prices": func() deed {
			dish := w.addDish(size())
			groups := []any{altered(size(), object{"options": []any{
				object{"name": "Klein", "prices": object{"USD": 0}},
				object{"name": "Groß", "priceMinor": 220, "prices": object{"USD": 250}},
			}})}
			change := object{"priceMinor": 1300, "prices": object{"USD": nil, "CHF": 1400}, "optionGroups": groups}
			details := fmt.Sprintf(`{"name": %q, "prices": {"to": {"CHF": 1400, "EUR": 1300}, `+
				`"from": {"EUR": %d, "USD": 1300}}, `+
				`"options": {"Size: Groß": {"to": {"EUR": 220}, "from": {"EUR": 200}}}}`,
				dish.Name, dish.PriceMinor)
			return deed{
				func() *answer { return w.here("PATCH", "/products/"+string(dish.ID), owner, change) }, 200,
				exactly(in(by(ownerLine, app.AuditPricesChanged, string(dish.ID), details), "own")...),
			}
		},
		"a product without its prices": func() deed {
			path := "/products/" + string(w.addDish(size()).ID)
			return deed{func() *answer { return w.here("PATCH", path, owner, object{"name": "New"}) }, 200, exactly()}
		},
		"imported prices": func() deed {
			w.importCSV("sku;name;priceMinor;currency\nimp-1;Soup;500;EUR\nimp-2;Salad;600;EUR\n")
			rows := []any{object{"sku": "imp-1", "name": "Soup", "priceMinor": 550, "currency": "EUR"},
				object{"sku": "imp-2", "name": "Green salad", "priceMinor": 600, "currency": "EUR"},
				object{"sku": "imp-3", "name": "Bread", "priceMinor": 100, "currency": "EUR"}}
			soup := w.text("SELECT id FROM products WHERE sku = 'imp-1'")
			details := `{"name": "Soup", "prices": {"to": {"EUR": 550}, "from": {"EUR": 500}}}`
			return deed{func() *answer { return w.here("POST", "/products/import", owner, rows) }, 200,
				exactly(in(by(ownerLine, app.AuditPricesChanged, soup, details), "own")...)}
		},
		"cancellation": func() deed {
			made, path := w.place(nil)
			body := object{"status": "CANCELLED", "cancellationReason": "Ada Lovelace called"}
			details := fmt.Sprintf(`{"orderId": %q, "currency": "EUR", "totalMinor": %d, "previousStatus": "RECEIVED"}`,
				made.Number, made.TotalMinor)
			return deed{func() *answer { return w.here("PATCH", path+"/status", owner, body) }, 200,
				exactly(in(by(ownerLine, app.AuditOrderCancelled, string(made.ID), details), "own")...)}
		},
		"cancellation once more": func() deed {
			_, path := w.place(nil)
			body := object{"status": "CANCELLED", "cancellationReason": "closed"}
			w.do("PATCH", path+"/status", owner, body).ok(200, nil)
			return deed{func() *answer { return w.here("PATCH", path+"/status", owner, body) }, 200, exactly()}
		},
		"the erasure of a customer": func() deed {
			customer := string(w.addGuest(own.id))
			return deed{func() *answer { return w.here("DELETE", "/customers/"+customer, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditCustomerErased, customer, "{}"), "own")...)}
		},
		"the erasure of a reservation": func() deed {
			id := string(w.addEndedReservation(own.id))
			return deed{func() *answer { return w.here("DELETE", "/reservations/"+id, owner, nil) }, 204,
				exactly(in(by(ownerLine, app.AuditCustomerErased, id, "{}"), "own")...)}
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
				return append(in(by(platformLine, app.AuditWebsiteOpened, string(out.ID), `{"plan": "GROW"}`),
					string(out.StoreID), "platform"),
					in(by(platformLine, app.AuditUserInvited, string(out.Invitation.ID),
						fmt.Sprintf(`{"role": "OWNER", "email": %q}`, out.Invitation.Email)), string(out.StoreID),
						"platform")...)
			}}
		},
		"plan": func() deed {
			w.exec("UPDATE websites SET plan = 'ENTERPRISE'")
			return deed{
				website(object{"plan": "GROW"}), 200,
				changed(app.AuditPlanChanged, `{"to": "GROW", "from": "ENTERPRISE"}`),
			}
		},
		"store of the platform": func() deed {
			return deed{func() *answer {
				return w.here("POST", "/platform/websites/"+string(w.stores["foreign"].website)+"/stores",
					w.tokens["PLATFORM"], storeBody())
			}, 201, func(a *answer) []line {
				var store app.Store
				a.ok(201, &store)
				w.setAside(store.StoreID)
				return in(by(platformLine, app.AuditStoreCreated, string(store.StoreID),
					`{"storeName": "Trattoria Nord"}`), string(store.StoreID), "platform")
			}}
		},
		"owner invited by the platform": func() deed {
			foreign := w.stores["foreign"]
			return deed{func() *answer {
				return w.here("POST", "/platform/websites/"+string(foreign.website)+"/invite-owner",
					w.tokens["PLATFORM"], object{"email": "o@example.com", "name": "O", "storeId": foreign.id})
			}, 201, func(a *answer) []line {
				return in(by(platformLine, app.AuditUserInvited, a.dataID(),
					`{"role": "OWNER", "email": "o@example.com"}`), "foreign", "platform")
			}}
		},
		"invitation withdrawn by the platform": func() deed {
			foreign := w.stores["foreign"]
			id := string(w.addOwnerInvitation(foreign.id))
			return deed{func() *answer {
				return w.here("DELETE", "/platform/websites/"+string(foreign.website)+"/invitations/"+id,
					w.tokens["PLATFORM"], nil)
			}, 204, exactly(in(by(platformLine, app.AuditInvitationWithdrawn, id,
				fmt.Sprintf(`{"role": "OWNER", "email": "%s@example.com"}`, id)), "foreign", "platform")...)}
		},
		"website changed": func() deed {
			w.exec("UPDATE websites SET name = 'Two', plan_managed_by = 'OWNER' WHERE id = $1",
				w.stores["foreign"].website)
			return deed{website(object{"name": "Three", "planManagedBy": "PLATFORM"}), 200,
				changed(app.AuditWebsiteChanged, `{"name": {"to": "Three", "from": "Two"}, `+
					`"planManagedBy": {"to": "PLATFORM", "from": "OWNER"}}`)}
		},
		"suspension": func() deed {
			w.exec("UPDATE websites SET suspended_at = NULL")
			return deed{website(object{"suspended": true}), 200, changed(app.AuditWebsiteSuspended, "{}")}
		},
		"the end of a suspension": func() deed {
			w.exec("UPDATE websites SET suspended_at = $1 WHERE id = $2", noon, w.stores["foreign"].website)
			return deed{website(object{"suspended": false}), 200, changed(app.AuditWebsiteResumed, "{}")}
		},
		"client ids": func() deed {
			w.exec("DELETE FROM website_client_ids")
			body := object{"social": object{"google": []string{"web", "app"}, "apple": []string{}}}
			return deed{
				func() *answer { return w.here("PATCH", "/website", owner, body) }, 200,
				exactly(in(by(ownerLine, app.AuditClientIDsChanged, string(own.website),
					`{"google": {"added": ["app", "web"]}}`), "own", "sibling", "platform")...),
			}
		},
		"client ids of another website": func() deed {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("foreign", "theirs")
			body := object{"social": object{"google": []string{"web", "theirs"}}}
			return deed{
				func() *answer { return w.here("PATCH", "/website", owner, body) }, 409,
				exactly(in(by(ownerLine, app.AuditClientIDsRefused, string(own.website),
					fmt.Sprintf(`{"google": {"theirs": %q}}`, w.stores["foreign"].website)), "platform")...),
			}
		},
		"client ids that move": func() deed {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("own", "web")
			const added, removed = `{"google": {"added": ["web"]}}`, `{"google": {"removed": ["web"]}}`
			moved := func(website app.WebsiteID, details string, stores ...string) []line {
				return in(by(platformLine, app.AuditClientIDsChanged, string(website), details), stores...)
			}
			return deed{
				website(object{"social": object{"google": []string{"web"}}}), 200,
				exactly(append(moved(own.website, removed, "own", "sibling", "platform"),
					moved(w.stores["foreign"].website, added, "foreign", "platform")...)...),
			}
		},
		"the same client ids": func() deed {
			w.exec("DELETE FROM website_client_ids")
			w.clientIDs("own", "web")
			body := object{"social": object{"google": []string{"web"}}}
			return deed{func() *answer { return w.here("PATCH", "/website", owner, body) }, 200, exactly()}
		},
		"no change of a website": func() deed {
			w.exec("UPDATE websites SET plan = 'GROW', suspended_at = NULL")
			return deed{website(object{"plan": "GROW", "suspended": false}), 200, exactly()}
		},
	}
}
