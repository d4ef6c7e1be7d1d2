package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
)

// browser is a client that stores the tokens of its session.
type browser struct {
	w      *world
	server *Server
	access string
	cookie string // the refresh token
}

// browse begins a session without a password.
func (w *world) browse(name, store string) *browser {
	w.Helper()
	c := w.claims(name, w.stores[store].id)
	access, err := w.server.tokens.mint(w.now, c)
	w.must(err)
	return &browser{w, w.server, access, w.server.tokens.mintRefresh(c.Audience, c.SessionID, 0)}
}

func withCookie(token string) func(*http.Request) { return header("Cookie", userCookie+"="+token) }

// present sends a refresh token to POST /auth/refresh.
func (b *browser) present(token string) *response {
	b.w.Helper()
	return b.w.doOn(b.server, "POST", "/auth/refresh", "", nil, withCookie(token))
}

// refresh replaces both tokens by their successors.
func (b *browser) refresh() *response {
	b.w.Helper()
	var data refreshOut
	a := b.present(b.cookie).ok(200, &data)
	b.access, b.cookie = data.AccessToken, a.newCookie()
	return a
}

func (b *browser) me() *response {
	b.w.Helper()
	return b.w.doOn(b.server, "GET", "/auth/me", b.access, nil)
}

// dead checks that both tokens of the session are refused, and that the response clears the cookie.
func (b *browser) dead() {
	b.w.Helper()
	b.me().refused(app.CodeTokenRevoked)
	b.present(b.cookie).refused(app.CodeTokenRevoked).cleared()
}

// newCookie returns the refresh token that a response sets, and checks the attributes of its cookie.
func (a *response) newCookie() string {
	a.t.Helper()
	cookies := a.Header().Values("Set-Cookie")
	if len(cookies) != 1 {
		a.t.Fatalf("%s: got cookies %q, want one", a.what, cookies)
	}
	value, attributes, _ := strings.Cut(strings.TrimPrefix(cookies[0], "refreshToken="), ";")
	if want := " Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict"; attributes != want {
		a.t.Errorf("%s: cookie attributes: got %q, want %q", a.what, attributes, want)
	}
	return value
}

func (a *response) cleared() {
	a.t.Helper()
	const want = "refreshToken=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict"
	if got := a.Header().Values("Set-Cookie"); len(got) != 1 || got[0] != want {
		a.t.Errorf("%s: got cookies %q, want %q only", a.what, got, want)
	}
}

// exec runs a statement directly in the database.
func (w *world) exec(statement string, args ...any) {
	w.Helper()
	_, err := w.db.System().DB.ExecContext(w.Context(), statement, args...)
	w.must(err)
}

func (w *world) text(query string, args ...any) (text string) {
	w.Helper()
	w.must(w.db.System().DB.QueryRowContext(w.Context(), query, args...).Scan(&text))
	return text
}

func claimsOf(t *testing.T, token string) jwt.MapClaims {
	t.Helper()
	var c jwt.MapClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil {
		t.Fatal(err)
	}
	return c
}
