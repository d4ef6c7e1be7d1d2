package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// emailWorld is a world with a mail server and the customer carol@example.com, who is logged in.
type emailWorld struct {
	*world
	server *Server
	carol  account
	id     app.CustomerID
	token  string // access token
}

const newEmail = "new-carol@example.com"

func newEmailWorld(t *testing.T) *emailWorld {
	t.Helper()
	w := &emailWorld{world: newWorld(t)}
	w.carol = w.accounts()["customer"]
	w.server = w.mailingServer(func(*Config) {})
	w.token = w.carol.logIn(password)
	w.id = app.CustomerID(w.text("SELECT id FROM customers WHERE email = 'carol@example.com' AND kind = 'registered'"))
	return w
}

// request requests a change of Carol's email.
func (w *emailWorld) request(change object) *response {
	w.Helper()
	body := altered(object{"email": newEmail, "password": password}, change)
	return w.doOn(w.server, "POST", "/customer-auth/email", w.token, body)
}

func (w *emailWorld) confirmEmail(token string) *response {
	w.Helper()
	return w.do("POST", "/customer-auth/email/confirm", "", object{"token": token})
}

// mails takes the queued mails by kind.
func (w *emailWorld) mails() map[app.MailKind]app.Mail {
	w.Helper()
	mails := map[app.MailKind]app.Mail{}
	for _, job := range persistencetest.TakeJobs(w, w.db, w.now.Add(time.Hour)) {
		if job.Kind == app.JobMail {
			mail, err := w.server.db.ClaimMail(w.Context(), w.now, time.Minute, job.StoreID, app.MailID(job.Subject))
			w.must(err)
			mails[mail.Kind] = mail
		}
	}
	return mails
}

// requested requests a change and returns the token of the mail.
func (w *emailWorld) requested(change object) string {
	w.Helper()
	w.request(change).ok(http.StatusAccepted, nil)
	mail := w.mails()[app.MailCustomerEmailChange]
	if mail.Reset == nil {
		w.Fatalf("mail to the new address: got %+v, want one with a link", mail)
	}
	return mail.Reset.Token.Reveal()
}

func TestChangeEmail(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	reset := w.carol.asked(w.server)
	before := len(w.eventData("own", app.EventCustomerUpdated))
	w.request(nil).ok(http.StatusAccepted, nil)
	mails := w.mails()
	change, notice := mails[app.MailCustomerEmailChange], mails[app.MailCustomerEmailNotice]
	if change.Email != newEmail || change.Name != "" || change.Reset == nil || change.Reset.Website != "one.test" {
		t.Fatalf("mail to the new address: got %+v, want a link in the name of the website only", change)
	}
	token := change.Reset.Token.Reveal()
	if notice.Email != "carol@example.com" || notice.Notice == nil || notice.Notice.Website != "one.test" {
		t.Errorf("notice: got %+v, want one to the current email", notice)
	}
	if n := w.text(`SELECT count(*) FROM mails WHERE position($1::text::bytea IN secret) > 0`, token); n != "0" ||
		strings.Contains(w.log.String(), token) || strings.Contains(w.log.String(), newEmail) {
		t.Errorf("mails with the token as plain text: got %s, want 0, and neither token nor email in the log", n)
	}
	var carol app.Customer
	w.do("GET", "/customers/"+string(w.id), w.token, nil).ok(200, &carol)
	if carol.Email != "carol@example.com" {
		t.Errorf("email before the confirmation: got %s, want the current one", carol.Email)
	}

	w.now = w.now.Add(app.EmailChangeTTL - time.Second)
	w.carol.confirm(token, otherPassword).refused(app.CodeTokenInvalid) // of another operation
	if cookies := w.confirmEmail(token).ok(200, nil).Header().Values("Set-Cookie"); cookies != nil {
		t.Errorf("confirmation: got cookies %q, want none", cookies)
	}
	w.confirmEmail(token).refused(app.CodeTokenInvalid)
	w.carol.confirm(reset, otherPassword).refused(app.CodeTokenInvalid)
	w.carol.tryLogin(password).refused(app.CodeInvalidCredentials)
	w.carol.login["email"] = strings.ToUpper(newEmail)
	var after app.Customer
	w.do("GET", "/customers/"+string(w.id), w.carol.logIn(password), nil).ok(200, &after)
	carol.Email, carol.Version, carol.UpdatedAt = newEmail, carol.Version+1, app.At(w.now)
	if diff := cmp.Diff(carol, after); diff != "" {
		t.Errorf("customer after the change (-want +got):\n%s", diff)
	}
	if proven := w.text("SELECT email_proven::text FROM customers WHERE id = $1", w.id); proven != "true" {
		t.Errorf("proven: got %s, want true", proven)
	}
	events := w.eventData("own", app.EventCustomerUpdated)
	var event app.CustomerUpdated
	w.read(events[len(events)-1], &event)
	event.Customer = event.Own()
	if diff := cmp.Diff(app.CustomerUpdated{Customer: carol, UpdatedFields: []string{"email"}}, event); diff != "" ||
		len(events) != before+1 {
		t.Errorf("%d new events, want 1 (-want +got):\n%s", len(events)-before, diff)
	}
	got := w.text(`SELECT string_agg(concat_ws(' ', action, actor_realm, actor_id = $1, target = $1, details), ', '
		ORDER BY at) FROM audit WHERE action LIKE 'email.%'`, w.id)
	if want := "email.change_requested customer t t {}, email.changed customer t t {}"; got != want {
		t.Errorf("audit entries: got %q, want %q", got, want)
	}
}

