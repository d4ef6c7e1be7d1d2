package activities

import (
	"fmt"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// unacceptedOrder returns a mail about an order that was not accepted.
func unacceptedOrder(baseURL string, kind app.MailKind, in app.OrderMail) mailText {
	store := quoted(in.Store)
	zone, err := time.LoadLocation(in.Timezone)
	if err != nil {
		zone = time.UTC
	}
	placed := in.PlacedAt.In(zone).Format("15:04 on 2 January 2006")
	l := mailText{
		Subject: fmt.Sprintf("Order %s of %s waits for acceptance", in.Number, store),
		Paragraphs: []string{
			fmt.Sprintf("Order %s of %s was placed at %s and has not been accepted.", in.Number, store, placed),
			"Confirm or cancel it on the board. The guest is waiting for an answer.",
		},
		LinkText: "View the order",
		Link:     app.OrderLink(baseURL, in.ID),
		End:      fmt.Sprintf("You receive this mail as an OWNER, ADMIN or MANAGER of %s.", store),
	}
	if kind == app.MailOrderReminder {
		return l
	}
	l.Subject = fmt.Sprintf("Order %s of %s was cancelled: not accepted in time", in.Number, store)
	l.Paragraphs = []string{
		fmt.Sprintf("Order %s of %s was placed at %s. It was cancelled because it was not accepted in time.",
			in.Number, store, placed),
		"It has no payments to refund.",
	}
	if len(in.Payments) > 0 {
		l.Paragraphs[1] = "Refund these payments:"
	}
	for _, p := range in.Payments {
		l.Paragraphs = append(l.Paragraphs, fmt.Sprintf("%s by %s, transaction %s", money(p.LeftMinor, p.Currency),
			oneLine(p.Provider), quoted(p.TransactionID)))
	}
	return l
}

// money returns an amount with its currency: 12.50 EUR.
func money(minor int64, currency app.Currency) string {
	exponent, _ := currency.Exponent()
	digits := fmt.Sprintf("%0*d", exponent+1, minor)
	if exponent > 0 {
		digits = digits[:len(digits)-exponent] + "." + digits[len(digits)-exponent:]
	}
	return strings.TrimSpace(digits + " " + string(currency))
}
