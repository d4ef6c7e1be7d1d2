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

// smtpTimeout limits each of the three steps of sending a mail: connect, log in, transfer the message.
const smtpTimeout = 10 * time.Second

// SMTP is the configuration of the mail server.
type SMTP struct {
	host     string
	port     int
	implicit bool // implicit TLS (smtps) instead of STARTTLS
	plain    bool // no TLS
	user     string
	password app.Secret
	from     *netmail.Address
	roots    *x509.CertPool
	timeout  time.Duration
}

// NewSMTP parses the URL of a mail server: smtp://user:password@host:587?from=ADDRESS requires STARTTLS, smtps://…:465
// uses implicit TLS. tls=none disables TLS, only for a server on this machine. If roots is nil, the system's
// certificate authorities are used. Errors do not contain the password.
func NewSMTP(address app.Secret, roots *x509.CertPool) (*SMTP, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Hostname() == "" { // the parser's error would contain the password
		return nil, errors.New("must be a URL such as " +
			"smtp://user:password@smtp.example.com:587?from=noreply@example.com, with a percent-encoded password")
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
			return errors.New("must have only the parameters from and tls, each at most once")
		}
	}
	if s.from, err = netmail.ParseAddress(query.Get("from")); err != nil {
		return errors.New("must name the sender, as in ?from=Comanda%20<noreply@example.com>")
	}
	switch query.Get("tls") {
	case "":
	case "none":
		if s.implicit || s.user != "" || !isLoopback(s.host) {
			return errors.New("tls=none requires smtp://, a server on this machine, and no password")
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

// errRefused is a permanent rejection of a mail by the mail server.
type errRefused struct{ reason string }

// Error returns the reason, which contains no personal data.
func (e errRefused) Error() string { return e.reason }

// send sends one mail. It returns errRefused if the mail server rejects the mail permanently. A 5xx response that
// concerns our configuration instead of the mail (greeting, login, sender) is an ordinary error, because an operator
// can correct it. The texts of errors contain neither addresses nor the server's text, which may contain an address.
func (s *SMTP) send(ctx context.Context, helo string, message *mail.Msg) error {
	options := []mail.Option{
		mail.WithPort(s.port), mail.WithTimeout(s.timeout), mail.WithHELO(helo), mail.WithTLSPolicy(mail.TLSMandatory),
		mail.WithTLSConfig(&tls.Config{ServerName: s.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}),
		mail.WithoutNoop(),
	}
	if s.implicit {
		options = append(options, mail.WithSSL())
	}
	if s.plain {
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if s.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover),
			mail.WithUsername(s.user), mail.WithPassword(s.password.Reveal()))
	}
	host := s.host
	if strings.Contains(host, ":") { // the library does not put IPv6 addresses in brackets
		host = "[" + host + "]"
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return errors.New("the configuration of the mail server is invalid")
	}
	err = client.DialAndSendWithContext(ctx, message)
	if err == nil || message.IsDelivered() { // errors of QUIT do not matter
		return nil
	}
	if refusal, ok := errors.AsType[*mail.SendError](err); ok && refusal.ErrorCode() > 0 {
		reason := strings.TrimSpace(fmt.Sprintf("SMTP %d %s", refusal.ErrorCode(), refusal.EnhancedStatusCode()))
		if refusal.ErrorCode()/100 == 5 && refusal.Reason != mail.ErrSMTPMailFrom {
			return errRefused{reason}
		}
		return errors.New(reason)
	}
	if response, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Errorf("SMTP %d before the mail", response.Code)
	}
	if strings.Contains(err.Error(), "does not support STARTTLS") {
		return errors.New("the mail server does not offer STARTTLS")
	}
	return errors.New(connectionFailure(ctx, err, s.timeout))
}
