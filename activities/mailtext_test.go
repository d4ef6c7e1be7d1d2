package activities

import (
	"mime"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
)

func TestSendInvitation(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]smtptest.Config{
		"STARTTLS": {}, "TLS": {Implicit: true}, "no goodbye": {HangUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.New(t, config)
			store := &mailbox{mail: invitationTo("Grace Hopper", "grace@example.com")}
			mails := newMails(t, store, server)
			for range 2 {
				if result, err := send(mails); err != nil || result != (MailResult{Status: app.MailSent}) {
					t.Fatalf("%s: %+v, %v, want %s", name, result, err, app.MailSent)
				}
			}
			all := server.Messages()
			if len(all) != 1 {
				t.Fatalf("%s: %d mails, want 1", name, len(all))
			}
			if !all[0].TLS || all[0].User != smtptest.User || all[0].From != "noreply@comanda.example" ||
				!cmp.Equal(all[0].To, []string{"grace@example.com"}) {
				t.Errorf("%s: %+v, want TLS, user %s and grace@example.com", name, all[0], smtptest.User)
			}
			got := read(t, all[0].Data)
			for key, want := range map[string]string{
				"From": `"Comanda" <noreply@comanda.example>`, "To": `"Grace Hopper" <grace@example.com>`,
				"Subject": `Invitation to "Trattoria"`, "Message-Id": "<mail_1@comanda.example>",
				"Date": "Sat, 14 Mar 2026 12:00:00 +0000", "Auto-Submitted": "auto-generated",
				"User-Agent": "", "X-Mailer": "",
			} {
				if got.header.Get(key) != want {
					t.Errorf("%s: header %s: %q, want %q", name, key, got.header.Get(key), want)
				}
			}
			const end = "Anyone with this link can accept the invitation: do not forward it. " +
				"If you did not expect an invitation, ignore this email."
			want := `Hello,

"Ada" has invited you to join "Mitte", "Ost" and "West" as MANAGER.

The invitation can be accepted once and expires on 21 March 2026, 12:00 UTC.

Accept the invitation:
https://comanda.example/dashboard/accept-invite#an-invitations-token

` + end + "\n"
			if diff := cmp.Diff(want, got.plain); diff != "" {
				t.Errorf("%s: plain text (-want +got):\n%s", name, diff)
			}
			const url = "https://comanda.example/dashboard/accept-invite#an-invitations-token"
			link := `<a href="` + url + `">Accept the invitation</a>`
			if !strings.Contains(got.web, link) {
				t.Errorf("%s: HTML %s, want the link %s", name, got.web, link)
			}
		})
	}
}

func TestRenderWebhookMails(t *testing.T) {
	t.Parallel()
	const deactivated = "A webhook of \"Mitte\" has been deactivated: " +
		"deliveries to hooks.example.com:8443 failed on 3 days, 17 consecutive failed attempts.\n\n" +
		"It receives no further events until you activate it again. " +
		"Failed deliveries are kept for a limited time and can be replayed."
	for kind, want := range map[app.MailKind]string{
		app.MailWebhookWarning: `Webhook of "Mitte" to hooks.example.com:8443 is failing: day 3 of 7
Hello,

Deliveries of a webhook of "Mitte" to hooks.example.com:8443 are failing: day 3 of 7, 17 consecutive failed attempts.

The webhook is deactivated on day 7 of failures. One successful delivery resets the count.

View the webhook:
https://comanda.example/dashboard/webhooks/whk_1

You receive this mail as an OWNER or ADMIN of "Mitte".
`,
		app.MailWebhookDeactivated: `Webhook of "Mitte" to hooks.example.com:8443 deactivated
Hello,

` + deactivated + `

View the webhook:
https://comanda.example/dashboard/webhooks/whk_1

You receive this mail as an OWNER or ADMIN of "Mitte".
`,
	} {
		text, _, subject, err := render("https://comanda.example/", app.Mail{
			ID: "mail_1", Kind: kind, Name: "Ada",
			Webhook: &app.WebhookMail{
				ID: "whk_1", URL: "https://hooks.example.com:8443/a-secret-path?key=secret", Store: "Mitte",
				FailureStreak: app.FailureStreak{Day: 3, Of: 7, Failures: 17},
			},
		})
		if diff := cmp.Diff(want, subject+"\n"+text); diff != "" || err != nil {
			t.Errorf("%s: error %v, mail (-want +got):\n%s", kind, err, diff)
		}
	}
}

// A mail with a link that resets a password names the restaurant, and its base is the configured one.
func TestSendPasswordReset(t *testing.T) {
	t.Parallel()
	for website, at := range map[string]string{"Trattoria": `"Trattoria"`, "": "Comanda"} {
		server := smtptest.New(t, smtptest.Config{})
		store := &mailbox{mail: app.Mail{
			ID: "mail_1", Kind: app.MailCustomerPasswordReset, Status: app.MailQueued, Name: "http://evil.example",
			Email: "ada@example.com", Reset: &app.ResetMail{
				Token: app.NewSecret("cus_a-token"), Website: website, ExpiresAt: app.At(mailNow.Add(time.Hour)),
			},
		}}
		if result, err := send(newMails(t, store, server)); err != nil || result.Status != app.MailSent {
			t.Fatalf("%+v, %v, want %s", result, err, app.MailSent)
		}
		got := read(t, server.Messages()[0].Data)
		const link = "https://comanda.example/account/reset#token=cus_a-token"
		if subject := got.header.Get("Subject"); subject != "Reset your password at "+at {
			t.Errorf("subject: got %q, want the restaurant %s", subject, at)
		}
		if !strings.Contains(got.plain, "\n"+link+"\n") || !strings.Contains(got.web, `<a href="`+link+`">`) ||
			!strings.Contains(got.plain, "expires on 14 March 2026, 13:00 UTC") ||
			strings.Contains(got.plain+got.web+got.header.Get("To"), "evil") {
			t.Errorf("mail: got %s\n%s, want the link %s and no text of the recipient's name", got.plain, got.web, link)
		}
	}
}

