package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// The cookies in which refresh tokens travel. They mean something to the refresh of their
// own realm alone.
const (
	refreshCookie         = "refreshToken" // a tenant's or a platform administrator's
	customerRefreshCookie = "customerRefreshToken"
)

func refreshCookieOf(realm app.Realm) string {
	if realm == app.RealmCustomer {
		return customerRefreshCookie
	}
	return refreshCookie
}

// setRefreshToken sets the realm's cookie with the attributes that the spec gives it.
func (c *call) setRefreshToken(realm app.Realm, token string, ttl time.Duration) {
	c.setRefreshCookie(realm, token, int(ttl/time.Second))
}

// clearRefreshToken makes the browser forget the cookie.
func (c *call) clearRefreshToken(realm app.Realm) { c.setRefreshCookie(realm, "", -1) }

func (c *call) setRefreshCookie(realm app.Realm, value string, maxAge int) {
	http.SetCookie(c.exchange, &http.Cookie{
		Name: refreshCookieOf(realm), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
}

// readRefreshToken reads the credential of the two refreshes. Two cookies of the name are
// none: one of them may have been planted by a sibling host, and nobody can tell which.
func (s *Server) readRefreshToken(c *call) error {
	realms := []app.Realm{app.RealmTenant, app.RealmPlatform}
	if strings.HasPrefix(c.route.path, "/customer-auth/") {
		realms = []app.Realm{app.RealmCustomer}
	}
	values := cookies(c.request.Header, refreshCookieOf(realms[0]))
	if len(values) != 1 {
		return refreshInvalid()
	}
	var err error
	c.refresh, err = s.tokens.parseRefresh(values[0], realms)
	return err
}

// cookies returns the values of all cookies of a name, as they came: net/http leaves out
// those that it finds malformed, and takes quotes off.
func cookies(header http.Header, name string) (values []string) {
	for _, line := range header.Values("Cookie") {
		for pair := range strings.SplitSeq(line, ";") {
			if key, value, _ := strings.Cut(pair, "="); strings.TrimSpace(key) == name {
				values = append(values, strings.TrimSpace(value))
			}
		}
	}
	return values
}

type refreshOut struct {
	AccessToken string `json:"accessToken"` // a JWT, for the Authorization header
}

// refresh gives out the next pair of tokens. When it refuses, what the refusal tells of is
// committed.
func (s *Server) refresh(ctx context.Context, c *call, _ noIn) (refreshOut, error) {
	session, err := s.db.Refresh(ctx, c.now, c.actor(), c.refresh.session, c.refresh.counter, s.refreshes)
	if err != nil {
		return refreshOut{}, err
	}
	c.exchange.principal = app.Principal{Realm: c.refresh.realm, UserID: session.User.ID, SessionID: c.refresh.session, StoreID: session.StoreID}
	switch session.Decision {
	case app.RefreshInvalid:
		return refreshOut{}, refreshInvalid()
	case app.RefreshReused:
		c.exchange.log.Warn().Str("userId", string(session.User.ID)).Str("sessionId", string(c.refresh.session)).
			Msg("a superseded refresh token came back; all sessions of the user have ended")
		fallthrough
	case app.RefreshRevoked:
		c.clearRefreshToken(c.refresh.realm)
		return refreshOut{}, sessionEnded()
	}
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.User.ID), Email: session.User.Email, StoreID: session.StoreID, Role: session.Role,
		Audience: c.refresh.realm, SessionID: c.refresh.session, ExpiresAt: s.sessionEnd(session.CreatedAt),
	})
	if err != nil {
		return refreshOut{}, err
	}
	c.setRefreshToken(c.refresh.realm, s.tokens.mintRefresh(c.refresh.realm, c.refresh.session, session.RefreshCounter), s.tokens.refreshTTL)
	return refreshOut{AccessToken: token}, nil
}

type switchStoreIn struct {
	StoreID     app.StoreID     `json:"storeId" validate:"required,id" store:"any" description:"A store of the same website to which the user belongs."`
	StoreViewID app.StoreViewID `json:"storeViewId" validate:"omitempty,id" description:"The view to work in. By default the store's default view."`
}

type switchStoreOut struct {
	AccessToken string        `json:"accessToken"` // a JWT for the store
	Store       switchedStore `json:"store"`
}

type switchedStore struct {
	StoreID   app.StoreID `json:"storeId"`
	StoreName string      `json:"storeName"`
	Role      app.Role    `json:"role"`
}

// switchStore makes another store the active one. The refresh token stays as it is; the
// next refresh is for the new store.
func (s *Server) switchStore(ctx context.Context, c *call, in switchStoreIn) (switchStoreOut, error) {
	store, err := s.db.SwitchStore(ctx, c.principal, in.StoreID, in.StoreViewID)
	if err != nil {
		return switchStoreOut{}, err
	}
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(c.principal.UserID), Email: store.Email, StoreID: store.StoreID, Role: store.Role,
		Audience: c.principal.Realm, SessionID: c.principal.SessionID, ExpiresAt: s.sessionEnd(c.principal.LoggedInAt),
	})
	return switchStoreOut{AccessToken: token, Store: switchedStore{store.StoreID, store.StoreName, store.Role}}, err
}

type logoutOut struct {
	Message string `json:"message"`
}

// logout ends the session of the access token, and its refresh token with it.
func (s *Server) logout(ctx context.Context, c *call, _ noIn) (logoutOut, error) {
	if err := s.db.EndSession(ctx, c.now, c.actor(), c.principal); err != nil {
		return logoutOut{}, err
	}
	c.clearRefreshToken(c.principal.Realm)
	return logoutOut{Message: "logged out"}, nil
}
