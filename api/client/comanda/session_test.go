package comanda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// realm is a service with one user. Each refresh token is valid once.
type realm struct {
	mu        sync.Mutex
	n         int // generation of the tokens
	refreshes int
	reused    bool
	expired   bool // access tokens are expired until the next refresh
	hangUp    bool // the response of the next refresh gets lost
	busy      bool // the next refresh gets 429
}

func (s *realm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/auth/login":
		s.n++
		s.issue(w, r)
	case "/auth/refresh":
		s.refreshes++
		if s.busy {
			s.busy = false
			refuse(429, "RATE_LIMITED", "Retry-After", "1")(w, r)
			return
		}
		cookie, err := r.Cookie("refreshToken")
		if err != nil {
			refuse(401, "TOKEN_INVALID")(w, r)
			return
		}
		if cookie.Value != fmt.Sprint(s.n) {
			s.reused = true
			refuse(401, "TOKEN_REVOKED")(w, r)
			return
		}
		s.n++
		s.expired = false
		if s.hangUp {
			panic(http.ErrAbortHandler)
		}
		s.issue(w, r)
	case "/auth/logout":
		respond(200, `{"message":"bye"}`)(w, r)
	default:
		switch r.Header.Get("Authorization") {
		case "":
			refuse(401, "TOKEN_INVALID")(w, r)
		case fmt.Sprintf("Bearer access %d", s.n):
			if !s.expired {
				respond(200, `{"id":"ord_1"}`)(w, r)
				return
			}
			fallthrough
		default:
			refuse(401, "TOKEN_EXPIRED")(w, r)
		}
	}
}

func (s *realm) issue(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: "refreshToken", Value: fmt.Sprint(s.n), Path: "/", MaxAge: 60, HttpOnly: true, Secure: true,
		SameSite: http.SameSiteStrictMode,
	})
	respond(200, fmt.Sprintf(`{"accessToken":"access %d"}`, s.n))(w, r)
}

func (s *realm) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

func login(t *testing.T) (*realm, *Client) {
	t.Helper()
	r := &realm{}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	c, _ := (&service{Server: server, t: t}).client(Config{})
	if _, err := c.Login(t.Context(), LoginRequest{Email: "a@b.example", Password: "x"}); err != nil {
		t.Fatal(err)
	}
	return r, c
}

func TestConcurrentRefresh(t *testing.T) {
	t.Parallel()
	r, c := login(t)
	for range 3 {
		r.expire()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if err := get(c); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	if r.refreshes != 3 || r.reused || c.AccessToken() != "access 4" {
		t.Errorf("%d refreshes, reused: %t, token %q; want 3, false and the fourth", r.refreshes, r.reused, c.AccessToken())
	}
}

// The client must not send a refresh token again whose refresh may have succeeded: this would end all sessions.
func TestLostRefresh(t *testing.T) {
	t.Parallel()
	r, c := login(t)
	r.expire()
	r.hangUp = true
	if err := get(c); err == nil {
		t.Error("the call succeeds, want the error of the refresh")
	}
	r.hangUp = false
	refused, ok := errors.AsType[*Error](get(c))
	if !ok || refused.Code != ErrorCodeTokenInvalid || r.refreshes != 1 || r.reused {
		t.Errorf("got %v after %d refreshes, reused: %t", refused, r.refreshes, r.reused)
	}
	if err := c.Refresh(t.Context()); !errors.Is(err, ErrNoSession) {
		t.Errorf("got %v, want ErrNoSession", err)
	}
	if _, err := c.Login(t.Context(), LoginRequest{}); err != nil {
		t.Error(err)
	}
	if err := get(c); err != nil {
		t.Error(err)
	}
}

// A call returns when its context ends. The refresh continues for the other calls.
func TestRefreshOutlivesItsCall(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *Client) error{
		"GetOrder": func(ctx context.Context, c *Client) error {
			_, err := c.GetOrder(ctx, "ord_1")
			return err
		},
		"Logout": func(ctx context.Context, c *Client) error {
			_, err := c.Logout(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			continued := make(chan struct{})
			s := newService(t, respond(200, `{"accessToken":"first"}`), refuse(401, "TOKEN_EXPIRED"),
				func(w http.ResponseWriter, r *http.Request) {
					cancel()
					<-continued
					respond(200, `{"accessToken":"second"}`)(w, r)
				})
			c, _ := s.client(Config{})
			if _, err := c.Login(t.Context(), LoginRequest{}); err != nil {
				t.Fatal(err)
			}
			err := call(ctx, c)
			close(continued)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
			if err := c.session.lock(t.Context()); err != nil || c.AccessToken() != "second" {
				t.Errorf("after the refresh: got the token %q and error %v, want the second", c.AccessToken(), err)
			}
		})
	}
}

func TestBusyRefresh(t *testing.T) {
	t.Parallel()
	r, c := login(t)
	r.expire()
	r.busy = true
	if err := get(c); err != nil || r.refreshes != 2 {
		t.Errorf("got %v after %d refreshes, want success after 2", err, r.refreshes)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	_, c := login(t)
	if _, err := c.Logout(t.Context()); err != nil || c.AccessToken() != "" {
		t.Errorf("got %v and token %q", err, c.AccessToken())
	}
}

// Sessions belong to users; an API key is never replaced.
func TestKeyIsNotRefreshed(t *testing.T) {
	t.Parallel()
	s := newService(t, refuse(401, "TOKEN_EXPIRED"))
	c, _ := s.client(Config{APIKey: "svc_test_sk_1"})
	if refused, ok := errors.AsType[*Error](get(c)); !ok || refused.Code != ErrorCodeTokenExpired {
		t.Errorf("got %v", refused)
	}
}
