package activities

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"strings"
	texttemplate "text/template"
	"unicode"

	"github.com/comanda-dev/comanda/app"
)

// mailText is the content of a mail, which is rendered as plain text and as HTML.
type mailText struct {
	Subject    string
	Paragraphs []string
	LinkText   string
	Link       string // "" = none
	End        string
}

var (
	plainTemplate = texttemplate.Must(texttemplate.New("plain").Parse(`Hello,
{{range .Paragraphs}}
{{.}}
{{end}}
{{with .Link}}{{$.LinkText}}:
{{.}}

{{end}}{{.End}}
`))
	htmlTemplate = htmltemplate.Must(htmltemplate.New("html").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif; max-width: 40em">
<p>Hello,</p>
{{range .Paragraphs}}<p>{{.}}</p>
{{end}}{{with .Link}}<p><a href="{{.}}">{{$.LinkText}}</a></p>
{{end}}<p style="color: #666">{{.End}}</p>
</body>
</html>
`))
)

// render returns a mail as plain text and as HTML, and its subject.
func render(baseURL string, claimed app.Mail) (text, html, subject string, err error) {
	l := textOf(baseURL, claimed)
	var plain, rich bytes.Buffer
	if err = plainTemplate.Execute(&plain, l); err == nil {
		err = htmlTemplate.Execute(&rich, l)
	}
	return plain.String(), rich.String(), l.Subject, err
}

func textOf(baseURL string, claimed app.Mail) mailText {
	switch claimed.Kind {
	case app.MailInvitation:
		return invitation(baseURL, *claimed.Invitation)
	case app.MailPasswordReset, app.MailCustomerPasswordReset:
		return passwordReset(baseURL, *claimed.Reset)
	case app.MailCustomerEmailChange:
		return emailChange(baseURL, *claimed.Reset)
	case app.MailCustomerEmailNotice:
		return emailNotice(*claimed.Notice)
	}
	if claimed.Order != nil {
		return unacceptedOrder(baseURL, claimed.Kind, *claimed.Order)
	}
	return webhookWarning(baseURL, claimed.Kind, *claimed.Webhook)
}

func invitation(baseURL string, in app.InvitationMail) mailText {
	stores := make([]string, len(in.Stores))
	for i, store := range in.Stores {
		stores[i] = quoted(store)
	}
	where := stores[0]
	if last := len(stores) - 1; last > 0 {
		where = strings.Join(stores[:last], ", ") + " and " + stores[last]
	}
	return mailText{
		Subject: "Invitation to " + quoted(in.Website),
		Paragraphs: []string{
			fmt.Sprintf("%s has invited you to join %s as %s.", quoted(in.Inviter), where, in.Role),
			fmt.Sprintf("The invitation can be accepted once and expires on %s.",
				in.ExpiresAt.UTC().Format("2 January 2006, 15:04 MST")),
		},
		LinkText: "Accept the invitation",
		Link:     app.AcceptInviteLink(baseURL, in.Token),
		End: "Anyone with this link can accept the invitation: do not forward it. " +
			"If you did not expect an invitation, ignore this email.",
	}
}

func passwordReset(baseURL string, in app.ResetMail) mailText {
	at := "Comanda"
	if in.Website != "" {
		at = quoted(in.Website)
	}
	return mailText{
		Subject: "Reset your password at " + at,
		Paragraphs: []string{
			fmt.Sprintf("You or another person requested a link to choose a new password for your account at %s.", at),
			fmt.Sprintf("The link can be used once and expires on %s. All your sessions will end.",
				in.ExpiresAt.UTC().Format("2 January 2006, 15:04 MST")),
		},
		LinkText: "Choose a new password",
		Link:     app.PasswordResetLink(baseURL, in.Token),
		End: "Anyone with this link can change your password: do not forward it. " +
			"If you did not request it, ignore this email; your password stays the same.",
	}
}

func emailChange(baseURL string, in app.ResetMail) mailText {
	at := quoted(in.Website)
	return mailText{
		Subject: "Confirm your new email at " + at,
		Paragraphs: []string{
			fmt.Sprintf("You or another person requested to use this address as the email of an account at %s.", at),
			fmt.Sprintf("The link can be used once and expires on %s.",
				in.ExpiresAt.UTC().Format("2 January 2006, 15:04 MST")),
		},
		LinkText: "Confirm the new email",
		Link:     app.ConfirmEmailLink(baseURL, in.Token),
		End:      "If you did not request it, ignore this email; nothing changes.",
	}
}

func emailNotice(in app.EmailNotice) mailText {
	at := quoted(in.Website)
	return mailText{
		Subject: "Change of the email of your account at " + at,
		Paragraphs: []string{
			fmt.Sprintf("A person who knows the password of your account at %s requested to use another email for it.", at),
			"The account gets the other email when its owner opens the link that was sent to it. " +
				"Then this address no longer opens the account.",
		},
		End: "If you requested it, ignore this email. If not, reset your password immediately: that ends the request.",
	}
}

func webhookWarning(baseURL string, kind app.MailKind, in app.WebhookMail) mailText {
	store, host := quoted(in.Store), "its receiver"
	if u, err := url.Parse(in.URL); err == nil && u.Host != "" {
		host = oneLine(u.Host)
	}
	l := mailText{
		Subject: fmt.Sprintf("Webhook of %s to %s is failing: day %d of %d", store, host, in.Day, in.Of),
		Paragraphs: []string{
			fmt.Sprintf("Deliveries of a webhook of %s to %s are failing: day %d of %d, %s.",
				store, host, in.Day, in.Of, failedAttempts(in.Failures)),
			fmt.Sprintf("The webhook is deactivated on day %d of failures. One successful delivery resets the count.",
				in.Of),
		},
		LinkText: "View the webhook",
		Link:     app.WebhookLink(baseURL, in.ID),
		End:      fmt.Sprintf("You receive this mail as an OWNER or ADMIN of %s.", store),
	}
	if kind == app.MailWebhookDeactivated {
		l.Subject = fmt.Sprintf("Webhook of %s to %s deactivated", store, host)
		l.Paragraphs = []string{
			fmt.Sprintf("A webhook of %s has been deactivated: deliveries to %s failed on %d days, %s.",
				store, host, in.Day, failedAttempts(in.Failures)),
			"It receives no further events until you activate it again. " +
				"Failed deliveries are kept for a limited time and can be replayed.",
		}
	}
	return l
}

func failedAttempts(failures int) string {
	if failures == 1 {
		return "1 failed attempt"
	}
	return fmt.Sprintf("%d consecutive failed attempts", failures)
}

// maxMailName is the number of characters of a name in a mail.
const maxMailName = 60

// quoted returns a name in quotation marks for the text of a mail. Other people choose names. Therefore the name
// cannot contain a link, a line break or a quotation mark, and is short.
func quoted(name string) string { return "\"" + plainName(name) + "\"" }

// plainName returns a name without links: words of URLs and email addresses are removed, and a space follows each
// dot within a word, because mail programs make a link of "pizza.example".
func plainName(name string) string {
	var words []string
	for _, word := range strings.Fields(oneLine(name)) {
		if !strings.ContainsAny(word, "/\\@:<>") {
			words = append(words, strings.Fields(strings.ReplaceAll(word, ".", ". "))...)
		}
	}
	text := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Quotation_Mark) && r != '\'' && r != '’' {
			return -1
		}
		return r
	}, strings.Join(words, " "))))
	if len(text) > maxMailName {
		text = append(text[:maxMailName-1], '…')
	}
	if len(text) == 0 {
		return "unnamed"
	}
	return string(text)
}

// oneLine makes a name safe for a line of text: it replaces line breaks by spaces and removes invisible characters,
// including those that change the writing direction.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r), r == '\u200c', r == '\u200d': // joiners, which some scripts and emoji require
			return r
		}
		return -1
	}, s)), " ")
}
