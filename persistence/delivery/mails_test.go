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
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

const lease = time.Minute

// ordered returns the mails that have been ordered since the last call.
func ordered(t *testing.T, db *persistencetest.Database) (ids []app.MailID) {
	t.Helper()
	jobs, err := db.ClaimJobs(t.Context(), noon.Add(time.Hour), time.Hour, 100)
	must(t, err)
	for _, job := range jobs {
		if job.Kind != app.JobMail {
			t.Errorf("ordered %+v", job)
		}
		ids = append(ids, app.MailID(job.Subject))
		must(t, db.FinishJobs(t.Context(), []app.JobID{job.ID}))
	}
	return ids
}

func TestAnInvitationIsMailed(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	r.Invite(t, db.DB, "not mailed")
	if ids := ordered(t, db); len(ids) != 0 || db.Mails() || !with.Mails() {
		t.Errorf("without a mail server %q are ordered", ids)
	}
	invitation := r.Invite(t, with, "a-token")
	id := ordered(t, db)[0]
	if n := count(t, db, "SELECT count(*) FROM mails WHERE mails::text LIKE '%a-token%' OR position('a-token'::bytea IN secret) > 0"); n != 0 {
		t.Error("the token is in the table")
	}
	mail, err := with.ClaimMail(t.Context(), noon, lease, r.Stores[0], id)
	must(t, err)
	want := app.Mail{
		ID: id, Kind: app.MailInvitation, Status: app.MailQueued, Name: "Grace", Email: "grace@example.com",
		Invitation: &app.InvitationMail{Inviter: "Owner", Website: "one.example", Stores: []string{"one.example", "one.example"}, Role: app.RoleStaff, ExpiresAt: invitation.ExpiresAt},
	}
	if mail.Invitation == nil || mail.Invitation.Token.Reveal() != "a-token" {
		t.Fatalf("claimed %+v", mail)
	}
	mail.Invitation.Token = app.Secret{}
	if diff := cmp.Diff(want, mail, cmp.AllowUnexported(app.Secret{})); diff != "" {
		t.Error(diff)
	}

	for when, code := range map[time.Time]app.Code{noon: app.CodeConflict, noon.Add(lease - time.Millisecond): app.CodeConflict, noon.Add(lease): ""} {
		_, err := with.ClaimMail(t.Context(), when, 0, r.Stores[0], id)
		if app.CodeOf(err) != code {
			t.Errorf("claimed again at %s: %v", when, err)
		}
	}
	for _, store := range []app.StoreID{r.Stores[1], "sto_unknown"} {
		if _, err := with.ClaimMail(t.Context(), noon.Add(lease), lease, store, id); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("claimed for %s: %v", store, err)
		}
		must(t, with.EndMail(t.Context(), noon, store, id, app.MailSent, ""))
	}
	if n := count(t, db, "SELECT count(*) FROM mails WHERE status = 'queued' AND secret IS NOT NULL"); n != 1 {
		t.Error("another store has ended the mail")
	}
	must(t, with.EndMail(t.Context(), noon, r.Stores[0], id, app.MailSent, ""))
	must(t, with.EndMail(t.Context(), noon, r.Stores[0], id, app.MailFailed, "given up")) // too late
	mail, err = with.ClaimMail(t.Context(), noon.Add(lease), lease, r.Stores[0], id)
	if err != nil || mail.Status != app.MailSent || mail.Invitation != nil {
		t.Errorf("claimed after its end: %+v, %v", mail, err)
	}
	if n := count(t, db, "SELECT count(*) FROM mails WHERE secret IS NOT NULL"); n != 0 {
		t.Error("the secret is kept after the end")
	}
}

// The first OWNER of a website is mailed to, too.
func TestTheFirstOwnerIsMailed(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	admin := open(t, db, "one.example").Owner.ID
	store := persistence.NewStore{Name: "Mitte", CountryCode: "DE", Timezone: "Europe/Berlin", Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}}}
	_, invitation, err := with.OpenWebsite(t.Context(), noon, app.Actor{ID: string(admin)}, persistence.NewWebsite{Name: "Two", Domain: "two.example", Plan: app.PlanStarter}, store,
		app.Invitation{Email: "ada@two.example", Name: "Ada"}, app.NewSecret("a-token"), time.Hour)
	must(t, err)
	mail, err := with.ClaimMail(t.Context(), noon, lease, invitation.StoreIDs[0], ordered(t, db)[0])
	if err != nil || mail.Email != "ada@two.example" || mail.Invitation.Role != app.RoleOwner || mail.Invitation.Token.Reveal() != "a-token" {
		t.Errorf("%+v, %v", mail, err)
	}
}

