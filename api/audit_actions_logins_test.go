package api

import (
	"fmt"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// loginActions returns the actions on logins, logouts and one-time passwords.
func (w actionMaker) loginActions() map[string]func() auditCase {
	own, ownerLine, platformLine := w.stores["own"], w.ownerLine(), w.platformLine()
	return map[string]func() auditCase{
		"login": func() auditCase {
			return auditCase{w.login("ada@example.com", password, ""), 200, func(a *response) []line {
				return in(line{realm: app.RealmTenant, actor: string(w.users["ada"].ID)}.of(app.AuditLoginSucceeded,
					w.sessionOf(a), "{}"), "own", "sibling")
			}}
		},
		"login of the platform": func() auditCase {
			return auditCase{w.login("root@example.com", password, ""), 200, func(a *response) []line {
				who := line{realm: app.RealmPlatform, actor: string(w.users["root"].ID)}
				return in(who.of(app.AuditLoginSucceeded, w.sessionOf(a), "{}"), "platform")
			}}
		},
		"login of the platform with a wrong password": func() auditCase {
			return auditCase{
				w.login("root@example.com", "swordfish", ""), 401,
				exactly(in(line{realm: app.RealmPlatform}.of(app.AuditLoginFailed, string(w.users["root"].ID),
					`{"reason": "password"}`), "platform")...),
			}
		},
		"logout of the platform": func() auditCase {
			b := w.browse("PLATFORM", "own")
			session := claimsOf(w.T, b.access)["sid"].(string)
			return auditCase{func() *response { return w.here("POST", "/auth/logout", b.access, nil) }, 200,
				exactly(in(platformLine.of(app.AuditLogout, session, "{}"), "platform")...)}
		},
		"reuse of the platform": func() auditCase {
			b := w.browse("root", "own")
			stolen, session := b.cookie, claimsOf(w.T, b.access)["sid"].(string)
			b.refresh()
			return auditCase{func() *response { return w.here("POST", "/auth/refresh", "", nil, withCookie(stolen)) }, 401,
				exactly(in(line{realm: app.RealmPlatform}.of(app.AuditSessionReused, string(w.users["root"].ID),
					fmt.Sprintf(`{"sessionId": %q}`, session)), "platform")...)}
		},
		"one-time passwords on": func() auditCase {
			a, by := w.otpAction("on@example.com")
			token := a.logIn(password)
			var setUp setUpOTPOut
			w.do("POST", "/auth/otp", token, object{"password": password}).ok(201, &setUp)
			body := object{"code": w.code(setUp.Secret, 0)}
			return auditCase{func() *response { return w.here("POST", "/auth/otp/confirm", token, body) }, 200,
				by(app.AuditOTPEnabled)}
		},
		"one-time passwords off": func() auditCase {
			a, by := w.otpAction("off@example.com")
			u := a.enroll()
			return auditCase{func() *response { return w.here("DELETE", "/auth/otp", u.token, object{"password": password}) },
				204, by(app.AuditOTPDisabled)}
		},
		"recovery codes": func() auditCase {
			a, by := w.otpAction("codes@example.com")
			u := a.enroll()
			return auditCase{func() *response {
				return w.here("POST", "/auth/otp/recovery-codes", u.token, object{"password": password})
			}, 200, by(app.AuditRecoveryCodesReplaced)}
		},
		"login with a recovery code": func() auditCase {
			a, by := w.otpAction("recovery@example.com")
			u := a.enroll()
			body := altered(a.login, object{"otp": u.recovery[0]})
			return auditCase{func() *response { return w.here("POST", "/auth/login", "", body) }, 200, func(a *response) []line {
				used := by(app.AuditRecoveryCodeUsed)(a)[0]
				in := used
				in.action, in.target = app.AuditLoginSucceeded, w.sessionOf(a)
				return []line{used, in}
			}}
		},
		"login with a wrong one-time password": func() auditCase {
			a, by := w.otpAction("guess@example.com")
			body := altered(a.enroll().login, object{"otp": "wrong"})
			return auditCase{func() *response { return w.here("POST", "/auth/login", "", body) }, 401, func(a *response) []line {
				failed := by(app.AuditLoginFailed)(a)[0]
				failed.actor, failed.details = "", `{"reason": "otp"}`
				return []line{failed}
			}}
		},
		"login without a one-time password": func() auditCase {
			a, _ := w.otpAction("without@example.com")
			u := a.enroll()
			return auditCase{func() *response { return w.here("POST", "/auth/login", "", u.login) }, 401, exactly()}
		},
		"registration": func() auditCase {
			body := altered(registration(own.id), object{"email": "new@example.com"})
			return auditCase{func() *response { return w.here("POST", "/customer-auth/register", "", body) }, 201,
				w.customerLoggedIn}
		},
		"a customer's login": func() auditCase {
			w.customerLogin("in@example.com")
			return auditCase{w.loginCustomer("in@example.com", password), 200, w.customerLoggedIn}
		},
		"a customer's login with a wrong password": func() auditCase {
			w.customerLogin("wrong@example.com")
			return auditCase{w.loginCustomer("wrong@example.com", "swordfish"), 401,
				w.customerFailed("wrong@example.com", app.FaultPassword)}
		},
		"a login of a disabled customer": func() auditCase {
			w.customerLogin("barred@example.com")
			w.exec("UPDATE customers SET disabled_at = $1 WHERE email = 'barred@example.com'", noon)
			return auditCase{w.loginCustomer("barred@example.com", password), 401,
				w.customerFailed("barred@example.com", app.FaultDisabled)}
		},
		"a customer's logout": func() auditCase {
			w.customerLogin("out@example.com")
			var data loginCustomerOut
			w.loginCustomer("out@example.com", password)().ok(200, &data)
			session, _ := claimsOf(w.T, data.AccessToken)["sid"].(string)
			who := line{realm: app.RealmCustomer, actor: string(data.Customer.ID)}
			return auditCase{func() *response { return w.here("POST", "/customer-auth/logout", data.AccessToken, nil) }, 200,
				exactly(in(who.of(app.AuditLogout, session, "{}"), "own")...)}
		},
		"a customer's login of nobody": func() auditCase {
			return auditCase{w.loginCustomer("nobody@example.com", password), 401, exactly()}
		},
		"login with a wrong password": func() auditCase {
			return auditCase{
				w.login("ADA@example.com", "swordfish", ""), 401, w.failed("ada", app.FaultPassword, "own", "sibling"),
			}
		},
		"login of a disabled user": func() auditCase {
			return auditCase{w.login("disabled@example.com", password, ""), 401, w.failed("disabled", app.FaultDisabled, "own")}
		},
		"login of a disabled user with a wrong password": func() auditCase {
			return auditCase{
				w.login("disabled@example.com", "swordfish", ""), 401, w.failed("disabled", app.FaultPassword, "own"),
			}
		},
		"login to another's store": func() auditCase {
			return auditCase{
				w.login("ada@example.com", password, w.stores["foreign"].id), 403,
				w.failed("ada", app.FaultStore, "own", "sibling"),
			}
		},
		"login of nobody": func() auditCase { return auditCase{w.login("nobody@example.com", password, ""), 401, exactly()} },
		"logout": func() auditCase {
			b := w.browse("OWNER", "own")
			session := claimsOf(w.T, b.access)["sid"].(string)
			return auditCase{func() *response { return w.here("POST", "/auth/logout", b.access, nil) }, 200,
				exactly(in(ownerLine.of(app.AuditLogout, session, "{}"), "own", "sibling")...)}
		},
		"reuse": func() auditCase {
			b := w.browse("ADMIN", "own")
			stolen, session := b.cookie, claimsOf(w.T, b.access)["sid"].(string)
			b.refresh()
			return auditCase{func() *response { return w.here("POST", "/auth/refresh", "", nil, withCookie(stolen)) }, 401,
				exactly(in(line{realm: app.RealmTenant}.of(app.AuditSessionReused, string(w.users["ADMIN"].ID),
					fmt.Sprintf(`{"sessionId": %q}`, session)), "own", "sibling")...)}
		},
		"a customer's reuse": func() auditCase {
			stolen := w.customerLogin("guest@example.com")
			w.customerRefresh(stolen).ok(200, nil)
			session := strings.Split(stolen, ".")[0]
			customer := w.text("SELECT id FROM customers WHERE email = 'guest@example.com'")
			return auditCase{func() *response {
				return w.here("POST", "/customer-auth/refresh", "", nil, header("Cookie", customerCookie+"="+stolen))
			}, 401, exactly(in(line{realm: app.RealmCustomer}.of(app.AuditSessionReused, customer,
				fmt.Sprintf(`{"sessionId": %q}`, session)), "own")...)}
		},
	}
}
