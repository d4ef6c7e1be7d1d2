package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

const lease = time.Minute

// enqueued returns the mails that have been enqueued since the last call.
func enqueued(t *testing.T, db *persistencetest.Database) (ids []app.MailID) {
	t.Helper()
	for _, job := range persistencetest.TakeJobs(t, db, noon.Add(time.Hour)) {
		if job.Kind != app.JobMail {
			t.Errorf("job: got %+v, want a mail", job)
		}
		ids = append(ids, app.MailID(job.Subject))
	}
	return ids
}

func TestInvitationMail(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	r.Invite(t, db.DB, "not mailed")
	if ids := enqueued(t, db); len(ids) != 0 || db.Mails() || !with.Mails() {
		t.Errorf("mails without a mail server: got %q, want none", ids)
	}
	invitation := r.Invite(t, with, "a-token")
	id := enqueued(t, db)[0]
	if n := count(t, db, `SELECT count(*) FROM mails WHERE mails::text LIKE '%a-token%'
		OR position('a-token'::bytea IN secret) > 0`); n != 0 {
		t.Errorf("mails with the token as plain text: got %d, want 0", n)
	}
	mail, err := with.ClaimMail(t.Context(), noon, lease, r.Stores[0], id)
	must(t, err)
	want := app.Mail{
		ID: id, Kind: app.MailInvitation, Status: app.MailQueued, Name: "Grace", Email: "grace@example.com",
		Invitation: &app.InvitationMail{
			Inviter: "Owner", Website: "one.example", Stores: []string{"one.example", "one.example"},
			Role: app.RoleStaff, ExpiresAt: invitation.ExpiresAt,
		},
	}
	if mail.Invitation == nil || mail.Invitation.Token.Reveal() != "a-token" {
		t.Fatalf("mail: got %+v, want the token of the invitation", mail)
	}
	mail.Invitation.Token = app.Secret{}
	if diff := cmp.Diff(want, mail, cmp.AllowUnexported(app.Secret{})); diff != "" {
		t.Errorf("mail (-want +got):\n%s", diff)
	}

	for at, code := range map[time.Time]app.Code{noon: app.CodeConflict,
		noon.Add(lease - time.Millisecond): app.CodeConflict, noon.Add(lease): ""} {
		_, err := with.ClaimMail(t.Context(), at, 0, r.Stores[0], id)
		if app.CodeOf(err) != code {
			t.Errorf("ClaimMail at %s: got error %v, want code %q", at, err, code)
		}
	}
	for _, store := range []app.StoreID{r.Stores[1], "sto_unknown"} {
		_, err := with.ClaimMail(t.Context(), noon.Add(lease), lease, store, id)
		if app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("ClaimMail in store %s: got error %v, want %s", store, err, app.CodeNotFound)
		}
		must(t, with.EndMail(t.Context(), noon, store, id, app.MailSent, ""))
	}
	if n := count(t, db, "SELECT count(*) FROM mails WHERE status = 'queued' AND secret IS NOT NULL"); n != 1 {
		t.Errorf("queued mails after EndMail in other stores: got %d, want 1", n)
	}
	must(t, with.EndMail(t.Context(), noon, r.Stores[0], id, app.MailSent, ""))
	must(t, with.EndMail(t.Context(), noon, r.Stores[0], id, app.MailFailed, "given up")) // has no effect
	mail, err = with.ClaimMail(t.Context(), noon.Add(lease), lease, r.Stores[0], id)
	if err != nil || mail.Status != app.MailSent || mail.Invitation != nil {
		t.Errorf("ClaimMail of an ended mail: got %+v and error %v, want sent without content", mail, err)
	}
	if n := count(t, db, "SELECT count(*) FROM mails WHERE secret IS NOT NULL"); n != 0 {
		t.Errorf("mails with a secret after their end: got %d, want 0", n)
	}
}

// The first OWNER of a website gets an invitation mail.
func TestFirstOwnerInvitationMail(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	admin := open(t, db, "one.example").Owner.ID
	store := identity.NewStore{
		Name: "Mitte", CountryCode: "DE", Timezone: "Europe/Berlin",
		Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}},
	}
	opened, err := with.OpenWebsite(t.Context(), noon, app.Actor{ID: string(admin)},
		identity.NewWebsite{Name: "Two", Domain: "two.example", Plan: app.PlanStarter}, store,
		app.Invitation{Email: "ada@two.example", Name: "Ada"}, app.NewSecret("a-token"), time.Hour, nil)
	must(t, err)
	mail, err := with.ClaimMail(t.Context(), noon, lease, opened.Owner.StoreIDs[0], enqueued(t, db)[0])
	if err != nil || mail.Email != "ada@two.example" || mail.Invitation.Role != app.RoleOwner ||
		mail.Invitation.Token.Reveal() != "a-token" {
		t.Errorf("mail: got %+v and error %v, want an invitation of ada@two.example as OWNER", mail, err)
	}
}

