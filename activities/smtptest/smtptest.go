// Package smtptest provides a mail server for tests and benchmarks.
package smtptest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Credentials that the server accepts.
const (
	User     = "comanda"
	Password = "p@ss/w:rd"
)

// Config configures a [Server].
type Config struct {
	Certificate *tls.Certificate // nil = generated, see Server.Roots
	Implicit    bool             // implicit TLS instead of STARTTLS
	NoTLS       bool             // do not offer STARTTLS
	NoUTF8      bool             // do not offer SMTPUTF8
	HangUp      bool             // close the connection after accepting a message
	// Reject returns the rejection at a stage (MAIL, RCPT or DATA), or nil to accept.
	Reject func(stage, address string) *Rejection
}

// Rejection is the response of a server that rejects a command.
type Rejection struct {
	Code     int
	Enhanced [3]int
	Text     string
}

// Message is a message that the server has accepted.
type Message struct {
	From string
	To   []string
	Data []byte // lines end with CRLF
	TLS  bool
	User string // authenticated user; "" = none
}

// Server is a mail server on 127.0.0.1.
type Server struct {
	Roots *x509.CertPool // trusts the generated certificate; nil if Config.Certificate is set
	Port  int

	config   Config
	mu       sync.Mutex
	messages []Message
}

// New starts a server that stops at the end of the test.
func New(t testing.TB, config Config) *Server {
	t.Helper()
	s, stop, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// Start starts a server. stop stops it.
func Start(ctx context.Context, config Config) (s *Server, stop func(), err error) {
	s = &Server{config: config}
	if config.Certificate == nil {
		web := httptest.NewTLSServer(nil)
		web.Close()
		s.config.Certificate = &web.TLS.Certificates[0]
		s.Roots = x509.NewCertPool()
		s.Roots.AddCert(web.Certificate())
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s.Port = listener.Addr().(*net.TCPAddr).Port
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: c}, nil
	}))
	server.Domain, server.EnableSMTPUTF8 = "smtptest", !config.NoUTF8
	server.ErrorLog = log.New(io.Discard, "", 0)
	settings := &tls.Config{Certificates: []tls.Certificate{*s.config.Certificate}, MinVersion: tls.VersionTLS12}
	if config.Implicit {
		listener = tls.NewListener(listener, settings)
	} else if !config.NoTLS {
		server.TLSConfig = settings
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	return s, func() {
		_ = server.Close()
		_ = listener.Close() // server.Close misses the listener if Serve has not yet started
		serving.Wait()
	}, nil
}

// URL returns a value for COMANDA_SMTP_URL, including the credentials.
func (s *Server) URL() string {
	scheme := "smtp"
	if s.config.Implicit {
		scheme = "smtps"
	}
	return fmt.Sprintf("%s://%s:p%%40ss%%2Fw%%3Ard@127.0.0.1:%d?from=Comanda%%20<noreply@comanda.example>",
		scheme, User, s.Port)
}

// Messages returns the messages accepted so far.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

type session struct {
	server  *Server
	conn    *smtp.Conn
	message Message
}

func (s *session) check(stage, address string) error {
	if s.server.config.Reject == nil {
		return nil
	}
	if a := s.server.config.Reject(stage, address); a != nil {
		return &smtp.SMTPError{Code: a.Code, EnhancedCode: a.Enhanced, Message: a.Text}
	}
	return nil
}

// AuthMechanisms offers PLAIN.
func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth checks the credentials.
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != User || password != Password {
			return errors.New("wrong user or password")
		}
		s.message.User = user
		return nil
	}), nil
}

// Mail starts a message.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	_, encrypted := s.conn.TLSConnectionState()
	s.message = Message{From: from, TLS: encrypted, User: s.message.User}
	return s.check("MAIL", from)
}

// Rcpt adds a recipient.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.config.NoUTF8 && strings.ContainsFunc(to, func(r rune) bool { return r > 0x7f }) {
		return &smtp.SMTPError{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 6, 7}, Message: "ASCII only"}
	}
	s.message.To = append(s.message.To, to)
	return s.check("RCPT", to)
}

// Data accepts the message.
func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.check("DATA", ""); err != nil {
		return err
	}
	s.message.Data = data
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages = append(s.server.messages, s.message)
	return nil
}

// Reset ends a message. With Config.HangUp, it closes the connection after an accepted message.
func (s *session) Reset() {
	if s.server.config.HangUp && s.message.Data != nil {
		_ = s.conn.Conn().Close()
	}
}

// Logout does nothing.
func (s *session) Logout() error { return nil }
