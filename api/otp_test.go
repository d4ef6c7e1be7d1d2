package api

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// otpSecret is a secret of users in tests.
const otpSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

// code returns the code of a secret some steps after the step of the server's clock.
func (w *world) code(secret string, steps int) string {
	w.Helper()
	code, err := otp.Code(app.NewSecret(secret), w.now.Add(time.Duration(steps)*30*time.Second))
	w.must(err)
	return code
}

// prepareOTP sets the state of all users that a request of a route requires.
func (w *world) prepareOTP(rt route) {
	w.Helper()
	for _, user := range w.users {
		sealed := persistencetest.Keyring().Sealer().Seal(app.NewSecret(otpSecret), string(user.ID))
		switch rt.Method + " " + rt.Path {
		case "POST /auth/otp", "POST /auth/reauthenticate":
			w.exec(`UPDATE users SET otp_secret = NULL, otp_pending_at = NULL, otp_enabled_at = NULL WHERE id = $1`,
				user.ID)
		case "POST /auth/otp/confirm":
			w.exec(`UPDATE users SET otp_secret = $2, otp_pending_at = $3, otp_enabled_at = NULL, otp_last_step = 0
				WHERE id = $1`, user.ID, sealed, w.now)
		default:
			w.exec(`UPDATE users SET otp_secret = $2, otp_pending_at = NULL, otp_enabled_at = $3 WHERE id = $1`,
				user.ID, sealed, w.now)
		}
	}
}

// otpAccounts are a tenant user and a platform administrator with a password.
func (w *world) otpAccounts() map[string]account {
	w.Helper()
	accounts := w.accounts()
	delete(accounts, "customer")
	return accounts
}

// otpUser is an account with one-time passwords.
type otpUser struct {
	account
	secret   string
	recovery []string
	token    string // of the session that switched them on
}

// enroll switches one-time passwords on. It uses up the code of the current step.
func (a account) enroll() otpUser {
	a.w.Helper()
	w, u := a.w, otpUser{account: a, token: a.logIn(password)}
	var setUp setUpOTPOut
	w.do("POST", "/auth/otp", u.token, object{"password": password}).ok(201, &setUp)
	var codes recoveryCodesOut
	w.do("POST", "/auth/otp/confirm", u.token, object{"code": w.code(setUp.Secret, 0)}).ok(200, &codes)
	u.secret, u.recovery = setUp.Secret, codes.RecoveryCodes
	return u
}

// tryCode logs in with the password and a one-time password.
func (u otpUser) tryCode(code string) *response {
	u.w.Helper()
	return u.w.do("POST", "/auth/login", "", altered(u.login, object{"otp": code}))
}

// wrong returns a code that no step near the server's clock has.
func (u otpUser) wrong() string {
	u.w.Helper()
	for n := range 10 {
		code, right := fmt.Sprintf("%06d", n), false
		for step := -2; step <= 2; step++ {
			right = right || code == u.w.code(u.secret, step)
		}
		if !right {
			return code
		}
	}
	panic("unreachable")
}

func (u otpUser) enabled() bool {
	u.w.Helper()
	var me meOut
	u.w.do("GET", "/auth/me", u.token, nil).ok(200, &me)
	return me.User.OTPEnabled
}

func TestSetUpOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.otpAccounts() {
		t.Run(name, func(t *testing.T) {
			u := otpUser{account: a, token: a.logIn(password)}
			confirm := func(code string) *response {
				return w.do("POST", "/auth/otp/confirm", u.token, object{"code": code})
			}
			confirm("123456").refused(app.CodeConflict) // nothing is pending
			w.do("POST", "/auth/otp/recovery-codes", u.token, object{"password": password}).refused(app.CodeConflict)
			off := w.do("DELETE", "/auth/otp", u.token, object{"password": password}).refused(app.CodeNotFound)
			if got := off.body.Error.Message; got != "one-time passwords are not on" {
				t.Errorf("turn off one-time passwords that are not on: got the message %q, want the reason", got)
			}
			w.do("POST", "/auth/otp", u.token, object{"password": "wrong"}).refused(app.CodeInvalidCredentials)
			w.do("POST", "/auth/otp", u.token, object{}).refused(app.CodeValidationFailed, "password")

			var first, second setUpOTPOut
			w.do("POST", "/auth/otp", u.token, object{"password": password}).ok(201, &first)
			link, err := url.Parse(first.OTPAuthURL)
			w.must(err)
			email := a.login["email"].(string)
			if link.Scheme != "otpauth" || link.Host != "totp" || link.Path != "/Comanda api.test:"+email ||
				link.Query().Get("secret") != first.Secret || link.Query().Get("issuer") != "Comanda api.test" {
				t.Errorf("otpauthUrl: got %s, want the secret, the email and the issuer Comanda api.test",
					first.OTPAuthURL)
			}
			u.secret = first.Secret
			w.do("POST", "/auth/otp", u.token, object{"password": password}).ok(201, &second)
			u.tryLogin(password).ok(200, nil) // a pending setup changes nothing
			confirm(w.code(first.Secret, 0)).refused(app.CodeValidationFailed, "code")
			confirm("").refused(app.CodeValidationFailed, "code")
			if u.enabled() {
				t.Error("one-time passwords before a code confirms them: got enabled, want disabled")
			}
			var codes recoveryCodesOut
			confirm(w.code(second.Secret, 0)).ok(200, &codes)
			if len(codes.RecoveryCodes) != 10 || !u.enabled() {
				t.Errorf("got %d recovery codes, enabled %t, want 10 and true", len(codes.RecoveryCodes), u.enabled())
			}
			w.do("POST", "/auth/otp", u.token, object{"password": password}).refused(app.CodeConflict)
			confirm(w.code(second.Secret, 1)).refused(app.CodeConflict)

			stored := w.text(`SELECT concat_ws(' ', otp_secret, recovery_hashes, encode(otp_secret, 'escape'))
				FROM users WHERE email = $1`, email)
			log := w.log.String()
			for _, secret := range append(codes.RecoveryCodes, first.Secret, second.Secret) {
				if strings.Contains(stored, secret) || strings.Contains(log, secret) {
					t.Errorf("the database or the log contains the secret %s", secret)
				}
			}
		})
	}
}

// A setup that is not confirmed within ten minutes ends.
func TestPendingOTPExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.otpAccounts()["user"]
	token := a.logIn(password)
	var setUp setUpOTPOut
	w.do("POST", "/auth/otp", token, object{"password": password}).ok(201, &setUp)
	w.now = w.now.Add(10 * time.Minute)
	w.do("POST", "/auth/otp/confirm", token, object{"code": w.code(setUp.Secret, 0)}).refused(app.CodeConflict)
	w.do("POST", "/auth/otp", token, object{"password": password}).ok(201, &setUp)
	w.now = w.now.Add(10*time.Minute - time.Second)
	token = a.logIn(password)
	w.do("POST", "/auth/otp/confirm", token, object{"code": w.code(setUp.Secret, 0)}).ok(200, nil)
}

func TestLoginWithOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.otpAccounts() {
		t.Run(name, func(t *testing.T) {
			u := a.enroll()
			u.tryLogin("wrong").refused(app.CodeInvalidCredentials)
			w.do("POST", "/auth/login", "", altered(u.login, object{"password": "wrong", "otp": w.code(u.secret, 1)})).
				refused(app.CodeInvalidCredentials) // which does not use the code up
			u.tryLogin(password).refused(app.CodeOTPRequired)
			u.tryCode("").refused(app.CodeOTPRequired)
			u.tryCode(u.wrong()).refused(app.CodeInvalidCredentials)
			u.tryCode(w.code(u.secret, 0)).refused(app.CodeInvalidCredentials) // used by the setup
			u.tryCode(w.code(u.secret, 2)).refused(app.CodeInvalidCredentials) // too early
			next := w.code(u.secret, 1)                                        // the clock of the device is fast
			u.tryCode(next[:3]+" "+next[3:]).ok(200, nil)
			u.tryCode(next).refused(app.CodeInvalidCredentials)
			w.now = w.now.Add(time.Minute)
			u.tryCode(next).refused(app.CodeInvalidCredentials) // used, and still within the tolerance
			w.now = w.now.Add(time.Minute)
			late := w.code(u.secret, 0)
			w.now = w.now.Add(30 * time.Second) // the clock of the device is slow
			u.tryCode(late).ok(200, nil)
			late = w.code(u.secret, 0)
			w.now = w.now.Add(time.Minute)
			u.tryCode(late).refused(app.CodeInvalidCredentials)
			u.tryCode(w.code(u.secret, 0)).ok(200, nil)
		})
	}
}

