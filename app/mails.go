package app

import (
	"slices"
	"strings"
)

// JobMail is the kind of a job that sends a mail. Its subject is the mail's id.
const JobMail JobKind = "mail"

// MailKind is the kind of a mail, which determines its text.
type MailKind string

const (
	MailInvitation         MailKind = "invitation"
	MailPasswordReset      MailKind = "password_reset"
	MailWebhookWarning     MailKind = "webhook_warning"     // deliveries to a webhook fail (docs/behaviour.md#watchdog)
	MailWebhookDeactivated MailKind = "webhook_deactivated" // a webhook was deactivated after too many failed days
)

// Kinds of mails to the MANAGERs, ADMINs and OWNERs of a store (docs/behaviour.md#acceptance).
const (
	MailOrderReminder  MailKind = "order_reminder"  // an order was not accepted
	MailOrderCancelled MailKind = "order_cancelled" // an order was cancelled because it was not accepted in time
)

// MailCustomerPasswordReset is the kind of a mail that resets the password of a customer.
const MailCustomerPasswordReset MailKind = "customer_password_reset"

// Budgets of mails in any hour (docs/behaviour.md#mails).
const (
	MailsPerAddress      = 20  // from one website to one address
	MailsPerWebsite      = 500 // from one website
	GuardMailsPerAddress = 10  // from one website to one address, of each kind in GuardMails

	// NoticeRecipients is the maximum number of recipients of a notice to the managers of a store. The mails that so many
	// addresses may get use up the budget of the website.
	NoticeRecipients = MailsPerWebsite / MailsPerAddress
)

// GuardMails are the kinds of mails that guard an account or its webhooks. They do not count against the budgets of the
// other mails, which somebody else can use up.
var GuardMails = []MailKind{
	MailPasswordReset, MailCustomerPasswordReset, MailCustomerEmailChange, MailCustomerEmailNotice,
	MailWebhookWarning, MailWebhookDeactivated,
}

// Guards reports whether mails of a kind are in GuardMails.
func (k MailKind) Guards() bool { return slices.Contains(GuardMails, k) }

// PerAddress returns the number of mails in any hour from one website to one address: of the kind if it is in
// GuardMails, else of all other kinds.
func (k MailKind) PerAddress() int {
	if k.Guards() {
		return GuardMailsPerAddress
	}
	return MailsPerAddress
}

// MailStatus is the status of a mail.
type MailStatus string

const (
	MailQueued   MailStatus = "queued"
	MailSent     MailStatus = "sent"     // accepted by the mail server
	MailObsolete MailStatus = "obsolete" // not sent, because its content no longer applies or a budget is used up
	MailFailed   MailStatus = "failed"   // rejected permanently, or the retries are used up
)

// ReasonMailBudget is the reason of a mail for which a budget is used up.
const ReasonMailBudget = "the address or the website has had all its mails of an hour"

// Mail is a message to one recipient. While it is queued, it holds the content of its text: Invitation, Webhook,
// Reset, Notice or Order, depending on Kind.
type Mail struct {
	ID         MailID
	Kind       MailKind
	Status     MailStatus
	Reason     string // why it is obsolete or failed; contains no personal data
	Name       string // recipient's name
	Email      string
	Invitation *InvitationMail
	Webhook    *WebhookMail
	Reset      *ResetMail
	Notice     *EmailNotice
	Order      *OrderMail
}

// OrderMail is the content of a mail about an order that was not accepted. It contains no personal data.
type OrderMail struct {
	ID       OrderID
	Number   string
	Store    string // name of the store
	PlacedAt Time
	Timezone string        // of the store
	Payments []OrderRefund // succeeded payments that are not fully refunded
}

// OrderRefund is a payment of a cancelled order to refund.
type OrderRefund struct {
	Provider      string
	TransactionID string
	LeftMinor     int64 // the amount that is not refunded
	Currency      Currency
}

// ResetMail is the content of a mail with a link that resets a password or confirms a new email.
type ResetMail struct {
	Token     Secret
	Website   string // name of the website; "" for platform administrators
	ExpiresAt Time
}

// InvitationMail is the content of an invitation mail.
type InvitationMail struct {
	Token     Secret
	Inviter   string // name of the inviting user
	Website   string // name of the website
	Stores    []string
	Role      Role
	ExpiresAt Time
}

// WebhookMail is the content of a mail about a failing webhook.
type WebhookMail struct {
	ID    SubscriptionID
	URL   string
	Store string // name of the store
	FailureStreak
}

// FailureStreak describes the current streak of failures of a webhook.
type FailureStreak struct {
	Day      int `json:"day"`      // number of failed days so far
	Of       int `json:"of"`       // number of failed days after which the webhook is deactivated
	Failures int `json:"failures"` // failed attempts in a row
}

// AcceptInviteLink returns the URL of the page on which an invitation is accepted. The token is in the fragment, which
// browsers do not send to servers.
func AcceptInviteLink(baseURL string, token Secret) string {
	return strings.TrimRight(baseURL, "/") + "/dashboard/accept-invite#" + token.Reveal()
}

// OrderLink returns the URL of an order's page in the dashboard.
func OrderLink(baseURL string, id OrderID) string {
	return strings.TrimRight(baseURL, "/") + "/dashboard/orders/" + string(id)
}

// WebhookLink returns the URL of a webhook's page in the dashboard.
func WebhookLink(baseURL string, id SubscriptionID) string {
	return strings.TrimRight(baseURL, "/") + "/dashboard/webhooks/" + string(id)
}
