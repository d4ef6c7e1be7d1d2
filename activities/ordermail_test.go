package activities

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestOrderMails(t *testing.T) {
	t.Parallel()
	order := app.OrderMail{
		ID: "ord_1", Number: "1042", Store: "Mitte", Timezone: "Europe/Berlin",
		PlacedAt: app.At(time.Date(2026, 3, 14, 18, 0, 0, 0, time.UTC)),
	}
	paid := order
	paid.Payments = []app.OrderRefund{
		{Provider: "STRIPE", TransactionID: "pi_1", LeftMinor: 1205, Currency: "EUR"},
		{Provider: "CASH", TransactionID: "till", LeftMinor: 5, Currency: "KWD"},
		{Provider: "CASH", TransactionID: "till", LeftMinor: 500, Currency: "JPY"},
	}
	const end = `
View the order:
https://comanda.example/dashboard/orders/ord_1

You receive this mail as an OWNER, ADMIN or MANAGER of "Mitte".
`
	const cancelled = `Order 1042 of "Mitte" was cancelled: not accepted in time
Hello,

Order 1042 of "Mitte" was placed at 19:00 on 14 March 2026. It was cancelled because it was not accepted in time.

`
	for _, c := range []struct {
		kind app.MailKind
		mail app.OrderMail
		want string
	}{
		{app.MailOrderReminder, order, `Order 1042 of "Mitte" waits for acceptance
Hello,

Order 1042 of "Mitte" was placed at 19:00 on 14 March 2026 and has not been accepted.

Confirm or cancel it on the board. The guest is waiting for an answer.
` + end},
		{app.MailOrderCancelled, order, cancelled + "It has no payments to refund.\n" + end},
		{app.MailOrderCancelled, paid, cancelled + `Refund these payments:

12.05 EUR by STRIPE, transaction "pi_1"

0.005 KWD by CASH, transaction "till"

500 JPY by CASH, transaction "till"
` + end},
	} {
		text, html, subject, err := render("https://comanda.example/", app.Mail{Kind: c.kind, Order: &c.mail})
		if diff := cmp.Diff(c.want, subject+"\n"+text); diff != "" || err != nil {
			t.Errorf("%s: error %v, mail (-want +got):\n%s", c.kind, err, diff)
		}
		if !strings.Contains(html, `<a href="https://comanda.example/dashboard/orders/ord_1">View the order</a>`) {
			t.Errorf("%s: got HTML %s, want a link to the order", c.kind, html)
		}
	}
}