func TestRefusedEmailChanges(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	for name, c := range map[string]struct {
		change object
		code   app.Code
		path   string
	}{
		"a wrong password":  {object{"password": "swordfish"}, app.CodeInvalidCredentials, ""},
		"no password":       {object{"password": nil}, app.CodeValidationFailed, "password"},
		"no email":          {object{"email": nil}, app.CodeValidationFailed, "email"},
		"no address":        {object{"email": "carol"}, app.CodeValidationFailed, "email"},
		"a long email":      {object{"email": strings.Repeat("x", 250) + "@example.com"}, app.CodeValidationFailed, "email"},
		"the current email": {object{"email": "carol@example.com"}, app.CodeValidationFailed, "email"},
		"a store":           {object{"storeId": w.stores["own"].id}, app.CodeValidationFailed, "storeId"},
	} {
		w.run(name, func(*testing.T) {
			if a := w.request(c.change); c.path == "" {
				a.refused(c.code)
			} else {
				a.refused(c.code, c.path)
			}
		})
	}
	a := w.do("POST", "/customer-auth/email", w.token, object{"email": newEmail, "password": password}).
		refused(app.CodeUnavailable)
	if a.Header().Get("Retry-After") == "" {
		t.Error("without a mail server: got no Retry-After, want one")
	}
	w.doOn(w.server, "POST", "/customer-auth/email", w.tokens["OWNER"],
		object{"email": newEmail, "password": password}).refused(app.CodeTokenInvalid)
	w.exec("UPDATE customers SET password_hash = '' WHERE id = $1", w.id)
	if a := w.request(nil).refused(app.CodeConflict); !strings.Contains(a.body.Error.Message, "password-reset") {
		t.Errorf("account without a password: got %s, want the way to a password", a.Body)
	}
	w.server.failures.wait()
	if got := w.text(`SELECT string_agg(concat_ws(' ', action, details ->> 'reason'), ', ') FROM audit
		WHERE target = $1 AND action <> 'login.succeeded'`, w.id); got != "login.failed password" {
		t.Errorf("audit entries: got %q, want the wrong password", got)
	}
	if mails := w.mails(); len(mails) != 0 {
		t.Errorf("mails: got %v, want none", mails)
	}
	w.do("POST", "/customer-auth/logout", w.token, nil).ok(200, nil)
	w.request(nil).refused(app.CodeTokenRevoked)
}

