package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations of sessions.
var (
	refresh = handle("refresh", (*Server).refresh, app.CodeTokenInvalid, app.CodeTokenRevoked,
		app.CodeWebsiteSuspended)
	switchStore = handle("switchStore", (*Server).switchStore, app.CodeStoreMismatch)
	logout      = handle("logout", (*Server).logout)

	listSessions     = handle("listSessions", (*Server).sessions)
	endSession       = handle("endSession", (*Server).endSession, app.CodeNotFound)
	endOtherSessions = handle("endOtherSessions", (*Server).endOtherSessions)
	reauthenticate   = handle("reauthenticate", (*Server).reauthenticate, app.CodeInvalidCredentials,
		app.CodeOTPRequired)

	listCustomerSessions     = handle("listCustomerSessions", (*Server).customerSessions)
	endCustomerSession       = handle("endCustomerSession", (*Server).endCustomerSession, app.CodeNotFound)
	endOtherCustomerSessions = handle("endOtherCustomerSessions", (*Server).endOtherCustomerSessions)
)

// The cookies of refresh tokens.
const (
	userCookie     = "refreshToken" // of tenant users and platform administrators
	customerCookie = "customerRefreshToken"
)

// setRefreshToken sets the route's refresh cookie (docs/behaviour.md#refresh-tokens).
func (c *call) setRefreshToken(token string, ttl time.Duration) {
	c.setRefreshCookie(token, int(ttl/time.Second))
}

// clearRefreshToken deletes the route's refresh cookie in the browser.
func (c *call) clearRefreshToken() { c.setRefreshCookie("", -1) }

func (c *call) setRefreshCookie(value string, maxAge int) {
	http.SetCookie(c.exchange, &http.Cookie{
		Name: c.route.Cookie, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
}

// readRefreshToken reads the refresh token from the route's cookie. It refuses two cookies of that
// name, because a sibling host may have planted one of them.
func (s *Server) readRefreshToken(c *call) error {
	values := cookies(c.request.Header, c.route.Cookie)
	if len(values) != 1 {
		return refreshInvalid()
	}
	var err error
	c.refresh, err = s.tokens.parseRefresh(values[0], c.route.Realms)
	return err
}

// cookies returns the unchanged values of all cookies with a name. Package net/http would omit malformed
// cookies and remove quotes.
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

// limitUnmatched is [Server.limitUnknown] for a refresh cookie that matches no session. A request without a cookie was
// already counted.
func (s *Server) limitUnmatched(ctx context.Context, c *call, refusal error) error {
	if len(cookies(c.request.Header, c.route.Cookie)) == 0 {
		return refusal
	}
	return s.limitUnknown(ctx, c, refusal)
}

type refreshOut struct {
	AccessToken string `json:"accessToken"`
}

// refresh issues the next tokens. If it returns an error, the effects that the error reports are committed.
func (s *Server) refresh(ctx context.Context, c *call, _ noIn) (refreshOut, error) {
	session, err := s.db.Refresh(ctx, c.now, c.actor(), c.refresh.session, c.refresh.counter, s.refreshes)
	if err != nil {
		return refreshOut{}, err
	}
	c.exchange.principal = app.Principal{
		Realm: c.refresh.realm, UserID: session.User.ID, SessionID: c.refresh.session, StoreID: session.StoreID,
	}
	switch session.Decision {
	case app.RefreshInvalid:
		return refreshOut{}, refreshInvalid()
	case app.RefreshReused:
		c.exchange.log.Warn().Str("userId", string(session.User.ID)).Str("sessionId", string(c.refresh.session)).
			Msg("superseded refresh token used; all sessions of the user ended")
		fallthrough
	case app.RefreshRevoked:
		c.clearRefreshToken()
		if session.User.ID == "" {
			return refreshOut{}, s.limitUnmatched(ctx, c, sessionEnded())
		}
		return refreshOut{}, sessionEnded()
	case app.RefreshSuspended:
		return refreshOut{}, app.WebsiteSuspended()
	}
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(session.User.ID), Email: session.User.Email, StoreID: session.StoreID, Role: session.Role,
		Audience: c.refresh.realm, SessionID: c.refresh.session, ExpiresAt: s.sessionEnd(session.CreatedAt),
	})
	if err != nil {
		return refreshOut{}, err
	}
	c.setRefreshToken(s.tokens.mintRefresh(c.refresh.realm, c.refresh.session, session.RefreshCounter),
		s.tokens.refreshTTL)
	return refreshOut{AccessToken: token}, nil
}