// The mail to a new address has the link and no text of the customer's choice. The notice to the former one has no
// link.
func TestSendEmailChange(t *testing.T) {
	t.Parallel()
	for kind, want := range map[app.MailKind]struct{ subject, link, text string }{
		app.MailCustomerEmailChange: {
			`Confirm your new email at "Trattoria"`, "https://comanda.example/account/confirm-email#token=cus_a-token",
			"expires on 14 March 2026, 13:00 UTC",
		},
		app.MailCustomerEmailNotice: {`Change of the email of your account at "Trattoria"`, "", "reset your password"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			server := smtptest.New(t, smtptest.Config{})
			mail := app.Mail{ID: "mail_1", Kind: kind, Status: app.MailQueued, Email: "ada@example.com"}
			if want.link != "" {
				mail.Reset = &app.ResetMail{
					Token: app.NewSecret("cus_a-token"), Website: "Trattoria", ExpiresAt: app.At(mailNow.Add(time.Hour)),
				}
			} else {
				mail.Notice = &app.EmailNotice{Website: "Trattoria"}
			}
			result, err := send(newMails(t, &mailbox{mail: mail}, server))
			if err != nil || result.Status != app.MailSent {
				t.Fatalf("got %+v, %v, want %s", result, err, app.MailSent)
			}
			got := read(t, server.Messages()[0].Data)
			if subject, to := got.header.Get("Subject"), got.header.Get("To"); subject != want.subject ||
				to != "<ada@example.com>" {
				t.Errorf("header: got the subject %q to %s, want %q to the address without a name", subject, to, want.subject)
			}
			link := "no link"
			if want.link != "" {
				link = "\n" + want.link + "\n"
			}
			linked := strings.Contains(got.plain, link) && strings.Contains(got.web, `<a href="`+want.link+`">`)
			if linked != (want.link != "") || !strings.Contains(got.plain, want.text) ||
				want.link == "" && strings.Contains(got.plain+got.web, "https://") {
				t.Errorf("mail: got %s\n%s, want the link %q and %q", got.plain, got.web, want.link, want.text)
			}
		})
	}
}

// Names of users and stores cannot inject headers, recipients, paragraphs or markup.
func TestSendEscapesNames(t *testing.T) {
	t.Parallel()
	const encodedWord = "=?utf-8?q?=0d=0aBcc:_all@example.com?="
	for _, test := range []struct{ name, email, plain string }{
		{"Eve\r\nBcc: all@example.com", "eve@example.com", "Eve"},
		{`Eve" <all@example.com>, "`, "eve@example.com", "Eve"},
		{"Zoë \u202eEve\u0000 \u2028 <b>", "zoë@münchen.example", "Zoë Eve"},
		{encodedWord, "eve+x@example.com", "unnamed"},
		{"=?utf-8?q?Eve?=", "eve@example.com", "=?utf-8?q?Eve?="},
		{"Eve", `"a b,c"@example.com`, "Eve"},
		{"You won! https://evil.example/x www.evil.example", "eve@example.com", "You won! www. evil. example"},
		{"J.R. O’Neill «Trattoria»", "eve@example.com", "J. R. O’Neill Trattoria"},
		{strings.Repeat("Ä", 200), "eve@example.com", strings.Repeat("Ä", 59) + "…"},
	} {
		server := smtptest.New(t, smtptest.Config{})
		mail := invitationTo(test.name, test.email)
		if test.email[0] == '"' {
			mail.Email = "a b,c@example.com" // quoted in the SMTP dialogue
		}
		in := mail.Invitation
		in.Inviter, in.Website, in.Stores = test.name, test.name, []string{test.name}
		if result, err := send(newMails(t, &mailbox{mail: mail}, server)); err != nil || result.Status != app.MailSent {
			t.Errorf("%q: %+v, %v, want %s", test.name, result, err, app.MailSent)
			continue
		}
		sent := server.Messages()[0]
		got := read(t, sent.Data)
		to, err := (&netmail.AddressParser{WordDecoder: new(mime.WordDecoder)}).ParseList(got.header.Get("To"))
		if err != nil || len(to) != 1 || to[0].Address != mail.Email || to[0].Name != test.plain || len(sent.To) != 1 {
			t.Errorf("%q: header To %q, %v, recipients %q, want only %s <%s>",
				test.name, got.header.Get("To"), err, sent.To, test.plain, mail.Email)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(got.header.Get("Subject"))
		if err != nil || subject != `Invitation to "`+strings.ReplaceAll(test.plain, "=?", "= ?")+`"` {
			t.Errorf("%q: subject %q, %v, want the name %q", test.name, subject, err, test.plain)
		}
		if got.header.Get("Bcc") != "" || len(got.header) != 8 {
			t.Errorf("%q: headers %v, want 8 without Bcc", test.name, got.header)
		}
		want := "Hello,\n\n" +
			`"` + test.plain + `" has invited you to join "` + test.plain + `" as MANAGER.` + "\n"
		if !strings.HasPrefix(got.plain, want) {
			t.Errorf("%q: plain text %q, want the prefix %q", test.name, got.plain, want)
		}
		if strings.Contains(got.web, "<b>") || strings.Contains(got.web, "<all@") {
			t.Errorf("%q: HTML %s, want escaped names", test.name, got.web)
		}
	}
}
