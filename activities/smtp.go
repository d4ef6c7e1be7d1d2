package activities

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/comanda-dev/comanda/app"
)

// smtpTimeout bounds each of the three parts of a conversation with the mail server: to
// reach it, to log in, to hand over one mail.
const smtpTimeout = 10 * time.Second

// SMTP is the mail server that takes our mails, and how to talk to it.
type SMTP struct {
	host     string
	port     int
	implicit bool // TLS from the first byte (smtps)
	plain    bool // no TLS at all
	user     string
	password app.Secret
	from     *netmail.Address
	roots    *x509.CertPool
	timeout  time.Duration
}

// NewSMTP reads the address of a mail server: smtp://user:password@host:587?from=ADDRESS
// speaks TLS after STARTTLS and never without, smtps://…:465 from the first byte. Only for
// a server on this machine ?tls=none is possible. roots may be nil for the system's. What
// is wrong is told without the password.
func NewSMTP(address app.Secret, roots *x509.CertPool) (*SMTP, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Hostname() == "" { // the parser's error would show the password
		return nil, errors.New("must be a URL such as smtp://user:password@smtp.example.com:587?from=noreply@example.com, with special characters of the password percent-encoded")
	}
	s := &SMTP{host: u.Hostname(), roots: roots, timeout: smtpTimeout}
	switch u.Scheme {
	case "smtp":
		s.port = 587
	case "smtps":
		s.port, s.implicit = 465, true
	default:
		return nil, errors.New("must begin with smtp:// or smtps://")
	}
	if port := u.Port(); port != "" {
		if s.port, err = strconv.Atoi(port); err != nil || s.port < 1 || s.port > 65535 {
			return nil, errors.New("must have a port from 1 to 65535")
		}
	}
	if strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("must have neither a path nor a fragment")
	}
	if u.User != nil {
		password, ok := u.User.Password()
		if s.user, s.password = u.User.Username(), app.NewSecret(password); s.user == "" || !ok || password == "" {
			return nil, errors.New("must have a user name and a password, or neither")
		}
	}
	if err := s.readQuery(u.RawQuery); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *SMTP) readQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("must have a percent-encoded query")
	}
	for name, values := range query {
		if name != "from" && name != "tls" || len(values) != 1 {
			return errors.New("must have no parameters but from and tls, each once")
		}
	}
	if s.from, err = netmail.ParseAddress(query.Get("from")); err != nil {
		return errors.New("must say who sends, as in ?from=Comanda%20<noreply@example.com>")
	}
	switch query.Get("tls") {
	case "":
	case "none":
		if s.implicit || s.user != "" || !isLoopback(s.host) {
			return errors.New("must not have tls=none, save with smtp://, without a password and for a server on this machine")
		}
		s.plain = true
	default:
		return errors.New("must have tls=none or no tls parameter")
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// errRefused is the mail server's last word on a mail: it will say the same tomorrow.
type errRefused struct{ reason string }

// Error returns the reason, which names nobody.
func (e errRefused) Error() string { return e.reason }

// send hands one mail over. An error names neither an address nor the server's text, which
// may quote one; it is errRefused if there is no use in trying again. 5xx at a stage that
// is about us and not about the mail (greeting, login, sender) can be mended by an
// operator, so it is none.
func (s *SMTP) send(ctx context.Context, helo string, message *mail.Msg) error {
	options := []mail.Option{
		mail.WithPort(s.port), mail.WithTimeout(s.timeout), mail.WithHELO(helo), mail.WithTLSPolicy(mail.TLSMandatory),
		mail.WithTLSConfig(&tls.Config{ServerName: s.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}), mail.WithoutNoop(),
	}
	if s.implicit {
		options = append(options, mail.WithSSL())
	}
	if s.plain {
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if s.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.user), mail.WithPassword(s.password.Reveal()))
	}
	host := s.host
	if strings.Contains(host, ":") { // the library joins it with the port as it is
		host = "[" + host + "]"
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return errors.New("the settings of the mail server cannot be used")
	}
	err = client.DialAndSendWithContext(ctx, message)
	if err == nil || message.IsDelivered() { // a clumsy goodbye takes nothing back
		return nil
	}
	if refusal, ok := errors.AsType[*mail.SendError](err); ok && refusal.ErrorCode() > 0 {
		reason := strings.TrimSpace(fmt.Sprintf("SMTP %d %s", refusal.ErrorCode(), refusal.EnhancedStatusCode()))
		if refusal.ErrorCode()/100 == 5 && refusal.Reason != mail.ErrSMTPMailFrom {
			return errRefused{reason}
		}
		return errors.New(reason)
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Errorf("SMTP %d before any mail", answer.Code)
	}
	if strings.Contains(err.Error(), "does not support STARTTLS") {
		return errors.New("the mail server does not offer STARTTLS")
	}
	return errors.New(connectionFailure(ctx, err, s.timeout))
}
