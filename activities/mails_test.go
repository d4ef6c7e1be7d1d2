package activities

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
)

var mailNow = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// mailbox is a MailStore of one mail. As the real one it lets a mail go to one worker at a
// time.
type mailbox struct {
	sync.Mutex
	mail    app.Mail
	claimed bool
	endErr  error
}

func (m *mailbox) ClaimMail(context.Context, time.Time, time.Duration, app.StoreID, app.MailID) (app.Mail, error) {
	m.Lock()
	defer m.Unlock()
	if m.mail.ID == "" {
		return app.Mail{}, app.NotFound()
	}
	if m.claimed && m.mail.Status == app.MailQueued {
		return app.Mail{}, app.Errorf(app.CodeConflict, "the mail is being sent")
	}
	m.claimed = true
	return m.mail, nil
}

func (m *mailbox) EndMail(_ context.Context, _ time.Time, _ app.StoreID, _ app.MailID, status app.MailStatus, reason string) error {
	m.Lock()
	defer m.Unlock()
	if m.endErr == nil {
		m.mail.Status, m.mail.Reason = status, reason
	}
	return m.endErr
}

const inviteToken = "an-invitations-token"

func invitationTo(name, email string) app.Mail {
	return app.Mail{
		ID: "mail_1", Kind: app.MailInvitation, Status: app.MailQueued, Name: name, Email: email,
		Invitation: &app.InvitationMail{
			Token: app.NewSecret(inviteToken), Inviter: "Ada", Website: "Trattoria", Stores: []string{"Mitte", "Ost", "West"}, Role: app.RoleManager,
			ExpiresAt: app.At(mailNow.Add(7 * 24 * time.Hour)),
		},
	}
}

func newMails(t *testing.T, store MailStore, server *smtptest.Server) *Mails {
	t.Helper()
	smtp, err := NewSMTP(app.NewSecret(server.URL()), server.Roots)
	if err != nil {
		t.Fatal(err)
	}
	return NewMails(store, smtp, "https://comanda.example", func() time.Time { return mailNow }, prometheus.NewRegistry())
}

func send(m *Mails) (MailResult, error) {
	return m.Send(context.Background(), MailInput{StoreID: "sto_1", MailID: "mail_1"})
}

// received is a mail as its reader sees it.
type received struct {
	header     netmail.Header
	plain, web string
}

func read(t *testing.T, data []byte) received {
	t.Helper()
	message, err := netmail.ReadMessage(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	var texts []string
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil || part.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			t.Fatal(part.Header, err)
		}
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(texts) != 2 {
		t.Fatalf("%d parts", len(texts))
	}
	return received{message.Header, texts[0], texts[1]}
}

func TestAnInvitationIsMailedOnce(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]smtptest.Config{"STARTTLS": {}, "TLS": {Implicit: true}, "no goodbye": {HangUp: true}} {
		server := smtptest.New(t, config)
		store := &mailbox{mail: invitationTo("Grace Hopper", "grace@example.com")}
		mails := newMails(t, store, server)
		for range 2 {
			if result, err := send(mails); err != nil || result != (MailResult{Status: app.MailSent}) {
				t.Fatalf("%s: %+v, %v", name, result, err)
			}
		}
		all := server.Messages()
		if len(all) != 1 {
			t.Fatalf("%s: %d mails", name, len(all))
		}
		if !all[0].TLS || all[0].User != smtptest.User || all[0].From != "noreply@comanda.example" || !cmp.Equal(all[0].To, []string{"grace@example.com"}) {
			t.Errorf("%s: %+v", name, all[0])
		}
		got := read(t, all[0].Data)
		for key, want := range map[string]string{
			"From": `"Comanda" <noreply@comanda.example>`, "To": `"Grace Hopper" <grace@example.com>`, "Subject": "Invitation to Trattoria",
			"Message-Id": "<mail_1@comanda.example>", "Date": "Sat, 14 Mar 2026 12:00:00 +0000", "Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "",
		} {
			if got.header.Get(key) != want {
				t.Errorf("%s: %s: %q", name, key, got.header.Get(key))
			}
		}
		want := `Hello Grace Hopper,

Ada invites you to work in Mitte, Ost and West as MANAGER.

The invitation can be accepted once, until 21 March 2026, 12:00 UTC.

Accept the invitation:
https://comanda.example/dashboard/accept-invite#an-invitations-token

Whoever has this link can accept the invitation. If you did not expect it, ignore this mail.
`
		if diff := cmp.Diff(want, got.plain); diff != "" {
			t.Error(name, diff)
		}
		if !strings.Contains(got.web, `<a href="https://comanda.example/dashboard/accept-invite#an-invitations-token">Accept the invitation</a>`) {
			t.Error(name, got.web)
		}
	}
}