// Of concurrent logins with the same code or recovery code, exactly one wins.
func TestConcurrentOTPs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.otpAccounts() {
		u := a.enroll()
		for kind, code := range map[string]string{"code": w.code(u.secret, 1), "recovery code": u.recovery[3]} {
			var wait sync.WaitGroup
			results := make(chan int, 8)
			for range cap(results) {
				wait.Go(func() { results <- u.tryCode(code).Code })
			}
			wait.Wait()
			close(results)
			counts := map[int]int{}
			for status := range results {
				counts[status]++
			}
			if diff := cmp.Diff(map[int]int{200: 1, 401: 7}, counts); diff != "" {
				t.Errorf("statuses of logins of the %s with one %s (-want +got):\n%s", name, kind, diff)
			}
			w.exec("DELETE FROM rate_limits")
		}
	}
}

// An operation that ends with 503 because of a locked row does not use a code up.
func TestUnavailableKeepsTheCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, _ := w.serverWithLocks(24, 10*time.Millisecond)
	for name, a := range w.otpAccounts() {
		u := a.enroll()
		for operation, again := range map[string]app.Code{
			"login": app.CodeInvalidCredentials, "reauthenticate": app.CodeInvalidCredentials,
			"accept-invite": app.CodeTokenInvalid,
		} {
			if operation == "accept-invite" && name != "user" { // platform administrators join no store
				continue
			}
			for kind, code := range map[string]func() string{
				"code":          func() string { return w.code(u.secret, 1) },
				"recovery code": func() string { u.recovery = u.recovery[1:]; return u.recovery[0] },
			} {
				w.run(name+" "+operation+" with a "+kind, func(*testing.T) {
					w.now = w.now.Add(30 * time.Second)
					body, token := object{"password": password, "otp": code()}, ""
					switch operation {
					case "login":
						body["email"] = u.login["email"]
					case "reauthenticate":
						token = u.token
					case "accept-invite":
						body["token"] = w.invited(altered(grace("STAFF", w.stores["sibling"].id),
							object{"email": u.login["email"]}))
					}
					try := func() *response { return w.doOn(server, "POST", "/auth/"+operation, token, body) }
					release := w.held("LOCK TABLE sessions IN SHARE MODE")
					try().refused(app.CodeUnavailable)
					release()
					try().ok(200, nil)
					try().refused(again)
					w.exec("DELETE FROM memberships WHERE store_id = $1 AND user_id = $2", w.stores["sibling"].id,
						w.users["ada"].ID)
				})
			}
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.otpAccounts() {
		t.Run(name, func(t *testing.T) {
			u := a.enroll()
			u.tryCode(u.recovery[0]).ok(200, nil)
			u.tryCode(u.recovery[0]).refused(app.CodeInvalidCredentials)
			u.tryCode(strings.ToUpper(strings.ReplaceAll(u.recovery[1], "-", " "))).ok(200, nil)
			w.do("POST", "/auth/otp/recovery-codes", u.token, object{"password": "wrong"}).
				refused(app.CodeInvalidCredentials)
			u.tryCode(u.recovery[2]).ok(200, nil)
			var fresh recoveryCodesOut
			w.do("POST", "/auth/otp/recovery-codes", u.token, object{"password": password}).ok(200, &fresh)
			u.tryCode(u.recovery[3]).refused(app.CodeInvalidCredentials)
			if len(fresh.RecoveryCodes) != 10 {
				t.Errorf("got %d recovery codes, want 10", len(fresh.RecoveryCodes))
			}
			for _, code := range fresh.RecoveryCodes {
				u.tryCode(code).ok(200, nil)
			}
			u.tryCode(fresh.RecoveryCodes[9]).refused(app.CodeInvalidCredentials)
			u.tryCode(w.code(u.secret, 1)).ok(200, nil)
		})
	}
}

// A stolen session cannot switch one-time passwords off or replace the recovery codes.
func TestDisableOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.otpAccounts() {
		t.Run(name, func(t *testing.T) {
			u := a.enroll()
			w.do("DELETE", "/auth/otp", u.token, object{"password": "wrong"}).refused(app.CodeInvalidCredentials)
			w.do("DELETE", "/auth/otp", u.token, object{}).refused(app.CodeValidationFailed, "password")
			w.do("DELETE", "/auth/otp", u.token, nil).refused(app.CodeValidationFailed)
			w.do("DELETE", "/auth/otp", "", object{"password": password}).refused(app.CodeTokenInvalid)
			u.tryLogin(password).refused(app.CodeOTPRequired)
			w.do("DELETE", "/auth/otp", u.token, object{"password": password}).ok(204, nil)
			w.do("DELETE", "/auth/otp", u.token, object{"password": password}).refused(app.CodeNotFound)
			u.tryLogin(password).ok(200, nil)
			if u.enabled() {
				t.Error("one-time passwords after their removal: got enabled, want disabled")
			}
			again := a.enroll() // with the code of the same step, but another secret
			again.tryCode(u.recovery[0]).refused(app.CodeInvalidCredentials)
		})
	}
}