type switchStoreIn struct {
	StoreID     app.StoreID     `json:"storeId" validate:"required,id" store:"any"`
	StoreViewID app.StoreViewID `json:"storeViewId" validate:"omitempty,id"`
}

type switchStoreOut struct {
	AccessToken string        `json:"accessToken"`
	Store       switchedStore `json:"store"`
}

type switchedStore struct {
	StoreID   app.StoreID `json:"storeId"`
	StoreName string      `json:"storeName"`
	Role      app.Role    `json:"role"`
}

// switchStore changes the active store. The refresh token stays valid; the next refresh is for the new store.
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

// logout ends the session and clears its refresh token.
func (s *Server) logout(ctx context.Context, c *call, _ noIn) (logoutOut, error) {
	if err := s.db.EndSession(ctx, c.now, c.actor(), c.principal); err != nil {
		return logoutOut{}, err
	}
	c.clearRefreshToken()
	return logoutOut{Message: "logged out"}, nil
}

type reauthenticateIn struct {
	Password app.Secret `json:"password" validate:"required,password"`
	OTP      app.Secret `json:"otp" validate:"onetimepassword"`
}

type reauthenticateOut struct {
	Until app.Time `json:"until"`
}

// reauthenticate starts the time again in which the session can use operations that require a recent proof of identity.
func (s *Server) reauthenticate(ctx context.Context, c *call, in reauthenticateIn) (reauthenticateOut, error) {
	login, err := s.confirmPassword(ctx, c, in.Password)
	if err != nil {
		return reauthenticateOut{}, err
	}
	proof, err := s.proof(ctx, c, login.User.ID, login.PasswordHash, in.OTP)
	if err != nil {
		return reauthenticateOut{}, err
	}
	err = s.db.ProveIdentity(ctx, c.now, c.principal, c.actor(), login.User, proof)
	s.otpFailed(c, login.User, err)
	return reauthenticateOut{app.At(app.ProofEnd(c.now))}, err
}

type sessionList = list[app.LoginSession, cursorMeta]

func (s *Server) sessions(ctx context.Context, c *call, in pageParams) (sessionList, error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return sessionList{}, err
	}
	found, err := s.db.Sessions(ctx, c.now, c.principal, s.refreshes, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, sessionPosition), err
}

func (s *Server) customerSessions(ctx context.Context, c *call, in pageParams) (sessionList, error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return sessionList{}, err
	}
	found, err := s.db.CustomerSessions(ctx, c.now, c.principal, s.refreshes, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, sessionPosition), err
}

func sessionPosition(l app.LoginSession) string { return timePosition(l.CreatedAt, string(l.ID)) }

type sessionIn struct {
	ID app.SessionID `path:"id"`
}

func (s *Server) endSession(ctx context.Context, c *call, in sessionIn) (nothing, error) {
	return nothing{}, s.db.EndOneSession(ctx, c.now, c.principal, c.actor(), in.ID)
}

func (s *Server) endCustomerSession(ctx context.Context, c *call, in sessionIn) (nothing, error) {
	return nothing{}, s.db.EndOneCustomerSession(ctx, c.now, c.principal, c.actor(), in.ID)
}

func (s *Server) endOtherSessions(ctx context.Context, c *call, _ noIn) (nothing, error) {
	return nothing{}, s.db.EndOtherSessions(ctx, c.now, c.principal, c.actor())
}

func (s *Server) endOtherCustomerSessions(ctx context.Context, c *call, _ noIn) (nothing, error) {
	return nothing{}, s.db.EndOtherCustomerSessions(ctx, c.now, c.principal, c.actor())
}
