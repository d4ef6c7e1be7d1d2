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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
)

var mailNow = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// mailbox is a MailStore with one mail, which only one worker at a time can claim.
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

func (m *mailbox) EndMail(
	_ context.Context, _ time.Time, _ app.StoreID, _ app.MailID, status app.MailStatus, reason string,
) error {
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
			Token: app.NewSecret(inviteToken), Inviter: "Ada", Website: "Trattoria",
			Stores: []string{"Mitte", "Ost", "West"}, Role: app.RoleManager,
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
	now := func() time.Time { return mailNow }
	return NewMails(store, smtp, "https://comanda.example", now, prometheus.NewRegistry())
}

func send(m *Mails) (MailResult, error) {
	return m.Send(context.Background(), MailInput{StoreID: "sto_1", MailID: "mail_1"}, func(MailResult) {})
}

// received is a decoded mail.
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
			t.Fatalf("part with header %v: %v", part.Header, err)
		}
		texts = append(texts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(texts) != 2 {
		t.Fatalf("%d parts, want 2", len(texts))
	}
	return received{message.Header, texts[0], texts[1]}
}

// The mail server's response decides whether sending is retried. Errors contain only its codes, because its text may
// contain the address.
// Failures before the transfer of a mail are retried. Their errors do not contain the password.
func TestConcurrentWorkersSendOneMail(t *testing.T) {
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
		t.Errorf("%d mails accepted, %d workers sent, %d were busy, want 1 mail", n, sent, busy)
	}
}

// A mail whose worker died before it reported the response is sent again with the same Message-ID. An erased or
// obsolete mail is not sent.
func TestSendStoreStates(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, smtptest.Config{})
	store := &mailbox{mail: invitationTo("Grace", "grace@example.com"), endErr: app.Unavailable(0)}
	mails := newMails(t, store, server)
	if _, err := send(mails); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("result not recorded: %v, want an error", err)
	}
	store.claimed, store.endErr = false, nil
	if result, err := send(mails); err != nil || result.Status != app.MailSent {
		t.Errorf("second execution: %+v, %v, want %s", result, err, app.MailSent)
	}
	all := server.Messages()
	if len(all) != 2 || read(t, all[0].Data).header.Get("Message-Id") != read(t, all[1].Data).header.Get("Message-Id") {
		t.Errorf("%d mails, want 2 with the same Message-ID", len(all))
	}
	for name, mail := range map[string]app.Mail{
		"erased": {}, "obsolete": {ID: "mail_1", Status: app.MailObsolete, Reason: "too late"},
	} {
		t.Run(name, func(t *testing.T) {
			mails := newMails(t, &mailbox{mail: mail}, server)
			result, err := send(mails)
			counted := testutil.ToFloat64(mails.ended.WithLabelValues(string(app.MailObsolete)))
			if name == "obsolete" && counted != 1 {
				t.Errorf("%s: counted %v mails, want 1", name, counted)
			}
			if err != nil || result.Status != app.MailObsolete || result.Reason == "" {
				t.Errorf("%s: %+v, %v, want %s", name, result, err, app.MailObsolete)
			}
		})
	}
	if n := len(server.Messages()); n != 2 {
		t.Errorf("%d mails accepted, want none for erased and obsolete mails", n)
	}
}
