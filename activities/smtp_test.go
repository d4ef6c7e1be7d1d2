package activities

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
)

func TestSendRejected(t *testing.T) {
	t.Parallel()
	rejects := func(at string, code, class int) func(string, string) *smtptest.Rejection {
		return func(stage, address string) *smtptest.Rejection {
			if stage != at {
				return nil
			}
			text := "nothing for grace@example.com " + inviteToken
			return &smtptest.Rejection{Code: code, Enhanced: [3]int{class, 1, 1}, Text: text}
		}
	}
	for name, test := range map[string]struct {
		config smtptest.Config
		email  string
		final  bool // not retried
		reason string
	}{
		"unknown recipient":    {smtptest.Config{Reject: rejects("RCPT", 550, 5)}, "", true, "SMTP 550 5.1.1"},
		"rejected content":     {smtptest.Config{Reject: rejects("DATA", 554, 5)}, "", true, "SMTP 554 5.1.1"},
		"busy mailbox":         {smtptest.Config{Reject: rejects("RCPT", 450, 4)}, "", false, "SMTP 450 4.1.1"},
		"greylisted":           {smtptest.Config{Reject: rejects("DATA", 451, 4)}, "", false, "SMTP 451 4.1.1"},
		"rejected sender":      {smtptest.Config{Reject: rejects("MAIL", 550, 5)}, "", false, "SMTP 550 5.1.1"},
		"no STARTTLS":          {smtptest.Config{NoTLS: true}, "", false, "the mail server does not offer STARTTLS"},
		"address not in ASCII": {smtptest.Config{NoUTF8: true}, "zoë@example.com", true, "SMTP 553 5.6.7"},
		"invalid address": {
			smtptest.Config{}, "grace@example.com>\r\nRCPT TO:<eve@example.com", true,
			"the recipient's address is invalid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.New(t, test.config)
			if test.email == "" {
				test.email = "grace@example.com"
			}
			store := &mailbox{mail: invitationTo("Grace", test.email)}
			result, err := send(newMails(t, store, server))
			if test.final {
				want := MailResult{Status: app.MailFailed, Reason: test.reason}
				if err != nil || result != want || store.mail.Status != app.MailFailed {
					t.Errorf("%s: %+v, %v, status %s, want %+v", name, result, err, store.mail.Status, want)
				}
			} else if err == nil || err.Error() != test.reason || store.mail.Status != app.MailQueued {
				t.Errorf("%s: %v, status %s, want error %q and %s",
					name, err, store.mail.Status, test.reason, app.MailQueued)
			}
			if n := len(server.Messages()); n != 0 {
				t.Errorf("%s: %d mails accepted, want 0", name, n)
			}
		})
	}
}

func TestSendMailServerUnusable(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Config{})
	hanging := smtptest.New(t, smtptest.Config{Implicit: true})
	for name, test := range map[string]struct {
		change func(*SMTP)
		reason string
	}{
		"untrusted certificate": {func(s *SMTP) { s.roots = nil }, "the certificate is not trusted"},
		"wrong password":        {func(s *SMTP) { s.password = app.NewSecret("wrong") }, "SMTP 454 before the mail"},
		"not listening":         {func(s *SMTP) { s.port = 1 }, "the connection was refused"},
		"hanging": {
			func(s *SMTP) { s.port, s.timeout = hanging.Port, 200*time.Millisecond }, "no response within 200ms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &mailbox{mail: invitationTo("Grace", "grace@example.com")}
			mails := newMails(t, store, server)
			test.change(mails.smtp)
			if _, err := send(mails); err == nil || err.Error() != test.reason || store.mail.Status != app.MailQueued {
				t.Errorf("%s: %v, status %s, want error %q and %s",
					name, err, store.mail.Status, test.reason, app.MailQueued)
			}
		})
	}
	if n := len(server.Messages()); n != 0 {
		t.Errorf("%d mails accepted, want 0", n)
	}
	store := &mailbox{mail: invitationTo("Grace", "grace@example.com")}
	none := NewMails(store, nil, "https://comanda.example", time.Now, prometheus.NewRegistry())
	if _, err := send(none); err == nil || store.claimed {
		t.Errorf("without a mail server: %v, claimed %v, want an error before the claim", err, store.claimed)
	}
}

func TestNewSMTP(t *testing.T) {
	t.Parallel()
	const from = "?from=noreply@example.com"
	for address, want := range map[string]SMTP{
		"smtp://smtp.example.com" + from: {host: "smtp.example.com", port: 587},
		"smtps://smtp.example.com/" + from: {
			host: "smtp.example.com", port: 465, implicit: true,
		},
		"smtp://a%40b:s%2Fc@[::1]:2525" + from: {
			host: "::1", port: 2525, user: "a@b", password: app.NewSecret("s/c"),
		},
		"smtp://localhost:1025?tls=none&from=A%20<a@example.com>":   {host: "localhost", port: 1025, plain: true},
		"smtp://127.0.0.1:1025?tls=none&from=%22A%22%20<a@example>": {host: "127.0.0.1", port: 1025, plain: true},
	} {
		got, err := NewSMTP(app.NewSecret(address), nil)
		if err != nil {
			t.Errorf("%s: %v, want no error", address, err)
			continue
		}
		if got.host != want.host || got.port != want.port || got.implicit != want.implicit || got.plain != want.plain ||
			got.user != want.user ||
			got.password != want.password || got.from == nil {
			t.Errorf("%s: %+v, want %+v", address, got, want)
		}
	}
	for _, address := range []string{
		"smtp.example.com:587", "http://smtp.example.com" + from, "smtp://" + from, "smtp://smtp.example.com",
		"smtp://smtp.example.com?from=nobody",
		"smtp://u:geheim@smtp.example.com:0" + from, "smtp://u:geheim@smtp.example.com:99999" + from,
		"smtp://u:geheim@smtp.example.com:port" + from,
		"smtp://u@smtp.example.com" + from, "smtp://:geheim@smtp.example.com" + from,
		"smtp://u:geheim@smtp.example.com/path" + from,
		"smtp://u:geheim%@smtp.example.com" + from, "smtp://u:ge#heim@smtp.example.com" + from,
		"smtp://smtp.example.com" + from + "&from=x@example.com",
		"smtp://smtp.example.com" + from + "&tls=maybe", "smtp://smtp.example.com" + from + "&tls=none",
		"smtp://u:geheim@localhost" + from + "&tls=none",
		"smtps://localhost" + from + "&tls=none", "smtp://smtp.example.com" + from + "&TLS=none",
		"smtp://smtp.example.com?from=a@example.com%0d%0aBcc:b@example.com",
	} {
		got, err := NewSMTP(app.NewSecret(address), nil)
		if err == nil || got != nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want an error without the password", address, err)

		}
	}
}
