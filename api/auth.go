package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// authenticate finds out who calls. The session, the user and the membership, or the API
// key, are looked up for every request, so that their end bites at once.
func (s *Server) authenticate(ctx context.Context, c *call) error {
	switch c.route.permission {
	case public:
		return nil
	case byRefreshToken:
		return s.readRefreshToken(c)
	}
	raw, err := bearer(c.request.Header)
	if err != nil {
		return err
	}
	if strings.HasPrefix(raw, "svc_") { // an API key; no token begins like that
		if app.Permissions[c.route.permission].Role == "" { // it is for tenant endpoints only (spec, Realms)
			return app.TokenInvalid()
		}
		c.principal, err = s.db.AuthenticateKey(ctx, c.now, app.NewSecret(raw))
		c.enter(err)
		return err
	}
	token, err := s.tokens.parse(c.now, raw, realmsOf(c.route.permission))
	if err != nil {
		return err
	}
	if token.Audience == app.RealmCustomer {
		c.principal, err = s.db.AuthenticateCustomer(ctx, token.SessionID, app.CustomerID(token.Subject), token.StoreID)
	} else {
		c.principal, err = s.db.Authenticate(ctx, token.SessionID, app.UserID(token.Subject), token.StoreID)
	}
	c.enter(err)
	if err == nil && s.refreshes.TooOld(c.principal.LoggedInAt, c.now) {
		return sessionEnded()
	}
	return err
}

// enter notes who calls, for whatever is done with the answer.
func (c *call) enter(err error) {
	c.exchange.principal = c.principal
	if err == nil {
		c.exchange.keepToOwnCustomers()
	}
}

// sessionEnd is when access tokens of a session that began then must have expired, in Unix
// seconds; 0 when sessions have no greatest age.
func (s *Server) sessionEnd(began time.Time) int64 {
	end, ok := s.refreshes.End(began)
	if !ok {
		return 0
	}
	return end.Unix()
}

func sessionEnded() error {
	return app.Errorf(app.CodeTokenRevoked, "the session has ended; log in again")
}

// authorize checks the permission of the route.
func (s *Server) authorize(_ context.Context, c *call) error {
	if !c.route.byAccessToken() {
		return nil
	}
	return c.principal.Can(c.route.permission)
}

// realmsOf returns the realms whose tokens can have a permission.
func realmsOf(permission app.Permission) []app.Realm {
	grant := app.Permissions[permission]
	var realms []app.Realm
	for realm, granted := range map[app.Realm]bool{
		app.RealmTenant: grant.Role != "", app.RealmCustomer: grant.Own, app.RealmPlatform: grant.Platform,
	} {
		if granted {
			realms = append(realms, realm)
		}
	}
	return realms
}

// bearer returns the credential of the one Authorization header.
func bearer(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", app.TokenInvalid()
	}
	scheme, credential, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", app.TokenInvalid()
	}
	return credential, nil
}

type loginIn struct {
	Email    string      `json:"email" validate:"required,max=320" example:"owner@example.com"`
	Password app.Secret  `json:"password" validate:"required,bytes=1024" example:"correct horse battery staple"`
	StoreID  app.StoreID `json:"storeId" validate:"omitempty,id" store:"any" description:"The store to work in. By default the one last used, else the first."`
}

type loginOut struct {
	AccessToken string           `json:"accessToken"` // a JWT, for the Authorization header
	User        app.User         `json:"user"`
	Stores      []app.StoreEntry `json:"stores"`
}

// login begins a session. Whether the address is unknown, the password wrong, the user
// disabled or without any store: the answer is the same, and so is the time it takes.
func (s *Server) login(ctx context.Context, c *call, in loginIn) (loginOut, error) {
	refused := app.Errorf(app.CodeInvalidCredentials, "the e-mail address or the password is not right")
	login, err := s.db.LoginByEmail(ctx, in.Email)
	if err != nil && app.CodeOf(err) != app.CodeNotFound {
		return loginOut{}, err
	}
	ok, fresh, err := s.passwords.check(ctx, in.Password, login.PasswordHash)
	if err != nil {
		return loginOut{}, err
	}
	if fault := faultOf(login, ok); fault != "" {
		s.loginFailed(c, login.User, fault)
		return loginOut{}, refused
	}
	if fresh != "" {
		if err := s.db.SetPasswordHash(ctx, login.User.ID, login.PasswordHash, fresh); err != nil {
			return loginOut{}, err
		}
	}
	out, err := s.startSession(ctx, c, login.User, in.StoreID)
	switch app.CodeOf(err) {
	case app.CodeNotFound:
		return loginOut{}, refused
	case app.CodeStoreMismatch:
		s.loginFailed(c, login.User, app.FaultStore)
	}
	return out, err
}

// startSession logs a user in whose password has been checked. Errors are those of
// persistence.DB.StartSession.
func (s *Server) startSession(ctx context.Context, c *call, user app.User, store app.StoreID) (loginOut, error) {
	session, err := s.db.StartSession(ctx, c.now, c.actor(), user, store, s.tokens.refreshTTL)
	if err != nil {
		return loginOut{}, err
	}
	realm := user.Realm()
	token, err := s.tokens.mint(c.now, claims{
		Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role, Audience: realm, SessionID: session.ID,
		ExpiresAt: s.sessionEnd(c.now),
	})
	if err != nil {
		return loginOut{}, err
	}
	c.setRefreshToken(realm, s.tokens.mintRefresh(realm, session.ID, session.RefreshCounter), s.tokens.refreshTTL)
	return loginOut{AccessToken: token, User: user, Stores: session.Stores}, nil
}

type noIn struct{}

// stores lists what login has told already, for clients that have not kept it.
func (s *Server) stores(ctx context.Context, c *call, _ noIn) ([]app.StoreEntry, error) {
	return s.db.Stores(ctx, c.principal.UserID)
}

type meOut struct {
	User  meUser            `json:"user"`
	Store *app.StoreContext `json:"store,omitempty"` // the active store; absent for platform administrators
}

type meUser struct {
	ID    app.UserID `json:"id"`
	Email string     `json:"email"`
	Name  string     `json:"name"`
}

func (s *Server) me(ctx context.Context, c *call, _ noIn) (meOut, error) {
	user, store, err := s.db.Me(ctx, c.principal)
	return meOut{User: meUser{user.ID, user.Email, user.Name}, Store: store}, err
}