func TestMailsAboutWebhooks(t *testing.T) {
	t.Parallel()
	for kind, want := range map[app.MailKind]string{
		app.MailWebhookWarning: `Webhook to hooks.example.com:8443 fails: day 3 of 7
Hello Ada,

A webhook of Mitte could not deliver to hooks.example.com:8443: day 3 of 7, 17 failed attempts in a row.

On day 7 of failure it is deactivated. One successful delivery starts the count afresh.

See the webhook:
https://comanda.example/dashboard/webhooks/whk_1

You receive this mail as an OWNER or ADMIN of Mitte.
`,
		app.MailWebhookDeactivated: `Webhook to hooks.example.com:8443 deactivated
Hello Ada,

A webhook of Mitte has been deactivated: deliveries to hooks.example.com:8443 failed on 3 days, 17 failed attempts in a row.

It gets no more events until it is activated again. What could not be delivered is kept for a while and can be replayed.

See the webhook:
https://comanda.example/dashboard/webhooks/whk_1

You receive this mail as an OWNER or ADMIN of Mitte.
`,
	} {
		text, _, subject, err := render("https://comanda.example/", app.Mail{ID: "mail_1", Kind: kind, Name: "Ada", Webhook: &app.WebhookMail{
			ID: "whk_1", URL: "https://hooks.example.com:8443/a-secret-path?key=secret", Store: "Mitte", WebhookTrouble: app.WebhookTrouble{Day: 3, Of: 7, Failures: 17},
		}})
		if diff := cmp.Diff(want, subject+"\n"+text); diff != "" || err != nil {
			t.Error(kind, diff, err)
		}
	}
}

// Whatever people call themselves and their stores: no header, recipient, paragraph or
// markup comes of it.
func TestNamesInjectNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, email, to, plain string }{
		{"Eve\r\nBcc: all@example.com", "eve@example.com", "Eve Bcc: all@example.com", "Eve Bcc: all@example.com"},
		{`Eve" <all@example.com>, "`, "eve@example.com", `Eve" <all@example.com>, "`, `Eve" <all@example.com>, "`},
		{"Zoë \u202eEve\u0000 \u2028 <b>", "zoë@münchen.example", "Zoë Eve <b>", "Zoë Eve <b>"},
		{"=?utf-8?q?=0d=0aBcc:_all@example.com?=", "eve+x@example.com", "=?utf-8?q?=0d=0aBcc:_all@example.com?=", "=?utf-8?q?=0d=0aBcc:_all@example.com?="},
		{"Eve", `"a b,c"@example.com`, "Eve", "Eve"},
		{strings.Repeat("Ä", 200), "eve@example.com", strings.Repeat("Ä", 200), strings.Repeat("Ä", 200)},
	} {
		server := smtptest.New(t, smtptest.Config{})
		mail := invitationTo(test.name, test.email)
		if test.email[0] == '"' {
			mail.Email = "a b,c@example.com" // what is quoted on the wire
		}
		mail.Invitation.Inviter, mail.Invitation.Website, mail.Invitation.Stores = test.name, test.name, []string{test.name}
		if result, err := send(newMails(t, &mailbox{mail: mail}, server)); err != nil || result.Status != app.MailSent {
			t.Errorf("%q: %+v, %v", test.name, result, err)
			continue
		}
		sent := server.Messages()[0]
		got := read(t, sent.Data)
		to, err := (&netmail.AddressParser{WordDecoder: new(mime.WordDecoder)}).ParseList(got.header.Get("To"))
		if err != nil || len(to) != 1 || to[0].Address != mail.Email || to[0].Name != test.to || len(sent.To) != 1 {
			t.Errorf("%q: to %q, %v, %q", test.name, got.header.Get("To"), err, sent.To)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(got.header.Get("Subject"))
		if err != nil || subject != "Invitation to "+strings.ReplaceAll(test.plain, "=?", "= ?") {
			t.Errorf("%q: subject %q, %v", test.name, subject, err)
		}
		if got.header.Get("Bcc") != "" || len(got.header) != 8 {
			t.Errorf("%q: headers %v", test.name, got.header)
		}
		if !strings.HasPrefix(got.plain, "Hello "+test.plain+",\n\n"+test.plain+" invites you to work in "+test.plain+" as MANAGER.\n") {
			t.Errorf("%q: %s", test.name, got.plain)
		}
		if strings.Contains(got.web, "<b>") || strings.Contains(got.web, "<all@") {
			t.Errorf("%q: %s", test.name, got.web)
		}
	}
}