// The mail of an invitation that can no longer be accepted becomes obsolete, and its token is erased.
func TestObsoleteInvitationMail(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(with *persistence.DB, r restaurant) (at time.Time){
		"replaced": func(with *persistence.DB, r restaurant) time.Time { r.Invite(t, with, "another"); return noon },
		"accepted": func(with *persistence.DB, _ restaurant) time.Time {
			_, _, err := with.Accept(t.Context(), noon, app.Actor{},
				identity.Acceptance{Token: app.NewSecret("a-token"), NewHash: "hash"}, time.Hour)
			must(t, err)
			return noon
		},
		"expired": func(*persistence.DB, restaurant) time.Time { return noon.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			db := persistencetest.New(t)
			with := mailing(t, db)
			r := open(t, db, "one.example")
			r.Invite(t, with, "a-token")
			id := enqueued(t, db)[0]
			at := spoil(with, r)
			mail, err := with.ClaimMail(t.Context(), at, lease, r.Stores[0], id)
			if err != nil || mail.Status != app.MailObsolete || mail.Reason == "" || mail.Invitation != nil {
				t.Errorf("%s: got %+v and error %v, want obsolete with a reason", name, mail, err)
			}
			if n := count(t, db, `SELECT count(*) FROM mails
			WHERE id = '`+string(id)+"' AND status = 'obsolete' AND secret IS NULL"); n != 1 {
				t.Errorf("%s: got %d obsolete mails without a secret, want 1", name, n)
			}
		})
	}
}

// Each OWNER and ADMIN of the store gets a mail about a webhook, unless the role has changed before
// the mail is sent.
func TestWebhookMailRecipients(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	users := map[app.Role]app.UserID{}
	for _, role := range app.Roles {
		id, err := db.CreateUser(t.Context(), noon, identity.NewUser{
			Email: strings.ToLower(string(role)) + "@example.com", Name: string(role), PasswordHash: "-",
			Roles: map[app.StoreID]app.Role{r.Stores[0]: role},
		})
		must(t, err)
		users[role] = id
	}
	hook := r.Subscribe(t, db, 0, app.EventOrderCreated)
	trouble := app.FailureStreak{Day: 3, Of: 7, Failures: 17}
	must(t, db.EnqueueMail(t.Context(), noon, r.Stores[0], app.MailWebhookWarning, hook.ID, trouble))
	if ids := enqueued(t, db); len(ids) != 0 {
		t.Errorf("mails without a mail server: got %q, want none", ids)
	}
	enqueue := func(kind app.MailKind) []app.MailID {
		t.Helper()
		must(t, with.EnqueueMail(t.Context(), noon, r.Stores[0], kind, hook.ID, trouble))
		return enqueued(t, db)
	}
	to := func(ids []app.MailID) (addresses, reasons []string) {
		t.Helper()
		for _, id := range ids {
			mail, err := with.ClaimMail(t.Context(), noon, lease, r.Stores[0], id)
			must(t, err)
			if mail.Status != app.MailQueued {
				reasons = append(reasons, mail.Reason)
				continue
			}
			addresses = append(addresses, mail.Email)
			want := &app.WebhookMail{ID: hook.ID, URL: hook.URL, Store: "one.example", FailureStreak: trouble}
			if diff := cmp.Diff(want, mail.Webhook); diff != "" {
				t.Errorf("webhook of the mail (-want +got):\n%s", diff)
			}
		}
		slices.Sort(addresses)
		return addresses, reasons
	}
	all, _ := to(enqueue(app.MailWebhookWarning))
	if diff := cmp.Diff([]string{"admin@example.com", "owner@example.com", "owner@one.example"}, all); diff != "" {
		t.Errorf("recipients of a warning (-want +got):\n%s", diff)
	}

	ids := enqueue(app.MailWebhookWarning)
	caller := r.Caller(t, db.DB, 0)
	_, err := db.ChangeRole(t.Context(), noon, caller, app.Actor{}, users[app.RoleAdmin], app.RoleStaff)
	must(t, err)
	must(t, db.RemoveMember(t.Context(), noon, caller, app.Actor{}, users[app.RoleOwner]))
	left, obsolete := to(ids)
	if diff := cmp.Diff([]string{"owner@one.example"}, left); diff != "" || len(obsolete) != 2 {
		t.Errorf("recipients, with the obsolete mails %v, want 2 (-want +got):\n%s", obsolete, diff)
	}

	early, late := enqueue(app.MailWebhookDeactivated), enqueue(app.MailWebhookWarning)
	if mails, _ := to(early); len(mails) != 0 {
		t.Errorf("deactivation mails of an active webhook: got %q, want none", mails)
	}
	_, err = db.System().DB.ExecContext(t.Context(), `UPDATE subscriptions SET is_active = false
		WHERE id = $1`, hook.ID)
	must(t, err)
	if mails, _ := to(late); len(mails) != 0 {
		t.Errorf("warnings of a deactivated webhook: got %q, want none", mails)
	}
	if mails, reasons := to(enqueue(app.MailWebhookDeactivated)); len(mails) != 1 {
		t.Errorf("deactivation mails: got %q, obsolete %q, want one", mails, reasons)
	}
	ids = enqueue(app.MailWebhookDeactivated)
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE users SET disabled_at = now() WHERE id = $1", r.Owner.ID)
	must(t, err)
	if mails, reasons := to(ids); len(mails) != 0 || len(reasons) != 1 {
		t.Errorf("mails to a disabled user: got %q, obsolete %q, want one obsolete", mails, reasons)
	}
}

// One of several concurrent calls claims a mail.
func TestMailIsClaimedOnce(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	for round := range 20 {
		r.Invite(t, with, fmt.Sprint("a-token ", round))
		id := enqueued(t, db)[0]
		codes := make([]app.Code, 4)
		var wait sync.WaitGroup
		for i := range codes {
			wait.Go(func() {
				_, err := with.ClaimMail(context.Background(), noon, lease, r.Stores[0], id)
				codes[i] = app.CodeOf(err)
			})
		}
		wait.Wait()
		slices.Sort(codes)
		if codes[0] != "" || codes[1] != app.CodeConflict {
			t.Fatalf("codes of concurrent claims: got %q, want one success and %s", codes, app.CodeConflict)
		}
	}
}
