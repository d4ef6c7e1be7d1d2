package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// inviteAddress enqueues the mail of an invitation of an address.
func inviteAddress(t *testing.T, db *persistencetest.Database, with *persistence.DB, r restaurant, email string,
) app.MailID {
	t.Helper()
	in := app.Invitation{Email: email, Name: "Grace", Role: app.RoleStaff, StoreIDs: r.Stores[:1]}
	_, err := with.Invite(t.Context(), noon, r.Caller(t, with, 0), app.Actor{ID: string(r.Owner.ID)}, in,
		app.NewSecret(string(r.Website)+email), time.Hour, nil)
	must(t, err)
	return enqueued(t, db)[0]
}

// A website sends a number of mails an hour. Its mails do not count for other websites, and a repeated attempt does not
// count again.
func TestMailsOfAWebsite(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r, other := open(t, db, "one.example"), open(t, db, "two.example")
	status := func(r restaurant, at time.Time, id app.MailID) app.MailStatus {
		t.Helper()
		mail, err := with.ClaimMail(t.Context(), at, lease, r.Stores[0], id)
		must(t, err)
		if mail.Status == app.MailObsolete && (mail.Reason == "" || mail.Invitation != nil || mail.Email != "") {
			t.Errorf("mail beyond a budget: got %+v, want a reason and no content", mail)
		}
		return mail.Status
	}
	var ids []app.MailID
	for i := range 3 {
		ids = append(ids, inviteAddress(t, db, with, r, fmt.Sprintf("%d@example.com", i)))
	}
	others := inviteAddress(t, db, with, other, "2@example.com")
	persistencetest.Exec(t, db, "DELETE FROM rate_limits") // those of the invitations
	for attempt := range 25 {
		if got := status(r, noon.Add(time.Duration(attempt)*lease), ids[0]); got != app.MailQueued {
			t.Fatalf("attempt %d of a mail: got %s, want %s", attempt+1, got, app.MailQueued)
		}
	}
	persistencetest.Exec(t, db, "UPDATE rate_limits SET hits = array_fill(hits[1], ARRAY[499])")
	for _, c := range []struct {
		of   restaurant
		id   app.MailID
		want app.MailStatus
	}{{r, ids[1], app.MailQueued}, {r, ids[2], app.MailObsolete}, {other, others, app.MailQueued}} {
		if got := status(c.of, noon, c.id); got != c.want {
			t.Errorf("mail %s of %s: got %s, want %s", c.id, c.of.Website, got, c.want)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM mails WHERE status = 'obsolete' AND secret IS NULL"); n != 1 {
		t.Errorf("mails that ended without a secret: got %d, want 1", n)
	}
}