// What the mail server says decides whether a mail is tried again. Nothing of it but its
// codes gets out: servers like to quote the address.
func TestRefusals(t *testing.T) {
	t.Parallel()
	answer := func(at string, code, class int) func(string, string) *smtptest.Answer {
		return func(stage, address string) *smtptest.Answer {
			if stage != at {
				return nil
			}
			return &smtptest.Answer{Code: code, Enhanced: [3]int{class, 1, 1}, Text: "nothing for grace@example.com " + inviteToken}
		}
	}
	for name, test := range map[string]struct {
		config smtptest.Config
		email  string
		final  bool // not tried again
		reason string
	}{
		"unknown recipient":   {smtptest.Config{Answer: answer("RCPT", 550, 5)}, "", true, "SMTP 550 5.1.1"},
		"refused content":     {smtptest.Config{Answer: answer("DATA", 554, 5)}, "", true, "SMTP 554 5.1.1"},
		"busy mailbox":        {smtptest.Config{Answer: answer("RCPT", 450, 4)}, "", false, "SMTP 450 4.1.1"},
		"greylisted":          {smtptest.Config{Answer: answer("DATA", 451, 4)}, "", false, "SMTP 451 4.1.1"},
		"we may not send":     {smtptest.Config{Answer: answer("MAIL", 550, 5)}, "", false, "SMTP 550 5.1.1"},
		"no STARTTLS":         {smtptest.Config{NoTLS: true}, "", false, "the mail server does not offer STARTTLS"},
		"address beyond SMTP": {smtptest.Config{NoUTF8: true}, "zoë@example.com", true, "SMTP 553 5.6.7"},
		"no address":          {smtptest.Config{}, "grace@example.com>\r\nRCPT TO:<eve@example.com", true, "the address cannot be used"},
	} {
		server := smtptest.New(t, test.config)
		if test.email == "" {
			test.email = "grace@example.com"
		}
		store := &mailbox{mail: invitationTo("Grace", test.email)}
		result, err := send(newMails(t, store, server))
		if test.final {
			if want := (MailResult{Status: app.MailFailed, Reason: test.reason}); err != nil || result != want || store.mail.Status != app.MailFailed {
				t.Errorf("%s: %+v, %v, then %s", name, result, err, store.mail.Status)
			}
		} else if err == nil || err.Error() != test.reason || store.mail.Status != app.MailQueued {
			t.Errorf("%s: %v, then %s", name, err, store.mail.Status)
		}
		if n := len(server.Messages()); n != 0 {
			t.Errorf("%s: %d mails", name, n)
		}
	}
}

// What goes wrong before any mail is tried again, and told without the password.
func TestTheMailServerCannotBeUsed(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Config{})
	hanging := smtptest.New(t, smtptest.Config{Implicit: true})
	for name, test := range map[string]struct {
		change func(*SMTP)
		reason string
	}{
		"stranger's certificate": {func(s *SMTP) { s.roots = nil }, "the certificate is not trusted"},
		"wrong password":         {func(s *SMTP) { s.password = app.NewSecret("wrong") }, "SMTP 454 before any mail"},
		"nobody there":           {func(s *SMTP) { s.port = 1 }, "the connection was refused"},
		"says nothing":           {func(s *SMTP) { s.port, s.timeout = hanging.Port, 200*time.Millisecond }, "no answer within 200ms"},
	} {
		store := &mailbox{mail: invitationTo("Grace", "grace@example.com")}
		mails := newMails(t, store, server)
		test.change(mails.smtp)
		if _, err := send(mails); err == nil || err.Error() != test.reason || store.mail.Status != app.MailQueued {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(server.Messages()); n != 0 {
		t.Errorf("%d mails", n)
	}
	store := &mailbox{mail: invitationTo("Grace", "grace@example.com")}
	none := NewMails(store, nil, "https://comanda.example", time.Now, prometheus.NewRegistry())
	if _, err := send(none); err == nil || store.claimed {
		t.Errorf("without a mail server: %v", err)
	}
}

func TestTwoWorkersSendOneMail(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Config{})
	store := &mailbox{mail: invitationTo("Grace", "grace@example.com")}
	var sent, busy int
	var counting sync.Mutex
	var wait sync.WaitGroup
	for range 2 {
		mails := newMails(t, store, server)
		wait.Go(func() {
			result, err := send(mails)
			counting.Lock()
			defer counting.Unlock()
			if result.Status == app.MailSent {
				sent++
			} else if app.CodeOf(err) == app.CodeConflict {
				busy++
			}
		})
	}
	wait.Wait()
	if n := len(server.Messages()); n != 1 || sent+busy != 2 || sent == 0 {
		t.Errorf("%d mails, %d sent, %d busy", n, sent, busy)
	}
}

