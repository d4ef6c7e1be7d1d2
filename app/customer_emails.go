package app

import (
	"strings"
	"time"
)

// EmailChangeTTL is the time for which a link that confirms a new email is valid.
const EmailChangeTTL = time.Hour

// EmailChangesPerHour is the number of changes of the email that a customer can request. Each one sends a mail to an
// address of the customer's choice.
const EmailChangesPerHour = 5

// Kinds of mails about a change of a customer's email (docs/behaviour.md#change-of-a-customers-email).
const (
	MailCustomerEmailChange MailKind = "customer_email_change" // to the new address, with the link
	MailCustomerEmailNotice MailKind = "customer_email_notice" // to the former address
)

// EmailNotice is the content of the mail to the former address.
type EmailNotice struct {
	Website string // name of the website
}

// ConfirmEmailLink returns the URL of the page on which a new email is confirmed. The token is in the fragment, which
// browsers do not send to servers.
func ConfirmEmailLink(baseURL string, token Secret) string {
	return strings.TrimRight(baseURL, "/") + "/account/confirm-email#token=" + token.Reveal()
}