// A request for an email of another account has the same response, statements and mails. Only the owner of the email
// learns of the account.
func TestEmailChangesDoNotRevealAccounts(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	w.addCustomer("own", "taken@example.com")
	free := w.request(nil).ok(202, nil).same()
	w.mails()
	a := w.request(object{"email": "Taken@example.com"}).ok(202, nil)
	mails := w.mails()
	if a.same() != free || len(mails) != 2 || mails[app.MailCustomerEmailChange].Email != "Taken@example.com" {
		t.Fatalf("taken email: got %s and %d mails, want %s and 2", a.same(), len(mails), free)
	}
	token := mails[app.MailCustomerEmailChange].Reset.Token.Reveal()
	w.confirmEmail(token).refused(app.CodeEmailTaken)
	w.confirmEmail(token).refused(app.CodeEmailTaken)
	w.carol.logIn(password)

	wire := newWire(t, w.db, func(c *persistence.Config) { c.Mails = true })
	counted := w.serverOn(wire.db, func(*Config) {})
	cost := func(email string) (statements string) {
		body := object{"email": email, "password": password}
		w.later(time.Hour)
		for range 2 { // the first one connects and prepares
			wire.take()
			w.doOn(counted, "POST", "/customer-auth/email", w.token, body).ok(202, nil)
			statements = strings.Join(slices.DeleteFunc(wire.take(), func(statement string) bool {
				return strings.Contains(statement, "pg_notify") // in the background
			}), ";")
		}
		return regexp.MustCompile("_[0-9a-f]{32}").ReplaceAllString(statements, "_id")
	}
	if a, b := cost(newEmail), cost("taken@example.com"); a != b || a == "" {
		t.Errorf("statements: got %q for a free email and %q for a taken one, want the same", a, b)
	}
}

func TestEndedEmailChanges(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	current := password
	for what, end := range map[string]func(){
		"a newer request": func() { w.requested(object{"email": "newer@example.com", "password": current}) },
		"a change of the password": func() {
			next := current + "?"
			w.do("POST", "/customer-auth/password", w.token, newPasswordBody(current, next)).ok(200, nil)
			current = next
		},
		"a reset of the password": func() {
			current += "!"
			w.carol.confirm(w.carol.asked(w.server), current).ok(200, nil)
			w.token = w.carol.logIn(current)
		},
		"disabling": func() {
			w.do("PATCH", "/customers/"+string(w.id), w.tokens["MANAGER"], object{"disabled": true}).ok(200, nil)
			w.do("PATCH", "/customers/"+string(w.id), w.tokens["MANAGER"], object{"disabled": false}).ok(200, nil)
			w.token = w.carol.logIn(current)
		},
		"a change of the email": func() {
			w.exec("UPDATE customers SET email = 'x' || email WHERE id = $1", w.id)
			w.exec("UPDATE customers SET email = substr(email, 2) WHERE id = $1", w.id)
		},
		"an hour": func() { w.exec("UPDATE customer_email_changes SET expires_at = $1", w.now) },
	} {
		w.later(time.Hour)
		token := w.requested(object{"password": current})
		end()
		a := w.confirmEmail(token)
		a.what += " after " + what
		if a.refused(app.CodeTokenInvalid).body.Error.Message != "the link is no longer valid; request a new one" {
			t.Errorf("after %s: got %s, want the message of ended links", what, a.Body)
		}
	}
	// A wrong guess, a login and the end of other sessions do not.
	w.later(time.Hour)
	token := w.requested(object{"password": current})
	w.request(object{"password": "swordfish"}).refused(app.CodeInvalidCredentials)
	w.do("DELETE", "/customer-auth/sessions", w.token, nil).ok(204, nil)
	w.carol.logIn(current)
	w.confirmEmail(token[1:]).refused(app.CodeTokenInvalid)
	w.confirmEmail(token).ok(200, nil)
}

// A claim of the account by the owner of the current email ends the request of the former holder.
func TestEmailChangeOfAClaimedAccount(t *testing.T) {
	t.Parallel()
	social := newSocialWorld(t)
	w := &emailWorld{world: social.world}
	w.carol, w.server = w.accounts()["customer"], w.mailingServer(func(*Config) {})
	w.token = w.carol.logIn(password)
	token := w.requested(nil)
	social.login(app.ProviderApple, social.provider.sign("one", social.claims(object{"email": "carol@example.com"}))).
		ok(200, nil)
	w.confirmEmail(token).refused(app.CodeTokenInvalid)
	w.request(nil).refused(app.CodeTokenRevoked)
}

