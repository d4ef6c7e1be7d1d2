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

// MailStore contains the mails.
type MailStore interface {
	// ClaimMail returns a mail. If the mail is queued, it claims it until the lease expires. It returns CONFLICT if
	// another worker has claimed it, and NOT_FOUND if it has been erased.
	ClaimMail(
		ctx context.Context, now time.Time, lease time.Duration, store app.StoreID, id app.MailID,
	) (app.Mail, error)
	// EndMail records the final status of a mail.
	EndMail(
		ctx context.Context, now time.Time, store app.StoreID, id app.MailID, status app.MailStatus, reason string,
	) error
}

// Mails contains the activities of mails.
type Mails struct {
	store   MailStore
	smtp    *SMTP
	baseURL string
	now     func() time.Time
	ended   *prometheus.CounterVec
}

// NewMails returns the activities of mails. smtp is nil if no mail server is configured; Send then fails. baseURL is
// the prefix of links.
func NewMails(store MailStore, smtp *SMTP, baseURL string, now func() time.Time, metrics prometheus.Registerer) *Mails {
	m := &Mails{
		store: store, smtp: smtp, baseURL: baseURL, now: now,
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_mails_total", Help: "Mails that ended, by status.",
		}, []string{"status"}),
	}
	metrics.MustRegister(m.ended)
	for _, status := range []app.MailStatus{app.MailSent, app.MailObsolete, app.MailFailed} {
		m.ended.WithLabelValues(string(status)) // a counter that begins at 1 has not increased for Prometheus
	}
	return m
}

// Limits of one execution of Send. The lease exceeds the three timeouts of the mail server (30 s in total). It is also
// the pause before the first retry, so that a retry finds it expired.
const (
	MailLease = 40 * time.Second
	MailLimit = time.Minute
)

// MailInput identifies a mail.
type MailInput struct {
	StoreID app.StoreID `json:"storeId"`
	MailID  app.MailID  `json:"mailId"`
}

// MailResult is the result of sending a mail. It contains no personal data, because it is part of the workflow's
// history.
type MailResult struct {
	Status app.MailStatus `json:"status"`
	Reason string         `json:"reason,omitempty"` // empty if sent
}

// Send sends a mail, unless it was already sent or is obsolete. A permanent rejection by the mail server is a result;
// an error is temporary, and sending can be retried. Send calls responded when the mail server has accepted or rejected
// the mail; if the result cannot be recorded then, Record must be retried instead. If the worker dies between the
// response and this call, the mail is sent again with the same Message-ID.
func (m *Mails) Send(ctx context.Context, in MailInput, responded func(MailResult)) (MailResult, error) {
	if m.smtp == nil {
		return MailResult{}, errors.New("COMANDA_SMTP_URL is not set for this worker")
	}
	claimed, err := m.store.ClaimMail(ctx, m.now(), MailLease, in.StoreID, in.MailID)
	if app.CodeOf(err) == app.CodeNotFound {
		return MailResult{Status: app.MailObsolete, Reason: "no longer kept"}, nil
	}
	if err != nil {
		return MailResult{}, err
	}
	if claimed.Status == app.MailObsolete { // the claim has ended it
		m.ended.WithLabelValues(string(claimed.Status)).Inc()
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
	responded(result)
	return m.Record(ctx, in, result)
}

// Record records the result of a mail after the response of the mail server, even if the worker is stopping.
func (m *Mails) Record(ctx context.Context, in MailInput, result MailResult) (MailResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := m.store.EndMail(ctx, m.now(), in.StoreID, in.MailID, result.Status, result.Reason); err != nil {
		return result, err
	}
	m.ended.WithLabelValues(string(result.Status)).Inc()
	return result, nil
}

// GiveUpInput identifies a mail that will not be sent.
type GiveUpInput struct {
	MailInput
	Reason string `json:"reason"`
}

// GiveUp records that a mail will not be sent.
func (m *Mails) GiveUp(ctx context.Context, in GiveUpInput) error {
	_, err := m.Record(ctx, in.MailInput, MailResult{Status: app.MailFailed, Reason: in.Reason})
	return err
}

// message returns the message of a mail. Its Message-ID is derived from the mail's id, so that recipients can detect
// duplicates.
func (m *Mails) message(claimed app.Mail) (*mail.Msg, error) {
	to := &netmail.Address{Address: claimed.Email}
	if claimed.Name != "" {
		to.Name = plainName(claimed.Name)
	}
	if parsed, err := netmail.ParseAddress(to.String()); err != nil || parsed.Address != claimed.Email {
		return nil, errRefused{"the recipient's address is invalid"}
	}
	text, html, subject, err := render(m.baseURL, claimed)
	if err != nil {
		return nil, err
	}
	from := m.smtp.from
	message := mail.NewMsg(mail.WithNoDefaultUserAgent())
	message.FromMailAddress(from)
	message.ToMailAddress(to)
	message.Subject(strings.ReplaceAll(subject, "=?", "= ?")) // prevents encoded words in names
	message.SetDateWithValue(m.now())
	message.SetMessageIDWithValue(string(claimed.ID) + from.Address[strings.LastIndexByte(from.Address, '@'):])
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(mail.TypeTextPlain, text)
	message.AddAlternativeString(mail.TypeTextHTML, html)
	return message, nil
}

// host returns the host name of the service for the HELO command.
func (m *Mails) host() string {
	if u, err := url.Parse(m.baseURL); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "localhost"
}