// An invitation that can no longer be accepted is not mailed, and its token is forgotten.
func TestAnInvitationIsNotMailedInVain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(with *persistence.DB, r restaurant) (at time.Time){
		"replaced": func(with *persistence.DB, r restaurant) time.Time { r.Invite(t, with, "another"); return noon },
		"accepted": func(with *persistence.DB, _ restaurant) time.Time {
			_, _, err := with.Accept(t.Context(), noon, app.Actor{}, app.NewSecret("a-token"), "", "hash")
			must(t, err)
			return noon
		},
		"expired": func(*persistence.DB, restaurant) time.Time { return noon.Add(time.Hour) },
	} {
		db := persistencetest.New(t)
		with := mailing(t, db)
		r := open(t, db, "one.example")
		r.Invite(t, with, "a-token")
		id := ordered(t, db)[0]
		at := spoil(with, r)
		mail, err := with.ClaimMail(t.Context(), at, lease, r.Stores[0], id)
		if err != nil || mail.Status != app.MailObsolete || mail.Reason == "" || mail.Invitation != nil {
			t.Errorf("%s: %+v, %v", name, mail, err)
		}
		if n := count(t, db, "SELECT count(*) FROM mails WHERE id = '"+string(id)+"' AND status = 'obsolete' AND secret IS NULL"); n != 1 {
			t.Errorf("%s: not recorded", name)
		}
	}
}

// Each OWNER and ADMIN of the store gets a mail about a webhook, but for who is neither
// when it is sent.
func TestMailsAboutWebhooksGoToOwnersAndAdmins(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	users := map[app.Role]app.UserID{}
	for _, role := range app.Roles {
		id, err := db.CreateUser(t.Context(), noon, persistence.NewUser{
			Email: strings.ToLower(string(role)) + "@example.com", Name: string(role), PasswordHash: "-", Roles: map[app.StoreID]app.Role{r.Stores[0]: role},
		})
		must(t, err)
		users[role] = id
	}
	hook := r.Subscribe(t, db, 0, app.EventOrderCreated)
	trouble := app.WebhookTrouble{Day: 3, Of: 7, Failures: 17}
	must(t, db.EnqueueMail(t.Context(), noon, r.Stores[0], app.MailWebhookWarning, hook.ID, trouble))
	if ids := ordered(t, db); len(ids) != 0 {
		t.Errorf("without a mail server %q are ordered", ids)
	}
	order := func(kind app.MailKind) []app.MailID {
		t.Helper()
		must(t, with.EnqueueMail(t.Context(), noon, r.Stores[0], kind, hook.ID, trouble))
		return ordered(t, db)
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
			want := &app.WebhookMail{ID: hook.ID, URL: hook.URL, Store: "one.example", WebhookTrouble: trouble}
			if diff := cmp.Diff(want, mail.Webhook); diff != "" {
				t.Error(diff)
			}
		}
		slices.Sort(addresses)
		return addresses, reasons
	}
	all, _ := to(order(app.MailWebhookWarning))
	if diff := cmp.Diff([]string{"admin@example.com", "owner@example.com", "owner@one.example"}, all); diff != "" {
		t.Error(diff)
	}

	ids := order(app.MailWebhookWarning)
	_, err := db.ChangeRole(t.Context(), noon, r.Stores[0], app.Actor{}, users[app.RoleAdmin], app.RoleStaff)
	must(t, err)
	must(t, db.RemoveMember(t.Context(), noon, r.Stores[0], app.Actor{}, users[app.RoleOwner]))
	left, gone := to(ids)
	if diff := cmp.Diff([]string{"owner@one.example"}, left); diff != "" || len(gone) != 2 {
		t.Error(diff, gone)
	}

	early, late := order(app.MailWebhookDeactivated), order(app.MailWebhookWarning)
	if mails, _ := to(early); len(mails) != 0 {
		t.Errorf("an active webhook is called deactivated to %q", mails)
	}
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE subscriptions SET is_active = false WHERE id = $1", hook.ID)
	must(t, err)
	if mails, _ := to(late); len(mails) != 0 {
		t.Errorf("a deactivated webhook is warned of to %q", mails)
	}
	if mails, reasons := to(order(app.MailWebhookDeactivated)); len(mails) != 1 {
		t.Errorf("deactivated: %q, %q", mails, reasons)
	}
	ids = order(app.MailWebhookDeactivated)
	_, err = db.System().DB.ExecContext(t.Context(), "UPDATE users SET disabled_at = now() WHERE id = $1", r.Owner.ID)
	must(t, err)
	if mails, reasons := to(ids); len(mails) != 0 || len(reasons) != 1 {
		t.Errorf("disabled: %q, %q", mails, reasons)
	}
}

// Of many workers who want one mail at once, one gets it.
func TestAMailIsClaimedByOne(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	for round := range 20 {
		r.Invite(t, with, fmt.Sprint("a-token ", round))
		id := ordered(t, db)[0]
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
			t.Fatalf("claimed with %q", codes)
		}
	}
}
