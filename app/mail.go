package app

import "strings"

// JobMail is the kind of the job that sends a mail. Its subject is the mail's id.
const JobMail JobKind = "mail"

// MailKind says what a mail is about.
type MailKind string

const (
	MailInvitation         MailKind = "invitation"
	MailWebhookWarning     MailKind = "webhook_warning"     // a webhook fails (contract §4, Watchdog)
	MailWebhookDeactivated MailKind = "webhook_deactivated" // it has failed too long
)

// MailStatus is where a mail stands.
type MailStatus string

const (
	MailQueued   MailStatus = "queued"
	MailSent     MailStatus = "sent"     // the mail server has taken it
	MailObsolete MailStatus = "obsolete" // not sent: there is no longer anything to say
	MailFailed   MailStatus = "failed"   // refused for good, or given up
)

// Mail is a message to one recipient. As long as it is queued it holds what its text
// tells: Invitation or Webhook, as the kind says.
type Mail struct {
	ID         MailID
	Kind       MailKind
	Status     MailStatus
	Reason     string // why it is obsolete or failed; names nobody
	Name       string // of the recipient
	Email      string
	Invitation *InvitationMail
	Webhook    *WebhookMail
}

// InvitationMail is what the mail to somebody invited tells.
type InvitationMail struct {
	Token     Secret
	Inviter   string // the name of who has invited
	Website   string // its name
	Stores    []string
	Role      Role
	ExpiresAt Time
}

// WebhookMail is what a mail about a webhook that fails tells.
type WebhookMail struct {
	ID    SubscriptionID
	URL   string
	Store string // its name
	WebhookTrouble
}

// WebhookTrouble is how badly a webhook fails.
type WebhookTrouble struct {
	Day      int `json:"day"`      // counted in the streak
	Of       int `json:"of"`       // days after which it is deactivated
	Failures int `json:"failures"` // failed attempts in a row
}

// AcceptInviteLink returns the address at which an invitation is accepted. The token is
// behind the #, which no server sees.
func AcceptInviteLink(baseURL string, token Secret) string {
	return strings.TrimRight(baseURL, "/") + "/dashboard/accept-invite#" + token.Reveal()
}

// WebhookLink returns the address at which people see a webhook.
func WebhookLink(baseURL string, id SubscriptionID) string {
	return strings.TrimRight(baseURL, "/") + "/dashboard/webhooks/" + string(id)
}
