package api

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// mailingServer is a server with a mail server configured.
func (w *world) mailingServer(change func(*Config)) *Server {
	w.Helper()
	db, err := persistence.Open(persistence.Config{URL: w.db.URL, SystemURL: w.db.SystemURL, MaxConns: 4,
		Sealer: persistencetest.Keyring().Sealer(), Mails: true})
	w.must(err)
	w.Cleanup(func() { db.Close() })
	s := w.serverOn(db, change)
	return s
}

// mailed removes the newest mail and returns its token, "" if there is no mail.
func (w *world) mailed(s *Server) string {
	w.Helper()
	if mail := w.mail(s); mail != nil {
		return mail.Token.Reveal()
	}
	return ""
}

// mail removes all jobs and returns the newest mail with a link to reset a password, nil if there is no such mail.
func (w *world) mail(s *Server) *app.ResetMail {
	w.Helper()
	for _, mail := range slices.Backward(w.claimMails(s)) {
		if mail.Reset != nil {
			return mail.Reset
		}
	}
	return nil
}

// claimMails removes all jobs and returns their mails, as a worker claims them.
func (w *world) claimMails(s *Server) (mails []app.Mail) {
	w.Helper()
	for _, job := range persistencetest.TakeJobs(w, w.db, w.now.Add(time.Hour)) {
		if job.Kind != app.JobMail {
			continue
		}
		mail, err := s.db.ClaimMail(w.Context(), w.now, time.Minute, job.StoreID, app.MailID(job.Subject))
		w.must(err)
		mails = append(mails, mail)
	}
	return mails
}

// An account gets five mails an hour and has at most five live links. The sixth request gets the same response.
func TestResetMailsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	for name, a := range w.accounts() {
		var tokens []string
		first := a.ask(s).ok(202, nil).same()
		s.resets.wait()
		tokens = append(tokens, w.mailed(s))
		for range app.PasswordResetsPerHour - 1 {
			w.now = w.now.Add(time.Millisecond)
			tokens = append(tokens, a.asked(s))
		}
		if slices.Contains(tokens, "") {
			t.Errorf("mails to the %s: got %q, want five", name, tokens)
		}
		response := a.ask(s).ok(202, nil)
		s.resets.wait()
		if token := w.mailed(s); token != "" || response.same() != first {
			t.Errorf("sixth request of the %s: got a mail %t and %s, want none and %s", name, token != "",
				response.same(), first)
		}
		w.later(time.Hour)
		w.now = w.now.Add(time.Millisecond)
		if a.asked(s) == "" {
			t.Errorf("%s after an hour: got no mail, want one", name)
		}
		a.confirm(tokens[0], otherPassword).refused(app.CodeTokenInvalid) // six would be live
		a.confirm(tokens[1], otherPassword).ok(200, nil)
	}
}

// Mails to the accounts of a suspended website are not sent; its response is that of every request.
func TestNoResetMailsOfSuspendedWebsites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	w.suspend(true)
	for _, name := range []string{"user", "customer"} {
		if accounts[name].asked(s) != "" {
			t.Errorf("%s of a suspended website: got a mail, want none", name)
		}
	}
	if accounts["platform administrator"].asked(s) == "" {
		t.Error("platform administrator: got no mail, want one")
	}
}

// A mail that was enqueued before the suspension is not sent. A user who works for a further website gets it, in the
// name of that website.
func TestNoResetMailsAfterASuspension(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	w.withPassword("waiter", nil, "own", "foreign")
	accounts["user of a further website"] = account{w, "/auth", credentials("waiter@example.com", password)}
	w.exec("UPDATE users SET last_store_id = $1 WHERE id = $2", w.stores["own"].id, w.users["waiter"].ID)
	got := map[string]string{}
	for name, a := range accounts {
		a.ask(s).ok(202, nil)
		s.resets.wait()
		w.suspend(true)
		got[name] = "no mail"
		if mail := w.mail(s); mail != nil {
			got[name] = "mail of " + mail.Website
		}
		w.suspend(false)
	}
	want := map[string]string{
		"user": "no mail", "customer": "no mail", "platform administrator": "mail of ",
		"user of a further website": "mail of two.test",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}
}
