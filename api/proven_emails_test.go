package api

import (
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// strangersAddress is an account of an inviter who accepted the invitation of a stranger, whose link was shown, and
// switched one-time passwords on.
type strangersAddress struct {
	otpUser
	mailing *Server
}

func newStrangersAddress(t *testing.T) strangersAddress {
	t.Helper()
	w := newWorld(t)
	token := w.invited(grace("STAFF", w.stores["own"].id))
	w.do("POST", "/auth/accept-invite", "", accept(token, password)).ok(200, nil)
	a := account{w, "/auth", credentials("grace@example.com", password)}
	return strangersAddress{a.enroll(), w.mailingServer(func(*Config) {})}
}

// invite invites the stranger to the store of another website and returns the token, from the mail or as shown.
func (a strangersAddress) invite(mailed bool) string {
	a.w.Helper()
	w, s := a.w, a.w.server
	if mailed {
		s = a.mailing
	}
	w.exec(`DELETE FROM memberships WHERE store_id = $1 AND user_id <> $2`, w.stores["foreign"].id,
		w.users["FOREIGN"].ID)
	var out invitationOut
	w.doOn(s, "POST", "/users", w.tokens["FOREIGN"], grace("MANAGER")).ok(201, &out)
	if !mailed {
		return out.Token
	}
	for _, job := range slices.Backward(persistencetest.TakeJobs(w, w.db, w.now.Add(time.Hour))) {
		if job.Kind == app.JobMail {
			mail, err := s.db.ClaimMail(w.Context(), w.now, time.Minute, job.StoreID, app.MailID(job.Subject))
			w.must(err)
			return mail.Invitation.Token.Reveal()
		}
	}
	w.Fatal("the invitation was not mailed")
	return ""
}

func (a strangersAddress) accept(token, password string, change object) *response {
	a.w.Helper()
	return a.w.do("POST", "/auth/accept-invite", "", altered(accept(token, password), change))
}

// takenOver checks that nothing of the inviter's access is left: the account has another password and no one-time
// passwords.
func (a strangersAddress) takenOver() {
	a.w.Helper()
	a.alive(a.token).refused(app.CodeTokenRevoked)
	a.tryCode(a.w.code(a.secret, 1)).refused(app.CodeInvalidCredentials)
	a.tryLogin(otherPassword).ok(200, nil)
	if n := a.w.text(`SELECT count(*) FROM users WHERE email = 'grace@example.com'
		AND (otp_secret IS NOT NULL OR recovery_hashes <> '{}')`); n != "0" {
		a.w.Error("the account has the secret or the recovery codes of before")
	}
	var trail []app.AuditEntry
	a.w.do("GET", "/audit?action=otp.disabled", a.w.tokens["OWNER"], nil).ok(200, &trail)
	if len(trail) != 1 || trail[0].Details["reason"] != "email_proven" {
		a.w.Errorf("entries otp.disabled: got %+v, want one with the reason email_proven", trail)
	}
}

// staysClosed checks that the account has the password and the one-time passwords of the inviter.
func (a strangersAddress) staysClosed() {
	a.w.Helper()
	a.tryLogin(password).refused(app.CodeOTPRequired)
	a.tryLogin(otherPassword).refused(app.CodeInvalidCredentials)
}

// A mailed invitation does not replace the password of an existing account, which its user may have mistyped. The owner
// of the address resets the password first, which takes the account over, and then accepts.
func TestMailedInvitationTakesNothingOver(t *testing.T) {
	t.Parallel()
	a := newStrangersAddress(t)
	token := a.invite(true)
	for range app.MaxInvitationFailures - 1 {
		a.accept(token, otherPassword, object{"name": "Grace Hopper"}).refused(app.CodeInvalidCredentials)
	}
	a.alive(a.token).ok(200, nil)
	a.staysClosed()
	a.confirm(a.asked(a.mailing), otherPassword).ok(200, nil)
	a.takenOver()
	var out loginOut
	a.accept(token, otherPassword, nil).ok(200, &out)
	if len(out.Stores) != 2 {
		t.Errorf("accepted: got %d stores, want two", len(out.Stores))
	}

	// The email is proven now: a link does not take the account over again.
	a.login = credentials("grace@example.com", otherPassword)
	var setUp setUpOTPOut
	a.w.do("POST", "/auth/otp", out.AccessToken, object{"password": otherPassword}).ok(201, &setUp)
	a.w.do("POST", "/auth/otp/confirm", out.AccessToken, object{"code": a.w.code(setUp.Secret, 0)}).ok(200, nil)
	a.confirm(a.asked(a.mailing), goodPassword).ok(200, nil)
	a.tryLogin(goodPassword).refused(app.CodeOTPRequired)
}

// A mailed link that resets the password takes the account over, too. A link that the operator printed does not.
func TestMailedResetTakesOver(t *testing.T) {
	t.Parallel()
	a := newStrangersAddress(t)
	printed := NewResetToken(app.UserResetPrefix)
	a.w.must(a.w.db.CreateReset(t.Context(), a.w.now, app.Actor{}, "grace@example.com", printed))
	a.confirm(printed.Reveal(), password).ok(200, nil)
	a.staysClosed()
	a.confirm(a.asked(a.mailing), otherPassword).ok(200, nil)
	a.takenOver()
}

// An invitation whose link was shown takes nothing over: its inviter may not be the owner of the address either.
func TestShownInvitationTakesNothingOver(t *testing.T) {
	t.Parallel()
	a := newStrangersAddress(t)
	token := a.invite(false)
	a.accept(token, otherPassword, nil).refused(app.CodeInvalidCredentials)
	a.staysClosed()
	a.accept(token, password, object{"otp": a.w.code(a.secret, 1)}).ok(200, nil)
	a.confirm(a.asked(a.mailing), otherPassword).ok(200, nil) // still not proven
	a.takenOver()
}

// The right password and one-time password prove the same person: a mailed invitation then keeps both.
func TestMailedInvitationOfTheSamePerson(t *testing.T) {
	t.Parallel()
	a := newStrangersAddress(t)
	token := a.invite(true)
	a.accept(token, password, nil).refused(app.CodeOTPRequired)
	a.accept(token, password, object{"otp": a.wrong()}).refused(app.CodeInvalidCredentials)
	a.accept(token, password, object{"otp": a.w.code(a.secret, 1)}).ok(200, nil)
	a.alive(a.token).ok(200, nil)
	a.staysClosed()
	a.confirm(a.asked(a.mailing), otherPassword).ok(200, nil) // proven: the one-time passwords stay
	a.tryLogin(otherPassword).refused(app.CodeOTPRequired)
}

// A disabled user stays disabled, and the email of a user who accepted a mailed invitation is proven.
func TestAccountsThatAreNotTakenOver(t *testing.T) {
	t.Parallel()
	a := newStrangersAddress(t)
	a.w.must(a.w.db.DisableUser(t.Context(), a.w.now, app.Actor{}, "grace@example.com"))
	a.accept(a.invite(true), otherPassword, nil).refused(app.CodeInvalidCredentials)
	a.w.must(a.w.db.EnableUser(t.Context(), a.w.now, app.Actor{}, "grace@example.com"))
	a.staysClosed()

	a.w.exec("UPDATE users SET email = 'former@example.com' WHERE email = 'grace@example.com'")
	a.accept(a.invite(true), password, nil).ok(200, nil)
	a.accept(a.invite(true), otherPassword, nil).refused(app.CodeInvalidCredentials)
}