// A mail whose end could not be recorded is sent again, under the same Message-ID; one
// that is gone or obsolete is not sent.
func TestWhatTheStoreSays(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Config{})
	store := &mailbox{mail: invitationTo("Grace", "grace@example.com"), endErr: app.Unavailable(0)}
	mails := newMails(t, store, server)
	if _, err := send(mails); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("the end is not recorded: %v", err)
	}
	store.claimed, store.endErr = false, nil
	if result, err := send(mails); err != nil || result.Status != app.MailSent {
		t.Errorf("again: %+v, %v", result, err)
	}
	all := server.Messages()
	if len(all) != 2 || read(t, all[0].Data).header.Get("Message-Id") != read(t, all[1].Data).header.Get("Message-Id") {
		t.Errorf("%d mails", len(all))
	}
	for name, mail := range map[string]app.Mail{"gone": {}, "obsolete": {ID: "mail_1", Status: app.MailObsolete, Reason: "too late"}} {
		result, err := send(newMails(t, &mailbox{mail: mail}, server))
		if err != nil || result.Status != app.MailObsolete || result.Reason == "" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	if n := len(server.Messages()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

func TestSMTPURLs(t *testing.T) {
	t.Parallel()
	const from = "?from=noreply@example.com"
	for address, want := range map[string]SMTP{
		"smtp://smtp.example.com" + from:                            {host: "smtp.example.com", port: 587},
		"smtps://smtp.example.com/" + from:                          {host: "smtp.example.com", port: 465, implicit: true},
		"smtp://a%40b:s%2Fc@[::1]:2525" + from:                      {host: "::1", port: 2525, user: "a@b", password: app.NewSecret("s/c")},
		"smtp://localhost:1025?tls=none&from=A%20<a@example.com>":   {host: "localhost", port: 1025, plain: true},
		"smtp://127.0.0.1:1025?tls=none&from=%22A%22%20<a@example>": {host: "127.0.0.1", port: 1025, plain: true},
	} {
		got, err := NewSMTP(app.NewSecret(address), nil)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got.host != want.host || got.port != want.port || got.implicit != want.implicit || got.plain != want.plain || got.user != want.user ||
			got.password != want.password || got.from == nil {
			t.Errorf("%s: %+v", address, got)
		}
	}
	for _, address := range []string{
		"smtp.example.com:587", "http://smtp.example.com" + from, "smtp://" + from, "smtp://smtp.example.com", "smtp://smtp.example.com?from=nobody",
		"smtp://u:geheim@smtp.example.com:0" + from, "smtp://u:geheim@smtp.example.com:99999" + from, "smtp://u:geheim@smtp.example.com:port" + from,
		"smtp://u@smtp.example.com" + from, "smtp://:geheim@smtp.example.com" + from, "smtp://u:geheim@smtp.example.com/path" + from,
		"smtp://u:geheim%@smtp.example.com" + from, "smtp://u:ge#heim@smtp.example.com" + from, "smtp://smtp.example.com" + from + "&from=x@example.com",
		"smtp://smtp.example.com" + from + "&tls=maybe", "smtp://smtp.example.com" + from + "&tls=none", "smtp://u:geheim@localhost" + from + "&tls=none",
		"smtps://localhost" + from + "&tls=none", "smtp://smtp.example.com" + from + "&TLS=none", "smtp://smtp.example.com?from=a@example.com%0d%0aBcc:b@example.com",
	} {
		got, err := NewSMTP(app.NewSecret(address), nil)
		if err == nil || got != nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
