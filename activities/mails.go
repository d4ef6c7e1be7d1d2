package activities

import (
	"context"
	"errors"
	netmail "net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wneessen/go-mail"

	"github.com/comanda-dev/comanda/app"
)

// MailStore is what mails need of the database.
type MailStore interface {
	ClaimMail(ctx context.Context, now time.Time, lease time.Duration, store app.StoreID, id app.MailID) (app.Mail, error)
	EndMail(ctx context.Context, now time.Time, store app.StoreID, id app.MailID, status app.MailStatus, reason string) error
}

// Mails sends mails.
type Mails struct {
	store   MailStore
	smtp    *SMTP
	baseURL string
	now     func() time.Time
	ended   *prometheus.CounterVec
}

// NewMails joins what mails need: smtp is nil where no mail server is configured; what
// links begin with is baseURL.
func NewMails(store MailStore, smtp *SMTP, baseURL string, now func() time.Time, metrics prometheus.Registerer) *Mails {
	m := &Mails{
		store: store, smtp: smtp, baseURL: baseURL, now: now,
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "comanda_mails_total", Help: "Mails, by what became of them."}, []string{"status"}),
	}
	metrics.MustRegister(m.ended)
	return m
}

// How long a try keeps others from the same mail, and may take: longer than the mail
// server's three time limits, and shorter than the pause before the next try.
const (
	MailLease = 40 * time.Second
	MailLimit = time.Minute
)

// MailInput names a mail.
type MailInput struct {
	StoreID app.StoreID `json:"storeId"`
	MailID  app.MailID  `json:"mailId"`
}

// MailResult is what became of a mail. The history keeps it, so it names nobody.
type MailResult struct {
	Status app.MailStatus `json:"status"`
	Reason string         `json:"reason,omitempty"` // unless sent
}

// Send sends a mail, unless that has been done or there is nothing to be said any more. A
// refusal for good is a result; an error means that it is worth trying again. A worker that
// dies between the mail server's answer and the record of it has the mail sent once more,
// under the same Message-ID.
func (m *Mails) Send(ctx context.Context, in MailInput) (MailResult, error) {
	if m.smtp == nil {
		return MailResult{}, errors.New("this worker has no COMANDA_SMTP_URL")
	}
	claimed, err := m.store.ClaimMail(ctx, m.now(), MailLease, in.StoreID, in.MailID)
	if app.CodeOf(err) == app.CodeNotFound {
		return MailResult{Status: app.MailObsolete, Reason: "no longer kept"}, nil
	}
	if err != nil {
		return MailResult{}, err
	}
	if claimed.Status != app.MailQueued {
		return MailResult{Status: claimed.Status, Reason: claimed.Reason}, nil
	}
	result := MailResult{Status: app.MailSent}
	message, err := m.message(claimed)
	if err == nil {
		err = m.smtp.send(ctx, m.host(), message)
	}
	if refused, ok := errors.AsType[errRefused](err); ok {
		result = MailResult{Status: app.MailFailed, Reason: refused.reason}
	} else if err != nil {
		return MailResult{}, err
	}
	return result, m.end(ctx, in, result)
}

// GiveUpInput names a mail that is not tried again.
type GiveUpInput struct {
	MailInput
	Reason string `json:"reason"`
}

// GiveUp records that a mail is not tried again.
func (m *Mails) GiveUp(ctx context.Context, in GiveUpInput) error {
	return m.end(ctx, in.MailInput, MailResult{Status: app.MailFailed, Reason: in.Reason})
}

// end records what became of a mail, also when the worker is about to stop.
func (m *Mails) end(ctx context.Context, in MailInput, result MailResult) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := m.store.EndMail(ctx, m.now(), in.StoreID, in.MailID, result.Status, result.Reason); err != nil {
		return err
	}
	m.ended.WithLabelValues(string(result.Status)).Inc()
	return nil
}

// message makes the mail that goes out. The Message-ID is the mail's own, so that
// receivers can tell a duplicate.
func (m *Mails) message(claimed app.Mail) (*mail.Msg, error) {
	to := &netmail.Address{Name: oneLine(claimed.Name), Address: claimed.Email}
	if parsed, err := netmail.ParseAddress(to.String()); err != nil || parsed.Address != claimed.Email {
		return nil, errRefused{"the address cannot be used"}
	}
	text, html, subject, err := render(m.baseURL, claimed)
	if err != nil {
		return nil, err
	}
	from := m.smtp.from
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	message.FromMailAddress(from)
	message.ToMailAddress(to)
	message.Subject(strings.ReplaceAll(subject, "=?", "= ?")) // a name is no encoded word
	message.SetDateWithValue(m.now())
	message.SetMessageIDWithValue(string(claimed.ID) + from.Address[strings.LastIndexByte(from.Address, '@'):])
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(mail.TypeTextPlain, text)
	message.AddAlternativeString(mail.TypeTextHTML, html)
	return message, nil
}

// host is how we introduce ourselves to the mail server.
func (m *Mails) host() string {
	if u, err := url.Parse(m.baseURL); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "localhost"
}
