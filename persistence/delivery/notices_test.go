package delivery_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A store with thousands of managers and many orders that nobody accepts enqueues no more mails than its website may
// send, first of all to the OWNER. Another store gets its own.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r, quiet := open(t, db, "one.example"), open(t, db, "two.example")
	persistencetest.Exec(t, db, `WITH added AS (
			INSERT INTO users (id, email, name, password_hash, email_proven, created_at)
			SELECT 'usr_0' || n, n || '@example.com', 'Manager', '-', true, '2020-01-01' FROM generate_series(1, 2000) AS n
			RETURNING id)
		INSERT INTO memberships (user_id, store_id, role, created_at)
		SELECT id, '`+string(r.Stores[0])+`', 'MANAGER', '2020-01-01' FROM added`)
	remind := func(at time.Time, of restaurant) {
		t.Helper()
		must(t, with.EnqueueReminder(t.Context(), at, of.Stores[0], "ord_1"))
	}
	mails := func(at time.Time, of restaurant) int {
		return count(t, db, `SELECT count(*) FROM mails m JOIN jobs j ON j.subject = m.id AND j.kind = 'mail'
			WHERE m.store_id = '`+string(of.Stores[0])+"' AND m.created_at = '"+at.Format(time.RFC3339)+"'")
	}
	owners := "SELECT count(*) FROM mails WHERE recipient = '" + string(r.Owner.ID) + "'"
	for n := range app.MailsPerAddress {
		remind(noon, r)
		if got, want := mails(noon, r), (n+1)*app.NoticeRecipients; got != want || count(t, db, owners) != n+1 {
			t.Fatalf("mails of %d notices: got %d, want %d, and one for the OWNER each", n+1, got, want)
		}
	}
	remind(noon.Add(time.Minute), r)
	remind(noon.Add(time.Minute), quiet)
	if got := mails(noon.Add(time.Minute), r); got != 0 {
		t.Errorf("mails beyond the budgets of the recipients: got %d, want 0", got)
	}
	if got := mails(noon.Add(time.Minute), quiet); got != 1 {
		t.Errorf("mails of another website: got %d, want 1", got)
	}
	if remind(noon.Add(time.Hour), r); mails(noon.Add(time.Hour), r) != app.NoticeRecipients {
		t.Errorf("mails an hour later: got %d, want %d", mails(noon.Add(time.Hour), r), app.NoticeRecipients)
	}
}