// Of concurrent confirmations with one token, and of two accounts for one email, one succeeds.
func TestEmailChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	confirmations := func(tokens ...string) map[int]int {
		var requests []*http.Request
		for _, token := range tokens {
			r := httptest.NewRequest("POST", issuer+"/customer-auth/email/confirm", reader(t, object{"token": token}))
			r.Header.Set("Content-Type", "application/json")
			requests = append(requests, r)
		}
		statuses := map[int]int{}
		for _, response := range w.atOnce(requests...) {
			statuses[response.Code]++
		}
		return statuses
	}
	token := w.requested(nil)
	if got := confirmations(token, token, token, token); got[200] != 1 || got[401] != 3 {
		t.Errorf("one token four times: got the statuses %v, want one 200 and three 401", got)
	}
	first := w.requested(object{"email": "both@example.com"})
	dave := w.addCustomer("own", "dave@example.com")
	w.exec("UPDATE customers SET password_hash = (SELECT password_hash FROM customers WHERE id = $1) WHERE id = $2",
		w.id, dave.Customer.ID)
	w.token = dave.AccessToken
	second := w.requested(object{"email": "BOTH@example.com"})
	if got := confirmations(first, second); got[200] != 1 || got[409] != 1 {
		t.Errorf("one email for two accounts: got the statuses %v, want one 200 and one 409", got)
	}
}

func TestEmailChangesAreLimited(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	for range app.EmailChangesPerHour {
		w.request(nil).ok(202, nil)
	}
	w.request(nil).refused(app.CodeRateLimited)
	w.request(object{"password": "swordfish"}).refused(app.CodeInvalidCredentials)
	w.later(time.Hour)
	w.request(nil).ok(202, nil)

	strict, elsewhere := w.strict(), from("198.51.100.7")
	w.token = w.carol.logIn(password)
	for range 10 { // with other operations of the session
		w.doOn(strict, "GET", "/customer-auth/sessions", w.token, nil).ok(200, nil)
	}
	w.doOn(strict, "POST", "/customer-auth/email", w.token, object{"email": newEmail, "password": password}).
		refused(app.CodeRateLimited)
	for range 10 {
		w.doOn(strict, "POST", "/customer-auth/email/confirm", "", object{"token": "unknown"}, elsewhere).
			refused(app.CodeTokenInvalid)
	}
	w.doOn(strict, "POST", "/customer-auth/email/confirm", "", object{"token": "unknown"}, elsewhere).
		refused(app.CodeRateLimited)
}

// An erasure removes the requested email, and both mails are not sent.
func TestErasureEndsAnEmailChange(t *testing.T) {
	t.Parallel()
	w := newEmailWorld(t)
	var export app.CustomerExport
	w.do("GET", "/customers/"+string(w.id)+"/export", w.token, nil).ok(200, &export)
	if export.EmailChange != nil {
		t.Errorf("export: got the change %+v, want none", export.EmailChange)
	}
	w.request(object{"email": personalEmail}).ok(202, nil)
	w.do("GET", "/customers/"+string(w.id)+"/export", w.token, nil).ok(200, &export)
	want := &app.EmailChange{
		Email: personalEmail, CreatedAt: app.At(w.now), ExpiresAt: app.At(w.now.Add(app.EmailChangeTTL)),
	}
	if diff := cmp.Diff(want, export.EmailChange); diff != "" {
		t.Errorf("export of the change (-want +got):\n%s", diff)
	}
	w.do("DELETE", "/customers/"+string(w.id), w.token, object{"password": password}).ok(204, nil)
	if places := w.placesOf(personalEmail, "carol@example.com"); len(places) > 0 {
		for _, place := range places {
			if !strings.HasPrefix(place, "outbox: ") { // until the deliveries have ended
				t.Errorf("personal data after the erasure: got %s, want none", place)
			}
		}
	}
	if got := w.text("SELECT string_agg(concat_ws(' ', status, secret), ', ') FROM mails"); got != "obsolete, obsolete" {
		t.Errorf("mails: got %s, want both obsolete", got)
	}
}
