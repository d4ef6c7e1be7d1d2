package ordering_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Managers get one mail for each order, about the reminder and about the cancellation. The latter lists the payments
// to refund.
func TestAcceptanceMails(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	r := open(t, db, "one.example")
	for _, role := range []app.Role{app.RoleManager, app.RoleStaff} {
		_, err := db.CreateUser(t.Context(), noon, identity.NewUser{
			Email: string(role) + "@example.com", Name: string(role), PasswordHash: "-",
			Roles: map[app.StoreID]app.Role{r.Stores[0]: role},
		})
		must(t, err)
	}
	r.setAcceptance(t, db, 5, 10)
	order := r.byKey(t, db, nil)
	for i, payment := range []app.NewPayment{
		{TransactionID: "paid", Status: app.PaymentSucceeded, AmountMinor: 1900},
		{TransactionID: "failed", Status: app.PaymentFailed, AmountMinor: 100, ErrorCode: "declined"},
	} {
		payment.Provider, payment.Currency, payment.PaymentMethod = "STRIPE", order.Currency, "card"
		_, err := db.RecordPayment(t.Context(), noon.Add(time.Duration(i)*time.Second), r.Stores[0], order.ID, payment, nil)
		must(t, err)
	}
	mails := func(d time.Duration) (sent []app.Mail) {
		t.Helper()
		wait(t, db, order.ID, d)
		r.evaluate(t, with, order.ID)
		r.evaluate(t, with, order.ID)
		for id := range jobsOf(t, db, app.JobMail) {
			mail, err := with.ClaimMail(t.Context(), noon.Add(2*time.Minute), time.Minute, r.Stores[0], app.MailID(id))
			must(t, err)
			sent = append(sent, mail)
		}
		slices.SortFunc(sent, func(a, b app.Mail) int { return len(a.Name) - len(b.Name) })
		return sent
	}
	jobsOf(t, db, app.JobMail)
	for _, c := range []struct {
		kind app.MailKind
		wait time.Duration
	}{{app.MailOrderReminder, 5 * time.Minute}, {app.MailOrderCancelled, 5 * time.Minute}} {
		sent := mails(c.wait)
		if len(sent) != 2 || sent[1].Name != "MANAGER" {
			t.Fatalf("%s: got %+v, want mails to the OWNER and the MANAGER", c.kind, sent)
		}
		want := app.OrderMail{
			ID: order.ID, Number: order.Number, Store: "one.example", PlacedAt: app.At(noon), Timezone: "Europe/Berlin",
			Payments: []app.OrderRefund{{Provider: "STRIPE", TransactionID: "paid", LeftMinor: 1900, Currency: "EUR"}},
		}
		for _, mail := range sent {
			if diff := cmp.Diff(&want, mail.Order); diff != "" || mail.Kind != c.kind || mail.Status != app.MailQueued {
				t.Errorf("%s: got %+v, order (-want +got): %s", c.kind, mail, diff)
			}
		}
	}
	// A reminder that has not been sent before the order is cancelled is obsolete.
	exec(t, db, "UPDATE mails SET kind = 'order_reminder', lease_until = $1 WHERE kind = 'order_cancelled'", noon)
	var id app.MailID
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM mails WHERE kind = 'order_reminder' LIMIT 1").
		Scan(&id))
	mail, err := with.ClaimMail(t.Context(), noon.Add(time.Hour), time.Minute, r.Stores[0], id)
	if err != nil || mail.Status != app.MailObsolete {
		t.Errorf("late reminder: got %+v and error %v, want it obsolete", mail, err)
	}
}
