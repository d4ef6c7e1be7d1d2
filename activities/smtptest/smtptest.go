// Package smtptest gives tests a real mail server of their own.
package smtptest

import (
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

// What the server lets in.
const (
	User     = "comanda"
	Password = "p@ss/w:rd"
)

// Config says what a Server is like.
type Config struct {
	Certificate *tls.Certificate                    // nil = one of its own, see Server.Roots
	Implicit    bool                                // TLS from the first byte
	NoTLS       bool                                // STARTTLS is not offered
	NoUTF8      bool                                // SMTPUTF8 is not offered
	HangUp      bool                                // the connection is closed once a message has been taken
	Answer      func(stage, address string) *Answer // nil, or its result nil = all is well; stages are MAIL, RCPT and DATA
}

// Answer is a refusal.
type Answer struct {
	Code     int
	Enhanced [3]int
	Text     string
}

// Message is what the server has taken.
type Message struct {
	From string
	To   []string
	Data []byte // CRLF at the end of each line
	TLS  bool
	User string // who was logged in
}

// Server is a mail server on 127.0.0.1.
type Server struct {
	Roots *x509.CertPool // trusts its certificate; nil if that was given
	Port  int

	config   Config
	mu       sync.Mutex
	messages []Message
}

// New starts a server that ends with the test.
func New(t testing.TB, config Config) *Server {
	t.Helper()
	s := &Server{config: config}
	if config.Certificate == nil {
		web := httptest.NewTLSServer(nil)
		web.Close()
		s.config.Certificate = &web.TLS.Certificates[0]
		s.Roots = x509.NewCertPool()
		s.Roots.AddCert(web.Certificate())
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = listener.Addr().(*net.TCPAddr).Port
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
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
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // Close does not know a listener whose Serve has not begun
		serving.Wait()
	})
	return s
}

// URL returns the server's address for COMANDA_SMTP_URL, with credentials in it.
func (s *Server) URL() string {
	scheme := "smtp"
	if s.config.Implicit {
		scheme = "smtps"
	}
	return fmt.Sprintf("%s://%s:p%%40ss%%2Fw%%3Ard@127.0.0.1:%d?from=Comanda%%20<noreply@comanda.example>", scheme, User, s.Port)
}

// Messages returns what has been taken so far.
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

func (s *session) answer(stage, address string) error {
	if s.server.config.Answer == nil {
		return nil
	}
	if a := s.server.config.Answer(stage, address); a != nil {
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

// Mail begins a message.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	_, encrypted := s.conn.TLSConnectionState()
	s.message = Message{From: from, TLS: encrypted, User: s.message.User}
	return s.answer("MAIL", from)
}

// Rcpt adds a recipient.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.config.NoUTF8 && strings.ContainsFunc(to, func(r rune) bool { return r > 0x7f }) {
		return &smtp.SMTPError{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 6, 7}, Message: "ASCII only"}
	}
	s.message.To = append(s.message.To, to)
	return s.answer("RCPT", to)
}

// Data takes the message.
func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.answer("DATA", ""); err != nil {
		return err
	}
	s.message.Data = data
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages = append(s.server.messages, s.message)
	return nil
}

// Reset drops the message that was begun, or has been taken.
func (s *session) Reset() {
	if s.server.config.HangUp && s.message.Data != nil {
		_ = s.conn.Conn().Close()
	}
}

// Logout ends the session.
func (s *session) Logout() error { return nil }
