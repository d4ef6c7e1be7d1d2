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

// letter is what a mail says, to be shown as plain text and as HTML.
type letter struct {
	Subject    string
	Name       string // of the recipient
	Paragraphs []string
	LinkText   string
	Link       string
	End        string
}

var (
	plainLetter = texttemplate.Must(texttemplate.New("plain").Parse(`Hello {{.Name}},
{{range .Paragraphs}}
{{.}}
{{end}}
{{.LinkText}}:
{{.Link}}

{{.End}}
`))
	htmlLetter = htmltemplate.Must(htmltemplate.New("html").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif; max-width: 40em">
<p>Hello {{.Name}},</p>
{{range .Paragraphs}}<p>{{.}}</p>
{{end}}<p><a href="{{.Link}}">{{.LinkText}}</a></p>
<p style="color: #666">{{.End}}</p>
</body>
</html>
`))
)

// render writes a mail in both forms.
func render(baseURL string, claimed app.Mail) (text, html, subject string, err error) {
	l := write(baseURL, claimed)
	l.Name = oneLine(claimed.Name)
	var plain, rich bytes.Buffer
	if err = plainLetter.Execute(&plain, l); err == nil {
		err = htmlLetter.Execute(&rich, l)
	}
	return plain.String(), rich.String(), l.Subject, err
}

func write(baseURL string, claimed app.Mail) letter {
	if claimed.Kind == app.MailInvitation {
		return invitation(baseURL, *claimed.Invitation)
	}
	return webhookTrouble(baseURL, claimed.Kind, *claimed.Webhook)
}

func invitation(baseURL string, in app.InvitationMail) letter {
	stores := make([]string, len(in.Stores))
	for i, store := range in.Stores {
		stores[i] = oneLine(store)
	}
	where := stores[0]
	if last := len(stores) - 1; last > 0 {
		where = strings.Join(stores[:last], ", ") + " and " + stores[last]
	}
	return letter{
		Subject: "Invitation to " + oneLine(in.Website),
		Paragraphs: []string{
			fmt.Sprintf("%s invites you to work in %s as %s.", oneLine(in.Inviter), where, in.Role),
			fmt.Sprintf("The invitation can be accepted once, until %s.", in.ExpiresAt.UTC().Format("2 January 2006, 15:04 MST")),
		},
		LinkText: "Accept the invitation",
		Link:     app.AcceptInviteLink(baseURL, in.Token),
		End:      "Whoever has this link can accept the invitation. If you did not expect it, ignore this mail.",
	}
}

func webhookTrouble(baseURL string, kind app.MailKind, in app.WebhookMail) letter {
	store, host := oneLine(in.Store), "its receiver"
	if u, err := url.Parse(in.URL); err == nil && u.Host != "" {
		host = oneLine(u.Host)
	}
	l := letter{
		Subject: fmt.Sprintf("Webhook to %s fails: day %d of %d", host, in.Day, in.Of),
		Paragraphs: []string{
			fmt.Sprintf("A webhook of %s could not deliver to %s: day %d of %d, %s.", store, host, in.Day, in.Of, inARow(in.Failures)),
			fmt.Sprintf("On day %d of failure it is deactivated. One successful delivery starts the count afresh.", in.Of),
		},
		LinkText: "See the webhook",
		Link:     app.WebhookLink(baseURL, in.ID),
		End:      fmt.Sprintf("You receive this mail as an OWNER or ADMIN of %s.", store),
	}
	if kind == app.MailWebhookDeactivated {
		l.Subject = fmt.Sprintf("Webhook to %s deactivated", host)
		l.Paragraphs = []string{
			fmt.Sprintf("A webhook of %s has been deactivated: deliveries to %s failed on %d days, %s.", store, host, in.Day, inARow(in.Failures)),
			"It gets no more events until it is activated again. What could not be delivered is kept for a while and can be replayed.",
		}
	}
	return l
}

func inARow(failures int) string {
	if failures == 1 {
		return "1 failed attempt"
	}
	return fmt.Sprintf("%d failed attempts in a row", failures)
}

// oneLine makes what people have named something fit for one line of text: no line breaks,
// and nothing that is invisible or turns the direction of what follows.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r), r == '\u200c', r == '\u200d': // joiners belong to scripts and emoji
			return r
		}
		return -1
	}, s)), " ")
}