// A reset of the password does not switch off one-time passwords, and it does not use up or accept a code.
func TestResetLeavesOTPOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	for _, a := range w.otpAccounts() {
		u := a.enroll()
		a.confirm(a.asked(s), otherPassword).ok(200, nil)
		u.tryLogin(otherPassword).refused(app.CodeOTPRequired)
		u.login = altered(u.login, object{"password": otherPassword})
		u.tryCode(w.code(u.secret, 1)).ok(200, nil)
		u.tryCode(u.recovery[0]).ok(200, nil)
	}
}

// An existing user with one-time passwords needs one to accept an invitation. Wrong ones end the invitation.
func TestAcceptInvitationWithOTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("moved", nil, "sibling")
	u := account{w, "/auth", credentials("moved@example.com", password)}.enroll()
	body := altered(grace("STAFF", w.stores["own"].id), object{"email": "moved@example.com"})
	token := w.invited(body)
	try := func(password, code string) *response {
		t.Helper()
		return w.do("POST", "/auth/accept-invite", "", altered(accept(token, password), object{"otp": code}))
	}
	try("a wrong password", w.code(u.secret, 1)).refused(app.CodeInvalidCredentials)
	try(password, "").refused(app.CodeOTPRequired)
	try(password, u.wrong()).refused(app.CodeInvalidCredentials)
	try(password, w.code(u.secret, 0)).refused(app.CodeInvalidCredentials)
	try(password, w.code(u.secret, 1)).ok(200, nil)
	w.exec("DELETE FROM memberships WHERE user_id = $1 AND store_id = $2", w.users["moved"].ID, w.stores["own"].id)
	token = w.invited(body)
	for range 10 {
		try(password, u.wrong()).refused(app.CodeInvalidCredentials)
	}
	try(password, u.recovery[0]).refused(app.CodeTokenInvalid)
}

// Recovery codes are stored with a slow hash. A login computes one for them, a wrong code of a setup none.
func TestHashesOfRecoveryCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.otpAccounts()["user"]
	u := otpUser{account: a, token: a.logIn(password)}
	hashes := 0
	w.server.passwords.runs = func() { hashes++ }
	costs := func(what string, want int, request func() *response) *response {
		t.Helper()
		hashes = 0
		response := request()
		if hashes != want {
			t.Errorf("hashes of %s: got %d, want %d", what, hashes, want)
		}
		return response
	}
	var setUp setUpOTPOut
	w.do("POST", "/auth/otp", u.token, object{"password": password}).ok(201, &setUp)
	u.secret = setUp.Secret
	confirm := func(code string) func() *response {
		return func() *response { return w.do("POST", "/auth/otp/confirm", u.token, object{"code": code}) }
	}
	replace := func() *response {
		return w.do("POST", "/auth/otp/recovery-codes", u.token, object{"password": password})
	}
	costs("codes while one-time passwords are off", 1, replace).refused(app.CodeConflict)
	costs("a wrong code", 0, confirm(u.wrong())).refused(app.CodeValidationFailed, "code")
	var codes recoveryCodesOut
	costs("a setup", 10, confirm(w.code(u.secret, 0))).ok(200, &codes)
	costs("another setup", 0, confirm(w.code(u.secret, 0))).refused(app.CodeConflict)
	costs("other codes", 11, replace).ok(200, &codes)
	if n := w.text(`SELECT count(DISTINCT split_part(hash, '$', 5)) || ' ' || count(DISTINCT hash)
		FROM users, unnest(recovery_hashes) AS hash WHERE hash LIKE '$argon2id$%'`); n != "1 10" {
		t.Errorf("salts and hashes: got %s, want 1 10", n)
	}
	try := func(code string) func() *response { return func() *response { return u.tryCode(code) } }
	costs("a code", 1, try(w.code(u.secret, 1))).ok(200, nil)
	costs("a recovery code", 2, try(codes.RecoveryCodes[0])).ok(200, nil)
	costs("a wrong recovery code", 2, try(codes.RecoveryCodes[0])).refused(app.CodeInvalidCredentials)
	for range otp.Failures - 1 {
		u.tryCode(u.wrong()).refused(app.CodeInvalidCredentials)
	}
	costs("a recovery code after all failures", 1, try(codes.RecoveryCodes[1])).refused(app.CodeRateLimited)
}
