package comanda

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const refreshTimeout = time.Minute // with repetitions

// ErrNoSession is the error of [Client.Refresh] if the client has no session: it has not logged in, or the result of a
// refresh was lost.
var ErrNoSession = errors.New("comanda: there is no session; log in")

// session is the access token of a user or a customer. The jar of the HTTP client holds the refresh token.
type session struct {
	turn chan struct{} // has a value while a call changes the session

	mu    sync.Mutex
	token string
	path  string // of the refresh
}

// lock waits until no other call changes the session.
func (s *session) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) unlock() { <-s.turn }

func (s *session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *session) set(token, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.path = token, path
}

func (s *session) forget() { s.set("", "") }

// signIn starts a session with the result of a login, or continues it with the token of another store.
func (c *Client) signIn(in call, data json.RawMessage) error {
	var result struct {
		AccessToken string `json:"accessToken"`
	}
	if err := in.decode(data, &result); err != nil {
		return err
	}
	path := "/auth/refresh"
	if strings.HasPrefix(in.path, "/customer-auth/") {
		path = "/customer-auth/refresh"
	}
	c.session.set(result.AccessToken, path)
	return nil
}

// AccessToken returns the access token of the session, or "" if there is none.
func (c *Client) AccessToken() string { return c.session.current() }

// Refresh sends POST /auth/refresh, or POST /customer-auth/refresh for a customer: refresh the session. The client does
// this itself when the access token has expired.
//
// If the connection breaks before the response, the refresh token may be used up, and to send it again would end all
// sessions of the user. The client then has no session anymore.
func (c *Client) Refresh(ctx context.Context) error { return c.refresh(ctx, c.session.current()) }

// refresh replaces an expired token, unless another call has replaced it meanwhile.
func (c *Client) refresh(ctx context.Context, expired string) error {
	if err := c.session.lock(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { // other calls need the result even if this one is cancelled
		defer c.session.unlock()
		done <- c.refreshLocked(context.WithoutCancel(ctx), expired)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) refreshLocked(ctx context.Context, expired string) error {
	token := c.session.current()
	if token == "" {
		return ErrNoSession
	}
	if token != expired {
		return nil
	}
	in := call{method: http.MethodPost, path: c.session.path, public: true, signsIn: true}
	r, err := c.prepare(in, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	var out envelope
	if err := c.send(ctx, r, "", &out); err != nil {
		if r.spent(err) {
			c.forget(r.url)
		}
		return err
	}
	return c.signIn(in, out.Data)
}

// forget drops the session with its refresh token.
func (c *Client) forget(refresh string) {
	c.session.forget()
	if address, err := url.Parse(refresh); err == nil {
		for _, name := range []string{"refreshToken", "customerRefreshToken"} {
			expired := &http.Cookie{Name: name, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true}
			expired.SameSite = http.SameSiteStrictMode
			c.http.Jar.SetCookies(address, []*http.Cookie{expired})
		}
	}
}

// spent reports whether the refresh token of a failed request may have been used up or is invalid.
func (r *request) spent(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		return !r.repeatable(err)
	}
	return refused.StatusCode == http.StatusUnauthorized || refused.StatusCode >= 500
}
